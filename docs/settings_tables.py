"""Writes the tables of settings.md from the fields of the settings.

    python docs/settings_tables.py

Each table stands between the comments `<!-- begin NAME -->` and `<!-- end NAME -->`. The settings
that people change first have a table of their own; the other tables leave them out. A test compares
the page with what this script would write.
"""

import re
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

import gpssm
from gpssm.base.settings import OneOf, Settings
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
FIRST = {
    "Model": [
        "dim_x",
        "k",
        "lag",
        "inducing_points",
        "kernel",
        "particles",
        "start",
        "function_draw",
    ],
    "Training": [
        "steps",
        "learning_rate",
        "sequence_length",
        "batch_size",
        "starts",
        "half_life",
        "state_kl",
    ],
}
_BOUNDS = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}


def tables() -> dict[str, str]:
    """All tables by name: the settings to change first, then the others of each group."""
    first = ["| setting | of | default | allowed | meaning |", "|---|---|---|---|---|"]
    for group, names in FIRST.items():
        fields = TABLES[group].model_fields
        first += [_row(name, fields[name], f"`{group}` | ") for name in names]
    others = {group: _others(group, settings) for group, settings in TABLES.items()}
    return {"First": "\n".join(first), **others}


def _others(group: str, settings: type[Settings]) -> str:
    rows = ["| setting | default | allowed | meaning |", "|---|---|---|---|"]
    left = settings.model_fields.items()
    rows += [_row(name, field) for name, field in left if name not in FIRST.get(group, ())]
    return "\n".join(rows)


def _row(name: str, field: FieldInfo, group: str = "") -> str:
    """One field: name, default, what is allowed, what it means."""
    meaning = (field.description or "see below").replace("|", "\\|")
    default = "required" if field.is_required() else f"`{_value(field.default)}`"
    return f"| `{name}` | {group}{default} | {_allowed(field)} | {meaning} |"


def updated(page: str) -> str:
    """The text of the page with fresh tables."""
    for name, table in tables().items():
        begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
        if begin not in page or end not in page:
            raise SystemExit(f"{PAGE.name}: got no {begin} … {end}, expected a place for the table")
        fresh = f"{begin}\n\n{table}\n\n{end}"
        page = re.sub(f"{begin}.*?{end}", lambda _, text=fresh: text, page, flags=re.DOTALL)
    return page


def _value(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


def _allowed(field: FieldInfo) -> str:
    """The type, or the list of choices, with the bounds of a number."""
    registered = [each.names for each in field.metadata if isinstance(each, OneOf)]
    parts = []
    for kind in _kinds(field.annotation):
        if get_origin(kind) is Literal or registered:
            choices = registered[0] if registered else get_args(kind)
            parts.append(", ".join(f"`{_value(choice)}`" for choice in choices))
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
    return get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)


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
