"""What a study is: fixed settings, those that are searched, and what a good one is."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Field, model_validator

from gpssm.errors import ConfigError, expected
from gpssm.inference import Model
from gpssm.inference.presets import METHODS
from gpssm.settings import Settings
from gpssm.training import Training

Objective = Literal["rmse", "log_likelihood"]
OBJECTIVES: tuple[str, ...] = get_args(Objective)
SECTIONS: dict[str, type[Settings]] = {"model": Model, "training": Training}
_FIXED = {  # what a study decides itself
    "training.validation_metric": "Set the `objective` of the study.",
    "model.name": "Search `method`.",
    "model.physics": "Equations are code: call gpssm.fit_candidates.",
}


class Range(Settings):
    """Numbers from `low` to `high`, whole ones if both are; `log`: evenly in their logarithm."""

    low: int | float = Field(description="the smallest value")
    high: int | float = Field(description="the largest value")
    log: bool = Field(False, description="evenly spread in the logarithm")

    @model_validator(mode="after")
    def _in_order(self) -> "Range":
        if not self.low < self.high:
            raise ValueError(expected("range", f"{self.low} to {self.high}", "low < high"))
        if self.log and self.low <= 0:
            raise ValueError(expected("range", f"log from {self.low}", "low > 0"))
        return self

    @property
    def whole(self) -> bool:
        """Whether it is one of integers."""
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

    kind: Literal["grid", "random", "optuna"] = Field("grid", description="how they are chosen")
    configurations: int = Field(20, ge=1, description="how many; a grid has all combinations")
    seed: int = Field(0, ge=0, description="of the choice; the fits have `seeds` of their own")
    at_once: int = Field(4, ge=1, description="configurations that Optuna proposes at a time")
    method: tuple[str, ...] = Field((), description="methods to choose from")
    model: Searched = Field({}, description="settings of gpssm.Model to choose")
    training: Searched = Field({}, description="settings of gpssm.Training to choose")

    @model_validator(mode="after")
    def _something(self) -> "Search":
        space = self.space
        if not space:
            raise ValueError(
                expected("search", "nothing to choose", "settings, such as learning_rate = [0.03]")
            )
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
    """Fits of many configurations on data sets and seeds, judged on a part that is held out."""

    method: str = Field("cbf-ssm-50", description="one of the presets")
    seeds: int = Field(1, ge=1, description="fits of each configuration, from the seeds 0, 1, …")
    objective: Objective = Field("rmse", description="the score that decides what is best")
    validation: float = Field(
        0.2, gt=0, lt=1, description="last part of the training data, on which it is scored"
    )
    side_by_side: int = Field(
        8, ge=1, description="fits in one program, at most; seeds stay together"
    )
    model: dict[str, Any] = Field({}, description="fixed settings of gpssm.Model")
    training: dict[str, Any] = Field({}, description="fixed settings of gpssm.Training")
    search: Search = Field(description="what is searched")

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
                raise ValueError(expected(twice[0], "fixed and searched", "one of both", remedy))
        return self


def _check_name(name: str, kind: type[Settings]) -> None:
    """A setting that exists, and that is the user's to choose."""
    if name in _FIXED:
        raise ConfigError(expected(name, "a setting", "none", _FIXED[name]))
    if name.partition(".")[2] not in kind.model_fields:
        known = ", ".join(sorted(kind.model_fields))
        raise ConfigError(f"{name}: unknown setting. Expected one of: {known}.")
