"""Plain values as TOML, which Python reads but does not write."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any


def to_toml(table: Mapping[str, Any]) -> str:
    """Scalars first, then one `[section]` per dictionary; None is left out."""
    kept = {key: value for key, value in table.items() if value is not None}
    scalars = {key: value for key, value in kept.items() if not isinstance(value, Mapping)}
    lines = [f"{_key(key)} = {_value(value)}" for key, value in scalars.items()]
    for key, section in kept.items():
        if isinstance(section, Mapping):
            lines += ["", f"[{_key(key)}]"]
            entries = ((name, value) for name, value in section.items() if value is not None)
            lines += [f"{_key(name)} = {_value(value)}" for name, value in entries]
    return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        pairs = (f"{_key(k)} = {_value(v)}" for k, v in value.items() if v is not None)
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, Sequence):
        return f"[{', '.join(_value(each) for each in value)}]"
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    return repr(value)


def _key(key: str) -> str:
    bare = key.replace("-", "").replace("_", "")
    return key if bare.isascii() and bare.isalnum() else _text(key)


def _text(text: str) -> str:
    """A basic string. TOML wants one more character escaped than JSON does."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
