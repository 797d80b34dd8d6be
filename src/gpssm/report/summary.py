"""What to trust, in plain words. Every sentence comes from a number of the report."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float

from gpssm.data import Dataset
from gpssm.data.disk import blocks
from gpssm.prediction.calibration import HorizonBin
from gpssm.training import FAILED

from .evaluation import ARX, MEAN, Evaluation
from .tables import Scores

Verdict = Literal["good", "caution", "problem"]
_EVEN = 0.02  # RMSEs closer than this share are called equal
_NEAR, _FAR = 0.03, 0.10  # how far coverage may be off before words change
_MIDDLE = 0.12
_BIASED = 0.1  # distance of the mean PIT from one half
_RISING = 0.02  # nats per step over the last tenth of the training
_OUTSIDE = 0.01  # share of the test inputs
_OVERFITTED = 2.0  # times the error on those rows, in the test part
_UNDERFITTED = 2.0  # times the error of a linear model on those rows
_AS_MUCH = 0.5  # of the growth of a model's error, for that of a linear one to explain it


def percent(share: float, digits: int = 0) -> str:
    """A share as a reader writes it."""
    return f"{100.0 * share:.{digits}f} %"


class Finding(NamedTuple):
    """One sentence and whether it is good news."""

    verdict: Verdict
    text: str


def accuracy(evaluation: Evaluation, baselines: Mapping[str, Evaluation], unit: str) -> Finding:
    """The error beside those of a constant mean and a linear ARX."""
    compared = (evaluation, *(baselines[name] for name in (MEAN, ARX)))
    if len(evaluation.output_rmse) == 1:
        what, (rmse, mean, arx) = "RMSE", (each.scores.rmse for each in compared)
    else:  # which may have any units: one of large numbers is not to speak for the others
        what, unit = "RMSE of all outputs, each relative to its spread in training,", ""
        rmse, mean, arx = (_relative_rmse(each, baselines[MEAN]) for each in compared)
    words = f"{what} {rmse:.3g}{unit}, against {mean:.3g} of a constant mean and {arx:.3g} of a "
    words += "linear ARX"
    if rmse > mean * (1.0 - _EVEN):
        return Finding("problem", f"{words}: no better than predicting the mean. Do not use it.")
    if not np.isfinite(arx):
        return Finding("good", f"{words}, which diverges.")
    if rmse > arx * (1.0 + _EVEN):
        return Finding("caution", f"{words}: the linear model is more accurate here. Start there.")
    if rmse > arx * (1.0 - _EVEN):
        return Finding("caution", f"{words}: no more accurate than the linear model.")
    return Finding("good", f"{words}: {percent(1.0 - rmse / arx)} below the linear model.")


def _relative_rmse(evaluation: Evaluation, mean: Evaluation) -> float:
    """Over the outputs that were measured; the constant mean knows their spread in training."""
    spread = np.broadcast_to(mean.stretches[0].scored.forecast.noise_std, len(mean.output_rmse))
    known = [(rmse, std) for rmse, std in zip(evaluation.output_rmse, spread, strict=True)
             if rmse is not None]  # fmt: skip
    with np.errstate(over="ignore"):
        return float(np.sqrt(np.mean([np.square(rmse / std) for rmse, std in known])))


def unmeasured(name: str) -> Finding:
    """An output of which nothing can be said."""
    return Finding("caution", f"{name} was not measured in the test part: it is not judged.")


def calibration(coverage: float, profile: Sequence[HorizonBin]) -> Finding:
    """Whether the 95 % band covers 95 %, and from which step on it no longer does."""
    words = f"The 95 % band covers {percent(coverage)} of the measurements"
    off = coverage - 0.95
    since = _departure(profile, np.sign(off))
    where = f" beyond step {since}" if since else ""
    worst = min(profile, key=lambda each: each.coverage)
    if abs(off) <= _NEAR and worst.coverage < 0.95 - 1.5 * _FAR:
        span = f"{percent(worst.coverage)} in steps {worst.first} to {worst.last}"
        return Finding("caution", f"{words}: right on average, but only {span}.")
    if abs(off) <= _NEAR:
        return Finding("good", f"{words}: the error bars can be taken at their word.")
    if off > 0:
        return Finding("caution", f"{words}: cautious, the true errors are smaller than it says.")
    if off > -_FAR:
        return Finding("caution", f"{words}: slightly over-confident{where}.")
    return Finding(
        "problem", f"{words}: over-confident{where}. Widen the band before you rely on it."
    )


def middle(coverage: float) -> Finding | None:
    """Whether the 50 % band is as wide as it should be: 95 % may be right and this one not."""
    words = f"The 50 % band covers {percent(coverage)}"
    if coverage > 0.5 + _MIDDLE:
        return Finding("caution", f"{words}: errors are mostly smaller than the model expects.")
    if coverage < 0.5 - _MIDDLE:
        return Finding("caution", f"{words}: errors are mostly larger than the model expects.")
    return None


def _departure(profile: Sequence[HorizonBin], sign: float) -> int | None:
    """The step after which the coverage stays off to that side; None if it is so from the start."""
    good = [i for i, each in enumerate(profile) if sign * (each.coverage - 0.95) <= _NEAR]
    last = max(good, default=-1)
    return profile[last].last if 0 <= last < len(profile) - 1 else None


def bias(pit: np.ndarray, name: str) -> Finding | None:
    """Whether the measurements fall to one side of the forecasts."""
    off = float(np.mean(pit)) - 0.5
    if abs(off) < _BIASED:
        return None
    side = "below" if off > 0 else "above"
    words = f"Forecasts of {name} lie {side} the measurements on average"
    return Finding(
        "caution",
        f"{words}: if the plant drifts, a half_life lets new rows count more, and, in Python, "
        "data.remove_drift() takes out a level that moves.",
    )


def horizon(profile: Sequence[HorizonBin], name: str) -> Finding | None:
    """Whether the error grows with the horizon, and whether the band knows."""
    if len(profile) < 4:
        return None
    half = len(profile) // 2
    early, late = (np.sqrt(np.mean([b.rmse**2 for b in part])) for part in
                   (profile[:half], profile[half:]))  # fmt: skip
    widths = [float(np.mean([b.width for b in part])) for part in (profile[:half], profile[half:])]
    ratio, wider = late / max(early, 1e-300), widths[1] / max(widths[0], 1e-300)
    if ratio < 1.5:
        words = f"The error of {name} does not grow with the horizon: step {profile[-1].last} is "
        return Finding("good", f"{words}forecast as well as the first ones.")
    words = f"The error of {name} grows {ratio:.1f}-fold from the first to the second half"
    if wider < 0.7 * ratio:
        return Finding("caution", f"{words}, the band only {wider:.1f}-fold: distrust late steps.")
    return Finding("good", f"{words}, and the band grows with it.")


def whiteness(outside: int, lags: int, name: str) -> Finding:
    """Whether the past still tells something about the next error."""
    share = outside / max(lags, 1)
    words = f"One-step errors of {name}: {outside} of {lags} autocorrelations outside the limits"
    if share <= 0.1:
        return Finding("good", f"{words}. Nothing predictable is left.")
    advice = "short-term forecasts could be better; more states or a smaller k may help"
    return Finding("caution", f"{words}: {advice}.")


def unexplained_input(outside: int, lags: int, output: str, given: str) -> Finding | None:
    """Whether an input still explains errors."""
    if outside <= 0.1 * lags:
        return None
    words = f"{given} still explains errors of {output} at {outside} of {lags} lags"
    return Finding("caution", f"{words}: more states, longer sequences or more steps may help.")


def training(table: pd.DataFrame) -> list[Finding]:
    """Whether training had come to rest, and whether numbers were finite."""
    elbo = table["elbo"].to_numpy(float)
    tenth = max(len(elbo) // 10, 1)
    last, before = np.nanmean(elbo[-tenth:]), np.nanmean(elbo[-2 * tenth : -tenth] if len(elbo) > 1
                                                         else elbo)  # fmt: skip
    found = []
    if last - before > _RISING:
        words = f"The ELBO still rose by {last - before:.2g} per step in the last tenth"
        found.append(Finding("caution", f"{words} of the training: train longer."))
    skipped, rolled = (int(table[name].sum()) for name in ("skipped", "rolled_back"))
    if skipped or rolled:
        words = f"{skipped} of {len(elbo)} gradient steps were not finite"
        found.append(Finding("caution", f"{words}, {rolled} roll-backs: lower the learning rate."))
    return found or [Finding("good", "Training came to rest, and all its steps were finite.")]


def extrapolation(data: Dataset) -> list[Finding]:
    """Test inputs and outputs beyond all that was seen in training."""
    shares = {
        name: share
        for kind, names in (("u", data.input_names), ("y", data.output_names))
        for name, share in zip(names, _beyond(data, kind), strict=True)
    }
    return [
        Finding(
            "caution",
            f"{percent(share)} of the test values of {name} lie outside the training range: "
            "there the model extrapolates.",
        )
        for name, share in shares.items()
        if share > _OUTSIDE
    ]


def _beyond(data: Dataset, kind: str) -> Float[np.ndarray, " channels"]:
    """Share of the test rows outside the training range; a gap is in it."""
    low, high = np.inf, -np.inf
    for rows in _row_blocks(data.train, kind):
        low, high = np.fmin(low, rows).min(axis=0), np.fmax(high, rows).max(axis=0)
    beyond = sum(np.sum((r < low) | (r > high), axis=0) for r in _row_blocks(data.test, kind))
    return np.asarray(beyond / data.test.num_rows)


def _row_blocks(data: Dataset, kind: str) -> Iterator[Float[np.ndarray, "rows channels"]]:
    """All rows, of which as much is in memory at a time as an experiment or a block of it."""
    return (rows for each in data for _, rows in blocks(getattr(each, kind)))


def best_seed(training_rmse: Mapping[int, float]) -> int | None:
    """The one that simulates the rows it was trained on best; None where all have diverged."""
    finite = {seed: rmse for seed, rmse in training_rmse.items() if np.isfinite(rmse)}
    return min(finite, key=lambda seed: finite[seed], default=None)


def failed_seeds(training_rmse: Mapping[int, float]) -> dict[int, float]:
    """Seeds that simulate the rows they were trained on much worse than the best one does."""
    best = best_seed(training_rmse)
    if best is None:  # none is better than another
        return {}
    limit = FAILED * training_rmse[best]
    return {seed: rmse for seed, rmse in training_rmse.items() if not rmse <= limit}


def own_rows(
    seed: int,
    evaluations: Mapping[int, Evaluation],
    baselines: Mapping[str, Evaluation],
    unit: str,
) -> Finding | None:
    """Whether a seed simulates the rows that it was trained on, and the test part as well."""
    known = known_training_rmse(evaluations)
    if seed not in known:
        return None
    own, rmse, best = known[seed], evaluations[seed].scores.rmse, best_seed(known)
    if not np.isfinite(own) or not np.isfinite(rmse):
        words = (
            "Forecasts diverge" if np.isfinite(own) else "Even rows of the training part diverge"
        )
        return Finding("problem", f"{words}: train with a smaller learning_rate.")
    words = f"Rows of the training part are simulated with an RMSE of {own:.3g}{unit}"
    if best is not None and seed in failed_seeds(known):
        other = f"{words}, by seed {best} with {known[best]:.3g}"
        advice = "With several `starts` such a one is not kept."
        return Finding("problem", f"{other}: this fit has failed, whatever its ELBO says. {advice}")
    mean = baselines[MEAN].scores.training_rmse
    if mean is not None and own >= mean:
        return Finding("problem", f"{words}, by their mean with {mean:.3g}: nothing was learned.")
    linear_own = baselines[ARX].scores.training_rmse
    if linear_own is not None and own > _UNDERFITTED * linear_own:
        advice = 'Train longer, with several `starts`, or from `start = "linear"`.'
        return Finding(
            "caution", f"{words}, by a linear ARX with {linear_own:.3g}: not yet learned. {advice}"
        )
    both, grown = f"{words}, the test part with {rmse:.3g}", rmse / own
    if grown <= _OVERFITTED:
        return Finding("good", f"{both}: no sign of over-fitting.")
    linear = _grown(baselines[ARX].scores)
    if linear < max(_OVERFITTED, _AS_MUCH * grown):
        return Finding(
            "caution", f"{both}: over-fitted. Use fewer steps, or a heavier inducing_kl."
        )
    return Finding(
        "caution",
        f"{both}. A linear model, too, is {linear:.1f} times worse there: the plant, or what is "
        "done with it, has changed. If it drifts, a half_life lets new rows count more.",
    )


def known_training_rmse(evaluations: Mapping[int, Evaluation]) -> dict[int, float]:
    """Of the seeds whose training rows were long enough to be simulated."""
    found = {seed: each.scores.training_rmse for seed, each in evaluations.items()}
    return {seed: rmse for seed, rmse in found.items() if rmse is not None}


def _grown(scores: Scores) -> float:
    """Error of the test part over that of the training rows; 0 where that says nothing."""
    if not scores.training_rmse or not np.isfinite(scores.rmse):
        return 0.0
    return scores.rmse / scores.training_rmse


def seeds(rmses: Sequence[float]) -> Finding | None:
    """Whether the result depends on luck."""
    if len(rmses) < 2:
        return None
    spread = float(np.std(rmses, ddof=1) / np.mean(rmses))
    words = f"RMSE over {len(rmses)} seeds: {min(rmses):.3g} to {max(rmses):.3g}"
    if spread > 0.2:
        return Finding("caution", f"{words}: the result depends on the seed.")
    return Finding("good", f"{words}: it does not depend on the seed.")
