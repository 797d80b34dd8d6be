"""Interface of a metric: a formula over forecasts and measurements, and how to read it.

A formula returns a value for every time step and output. These are averaged over what was measured,
per output or over all outputs, and `finish` makes the score of the average.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from jaxtyping import Bool, Float

from .mixture import Values, namespace

LEVEL = 0.95  # of the intervals that are scored


class Sample(NamedTuple):
    """A forecast as a mixture of Gaussians, and the measurements."""

    particles: Float[Values, "particles time outputs"]
    noise: Float[Values, "#time outputs"]  # standard deviation of every component
    y: Float[Values, "time outputs"]
    known: Bool[Values, "time outputs"]
    spread: Float[Values, "1 outputs"]  # of the outputs in training
    variation: Float[Values, "1 outputs"]  # of the measured outputs

    @property
    def error(self) -> Float[Values, "time outputs"]:
        """E y − y."""
        return namespace(self.y).mean(self.particles, axis=0) - self.y

    def normalised(self) -> "Sample":
        """The same in units of the spread in training, in which outputs can be pooled."""
        particles, noise, y, known, spread, variation = self
        one = namespace(spread).ones_like(spread)
        return Sample(
            particles / spread[None], noise / spread, y / spread, known, one, variation / spread
        )


Formula = Callable[[Sample], Float[Values, "time outputs_or_one"]]


def _unchanged(average: Any) -> Any:
    return average


@dataclass(frozen=True)
class Metric:
    """A score of forecasts: its name, its formula, and how to read it."""

    name: str  # in JSON, in tables of numbers, and as `validation_metric`
    label: str  # for people
    formula: Formula
    better: Literal["lower", "higher", "nominal"]
    unit: Literal["data", "spread", "nats", "share", "%"]
    place: int  # among the columns of a table
    digits: str = ".4g"
    finish: Callable[[Any], Any] = _unchanged
    joint: Formula | None = None  # over all outputs at once, where that is not an average
    power: int | None = None  # of the unit in the values of the formula; None: not known

    @property
    def selects(self) -> bool:
        """Whether its values rank forecasts."""
        return self.better != "nominal"

    @property
    def is_ratio(self) -> bool:
        """Whether it is an error of which shares are compared, not differences."""
        return self.unit in ("data", "spread")

    def per_output(self, parts: Values, known: Bool[Values, "time outputs"]) -> Values:
        """The scores of every output from the values of its formula at all time steps."""
        return self.finish(_average(parts, known, axis=0))

    def pooled(self, parts: Values, known: Bool[Values, "time outputs"]) -> Values:
        """One score from the values of its (joint) formula at all time steps."""
        if self.joint is not None:
            known = namespace(known).any(known, axis=1, keepdims=True)
        return self.finish(_average(parts, known, axis=None))

    def in_spreads(self, values: Values, sample: Sample) -> Values:
        """The values of the formula for the sample in spreads; `values`: those in its own units."""
        if self.joint is not None or self.power is None:
            return (self.joint or self.formula)(sample.normalised())
        return values / sample.spread**self.power

    def from_unit(self, values: Values, unit: Float[Values, " outputs"]) -> Values:
        """Scores per output that were found in another unit, in that of the data."""
        if self.unit == "data":
            return values * unit
        return values - namespace(unit).log(unit) if self.unit == "nats" else values

    def loss(self, value: Any) -> Any:
        """The smaller the better."""
        return -value if self.better == "higher" else value

    def text(self, value: float) -> str:
        """For a table; a dash where there is no value."""
        return "–" if value != value else format(value, self.digits)

    def title(self, unit: str = "") -> str:
        """The label with the unit of an output, where the metric has it."""
        return f"{self.label} [{unit}]" if unit and self.unit == "data" else self.label


def _average(values: Values, known: Bool[Values, "..."], axis: int | None) -> Values:
    """The mean over what is known; NaN where nothing is."""
    xp = namespace(values)
    return xp.sum(xp.where(known, values, 0.0), axis=axis) / xp.sum(known, axis=axis)
