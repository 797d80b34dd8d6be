"""The base of every group of settings: frozen, strict, and with errors in one readable line."""

import difflib
import json
import math
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, ValidationError, model_validator
from pydantic_core import CoreSchema, PydanticKnownError, core_schema

from .errors import ConfigError

Own = TypeVar("Own", bound="Settings")


class Settings(BaseModel):
    """Named settings that validate themselves. A wrong one raises `ConfigError`."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=True, ser_json_inf_nan="strings"
    )

    @model_validator(mode="before")
    @classmethod
    def _no_switch_for_a_number(cls, values: Any) -> Any:
        """Refuse true and false where a number is expected: pydantic reads them as 1 and 0."""
        for name, value in values.items() if isinstance(values, dict) else ():
            field = cls.model_fields.get(name)
            if isinstance(value, bool) and field and _is_number(field.annotation):
                raise ValueError(f"{name}: got {str(value).lower()}, expected a number.")
        return values

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise ConfigError(_readable(type(self), error)) from None

    def to_json(self) -> dict[str, Any]:
        """As plain JSON, by the standard: an infinite number is the text "Infinity"."""
        return json.loads(self.model_dump_json())

    def replace(self: Own, **changes: Any) -> Own:
        """The same settings with some of them changed, validated again."""
        values = {name: getattr(self, name) for name in type(self).model_fields}
        return type(self)(**{**values, **changes})


def _is_number(annotation: Any) -> bool:
    """Whether a field takes a number, and no switch."""
    kinds = {annotation, *get_args(annotation)}
    return bool(kinds & {int, float}) and not kinds & {bool, Any}


class OneOf:
    """Allow the names of a registry, including names registered later."""

    def __init__(self, names: Mapping[str, Any]) -> None:
        self.names = names

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Check the name before its type."""
        return core_schema.no_info_before_validator_function(self._known, handler(source))

    def _known(self, value: Any) -> Any:
        if isinstance(value, str) and value in self.names:
            return value
        *others, last = (repr(name) for name in self.names)
        raise PydanticKnownError("literal_error", {"expected": f"{', '.join(others)} or {last}"})


def unknown_setting(field: str, known: Iterable[str]) -> str:
    """The message about an unknown name: the nearest ones, or all where none is near."""
    names = sorted(known)
    near = nearest(field.rpartition(".")[2], names)
    if near:
        return f"{field}: unknown setting. Nearest: {', '.join(near)}."
    return f"{field}: unknown setting. Expected one of: {', '.join(names)}."


def nearest(name: str, known: Iterable[str], alike: float = 0.65) -> list[str]:
    """At most three of the known names that look like this one, the nearest first.

    `alike` is how much, from 0 to 1 for the same; case makes no difference.
    """
    folded = {each.casefold(): each for each in known}
    found = difflib.get_close_matches(name.casefold(), list(folded), n=3, cutoff=alike)
    return [folded[each] for each in found]


_LIMITS = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than"}


def _limit(context: Mapping[str, Any]) -> str:
    """`at most 1000`, for a number outside of its bounds; else empty."""
    return "".join(
        f"{words} {context[kind]:.12g}" if math.isfinite(context[kind]) else "a number"
        for kind, words in _LIMITS.items()
        if kind in context
    )


def _readable(owner: type[BaseModel], error: ValidationError) -> str:
    lines = []
    for problem in error.errors():
        field = ".".join(str(part) for part in problem["loc"]) or owner.__name__
        if problem["type"] == "extra_forbidden":
            lines.append(unknown_setting(field, owner.model_fields))
        elif problem["type"] == "value_error":
            lines.append(problem["msg"].removeprefix("Value error, "))
        else:
            wanted = _limit(problem.get("ctx", {})) or problem["msg"].removeprefix(
                "Input should be "
            )
            lines.append(f"{field}: got {problem['input']!r}, expected {wanted}.")
    return " ".join(lines)
