"""The base of every group of settings: frozen, strict, and with errors in one readable line."""

import json
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, ValidationError
from pydantic_core import CoreSchema, PydanticKnownError, core_schema

from .errors import ConfigError

Own = TypeVar("Own", bound="Settings")


class Settings(BaseModel):
    """Named settings that validate themselves. A wrong one raises `ConfigError`."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=True, ser_json_inf_nan="strings"
    )

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


def _readable(owner: type[BaseModel], error: ValidationError) -> str:
    lines = []
    for problem in error.errors():
        field = ".".join(str(part) for part in problem["loc"]) or owner.__name__
        if problem["type"] == "extra_forbidden":
            known = ", ".join(sorted(owner.model_fields))
            lines.append(f"{field}: unknown setting. Expected one of: {known}.")
        elif problem["type"] == "value_error":
            lines.append(problem["msg"].removeprefix("Value error, "))
        else:
            wanted = problem["msg"].removeprefix("Input should be ")
            lines.append(f"{field}: got {problem['input']!r}, expected {wanted}.")
    return " ".join(lines)
