"""A report whose numbers no training made: two inputs, two outputs, two experiments."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from gpssm import Dataset, Forecast, Normalisation, Run, Training, pr_ssm
from gpssm.evaluation.scoring import ARX, MEAN, Evaluation, Stretch
from gpssm.gp.positive import raw_positive
from gpssm.gp.sparse import InducingPosterior
from gpssm.metrics import Scored, Scores, metrics
from gpssm.report.learned import Axis, LearnedFunction
from gpssm.report.report_data import ReportInput, Residuals
from gpssm.report.verdict import Reason, Verdict
from gpssm.training import History
from support import linear_system

A = np.array([[0.8, 0.1, 0.0], [-0.1, 0.7, 0.2], [0.0, 0.3, 0.5]])
B = np.array([[0.3, -0.2], [0.5, 0.1], [0.4, 0.6]])
UNITS = Normalisation(
    np.array([1.0, 5.0]), np.array([2.0, 0.5]), np.array([7.0, -3.0]), np.array([30.0, 0.1])
)
INDUCING_STD = 0.1 * np.arange(1.0, 16.0).reshape(3, 5)
PROCESS, SENSOR = np.array([0.01, 0.04, 0.09]), np.array([0.16, 0.25])


def make_run(seed=3, **settings) -> Run:
    """x[t+1] = A x + B u + noise, of which the values at z = 2 I are known but for a spread."""
    config = pr_ssm(dim_x=3, warmup=3, particles=5, **settings)
    system = linear_system(config, A, B, PROCESS, SENSOR, np.ones(3))
    gp = system.model.transition.gp
    q = InducingPosterior(
        gp.posterior.mean, raw_positive(jnp.asarray(INDUCING_STD)), False, "diagonal"
    )
    system = eqx.tree_at(lambda s: s.model.transition.gp.posterior, system, q)
    columns = {"elbo": np.ones(60), "state_kl": np.zeros(60), "learning_rate": np.full(60, 0.1)}
    flags = {"skipped": np.zeros(60, bool), "rolled_back": np.zeros(60, bool)}
    return Run(system, UNITS, Training(), seed, History.from_columns({**columns, **flags}))


def make_data(rows=40, train=20) -> Dataset:
    rng = np.random.default_rng(0)
    y = [rng.standard_normal((rows, 2)) for _ in range(2)]
    u = [rng.standard_normal((rows, 2)) for _ in range(2)]
    return Dataset.from_arrays(
        y, u, sampling_time=0.5, name="plant", input_names=("pump", "valve"),
        output_names=("level", "flow"), input_units=("V", ""), output_units=("cm", ""),
        experiment_names=("mon", "tue"),
    ).split_at(train)  # fmt: skip


def make_scores(value, names) -> Scores:
    """All metrics of all outputs have this value, and the pooled ones twice as much."""
    values = {name: np.full(len(names), value) for name in metrics()}
    return Scores(tuple(names), values, dict.fromkeys(metrics(), 2.0 * value))


def make_evaluation(test, value, warmup=2, training=None, **more) -> Evaluation:
    """Forecasts that are off by `value`, with scores of that value."""
    rng = np.random.default_rng(round(100 * value))
    stretches = []
    for each in test:
        particles = each.y + value + 0.3 * rng.standard_normal((3, *each.y.shape))
        noise = np.full(each.y.shape[1], 0.5)
        forecast = Forecast(np.nan_to_num(particles), noise, 0, warmup)
        stretches.append(Stretch(each, Scored(forecast, each.y)))
    names = test.output_names
    own = None if training is None else make_scores(training, names)
    return Evaluation(tuple(stretches), make_scores(value, names), warmup, own, **more)


def make_given(run=None, data=None, **changes) -> ReportInput:
    data = data or make_data()
    test = data.test if "test" in data.parts else data
    baselines = {
        MEAN: make_evaluation(test, 0.9, training=4.0),
        ARX: make_evaluation(test, 0.5, training=2.0),
    }
    verdict = Verdict("use", (Reason("accurate", "it is"),), "gpssm predict")
    run, evaluation = run or make_run(), make_evaluation(test, 0.25, training=0.2)
    given = {"title": "a < b", "run": run, "data": data, "evaluation": evaluation}
    given |= {"baselines": baselines, "verdict": verdict}
    return ReportInput(**{**given, **changes})


def make_residuals(rows=40, dim_u=2) -> Residuals:
    rng = np.random.default_rng(5)
    errors = [rng.standard_normal((rows, 2)) for _ in range(2)]
    inputs = [rng.standard_normal((rows, dim_u)) for _ in range(2)]
    records = [
        (np.concatenate([u[:3], u]), np.concatenate([e[:3], e]))
        for u, e in zip(inputs, errors)  # noqa: B905
    ]
    return Residuals(errors, inputs, records, nis=1.234)


def make_learned(axes=3, states=2, rows=400) -> LearnedFunction:
    rng = np.random.default_rng(6)
    return LearnedFunction(
        tuple(Axis(f"axis {i}", 0.0, 1.0) for i in range(axes)), states,
        rng.standard_normal((axes, 4)), rng.standard_normal((states, axes, 4)),
        rng.uniform(1, 2, (states, axes, 4)), rng.standard_normal((5, axes)),
        rng.standard_normal((rows, axes)),
    )  # fmt: skip
