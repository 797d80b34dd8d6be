"""The verdict on a fitted model: use it or not, why, and the next command.

All thresholds of the verdict are here, and in docs/report.md.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from gpssm.base.text import percent
from gpssm.data import Dataset
from gpssm.data.preflight import OUTSIDE, constant_outputs, inputs_outside
from gpssm.evaluation.scoring import ARX, MEAN, Evaluation
from gpssm.metrics.residuals import Series, autocorrelation, ljung_box

Level = Literal["do not use", "use with care", "use", "not tested"]
Remedy = Literal["restart", "calibrate", "more states", "more test rows", "look", "forecast"]

# do not use
WORSE_THAN_MEAN = 1.0  # RMSE relative to the constant mean's, above which
WORSE_THAN_LINEAR = 1.05  # RMSE relative to the linear ARX's, above which
LEAST_COVERAGE = 0.70  # of the 95 % interval, below which
# use with care
NO_BETTER = 1.0  # RMSE relative to that of the better baseline, from which on
COVERAGE = 0.85, 0.995  # of the 95 % interval, outside of which
WHITE_P = 0.01  # p-value of Ljung and Box, below which errors are not white, and …
WHITE_SIZE = 0.2  # … their largest autocorrelation, above which: with many rows p is always small
FEWEST = 30  # measurements of every output in the test part, below which nothing is certain

LAGS = 25  # of a correlation
_PAIRS_PER_LAG = 4  # the p-value is that of at most a quarter as many lags as errors


class Reason(NamedTuple):
    """Why: a stable word for programs, and a sentence without its full stop."""

    cause: str
    text: str


class Verdict(NamedTuple):
    """The level, its reasons, and a command that can be run as it stands ("": none is known)."""

    level: Level
    reasons: tuple[Reason, ...]
    next_step: str = ""

    def __str__(self) -> str:
        return f"{self.level}: {'; '.join(each.text for each in self.reasons)}."

    def to_json(self) -> dict[str, object]:
        """Level, reasons and next step under stable names."""
        reasons = [reason._asdict() for reason in self.reasons]
        return {"level": self.level, "reasons": reasons, "next_step": self.next_step}


class Whiteness(NamedTuple):
    """One-step errors of an output: the p-value of Ljung and Box, the largest autocorrelation."""

    p_value: float
    largest: float

    @property
    def is_white(self) -> bool:
        """Whether chance makes such errors, or what is left in them is small."""
        return not (self.p_value < WHITE_P and self.largest > WHITE_SIZE)


class Evidence(NamedTuple):
    """The numbers that a verdict is made of; those of several outputs are pooled in the RMSEs."""

    rmse: float
    mean: float  # the RMSE of a constant mean
    linear: float  # the RMSE of a linear ARX
    coverage: Mapping[str, float]  # of the 95 % interval, by output
    measured: int  # values of the output that was measured least
    outside: Mapping[str, float] = {}  # share of the test rows, by input
    innovations: Mapping[str, Whiteness] = {}  # by output
    constant: tuple[str, ...] = ()  # outputs that are constant in training
    finite: bool = True  # all scores of the model
    learned: bool = True  # the rows that it was trained on, as well as a linear ARX
    label: str = "RMSE"
    unit: str = ""

    @property
    def error(self) -> str:
        """The RMSE in words."""
        return f"its {self.label} of {self.rmse:.3g}{self.unit}"

    @property
    def worst_covered(self) -> str:
        """The output whose coverage is furthest off; those beyond the limits come first."""
        low, high = COVERAGE
        off = {k: (not low <= c <= high, abs(c - 0.95)) for k, c in self.coverage.items()}
        return max(off, key=lambda name: off[name])


def not_tested(commands: Mapping[Remedy, str] | None = None) -> Verdict:
    """The verdict on a model without a test part."""
    reason = Reason("not tested", "there is no test part, so nothing is known of its forecasts")
    return Verdict("not tested", (reason,), (commands or {}).get("more test rows", ""))


def decide(evidence: Evidence, commands: Mapping[Remedy, str] | None = None) -> Verdict:
    """The verdict that follows from the numbers; `commands`: what may be done next."""
    level: Level
    if refused := tuple(_refusals(evidence)):
        level, reasons = "do not use", refused
    elif cautions := tuple(_cautions(evidence)):
        level, reasons = "use with care", cautions
    else:
        level, reasons = "use", (_accuracy(evidence),)
    return Verdict(level, reasons, (commands or {}).get(_remedy(evidence, reasons), ""))


def _remedy(evidence: Evidence, reasons: Sequence[Reason]) -> Remedy:
    """That of the first reason.

    If the model has learned its own rows, no training helps where the test leaves their range.
    """
    remedy = _REMEDIES[reasons[0].cause]
    beyond = evidence.learned and any(_extrapolation(evidence.outside))
    return "look" if remedy == "restart" and beyond else remedy


_REMEDIES: dict[str, Remedy] = {
    "diverged": "restart",
    "mean": "restart",
    "linear": "restart",
    "coverage": "calibrate",
    "few rows": "more test rows",
    "constant output": "look",
    "extrapolation": "look",
    "innovations": "more states",
    "accurate": "forecast",
}


def _refusals(evidence: Evidence) -> Iterator[Reason]:
    """Why the model is not to be used."""
    rmse, mean, linear, *_ = evidence
    if not (evidence.finite and np.isfinite([rmse, *evidence.coverage.values()]).all()):
        yield Reason("diverged", "its forecasts diverge: their scores are not finite")
        return
    if rmse > WORSE_THAN_MEAN * mean:
        yield Reason("mean", f"{evidence.error} is above the {mean:.3g} of a constant mean")
    elif rmse > WORSE_THAN_LINEAR * linear:
        yield Reason("linear", f"{evidence.error} is above the {linear:.3g} of a linear ARX")
    if evidence.coverage[evidence.worst_covered] < LEAST_COVERAGE:
        yield _coverage(evidence, evidence.worst_covered)


def _cautions(evidence: Evidence) -> Iterator[Reason]:
    """Why the model is to be used with care."""
    if evidence.measured < FEWEST:
        words = f"{evidence.measured} measurements of an output in the test part are too few"
        yield Reason("few rows", f"{words} to tell ({FEWEST} are needed)")
    for name in evidence.constant:
        yield Reason("constant output", f"{name} is constant in training: nothing was learned")
    for cause, name, rmse in (
        ("linear", "linear ARX", evidence.linear),
        ("mean", "constant mean", evidence.mean),
    ):
        if evidence.rmse >= NO_BETTER * rmse:
            yield Reason(cause, f"{evidence.error} is not below the {rmse:.3g} of a {name}")
            break
    highest = COVERAGE[1] if evidence.measured >= FEWEST else 1.0  # few are all covered by chance
    if not COVERAGE[0] <= evidence.coverage[evidence.worst_covered] <= highest:
        yield _coverage(evidence, evidence.worst_covered)
    yield from _extrapolation(evidence.outside)
    if coloured := {k: each for k, each in evidence.innovations.items() if not each.is_white}:
        name = max(coloured, key=lambda each: coloured[each].largest)
        size = f"autocorrelation up to {coloured[name].largest:.2f}, p < {WHITE_P:g}"
        yield Reason("innovations", f"one-step errors of {name} are not white ({size})")


def _extrapolation(outside: Mapping[str, float]) -> Iterator[Reason]:
    beyond = sorted((-share, name) for name, share in outside.items() if share > OUTSIDE)
    if beyond:
        share, name = beyond[0]
        more = f" (and of {len(beyond) - 1} more inputs)" if len(beyond) > 1 else ""
        words = f"{percent(-share)} of the test values of {name}{more}"
        yield Reason("extrapolation", f"{words} lie outside of the training range")


def _accuracy(evidence: Evidence) -> Reason:
    """Why the model can be used: its error and its interval."""
    is_linear = np.isfinite(evidence.linear)
    name, rmse = ("linear ARX", evidence.linear) if is_linear else ("constant mean", evidence.mean)
    words = f"{evidence.error} is {percent(1.0 - evidence.rmse / rmse)} below that of a {name}"
    lowest = percent(min(evidence.coverage.values()))
    return Reason("accurate", f"{words}, and its 95 % interval covers {lowest} of the measurements")


def _coverage(evidence: Evidence, name: str) -> Reason:
    share = evidence.coverage[name]
    words = f"the 95 % interval of {name} covers {percent(share, 1)} of its measurements"
    return Reason("coverage", f"{words}: it is too {'wide' if share > 0.95 else 'narrow'}")


# ---------------------------------------------------------------------- where the numbers are from


def gather(
    evaluation: Evaluation,
    baselines: Mapping[str, Evaluation],
    train: Dataset,
    test: Dataset,
    errors: Sequence[Float[np.ndarray, "time outputs"]],
) -> Evidence:
    """The evidence on a model that was trained on `train`, from its forecasts of `test`.

    Outputs without a measurement in the test part say nothing. The RMSE is that of all outputs,
    each relative to its spread in training; the coverage is told output by output. `errors` are
    those of one-step forecasts, record by record; there may be none.
    """
    names, scores = train.output_names, evaluation.scores
    unit = train.output_units[0] if len(names) == 1 else ""
    scored = {names[d]: d for d in evaluation.measured}
    checked = scored if errors else {}
    return Evidence(
        rmse=scores.overall("rmse"),
        mean=baselines[MEAN].scores.overall("rmse"),
        linear=baselines[ARX].scores.overall("rmse"),
        coverage={name: scores["coverage"][d] for name, d in scored.items()},
        measured=min(_measured(evaluation, d) for d in evaluation.measured),
        outside=inputs_outside(train, test),
        innovations={name: whiteness([e[:, d] for e in errors]) for name, d in checked.items()},
        constant=tuple(name for name in constant_outputs(train) if name in scored),
        finite=all(np.isfinite(scores["log_likelihood"][d]) for d in evaluation.measured),
        learned=_has_learned(evaluation.training_rmse, baselines[ARX].training_rmse),
        label="RMSE" if len(names) == 1 else "normalised RMSE of all outputs",
        unit=f" {unit}" if unit else "",
    )


def _has_learned(own: float | None, linear: float | None) -> bool:
    """Whether the error on training rows is not above that of a linear ARX; too few rows: yes."""
    return own is None or linear is None or not own > WORSE_THAN_LINEAR * linear


def whiteness(errors: Series) -> Whiteness:
    """Whether one-step errors of an output are white, over as many lags as their number allows."""
    known = sum(int(np.sum(~np.isnan(each))) for each in errors)
    lags = max(min(LAGS, known // _PAIRS_PER_LAG), 1)
    largest = np.max(np.abs(autocorrelation(errors, lags)[1:]))
    return Whiteness(ljung_box(errors, lags), largest)


def _measured(evaluation: Evaluation, output: int) -> int:
    """Number of scored measurements of an output."""
    return sum(int(np.sum(~np.isnan(each.y[:, output]))) for each in evaluation.open_loop)
