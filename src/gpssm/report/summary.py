"""The findings at the top of the report. Every sentence comes from a number of the report."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from gpssm.base.extremes import root_mean_square
from gpssm.base.text import percent
from gpssm.data import Dataset
from gpssm.data.preflight import OUTSIDE, inputs_outside, outputs_outside
from gpssm.evaluation.scoring import ARX, MEAN, Evaluation
from gpssm.metrics.reliability import HorizonBin
from gpssm.training import FAILED

from .findings import Finding, caution, good, inconclusive, problem, severity
from .verdict import (
    COVERAGE,
    FEWEST,
    LEAST_COVERAGE,
    NO_BETTER,
    WHITE_P,
    WORSE_THAN_LINEAR,
    WORSE_THAN_MEAN,
    Evidence,
    Whiteness,
)

# Fewer than these are too few to tell: nothing good is said of them.
FEW_COVERED = 100  # measurements, for intervals that are called calibrated
FEW_PIT = 30  # measurements, for a bias and for the 50 % band
FEW_ERRORS = 100  # one-step errors, for white ones
FEW_STEPS = 40  # measurements, for the growth of an error
FEW_TRAINED = 50  # gradient steps, for convergence
FEW_SEEDS = 3

_NOTHING = "nothing was learned"
_SMALLER_STEPS = "train with a smaller learning_rate"
_NOTHING_LEFT = "nothing predictable is left"
_NEAR, _FAR = 0.03, 0.10  # limits on the error of the coverage
_MIDDLE = 0.12
_BIASED = 0.1  # distance of the mean PIT from one half
_RISING = 0.02  # nats per step over the last tenth of the training
_OVERFITTED = 2.0  # times the error on those rows, in the test part
_UNDERFITTED = 2.0  # times the error of a linear model on those rows
_AS_MUCH = 0.5  # of the growth of a model's error, for that of a linear one to explain it


def accuracy(evidence: Evidence, unmeasured: Sequence[str] = ()) -> Finding:
    """Compare the error with the baselines: a constant mean and a linear ARX."""
    rmse, mean, linear, *_ = evidence
    label = f"{evidence.label[0].upper()}{evidence.label[1:]}"
    words = f"{label} {rmse:.3g}{evidence.unit}, against {mean:.3g} of a constant mean and"
    words = f"{words} {linear:.3g} of a linear ARX"
    found = _compared(evidence, words)
    if not unmeasured:
        return found
    text = f"{found.text} {', '.join(unmeasured)} was not measured in the test part: it has no"
    return found._replace(text=f"{text} score.", mark=max(found.mark, "caution", key=severity))


def _compared(evidence: Evidence, words: str) -> Finding:
    rmse, mean, linear, *_ = evidence
    if not rmse <= WORSE_THAN_MEAN * mean:
        words = f"{words}: worse than predicting the mean. Do not use this model."
        return problem("accuracy", words)
    if rmse > WORSE_THAN_LINEAR * linear:
        return problem("accuracy", f"{words}: the linear model is more accurate here. Prefer it.")
    if rmse >= NO_BETTER * linear:
        return caution("accuracy", f"{words}: no more accurate than the linear model.")
    if evidence.constant:
        names = ", ".join(evidence.constant)
        words = f"{words}: {names} is constant in training, so nothing could be learned of it."
        return caution("accuracy", words)
    if evidence.measured < FEWEST:
        few = f"{evidence.measured} measurements are too few to tell which is better"
        return inconclusive("accuracy", f"{words}: {few}.")
    if not np.isfinite(linear):
        return good("accuracy", f"{words}, which diverges.")
    return good("accuracy", f"{words}: {percent(1.0 - rmse / linear)} below the linear model.")


def calibration(coverage: float, profile: Sequence[HorizonBin], name: str) -> Finding:
    """Whether the 95 % band of an output covers 95 %, and from which step on it no longer does."""
    words = f"The 95 % band of {name} covers {percent(coverage)} of its measurements"
    off, measured = coverage - 0.95, sum(each.known for each in profile)
    since = _departure(profile, np.sign(off))
    where = f" beyond step {since}" if since else ""
    worst = min(profile, key=lambda each: each.coverage)
    if measured < FEW_COVERED and coverage >= COVERAGE[0]:
        return inconclusive("interval", f"{words}, but {measured} of them are too few to tell.")
    if abs(off) <= _NEAR and worst.coverage < 0.95 - 1.5 * _FAR:
        span = f"{percent(worst.coverage)} in steps {worst.first} to {worst.last}"
        return caution("growing", f"{words}: correct on average, but only {span}.")
    if abs(off) <= _NEAR:
        return good("interval", f"{words}: the prediction intervals are calibrated.")
    if off > 0:
        advice = "under-confident. The errors are smaller than the band suggests."
        return caution("wide", f"{words}: {advice}")
    if coverage >= COVERAGE[0]:
        return caution("narrow", f"{words}: slightly over-confident{where}.")
    mark = caution if coverage >= LEAST_COVERAGE else problem
    return mark("narrow", f"{words}: over-confident{where}. Widen the band before you rely on it.")


def middle(coverage: float, measured: int) -> Finding | None:
    """Whether the 50 % band is calibrated, which can differ from the 95 % band."""
    if measured < FEW_PIT:
        return None
    words = f"The 50 % band covers {percent(coverage)}"
    if coverage > 0.5 + _MIDDLE:
        return caution("middle", f"{words}: errors are mostly smaller than the model expects.")
    if coverage < 0.5 - _MIDDLE:
        return caution("middle", f"{words}: errors are mostly larger than the model expects.")
    return None


def _departure(profile: Sequence[HorizonBin], sign: float) -> int | None:
    """The step after which coverage stays off on that side; None if it is from the start."""
    good = [i for i, each in enumerate(profile) if sign * (each.coverage - 0.95) <= _NEAR]
    last = max(good, default=-1)
    return profile[last].last if 0 <= last < len(profile) - 1 else None


def bias(pit: np.ndarray, name: str) -> Finding | None:
    """Whether the forecasts are biased."""
    off = np.mean(pit) - 0.5
    if abs(off) < _BIASED or len(pit) < FEW_PIT:
        return None
    side = "below" if off > 0 else "above"
    words = f"Forecasts of {name} lie {side} the measurements on average"
    return caution(
        "bias",
        f"{words}. If the plant drifts, set half_life to give new rows more weight, or call "
        "data.remove_drift() in Python.",
    )


def horizon(profile: Sequence[HorizonBin], name: str) -> Finding | None:
    """Whether the error grows with the horizon, and whether the band grows with it."""
    if len(profile) < 4 or sum(each.known for each in profile) < FEW_STEPS:
        return None
    half = len(profile) // 2
    halves = profile[:half], profile[half:]
    early, late = (root_mean_square(np.array([b.rmse for b in part])) for part in halves)
    widths = [float(np.mean([b.width for b in part])) for part in halves]
    ratio, wider = late / max(early, 1e-300), widths[1] / max(widths[0], 1e-300)
    if ratio < 1.5:
        words = f"The error of {name} does not grow with the horizon: step {profile[-1].last} is "
        return good("interval", f"{words}forecast as well as the first ones.")
    words = f"The error of {name} grows {ratio:.1f}-fold from the first to the second half"
    if wider < 0.7 * ratio:
        advice = "late intervals are too narrow."
        return caution("growing", f"{words}, the band only {wider:.1f}-fold: {advice}")
    return good("interval", f"{words}, and the band grows with it.")


def innovations(found: Whiteness, errors: int, name: str) -> Finding:
    """Whether the one-step errors are white; only of enough `errors` is that said."""
    p = "p < 0.001" if found.p_value < 0.001 else f"p = {found.p_value:.2g}"
    size = f"largest autocorrelation {found.largest:.2f}, {p}"
    if not found.is_white:
        advice = "short-term forecasts could be better; more states or a smaller k may help"
        return caution("coloured", f"One-step errors of {name} are not white ({size}): {advice}.")
    if errors < FEW_ERRORS:
        return inconclusive(
            "dynamics", f"{errors} one-step errors of {name} are too few to tell more."
        )
    if found.p_value < WHITE_P:  # many errors, of which hardly anything can be told before
        words = f"One-step errors of {name} are nearly white ({size})"
        return good("dynamics", f"{words}: little predictable is left.")
    return good("dynamics", f"One-step errors of {name} are white ({size}): {_NOTHING_LEFT}.")


def unexplained_input(outside: int, lags: int, output: str, given: str) -> Finding | None:
    """Whether the one-step errors are correlated with an input."""
    if outside <= 0.1 * lags:
        return None
    words = f"{given} still explains errors of {output} at {outside} of {lags} lags"
    return caution("input", f"{words}: more states, longer sequences or more steps may help.")


def training(table: pd.DataFrame) -> list[Finding]:
    """Whether training had converged, and whether all steps were finite."""
    elbo = table["elbo"].to_numpy()
    tenth = max(len(elbo) // 10, 1)
    earlier = elbo[-2 * tenth : -tenth] if len(elbo) > 1 else elbo
    last, before = np.nanmean(elbo[-tenth:]), np.nanmean(earlier)
    found = []
    if last - before > _RISING:
        words = f"The ELBO still rose by {last - before:.2g} per step in the last tenth"
        found.append(caution("rising", f"{words} of the training: train longer."))
    skipped, rolled = (table[name].sum() for name in ("skipped", "rolled_back"))
    if skipped or rolled:
        words = f"{skipped} of {len(elbo)} gradient steps were not finite"
        advice = f"{rolled} roll-backs: lower the learning rate."
        found.append(caution("skipped", f"{words}, {advice}"))
    if not found and len(elbo) < FEW_TRAINED:
        return [
            inconclusive("training", f"{len(elbo)} training steps are too few to tell convergence.")
        ]
    return found or [good("training", "Training has converged, and all its steps were finite.")]


def extrapolation(data: Dataset) -> list[Finding]:
    """Test inputs and outputs outside the range of the training part."""
    shares = inputs_outside(data.train, data.test) | outputs_outside(data.train, data.test)
    beyond = sorted((-share, name) for name, share in shares.items() if share > OUTSIDE)
    return [
        caution(
            "outside",
            f"{percent(-share)} of the test values of {name} lie outside the training range: "
            "there the model extrapolates.",
        )
        for share, name in beyond
    ]


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
    seed: int,
    evaluations: Mapping[int, Evaluation],
    baselines: Mapping[str, Evaluation],
    unit: str,
    measured: int,
) -> Finding | None:
    """Compare errors on training rows and on the test part: underfitting, overfitting.

    `measured`: the number of measurements in the test part.
    """
    known = known_training_rmse(evaluations)
    if seed not in known:
        return None
    rmse, own = evaluations[seed].scores.overall("rmse"), known[seed]
    if np.isfinite(own) and not np.isfinite(rmse):
        return problem("diverged", f"Forecasts diverge: {_SMALLER_STEPS}.")
    if found := unlearned(seed, known, baselines, unit):
        return found
    both = f"{_simulated(own, unit)}, the test part with {rmse:.3g}"
    return _generalisation(both, rmse / own, _grown(baselines[ARX]), measured)


def unlearned(
    seed: int, known: Mapping[int, float], baselines: Mapping[str, Evaluation], unit: str
) -> Finding | None:
    """Whether a seed simulates even its training rows badly; `known`: the RMSEs of all seeds."""
    own, best = known[seed], best_seed(known)
    if not np.isfinite(own):
        return problem("diverged", f"Even rows of the training part diverge: {_SMALLER_STEPS}.")
    words = _simulated(own, unit)
    if best is not None and seed in failed_seeds(known):
        other = f"{words}, by seed {best} with {known[best]:.3g}"
        advice = "Set `starts` to 3: failed restarts are discarded."
        return problem(
            "failed", f"{other}: this fit has failed, even if its ELBO is high. {advice}"
        )
    mean = baselines[MEAN].training_rmse
    if mean is not None and own >= mean:
        return problem("nothing learned", f"{words}, by their mean with {mean:.3g}: {_NOTHING}.")
    linear_own = baselines[ARX].training_rmse
    if linear_own is not None and own > _UNDERFITTED * linear_own:
        advice = 'Train longer, with several `starts`, or from `start = "linear"`.'
        words = f"{words}, by a linear ARX with {linear_own:.3g}: not yet learned."
        return caution("unlearned", f"{words} {advice}")
    return None


def _simulated(rmse: float, unit: str) -> str:
    return f"Rows of the training part are simulated with an RMSE of {rmse:.3g}{unit}"


def _generalisation(both: str, grown: float, linear: float, measured: int) -> Finding:
    """Whether the error grows from training rows to the test part, and that of a linear model."""
    if grown <= _OVERFITTED and measured < FEWEST:
        return inconclusive("training", f"{both}: {measured} measurements are too few to compare.")
    if grown <= _OVERFITTED:
        return good("training", f"{both}: no sign of overfitting.")
    if linear < max(_OVERFITTED, _AS_MUCH * grown):
        advice = "Use fewer steps, or a larger inducing_kl."
        return caution("overfitting", f"{both}: overfitting. {advice}")
    return caution(
        "changed",
        f"{both}. The error of a linear model also grows {linear:.1f}-fold: the plant or its "
        "operation has changed. If it drifts, set half_life to give new rows more weight.",
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
    spread = np.std(rmses, ddof=1) / np.mean(rmses)
    words = f"RMSE over {len(rmses)} seeds: {min(rmses):.3g} to {max(rmses):.3g}"
    if spread > 0.2:
        return caution("seeds", f"{words}: the result depends on the seed.")
    if len(rmses) < FEW_SEEDS:
        return None
    return good("training", f"{words}: the result does not depend on the seed.")
