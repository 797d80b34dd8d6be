"""The experiments of several files or frames as the fields of one data set."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gpssm.base.errors import DataError, expected
from gpssm.base.text import percent
from gpssm.data.channels import check_measured, common_units, units_of
from gpssm.data.experiment import Experiment

from .pieces import Checked, Piece
from .tables import Request
from .timing import common_step


class Gathered(NamedTuple):
    """Fields of a data set, by their names there."""

    experiments: tuple[Experiment, ...]
    sampling_time: float | None
    input_names: tuple[str, ...]
    output_names: tuple[str, ...]
    input_units: tuple[str, ...]
    output_units: tuple[str, ...]
    notes: tuple[str, ...]
    steps: tuple[str, ...]


def gather(
    files: Sequence[Checked],
    request: Request,
    sampling_time: float | None,
    units: Mapping[str, str],
) -> Gathered:
    """From files or frames that were checked one by one."""
    if not files:
        raise DataError(expected("files", "none", "at least one"))
    inputs, outputs, *_ = files[0].channels
    known = {**common_units([(each.source, each.channels.units) for each in files]), **units}
    found = _all_pieces(files, request)
    runs = tuple(Experiment.of(p.y, p.u, p.name, p.stamps) for _, p in found)
    check_measured(runs, outputs, f"{', '.join(dict.fromkeys(source for source, _ in found))}, ")
    steps = [(f"{source}, experiment {e.name!r}", e.sampling_time) for source, e in found]
    notes = dict.fromkeys(note for file in files for note in file.notes)
    new_step = None if request.time is None else request.timing.resample
    return Gathered(
        runs,
        common_step(steps, sampling_time),
        inputs,
        outputs,
        units_of(inputs, known),
        units_of(outputs, known),
        (*notes, *_jitter_notes([piece for _, piece in found])),
        () if new_step is None else (f"resample({new_step:g})",),
    )


def _all_pieces(files: Sequence[Checked], request: Request) -> list[tuple[str, Piece]]:
    """(Source, experiment) of all; named by their file too where several hold several each."""
    if len(files) == 1 or request.experiment is None:
        return [(file.source, piece) for file in files for piece in file.pieces]
    return [
        (file.source, piece._replace(name=f"{file.name}/{piece.name}"))
        for file in files
        for piece in file.pieces
    ]


def _jitter_notes(pieces: Sequence[Piece]) -> tuple[str, ...]:
    """A note on time stamps that lie around equal steps, not at them."""
    uneven = [piece for piece in pieces if piece.deviation]
    if not uneven:
        return ()
    worst = max(uneven, key=lambda piece: piece.deviation)
    step = worst.sampling_time or 0.0
    where = "" if len(pieces) == 1 else f" in {len(uneven)} of {len(pieces)} experiments"
    share = percent(worst.deviation)
    return (
        f"time stamps lie up to {worst.deviation * step:.2g} s ({share} of a step) "
        f"off equal steps{where}, and are read as equal steps of {step:.6g} s",
    )
