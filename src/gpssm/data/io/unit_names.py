"""Recognise units of measurement, to tell a row of units from a row of names."""

import re
from collections.abc import Sequence

_PREFIXED = "s|g|m|V|A|W|Hz|N|Nm|Pa|K|J|rad|bar|mol|Ohm|ohm|Ω|T|H|F|L|l|S|C|lm|lx|cd|Wh|Ah|VA|bit|B"
_FIXED = (
    "min|h|hr|hrs|sec|secs|seconds|second|minutes|hours|day|days|d|deg|degree|degrees|degC|degF|"
    "celsius|kelvin|volt|volts|ampere|amps|watt|newton|pascal|metre|meter|metres|meters|"
    "°|°C|°F|%|‰|ppm|rpm|RPM|U|rev|psi|in|ft|lb|lbs|kn|kt|mph|kph|dB|pH|g|t|ha|gal|cycles|"
    "counts|count|ticks|mH2O|mmHg|atm"
)
_ONE = rf"(?:[yzafpnuµμmcdhkMGTP]|da)?(?:{_PREFIXED})|{_FIXED}|1"
_POWER = r"(?:\^?\*{0,2}\(?[-+]?\d\)?|[²³]|⁻[¹²])?"
_UNIT = re.compile(rf"(?:{_ONE}){_POWER}(?:\s*[*·/. ]\s*\(?(?:{_ONE}){_POWER}\)?)*")
_NONE = ("-", "--", "—", "none", "n/a", "unitless", "bool", "boolean", "[]", "()", "-/-")
_BRACKETS = re.compile(r"\[(.*)\]|\((.*)\)|<(.*)>")


def as_unit(cell: str) -> str | None:
    """The unit that a cell names, "" for no unit; None if it names something else."""
    text = cell.strip()
    inside = _BRACKETS.fullmatch(text)
    if inside:
        text = next(group for group in inside.groups() if group is not None).strip()
    if not text or text.casefold() in _NONE:
        return ""
    known = _UNIT.fullmatch(text) or (len(text) > 3 and _UNIT.fullmatch(text.casefold()))
    return text if inside or known else None


def unit_row(cells: Sequence[str]) -> list[str] | None:
    """The units of a row; None unless most of its cells name one."""
    units = [as_unit(cell) for cell in cells]
    real = [unit for unit, cell in zip(units, cells, strict=True) if cell]
    if 2 * sum(unit is not None for unit in real) <= len(real) or not any(units):
        return None
    return [cell.strip() if unit is None else unit for unit, cell in zip(units, cells, strict=True)]
