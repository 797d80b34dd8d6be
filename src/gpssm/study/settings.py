"""Settings of a study: what is fixed, what is searched, and the objective."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from gpssm.base.errors import ConfigError, expected
from gpssm.base.settings import Settings, unknown_setting
from gpssm.inference import Model
from gpssm.inference.methods.registry import METHODS
from gpssm.metrics import selecting_metric
from gpssm.training import Training

SECTIONS: dict[str, type[Settings]] = {"model": Model, "training": Training}
_FIXED = {  # set by the study itself
    "training.validation_metric": "Set the `objective` of the study.",
    "model.name": "Search `method`.",
    "model.physics": "Equations are code: call gpssm.fit_candidates.",
}


class Range(Settings):
    """Numbers from `low` to `high`, integers if both are; `log`: uniform in the logarithm."""

    low: int | float = Field(ge=-1e12, le=1e12, description="the smallest value")
    high: int | float = Field(ge=-1e12, le=1e12, description="the largest value")
    log: bool = Field(False, description="uniform in the logarithm")

    @model_validator(mode="after")
    def _in_order(self) -> "Range":
        if not self.low < self.high:
            raise ValueError(expected("range", f"{self.low} to {self.high}", "low < high"))
        if self.log and self.low <= 0:
            raise ValueError(expected("range", f"log from {self.low}", "low > 0"))
        return self

    @property
    def whole(self) -> bool:
        """Whether the values are integers."""
        return isinstance(self.low, int) and isinstance(self.high, int)

    @property
    def ends(self) -> tuple[int | float, int | float]:
        """The smallest and the largest value."""
        return self.low, self.high


Values = Range | tuple[Any, ...]


def _values(given: Any) -> Values:
    """A list of choices, or a range."""
    if isinstance(given, Range):
        return given
    if isinstance(given, Mapping):
        return Range(**given)
    if isinstance(given, list | tuple) and given:
        return tuple(given)
    wanted = "a list of values, or {low = …, high = …}"
    raise ValueError(expected("searched setting", repr(given), wanted))


Searched = dict[str, Annotated[Any, BeforeValidator(_values)]]


class Search(Settings):
    """Which settings are searched, and how."""

    kind: Literal["grid", "random", "optuna"] = Field("grid", description="search algorithm")
    configurations: int = Field(
        20, ge=1, le=1_000_000, description="to try; a grid tries all combinations"
    )
    seed: int = Field(
        0, ge=0, le=2**32 - 1, description="of the search; fits have their own `seeds`"
    )
    at_once: int = Field(4, ge=1, le=10_000, description="proposals of Optuna per round")
    method: tuple[str, ...] = Field((), description="methods to search")
    model: Searched = Field({}, description="settings of gpssm.Model to search")
    training: Searched = Field({}, description="settings of gpssm.Training to search")

    @model_validator(mode="after")
    def _something(self) -> "Search":
        space = self.space
        if not space:
            wanted = "settings, such as learning_rate = [0.03]"
            raise ValueError(expected("search", "nothing to search", wanted))
        for name, values in space.items():
            if self.kind == "grid" and isinstance(values, Range):
                remedy = "Or search with kind = 'random'."
                raise ValueError(expected(f"search.{name}", "a range", "a list in a grid", remedy))
        return self

    @property
    def space(self) -> dict[str, Values]:
        """`training.learning_rate` → its values; `method` has no section."""
        space: dict[str, Values] = {"method": self.method} if self.method else {}
        for section in SECTIONS:
            space |= {f"{section}.{key}": v for key, v in getattr(self, section).items()}
        return space


class Study(Settings):
    """Fits of many configurations on data sets and seeds, scored on held-out data."""

    method: str = Field("cbf-ssm-50", description="name of the method")
    seeds: int = Field(
        1, ge=1, le=1000, description="fits of each configuration, with the seeds 0, 1, …"
    )
    objective: str = Field("rmse", description="name of the metric to optimise")
    validation: float = Field(
        0.2, gt=0, lt=1, description="last part of the training data, held out for the objective"
    )
    side_by_side: int = Field(
        8, ge=1, le=10_000, description="largest number of fits in one program; seeds stay together"
    )
    model: dict[str, Any] = Field({}, description="fixed settings of gpssm.Model")
    training: dict[str, Any] = Field({}, description="fixed settings of gpssm.Training")
    search: Search = Field(description="the settings to search")

    @field_validator("objective")
    @classmethod
    def _tells_better_from_worse(cls, name: str) -> str:
        return selecting_metric(name, "objective").name

    @model_validator(mode="after")
    def _known(self) -> "Study":
        for method in (self.method, *self.search.method):
            if method not in METHODS:
                wanted = f"one of {', '.join(METHODS)}"
                raise ValueError(expected("method", repr(method), wanted))
        searched = self.search.space
        for section, kind in SECTIONS.items():
            fixed = [f"{section}.{key}" for key in getattr(self, section)]
            for name in (*fixed, *(name for name in searched if name.startswith(f"{section}."))):
                _check_name(name, kind)
            if twice := sorted(searched.keys() & set(fixed)):
                remedy = "Take it out of one of them."
                raise ValueError(expected(twice[0], "fixed and searched", "one of the two", remedy))
        return self


def _check_name(name: str, kind: type[Settings]) -> None:
    """Raise unless the setting exists and the study does not set it."""
    if name in _FIXED:
        raise ConfigError(expected(name, "a setting", "none", _FIXED[name]))
    if name.partition(".")[2] not in kind.model_fields:
        raise ConfigError(unknown_setting(name, kind.model_fields))
