"""Stability against closed forms: the covariance of a linear system, and curves of known growth."""

import inspect
import sys
from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np
import pytest

import gpssm
from gpssm import ConfigError, Dataset
from gpssm.data import Normalisation
from gpssm.fitted.run import Run
from gpssm.inference import System
from gpssm.prediction import Stability, Suggestion
from gpssm.prediction.stability import _from_data, _from_inducing_inputs, _names
from support import linear_system

HORIZON = 60
PROCESS = np.array([0.02, 0.05])
STABLE = np.array([[0.8, 0.1], [0.0, 0.6]])
DOUBLE_INTEGRATOR = np.array([[1.0, 1.0], [0.0, 1.0]])
B = np.array([[0.3], [0.5]])


def make_run(A, noise_draw="independent") -> Run:
    """A run whose system is x[t+1] = A x + B u + noise, exactly."""
    config = gpssm.pr_ssm(dim_x=2, warmup=3, particles=5, noise_draw=noise_draw)
    system = linear_system(config, A, B, PROCESS, np.array([0.1]), np.ones(2))
    zero, one = np.zeros(1), np.ones(1)
    history = gpssm.training.History(gpssm.training.history.pd.DataFrame())
    return Run(system, Normalisation(zero, one, zero, one), gpssm.Training(), 0, history)


def covariance(A) -> np.ndarray:
    """The diagonal of P[t+1] = A P[t] Aᵀ + Q from P = 0."""
    P, diagonals = np.zeros((2, 2)), []
    for _ in range(HORIZON):
        P = A @ P @ A.T + np.diag(PROCESS)
        diagonals.append(np.diag(P))
    return np.array(diagonals)


@pytest.fixture(scope="module")
def found() -> dict[str, Stability]:
    settings = {"horizon": HORIZON, "particles": 400, "starts": 10}
    matrices = {"stable": STABLE, "double": DOUBLE_INTEGRATOR}
    return {name: gpssm.stability(make_run(A), **settings) for name, A in matrices.items()}


@pytest.mark.parametrize(("name", "A"), [("stable", STABLE), ("double", DOUBLE_INTEGRATOR)])
def test_the_spread_is_the_covariance_of_the_linear_system(found, name, A):
    """Within six standard errors of a variance from 400 copies, averaged over ten starts."""
    error = np.log(found[name].variance / covariance(A))
    bias = -1.0 / 400  # of the logarithm of a variance from 400 copies
    assert np.abs(error - bias).max() < 6.0 * np.sqrt(2.0 / 400 / 10)


def test_a_stable_system_is_called_stable(found):
    stable = found["stable"]
    assert stable.stable
    assert stable.growing == (False, False)
    assert np.isinf(stable.doubling).all()
    assert "mean-square stable over 60 steps" in str(stable)


def test_a_double_integrator_grows_in_both_states_and_at_the_known_rates(found):
    """Its variances grow as t (speed) and as t³ (position)."""
    double = found["double"]
    assert not double.stable
    np.testing.assert_allclose(double.exponent, [3.0, 1.0], atol=0.15)
    assert str(double).startswith("not mean-square stable")
    assert "y1: variance grows as t^" in str(double)
    assert "hidden 1: variance grows as t^" in str(double)


def test_data_give_the_starts_and_the_inputs(found):
    """A linear system spreads the same everywhere; too short a record is repeated."""
    rng = np.random.default_rng(0)
    data = Dataset.from_arrays(rng.standard_normal(30), rng.standard_normal(30))
    run = make_run(STABLE)
    again = gpssm.stability(run, data, horizon=HORIZON, particles=400, starts=10)
    np.testing.assert_allclose(again.variance, found["stable"].variance, rtol=0.35)
    assert np.any(again.variance != found["stable"].variance)


def curve(variance) -> Stability:
    return Stability(np.asarray(variance)[:, None], ("y",))


def test_growth_and_settling_of_known_curves():
    t = np.arange(1.0, 301.0)
    for p in (1.0, 2.0, 3.0):
        grown = curve(0.2 * t**p)
        assert grown.exponent[0] == pytest.approx(p, abs=0.03)
        later = 300.0 + grown.doubling[0]
        assert (later / 300.0) ** p == pytest.approx(2.0, abs=0.05)
    settled = curve(0.7 * (1.0 - np.exp(-t / 12.0)))
    assert settled.stable
    assert settled.settling[0] == pytest.approx(12.0, abs=1.0)


def test_suggestions_follow_the_kind_of_plant():
    t = np.arange(1.0, 301.0)
    quick, slow = (curve(1.0 - np.exp(-t / tau)).suggest() for tau in (3.0, 40.0))
    assert quick.k == slow.k == 50.0
    assert quick.state_kl == slow.state_kl == 1.0
    assert (quick.lag, quick.sequence_length) == (8, 50)
    assert (slow.lag, slow.sequence_length) == (40, 160)
    unstable = curve(t**3).suggest()
    assert (unstable.k, unstable.state_kl) == (1.0, 10.0)
    assert (unstable.lag, unstable.sequence_length) == (50, 300)
    between = curve(t[:164] ** 3).suggest()  # settled at step 141
    assert (between.lag, between.sequence_length) == (35, 164)
    short = curve(t[:60] ** 3).suggest()
    assert (short.lag, short.sequence_length) == (16, 100)
    slowest = curve(np.r_[0.1 * np.ones(100), np.ones(500)]).suggest()
    assert (slowest.lag, slowest.sequence_length) == (64, 300)


@pytest.mark.parametrize(("p", "grows"), [(0.27, False), (0.33, True)])
def test_a_spread_grows_from_an_exponent_of_three_tenths(p, grows):
    t = np.arange(1.0, 301.0)
    assert curve(t**p).growing == (grows,)
    assert curve(t**p).stable != grows
    assert np.isfinite(curve(t**p).doubling[0]) == grows


@pytest.mark.parametrize(
    ("name", "given", "least"), [("horizon", 19, 20), ("starts", 0, 1), ("particles", 1, 2)]
)
def test_wrong_numbers_are_refused(name, given, least):
    with pytest.raises(ConfigError, match=rf"{name}: got {given}, expected at least {least}\."):
        gpssm.stability(make_run(STABLE), **{name: given})


def test_data_without_room_for_a_warmup_are_refused():
    data = Dataset.from_arrays(np.arange(2.0), np.arange(2.0))
    with pytest.raises(ConfigError, match="experiments of at most 2 rows"):
        gpssm.stability(make_run(STABLE), data)


def test_copies_start_from_one_state(found):
    """The spread after one step is the process noise alone."""
    np.testing.assert_allclose(found["stable"].variance[0], PROCESS, rtol=0.15)


def test_the_figure_has_a_line_per_state_and_its_verdict(found, tmp_path):
    figure = found["double"].plot(path=tmp_path / "spread.png")
    (axis,) = figure.axes
    np.testing.assert_allclose(axis.lines[1].get_ydata(), np.sqrt(found["double"].variance[:, 1]))
    assert [text.get_text()[:7] for text in axis.get_legend().get_texts()] == ["y1, t^1", "hidden "]
    assert figure.get_suptitle().startswith("not mean-square stable")
    assert (tmp_path / "spread.png").stat().st_size > 5000


def test_a_figure_can_have_a_title_of_its_own(found):
    assert found["stable"].plot(title="A tank").get_suptitle() == "A tank"


# ---------------------------------------------------------------------- worked by hand


def test_the_exponent_compares_two_parts_of_the_horizon():
    """Steps 30 to 49 with 80 to 99 of a hundred; elsewhere the curve is far away."""
    variance = np.full((100, 2), 1e6)
    variance[30:50], variance[80:] = [2.0, 3.0], [7.0, 3.0]
    found = Stability(variance, ("y1", "y2")).exponent
    np.testing.assert_allclose(found, [np.log(3.5) / np.log(1.8 / 0.8), 0.0], atol=1e-12)


@pytest.mark.parametrize(("first", "settling"), [(1.0 - np.exp(-1.0), 1.0), (0.63, 2.0)])
def test_a_spread_has_settled_from_the_step_that_reaches_its_share(first, settling):
    assert curve([first, 0.9, 0.5, 1.0]).settling == settling


def test_a_verdict_has_a_line_for_each_state_and_a_suggestion():
    """From 2 to 2 (1.8 / 0.8)² is t²; it has settled at step 81, of which a quarter is the lag."""
    variance = np.ones((100, 2))
    variance[:, 0] = np.where(np.arange(100) < 80, 2.0, 10.125)
    found = Stability(variance, ("level", "hidden 1"))
    assert found.growing == (True, False)
    np.testing.assert_allclose(found.doubling, [100.0 * (np.sqrt(2.0) - 1.0), np.inf])
    assert found.suggest() == Suggestion(k=1.0, state_kl=10.0, lag=20, sequence_length=100)
    assert str(found).splitlines() == [
        "not mean-square stable over 100 steps",
        "  level: variance grows as t^2.0, doubles within 41 steps",
        "  hidden 1: variance settles, most of it within 1 steps",
        "  try k=1, state_kl=10, lag=20, sequence_length=100",
    ]


def test_a_plain_call_looks_three_hundred_steps_ahead_from_sixteen_states():
    parameters = inspect.signature(gpssm.stability).parameters.values()
    defaults = {each.name: each.default for each in parameters if each.kind == each.KEYWORD_ONLY}
    assert defaults == {"horizon": 300, "starts": 16, "particles": 100, "seed": 0}


def test_another_seed_is_another_estimate_in_double_precision(found):
    settings = {"horizon": HORIZON, "particles": 400, "starts": 10}
    zero, one = (gpssm.stability(make_run(STABLE), seed=seed, **settings) for seed in (0, 1))
    np.testing.assert_array_equal(zero.variance, found["stable"].variance)
    assert np.all(one.variance != zero.variance)
    assert zero.variance.dtype == np.float64


def test_without_data_the_starts_are_inducing_inputs(key):
    """z is twice the unit matrix: two of its rows are states, the third is an input."""
    x, u = _from_inducing_inputs(key, make_run(STABLE).system, 7, 40)
    assert (x.shape, u.shape) == ((2, 40), (8, 1, 40))
    assert {tuple(each) for each in np.asarray(x).T} == {(2.0, 0.0), (0.0, 2.0), (0.0, 0.0)}
    assert abs(np.std(u) - 1.0) < 0.2


@pytest.mark.parametrize(("horizon", "begins"), [(10, [0, 6, 12, 18]), (40, [0, 0, 0, 0])])
def test_with_data_the_starts_lie_along_the_longest_run(horizon, begins, monkeypatch, key):
    """Its input acts after two steps. Where the run ends, it begins again."""
    units = Normalisation(*(np.array([each]) for each in (0.5, 2.0, -1.0, 3.0)))
    u, y = (list(map(np.random.default_rng(0).normal, [i, i], [1, 1], [12, 31])) for i in (0, 1))
    y[1][1] = np.nan
    given = []

    def remember(key, system, u, sequences, conditioned):
        given.append((u, sequences, conditioned))
        return jnp.arange(3.0 * 2 * 4 * 5).reshape(3, 2, 20)

    monkeypatch.setattr(sys.modules["gpssm.prediction.stability"], "predict", remember)
    system = make_run(STABLE).system
    system = System(system.model, system.posterior, system.config.replace(input_delays=(2,)))
    x, ahead = _from_data(key, system, Dataset.from_arrays(y, u), units, horizon, 4)
    np.testing.assert_array_equal(x, np.arange(80.0, 120.0).reshape(2, 4, 5).mean(axis=2))
    seen_u, sequences, conditioned = given[0]
    acting = (np.r_[u[1][:1], u[1][:-1]] - 0.5) / 2.0
    for start, begin in enumerate(begins):
        rows = (begin + np.arange(3 + horizon)) % 31
        np.testing.assert_allclose(ahead[:, 0, start], acting[rows[2:]], rtol=1e-12)
        np.testing.assert_allclose(seen_u[:, 0, start], acting[rows[:3]], rtol=1e-12)
        known = np.asarray(sequences.mask[:, 0, start])
        np.testing.assert_array_equal(known, rows[:3] != 1)
        seen = np.asarray(sequences.y[:, 0, start])[known]
        np.testing.assert_allclose(seen, (y[1][rows[:3]][known] + 1.0) / 3.0, rtol=1e-12)
    assert conditioned == 3


def test_a_warmup_may_take_all_rows(monkeypatch, key):
    still = lambda key, system, u, sequences, conditioned: jnp.ones((3, 2, 10))  # noqa: E731
    monkeypatch.setattr(sys.modules["gpssm.prediction.stability"], "predict", still)
    data = Dataset.from_arrays(np.arange(3.0), np.arange(3.0))
    run = make_run(STABLE)
    _, u = _from_data(key, run.system, data, run.normalisation, 4, 2)
    np.testing.assert_array_equal(u[:, 0], np.tile([[2.0], [0.0], [1.0], [2.0], [0.0]], 2))


def test_states_are_named_after_their_outputs():
    system = SimpleNamespace(model=SimpleNamespace(dim_y=2, dim_x=4))
    parts = {"system": system, "normalisation": None}
    hidden = ("hidden 1", "hidden 2")
    assert _names(SimpleNamespace(output_names=(), **parts)) == ("y1", "y2", *hidden)
    assert _names(SimpleNamespace(output_names=("a", "b"), **parts)) == ("a", "b", *hidden)
