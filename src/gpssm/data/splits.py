"""Cutting experiments into training, validation and test parts."""

from collections.abc import Sequence
from dataclasses import replace

from gpssm.base.errors import DataError, expected
from gpssm.base.settings import nearest

from .experiment import PARTS, Experiment

Experiments = tuple[Experiment, ...]


def by_fraction(experiments: Experiments, train: float, validation: float) -> Experiments:
    """Cut every experiment in time, at fractions of its own length."""
    if not (train > 0 and validation >= 0 and train + validation <= 1 + 1e-12):
        given = f"train={train}, validation={validation}"
        raise DataError(expected("split", given, "fractions that sum to at most 1, train > 0"))
    _check_one_part(experiments, "split")
    borders = (train, train + validation)
    return _cut(experiments, [[round(b * len(each)) for b in borders] for each in experiments])


def by_row(experiments: Experiments, train_end: int, validation_end: int) -> Experiments:
    """Cut every experiment at the same two rows."""
    _check_one_part(experiments, "split_at")
    for each in experiments:
        if not 0 < train_end <= validation_end <= len(each):
            given = f"rows {train_end} and {validation_end}"
            wanted = f"increasing rows from 1 to {len(each)}, the length of {each.label}"
            raise DataError(expected("split_at", given, wanted, "Move the split."))
    return _cut(experiments, [[train_end, validation_end]] * len(experiments))


def by_experiment(
    experiments: Experiments,
    train: Sequence[str | int],
    validation: Sequence[str | int],
    test: Sequence[str | int] | None,
) -> Experiments:
    """Whole experiments, by name or position; None stands for all the rest."""
    _check_one_part(experiments, "split_experiments")
    chosen = {"train": train, "validation": validation, "test": test or ()}
    parts = {_index(experiments, key): part for part, keys in chosen.items() for key in keys}
    if len(parts) < sum(len(keys) for keys in chosen.values()):
        raise DataError(expected("split_experiments", "an experiment twice", "each one once"))
    left = [each.name for i, each in enumerate(experiments) if i not in parts]
    if left and test is not None:
        remedy = "Name them too, or leave `test` out: it is then all the rest."
        raise DataError(expected("split_experiments", f"no part for {left}", "all named", remedy))
    return tuple(replace(e, part=parts.get(i, "test")) for i, e in enumerate(experiments))


def _cut(experiments: Experiments, borders: Sequence[Sequence[int]]) -> Experiments:
    """Cut each experiment at its own two borders; empty parts are left out."""
    return tuple(
        each.cut(first, last, part)
        for each, (one, two) in zip(experiments, borders, strict=True)
        for part, first, last in zip(PARTS, (0, one, two), (one, two, len(each)), strict=True)
        if last > first
    )


def _check_one_part(experiments: Experiments, method: str) -> None:
    parts = sorted({each.part for each in experiments})
    if len(parts) > 1:
        given = f"data that is already split into {', '.join(parts)}"
        remedy = f"Call {method} on one part, for example data.train.{method}(...)."
        raise DataError(expected(method, given, "data in one part", remedy))


def _index(experiments: Experiments, key: str | int) -> int:
    """The position of an experiment that is given by name or by position."""
    names = [each.name for each in experiments]
    if isinstance(key, str) and key in names:
        return names.index(key)
    if not isinstance(key, str) and -len(names) <= key < len(names):
        return key % len(names)
    near = nearest(str(key), names, 0.6) or names[:5]
    wanted = f"the name or position of one of the {len(names)} experiments"
    raise DataError(expected("experiment", repr(key), wanted, f"Nearest: {near}."))
