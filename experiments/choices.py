"""What the searches say of the settings of Table 1.

For every cell that was searched: the lowest error of all candidates that were judged in the same
way, and that of the settings in use. Where another candidate had a lower one, that is seen. A
candidate whose forecasts of what was held out are less likely than a constant is none, unless all
of them are.
"""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import gpssm
from gpssm.report import markdown_table

from .config import DATASETS, CellSettings, gpssm_settings, read_config
from .files import read_json
from .pages import DOCS, TITLES, publish
from .tune import over_folds

_SEARCHED = ("pr-ssm", "cbf-ssm-1", "cbf-ssm-50")
COMPARED = (
    "steps", "learning_rate", "schedule", "inducing_kl", "state_kl", "half_life", "batch_size",
    "sequence_length",
)  # fmt: skip
_HEADER = [
    "data set", "method", "judged by", "candidates", "likelier than a constant",
    "their lowest error", "in use",
]  # fmt: skip
_OUTPUTS = {"tank": 2, "sarcos": 7}  # all others have one
_FOREVER = 1e6  # rows
_CONSTANT = -0.5 * (math.log(2.0 * math.pi) + 1.0)  # nats: mean and spread of an output are known


class Candidate(NamedTuple):
    """An error on what was held out, in units of the spread of the outputs."""

    rmse: float
    log_likelihood: float
    in_use: bool
    settings: tuple[Any, ...] = ()  # by which other judges know it


def write_choices(results: Path) -> list[Path]:
    """Into the page of the table, if the results are those of the repository."""
    return publish(results, DOCS, choices_table(read_config(), results / "tune"), "choices")


def choices_table(config: dict[str, Any], searches: Path) -> str:
    """A row for each way in which the settings of a cell were judged."""
    rows = []
    for name in DATASETS:
        for method in _SEARCHED:
            for judge, found in judged(config, searches, name, method).items():
                if any(each.in_use for each in found):
                    told = _compared(found, _CONSTANT * _OUTPUTS.get(name, 1))
                    rows.append([name, TITLES[method], _words(judge), *told])
    return markdown_table(_HEADER, rows, words=3)


def _compared(found: Sequence[Candidate], constant: float) -> list[str]:
    """How many there were, the lowest error of those that count, and that of the ones in use."""
    likely = [each for each in found if each.log_likelihood > constant]
    lowest = min(each.rmse for each in likely or found)
    used = min(each.rmse for each in found if each.in_use)
    above = f" (+{100 * (used / lowest - 1):.1f} %)" if used > lowest else ""
    return [str(len(found)), str(len(likely)), f"{lowest:.3f}", f"{used:.3f}{above}"]


def better_by_both(
    config: dict[str, Any], searches: Path, dataset: str, method: str, judges: tuple[str, str]
) -> list[tuple[Any, ...]]:
    """What both judges prefer to the settings in use, the lowest product of both errors first.

    Each is the values of `COMPARED` and the drift, of candidates that are likelier than a constant.
    """
    found = judged(config, searches, dataset, method)
    constant = _CONSTANT * _OUTPUTS.get(dataset, 1)
    errors: list[dict[tuple[Any, ...], float]] = []
    for judge in judges:
        used = min(each.rmse for each in found[judge] if each.in_use)
        better = [e for e in found[judge] if e.rmse < used and e.log_likelihood > constant]
        lowest = sorted(better, key=lambda each: -each.rmse)  # of the same one twice, the last
        errors.append({each.settings: each.rmse for each in lowest})
    first, second = errors
    return sorted(first.keys() & second.keys(), key=lambda each: first[each] * second[each])


def judged(
    config: dict[str, Any], searches: Path, dataset: str, method: str
) -> dict[str, list[Candidate]]:
    """All candidates of a cell, by what was held out: `folds=3`, `ahead=3of5`."""
    wanted = gpssm_settings(config, dataset, method)
    found: dict[str, list[Candidate]] = {}
    for path in sorted((searches / dataset / method).glob("*.json")):
        judge = path.name.partition(",")[0]
        found.setdefault(judge, []).extend(_candidates(read_json(path), judge, wanted))
    return found


def _candidates(record: dict[str, Any], judge: str, wanted: CellSettings) -> Iterator[Candidate]:
    """Those of one record that were scored on all that was held out."""
    settings = CellSettings(**record["settings"])
    assert settings.training is not None
    assert wanted.training is not None
    for point in record["points"]:
        scores = over_folds(point, judge.startswith("ahead"))
        if scores["rmse"] is None:
            continue
        tried = {
            key.partition(".")[2]: value
            for key, value in point["candidate"].items()
            if key.startswith("training.")
        }
        values = compared(settings.training.replace(**tried), settings.data.drift)
        used = compared(wanted.training, wanted.data.drift)
        in_use = values == used and settings.model == wanted.model
        yield Candidate(scores["rmse"], scores["log_likelihood"], in_use, values)


def compared(training: gpssm.Training, drift: float | None) -> tuple[Any, ...]:
    """The values of `COMPARED`, and the drift; a half-life that forgets nothing is none."""
    half_life = training.half_life
    forgets = half_life is not None and half_life < _FOREVER
    known = training.replace(half_life=half_life if forgets else None)
    return (*(getattr(known, key) for key in COMPARED), drift)


def _words(judge: str) -> str:
    """`folds=3` and `ahead=3of5` in words."""
    kind, _, number = judge.partition("=")
    held, _, count = number.partition("of")
    what = ("future" if kind == "ahead" else "fold") + ("s" if held != "1" else "")
    return f"{held} {what}" + (f" of {count}" if count else "")
