"""Writes the tables of settings.md from the fields of the settings.

    python docs/settings_tables.py

Each table stands between the comments `<!-- begin NAME -->` and `<!-- end NAME -->`. A test
compares the page with what this script would write.
"""

import re
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

import gpssm
from gpssm.settings import Settings
from gpssm.study import Search

PAGE = Path(__file__).with_name("settings.md")
TABLES: dict[str, type[Settings]] = {
    "Model": gpssm.Model,
    "Training": gpssm.Training,
    "Stage": gpssm.Stage,
    "Study": gpssm.Study,
    "Search": Search,
    "Cluster": gpssm.Cluster,
}
_BOUNDS = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}


def table(settings: type[Settings]) -> str:
    """One row per field: name, default, what is allowed, what it means."""
    rows = ["| setting | default | allowed | meaning |", "|---|---|---|---|"]
    for name, field in settings.model_fields.items():
        meaning = (field.description or "see below").replace("|", "\\|")
        default = "required" if field.is_required() else f"`{_value(field.default)}`"
        rows.append(f"| `{name}` | {default} | {_allowed(field)} | {meaning} |")
    return "\n".join(rows)


def updated(page: str) -> str:
    """The text of the page with fresh tables."""
    for name, settings in TABLES.items():
        begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
        if begin not in page or end not in page:
            raise SystemExit(f"{PAGE.name}: got no {begin} … {end}, expected a place for the table")
        fresh = f"{begin}\n\n{table(settings)}\n\n{end}"
        page = re.sub(f"{begin}.*?{end}", lambda _, text=fresh: text, page, flags=re.DOTALL)
    return page


def _value(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


def _allowed(field: FieldInfo) -> str:
    """The type, or the list of choices, with the bounds of a number."""
    parts = []
    for kind in _kinds(field.annotation):
        if get_origin(kind) is Literal:
            parts.append(", ".join(f"`{_value(choice)}`" for choice in get_args(kind)))
        else:
            parts.append("`None`" if kind is type(None) else f"{_type(kind)}{_bounds(field)}")
    return " or ".join(parts)


def _type(kind: Any) -> str:
    """The name of a type; of a collection, with the names of what it holds."""
    if get_origin(kind) is Annotated:
        return _type(get_args(kind)[0])
    inner = [_type(each) for each in get_args(kind) if each is not Ellipsis]
    return f"{kind.__name__} of {' to '.join(inner)}" if inner else str(kind.__name__)


def _kinds(annotation: Any) -> tuple[Any, ...]:
    """The members of a union, or the annotation itself."""
    return get_args(annotation) if get_origin(annotation) is UnionType else (annotation,)


def _bounds(field: FieldInfo) -> str:
    found = [
        f" {sign} {getattr(constraint, name):g}"
        for constraint in field.metadata
        for name, sign in _BOUNDS.items()
        if getattr(constraint, name, None) is not None
    ]
    return ",".join(found)


if __name__ == "__main__":
    PAGE.write_text(updated(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
