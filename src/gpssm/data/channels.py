"""Channels: their names and units, and whether the experiments of a data set have them."""

from collections.abc import Mapping, Sequence

from gpssm.base.errors import DataError, expected

from .experiment import Experiment


def check_same_channels(experiments: Sequence[Experiment]) -> None:
    """Raise unless all experiments have the channels of the first."""
    first = experiments[0]
    for each in experiments:
        if (each.u.shape[1], each.y.shape[1]) != (first.u.shape[1], first.y.shape[1]):
            given = f"{each.u.shape[1]} inputs and {each.y.shape[1]} outputs"
            wanted = f"{first.u.shape[1]} and {first.y.shape[1]} as in {first.label}"
            raise DataError(expected(each.label, given, wanted))


def check_measured(
    experiments: Sequence[Experiment], output_names: Sequence[str], source: str = ""
) -> None:
    """Raise if an output or an experiment has no measurement."""
    measured = [each.measured for each in experiments]
    for channel, name in enumerate(output_names):
        if not any(counts[channel] for counts in measured):
            where, given = f"{source}output {name!r}", "missing values only"
            remedy = "Leave this output out, or check how the file marks its values."
            raise DataError(expected(where, given, "measured values", remedy))
    for each, counts in zip(experiments, measured, strict=True):
        if not counts.any():
            remedy = "Leave this experiment out."
            raise DataError(expected(source + each.label, "no output value at all", "some", remedy))


def numbered(prefix: str, count: int) -> tuple[str, ...]:
    """Names for channels that have none: u, or u1, u2, …"""
    return (prefix,) if count == 1 else tuple(f"{prefix}{i + 1}" for i in range(count))


def labels(names: Sequence[str], field: str, count: int) -> tuple[str, ...]:
    """Names or units of the channels; raise unless there is one for each."""
    if isinstance(names, str) or len(names) != count:
        raise DataError(expected(field, repr(names), f"{count} of them, one per entry"))
    return tuple(str(name) for name in names)


def units_of(columns: Sequence[str], units: Mapping[str, str]) -> tuple[str, ...]:
    """The unit of each column; one given for `y` holds for `y[0]`, `y[1]`, …"""
    return tuple(units.get(column, units.get(column.split("[")[0], "")) for column in columns)


def common_units(found: Sequence[tuple[str, Mapping[str, str]]]) -> dict[str, str]:
    """The units that files name; raise if two of them differ."""
    known: dict[str, str] = {}
    for source, units in found:
        for column, unit in units.items():
            if known.setdefault(column, unit) != unit:
                where, wanted = f"{source}, column {column!r}", f"{known[column]!r} as before"
                remedy = "Convert the values of one file, so that all have the same unit."
                raise DataError(expected(where, f"the unit {unit!r}", wanted, remedy))
    return known


def with_units(names: Sequence[str], units: Sequence[str]) -> list[str]:
    """Names of channels, each with its unit where it has one: `level [cm]`."""
    return [f"{n} [{u}]" if u else n for n, u in zip(names, units, strict=True)]


def check_units(names: Sequence[str], known: Sequence[str], given: Sequence[str]) -> None:
    """Raise if channels have other units than those in training; unknown ones are accepted."""
    for name, ours, theirs in zip(names, known, given, strict=False):
        if ours and theirs and ours != theirs:
            wanted, remedy = f"{ours!r}, as in training", "Convert the values, or correct the unit."
            raise DataError(expected(f"unit of {name!r}", repr(theirs), wanted, remedy))
