"""Scores of forecasts: every metric, per output and pooled over the outputs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from gpssm.base.extremes import in_unit, ordinary_unit

from .metric import Sample
from .mixture import Values, namespace
from .table import metrics


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of forecasts: `scores["rmse"]` has one value per output, in the units of the data.

    `pooled` has one value over all outputs, each of them in units of its spread in training.
    """

    output_names: tuple[str, ...]
    values: Mapping[str, Float[np.ndarray, " outputs"]]
    pooled: Mapping[str, float]

    def __getitem__(self, metric: str) -> Float[np.ndarray, " outputs"]:
        return self.values[metric]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values)

    def overall(self, metric: str) -> float:
        """Overall score: in units of the data for one output, else pooled over outputs."""
        values = self.values[metric]
        return float(values[0]) if len(values) == 1 else self.pooled[metric]

    def to_json(self) -> dict[str, Any]:
        """Plain numbers by output and metric."""
        outputs = {
            name: {metric: float(values[d]) for metric, values in self.values.items()}
            for d, name in enumerate(self.output_names)
        }
        return {"outputs": outputs, "pooled": dict(self.pooled)}

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> "Scores":
        """The inverse of `to_json`; null is a number that was not finite."""
        outputs = content["outputs"]
        names = {metric: None for each in outputs.values() for metric in each}
        values = {
            metric: np.array([_number(each.get(metric)) for each in outputs.values()])
            for metric in names
        }
        pooled = {metric: _number(value) for metric, value in content["pooled"].items()}
        return cls(tuple(outputs), values, pooled)

    def __str__(self) -> str:
        rows = [f"{'':22}" + "".join(f"{name:>14}" for name in self.output_names)]
        for name, metric in metrics().items():
            cells = "".join(f"{metric.text(value):>14}" for value in self.values[name])
            rows.append(f"{metric.label:22}{cells}")
        return "\n".join(rows)


def score(samples: Sequence[Sample], output_names: tuple[str, ...] = ()) -> Scores:
    """All metrics over all steps of all samples; missing measurements are ignored."""
    known = np.concatenate([each.known for each in samples])
    y = np.concatenate([each.y for each in samples])
    names = output_names or tuple(f"y{d + 1}" for d in range(y.shape[1]))
    # an unstable baseline may diverge, and an output that was not measured has no score
    with np.errstate(all="ignore"):
        unit = ordinary_unit(np.where(known, y, 0.0))
        own = variation(in_unit(y, unit), known)
        samples = [_in_unit(each, unit)._replace(variation=own) for each in samples]
        values, pooled = {}, {}
        for name, metric in metrics().items():
            # One sample after the other: the particles of all need not be in memory.
            parts = [metric.formula(each) for each in samples]
            found = metric.per_output(np.concatenate(parts), known)
            values[name] = metric.from_unit(found, unit)
            relative = [metric.in_spreads(*pair) for pair in zip(parts, samples, strict=True)]
            pooled[name] = float(metric.pooled(np.concatenate(relative), known))
    return Scores(names, values, pooled)


def _in_unit(sample: Sample, unit: Float[np.ndarray, " outputs"]) -> Sample:
    fields = ("particles", "noise", "y", "spread")
    return sample._replace(**{name: in_unit(getattr(sample, name), unit) for name in fields})


def _number(value: float | None) -> float:
    return np.nan if value is None else float(value)


def variation(y: Values, known: Values) -> Float[Values, "1 outputs"]:
    """√(1/T Σt (y[t] − ȳ)²) of every output."""
    xp = namespace(y)
    count = xp.sum(known, axis=0, keepdims=True)
    mean = xp.sum(xp.where(known, y, 0.0), axis=0, keepdims=True) / count
    apart = xp.where(known, xp.square(y - mean), 0.0)
    return xp.sqrt(xp.sum(apart, axis=0, keepdims=True) / count)
