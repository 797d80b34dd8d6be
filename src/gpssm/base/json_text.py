"""JSON by the standard, from plain values, named tuples and paths."""

import json
from pathlib import Path
from typing import Any


def as_json(content: Any) -> str:
    """JSON by the standard: a number that is not finite becomes null."""
    return json.dumps(_plain(content), indent=2, allow_nan=False, ensure_ascii=False)


def _plain(value: Any) -> Any:
    """Numbers, texts, lists and dictionaries that JSON knows."""
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if hasattr(value, "_asdict"):
        return _plain(value._asdict())
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, float):
        return value if value - value == 0.0 else None
    return str(value) if isinstance(value, Path) else value
