"""Stability against closed forms: the covariance of a linear system, and curves of known growth."""

import numpy as np
import pytest

import gpssm
from gpssm import ConfigError, Dataset
from gpssm.data import Normalisation
from gpssm.fitted.run import Run
from gpssm.prediction import Stability
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
