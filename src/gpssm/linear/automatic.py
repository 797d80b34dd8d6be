"""`forecasting_linear`: a linear model that is fitted and chosen by the error of its forecasts."""

import contextlib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from gpssm.base.errors import DataError, expected
from gpssm.data import Dataset, DataWarning, Normalisation
from gpssm.data.alignment import Alignment
from gpssm.data.folds import cut_blocks

from .arx import FOLDS, arx_order, fit_arx, without_gaps
from .delays import likely_alignments
from .feedthrough import in_units_of, without_feedthrough
from .forecasting import WARMUP, Parameters
from .model import LinearModel
from .realised import realised
from .rollout import mean_square
from .selection import (
    NEAR,
    Candidates,
    Kind,
    Material,
    Trial,
    best_of,
    fit_trials,
    joined,
)
from .starts import reduced, subspace_starts
from .subspace import fit_n4sid, n4sid_order
from .windows import SHORT, Runs, Signal, first_part, overlapping, side_by_side, signals_of

ORDERS = (1, 2, 3, 4, 5, 6, 8)
SHORTEST = 2 * WARMUP  # rows


def forecasting_linear(
    data: Dataset,
    *,
    orders: Sequence[int] | None = None,
    input_delays: Alignment | None = None,
    folds: int = FOLDS,
) -> LinearModel:
    """A linear model whose forecasts of held-out stretches are the best, fitted to all of the data.

    Its first states are the outputs. `orders` are the numbers of states that are tried; without
    them the best ARX and N4SID, which may have more, are candidates too. `input_delays` has the
    steps after which each input acts; without it held-out forecasts choose them.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        task = _Task.of(data, folds)
        classic = _classic_models(task)
        numbers = _orders(orders, data.dim_y)
        alignments = [input_delays] if input_delays is not None else _alignments(task, numbers)
        found = _fit_all(task, numbers, alignments, classic["an ARX"])
        if orders is None and input_delays is None:
            found = joined([found, *(_classic(task, *each) for each in classic.items())])
        best = best_of(found)
        kind = found.kinds[best]
        training, held_out = task.signals(kind.alignment)
        models = found.models[best]
        model = realised(models, kind.alignment, training, held_out, task.normalisation)
        return replace(model, description=kind.words)


@dataclass(frozen=True)
class _Task:
    """The data, its folds, and the units of all of them."""

    data: Dataset
    parts: list[Dataset]
    normalisation: Normalisation

    @classmethod
    def of(cls, data: Dataset, folds: int) -> "_Task":
        parts = [part for part in cut_blocks(data, folds) if _is_usable(part)]
        if data.num_rows < SHORTEST or not parts:
            given = f"{data.num_rows} rows" if parts else "too many gaps in all folds"
            wanted = f"at least {SHORTEST} rows, with measurements of every output in each third"
            remedy = "`gpssm.linear.arx` needs less."
            raise DataError(expected("data of a linear model", given, wanted, remedy))
        return cls(data, parts, Normalisation.of(data))

    @property
    def training(self) -> list[Dataset]:
        """The training parts of the folds, and all of the data."""
        return [*(part.train for part in self.parts), self.data]

    def signals(self, alignment: Alignment) -> tuple[Runs, Runs]:
        """Of the training parts and all of the data, and of the held-out parts."""
        training, held_out = (
            [signals_of(each, self.normalisation, alignment) for each in sets]
            for sets in (self.training, [part.test for part in self.parts])
        )
        return training, held_out


def _is_usable(part: Dataset) -> bool:
    """Whether every output was measured on both sides of a fold."""
    return all(np.sum([r.measured for r in side], axis=0).all() for side in (part.train, part.test))


def _orders(given: Sequence[int] | None, outputs: int) -> list[int]:
    if given is None:
        return sorted({*(n for n in ORDERS if n >= outputs), outputs, outputs + 2})
    if not given or min(given) < outputs:
        raise DataError(expected("orders", list(given), f"numbers of states from {outputs}"))
    return sorted(set(given))


def _classic_models(task: _Task) -> dict[str, list[LinearModel]]:
    """The best ARX and the best N4SID, fitted to every fold and to all of the data."""
    order, bridge = arx_order(task.data)
    found = {"an ARX": [fit_arx(without_gaps(d) if bridge else d, order) for d in task.training]}
    with contextlib.suppress(np.linalg.LinAlgError), np.errstate(all="ignore"):
        # it has no states of outputs that never move
        subspace = n4sid_order(without_gaps(task.data))
        found["N4SID"] = [fit_n4sid(without_gaps(d), subspace) for d in task.training]
    return {
        name: [in_units_of(task.normalisation, model) for model in models]
        for name, models in found.items()
    }


def _alignments(task: _Task, orders: Sequence[int]) -> Sequence[Alignment]:
    return likely_alignments(task.parts, task.normalisation, task.data.dim_u, orders)


def _fit_all(
    task: _Task,
    orders: Sequence[int],
    alignments: Sequence[Alignment],
    arxs: Sequence[LinearModel],
) -> Candidates:
    """The candidates of these orders."""
    signals = {alignment: task.signals(alignment) for alignment in alignments}
    starts = {}
    for alignment, (training, _) in signals.items():
        subspace = [subspace_starts(runs, orders) for runs in training]
        for n in orders:
            if all(each[n] for each in subspace):
                starts[alignment, n, "N4SID"] = [each[n] for each in subspace]
            starts[alignment, n, "an ARX"] = [[reduced(arx, alignment, n)] for arx in arxs]
    trials = [Trial(*key, loss) for key, loss in product(starts, ("long", "short"))]
    trials += [Trial(*key, "one step") for key in starts if key[2] == "an ARX"]
    return fit_trials(trials, starts, Material.of(signals))


def _classic(task: _Task, name: str, fits: Sequence[LinearModel]) -> Candidates:
    """A model that was not fitted by forecasts, as one more candidate."""
    found = [without_feedthrough(model) for model in fits]
    models, alignment = [parameters for parameters, _ in found], found[0][1]
    _, held_out = task.signals(alignment)
    errors = np.array([_errors(m, runs) for m, runs in zip(models, held_out, strict=False)])
    words = f"{name}: {fits[-1].description}"
    return Candidates([Kind(alignment, words)], [models], errors[None, :, 0], errors[None, :, 1])


def _errors(model: Parameters, runs: Sequence[Signal]) -> tuple[float, float]:
    """Mean squares of forecasts: of whole stretches, and of the first steps of short ones."""
    near = [first_part(piece, NEAR) for piece in overlapping(runs, SHORT)]
    return mean_square(model, side_by_side(runs)), mean_square(model, near)
