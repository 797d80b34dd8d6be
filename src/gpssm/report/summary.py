"""The findings at the top of the report. Every sentence comes from a number of the report."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Literal, NamedTuple, get_args

import numpy as np
import pandas as pd
from jaxtyping import Float

from gpssm.data import Dataset
from gpssm.data.disk import blocks
from gpssm.evaluation.scoring import ARX, MEAN, Evaluation
from gpssm.metrics.reliability import HorizonBin
from gpssm.training import FAILED

Verdict = Literal["good", "caution", "problem"]
_EVEN = 0.02  # RMSEs closer than this share are called equal
_NEAR, _FAR = 0.03, 0.10  # limits on the error of the coverage
_MIDDLE = 0.12
_BIASED = 0.1  # distance of the mean PIT from one half
_RISING = 0.02  # nats per step over the last tenth of the training
_OUTSIDE = 0.01  # share of the test inputs
_OVERFITTED = 2.0  # times the error on those rows, in the test part
_UNDERFITTED = 2.0  # times the error of a linear model on those rows
_AS_MUCH = 0.5  # of the growth of a model's error, for that of a linear one to explain it


def percent(share: float, digits: int = 0) -> str:
    """Format a share as a percentage."""
    return f"{100.0 * share:.{digits}f} %"


class Finding(NamedTuple):
    """One sentence of the report, and its verdict."""

    verdict: Verdict
    text: str


_good, _caution, _problem = (partial(Finding, verdict) for verdict in get_args(Verdict))


def accuracy(evaluation: Evaluation, baselines: Mapping[str, Evaluation], unit: str) -> Finding:
    """Compare the error with the baselines: a constant mean and a linear ARX."""
    compared = (evaluation, *(baselines[name] for name in (MEAN, ARX)))
    rmse, mean, arx = (each.scores.overall("rmse") for each in compared)
    several = len(evaluation.scores.output_names) > 1
    what = "RMSE of all outputs, each relative to its spread in training," if several else "RMSE"
    words = f"{what} {rmse:.3g}{unit}, against {mean:.3g} of a constant mean and {arx:.3g} of a "
    words += "linear ARX"
    if rmse > mean * (1.0 - _EVEN):
        return _problem(f"{words}: no better than predicting the mean. Do not use this model.")
    if not np.isfinite(arx):
        return _good(f"{words}, which diverges.")
    if rmse > arx * (1.0 + _EVEN):
        return _caution(f"{words}: the linear model is more accurate here. Prefer it.")
    if rmse > arx * (1.0 - _EVEN):
        return _caution(f"{words}: no more accurate than the linear model.")
    return _good(f"{words}: {percent(1.0 - rmse / arx)} below the linear model.")


def unmeasured(name: str) -> Finding:
    """Report an output without measurements in the test part."""
    return _caution(f"{name} was not measured in the test part: it has no score.")


def calibration(coverage: float, profile: Sequence[HorizonBin]) -> Finding:
    """Whether the 95 % band covers 95 %, and from which step on it no longer does."""
    words = f"The 95 % band covers {percent(coverage)} of the measurements"
    off = coverage - 0.95
    since = _departure(profile, np.sign(off))
    where = f" beyond step {since}" if since else ""
    worst = min(profile, key=lambda each: each.coverage)
    if abs(off) <= _NEAR and worst.coverage < 0.95 - 1.5 * _FAR:
        span = f"{percent(worst.coverage)} in steps {worst.first} to {worst.last}"
        return _caution(f"{words}: correct on average, but only {span}.")
    if abs(off) <= _NEAR:
        return _good(f"{words}: the prediction intervals are calibrated.")
    if off > 0:
        return _caution(f"{words}: under-confident. The errors are smaller than the band suggests.")
    if off > -_FAR:
        return _caution(f"{words}: slightly over-confident{where}.")
    return _problem(f"{words}: over-confident{where}. Widen the band before you rely on it.")


def middle(coverage: float) -> Finding | None:
    """Whether the 50 % band is calibrated, which can differ from the 95 % band."""
    words = f"The 50 % band covers {percent(coverage)}"
    if coverage > 0.5 + _MIDDLE:
        return _caution(f"{words}: errors are mostly smaller than the model expects.")
    if coverage < 0.5 - _MIDDLE:
        return _caution(f"{words}: errors are mostly larger than the model expects.")
    return None


def _departure(profile: Sequence[HorizonBin], sign: float) -> int | None:
    """The step after which coverage stays off on that side; None if it is from the start."""
    good = [i for i, each in enumerate(profile) if sign * (each.coverage - 0.95) <= _NEAR]
    last = max(good, default=-1)
    return profile[last].last if 0 <= last < len(profile) - 1 else None


def bias(pit: np.ndarray, name: str) -> Finding | None:
    """Whether the forecasts are biased."""
    off = float(np.mean(pit)) - 0.5
    if abs(off) < _BIASED:
        return None
    side = "below" if off > 0 else "above"
    words = f"Forecasts of {name} lie {side} the measurements on average"
    return _caution(
        f"{words}. If the plant drifts, set half_life to give new rows more weight, or call "
        "data.remove_drift() in Python."
    )


def horizon(profile: Sequence[HorizonBin], name: str) -> Finding | None:
    """Whether the error grows with the horizon, and whether the band grows with it."""
    if len(profile) < 4:
        return None
    half = len(profile) // 2
    halves = profile[:half], profile[half:]
    early, late = (np.sqrt(np.mean([b.rmse**2 for b in part])) for part in halves)
    widths = [float(np.mean([b.width for b in part])) for part in halves]
    ratio, wider = late / max(early, 1e-300), widths[1] / max(widths[0], 1e-300)
    if ratio < 1.5:
        words = f"The error of {name} does not grow with the horizon: step {profile[-1].last} is "
        return _good(f"{words}forecast as well as the first ones.")
    words = f"The error of {name} grows {ratio:.1f}-fold from the first to the second half"
    if wider < 0.7 * ratio:
        return _caution(f"{words}, the band only {wider:.1f}-fold: late intervals are too narrow.")
    return _good(f"{words}, and the band grows with it.")


def whiteness(outside: int, lags: int, name: str) -> Finding:
    """Whether the one-step errors are autocorrelated."""
    share = outside / max(lags, 1)
    words = f"One-step errors of {name}: {outside} of {lags} autocorrelations outside the limits"
    if share <= 0.1:
        return _good(f"{words}. Nothing predictable is left.")
    advice = "short-term forecasts could be better; more states or a smaller k may help"
    return _caution(f"{words}: {advice}.")


def unexplained_input(outside: int, lags: int, output: str, given: str) -> Finding | None:
    """Whether the one-step errors are correlated with an input."""
    if outside <= 0.1 * lags:
        return None
    words = f"{given} still explains errors of {output} at {outside} of {lags} lags"
    return _caution(f"{words}: more states, longer sequences or more steps may help.")


def training(table: pd.DataFrame) -> list[Finding]:
    """Whether training had converged, and whether all steps were finite."""
    elbo = table["elbo"].to_numpy(float)
    tenth = max(len(elbo) // 10, 1)
    earlier = elbo[-2 * tenth : -tenth] if len(elbo) > 1 else elbo
    last, before = np.nanmean(elbo[-tenth:]), np.nanmean(earlier)
    found = []
    if last - before > _RISING:
        words = f"The ELBO still rose by {last - before:.2g} per step in the last tenth"
        found.append(_caution(f"{words} of the training: train longer."))
    skipped, rolled = (int(table[name].sum()) for name in ("skipped", "rolled_back"))
    if skipped or rolled:
        words = f"{skipped} of {len(elbo)} gradient steps were not finite"
        found.append(_caution(f"{words}, {rolled} roll-backs: lower the learning rate."))
    return found or [_good("Training has converged, and all its steps were finite.")]


def extrapolation(data: Dataset) -> list[Finding]:
    """Test inputs and outputs outside the range of the training part."""
    shares = {
        name: share
        for kind, names in (("u", data.input_names), ("y", data.output_names))
        for name, share in zip(names, _beyond(data, kind), strict=True)
    }
    return [
        _caution(
            f"{percent(share)} of the test values of {name} lie outside the training range: "
            "there the model extrapolates."
        )
        for name, share in shares.items()
        if share > _OUTSIDE
    ]


def _beyond(data: Dataset, kind: str) -> Float[np.ndarray, " channels"]:
    """Share of the test rows outside the training range; missing values count as inside."""
    low, high = np.inf, -np.inf
    for rows in _row_blocks(data.train, kind):
        low, high = np.fmin(low, rows).min(axis=0), np.fmax(high, rows).max(axis=0)
    beyond = sum(np.sum((r < low) | (r > high), axis=0) for r in _row_blocks(data.test, kind))
    return np.asarray(beyond / data.test.num_rows)


def _row_blocks(data: Dataset, kind: str) -> Iterator[Float[np.ndarray, "rows channels"]]:
    """All rows, one experiment or block in memory at a time."""
    return (rows for each in data for _, rows in blocks(getattr(each, kind)))


def best_seed(training_rmse: Mapping[int, float]) -> int | None:
    """The seed with the lowest error on its training rows; None if all have diverged."""
    finite = {seed: rmse for seed, rmse in training_rmse.items() if np.isfinite(rmse)}
    return min(finite, key=lambda seed: finite[seed], default=None)


def failed_seeds(training_rmse: Mapping[int, float]) -> dict[int, float]:
    """Seeds whose error on their training rows is much larger than that of the best."""
    best = best_seed(training_rmse)
    if best is None:
        return {}
    limit = FAILED * training_rmse[best]
    return {seed: rmse for seed, rmse in training_rmse.items() if not rmse <= limit}


def own_rows(
    seed: int, evaluations: Mapping[int, Evaluation], baselines: Mapping[str, Evaluation], unit: str
) -> Finding | None:
    """Compare errors on training rows and on the test part: underfitting, overfitting."""
    known = known_training_rmse(evaluations)
    if seed not in known:
        return None
    rmse = evaluations[seed].scores.overall("rmse")
    own, best = known[seed], best_seed(known)
    if not np.isfinite(own) or not np.isfinite(rmse):
        words = "Forecasts" if np.isfinite(own) else "Even rows of the training part"
        return _problem(f"{words} diverge: train with a smaller learning_rate.")
    words = f"Rows of the training part are simulated with an RMSE of {own:.3g}{unit}"
    if best is not None and seed in failed_seeds(known):
        other = f"{words}, by seed {best} with {known[best]:.3g}"
        advice = "Set `starts` to 3: failed restarts are discarded."
        return _problem(f"{other}: this fit has failed, even if its ELBO is high. {advice}")
    mean = baselines[MEAN].training_rmse
    if mean is not None and own >= mean:
        return _problem(f"{words}, by their mean with {mean:.3g}: nothing was learned.")
    linear_own = baselines[ARX].training_rmse
    if linear_own is not None and own > _UNDERFITTED * linear_own:
        advice = 'Train longer, with several `starts`, or from `start = "linear"`.'
        return _caution(
            f"{words}, by a linear ARX with {linear_own:.3g}: not yet learned. {advice}"
        )
    both, grown = f"{words}, the test part with {rmse:.3g}", rmse / own
    if grown <= _OVERFITTED:
        return _good(f"{both}: no sign of overfitting.")
    linear = _grown(baselines[ARX])
    if linear < max(_OVERFITTED, _AS_MUCH * grown):
        return _caution(f"{both}: overfitting. Use fewer steps, or a larger inducing_kl.")
    return _caution(
        f"{both}. The error of a linear model also grows {linear:.1f}-fold: the plant or its "
        "operation has changed. If it drifts, set half_life to give new rows more weight."
    )


def known_training_rmse(evaluations: Mapping[int, Evaluation]) -> dict[int, float]:
    """Error on training rows, of the seeds for which it is known."""
    found = {seed: each.training_rmse for seed, each in evaluations.items()}
    return {seed: rmse for seed, rmse in found.items() if rmse is not None}


def _grown(evaluation: Evaluation) -> float:
    """Error on the test part divided by that on training rows; 0 where one is unknown."""
    rmse = evaluation.scores.overall("rmse")
    if not evaluation.training_rmse or not np.isfinite(rmse):
        return 0.0
    return rmse / evaluation.training_rmse


def seeds(rmses: Sequence[float]) -> Finding | None:
    """Whether the result depends on the seed."""
    if len(rmses) < 2:
        return None
    spread = float(np.std(rmses, ddof=1) / np.mean(rmses))
    words = f"RMSE over {len(rmses)} seeds: {min(rmses):.3g} to {max(rmses):.3g}"
    if spread > 0.2:
        return _caution(f"{words}: the result depends on the seed.")
    return _good(f"{words}: the result does not depend on the seed.")
