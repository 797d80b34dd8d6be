"""Where the paper says that two methods coincide, they do: sample for sample."""

import jax.numpy as jnp
import numpy as np
import pytest

from gpssm.gp import Linear, SparseGP
from gpssm.gp.positive import raw_positive
from gpssm.gp.sparse import InducingPosterior
from gpssm.inference import Posterior, System, cbf_ssm, pr_ssm, vcdt
from gpssm.inference.terms import factor_system
from support import SMALL, backward_pass, elbo, make_sequences, make_system, run_posterior

SHARED = {**SMALL, "recognition": "mlp"}


def with_config(system: System, config) -> System:
    """The same parameters under other settings."""
    return System(system.model, system.posterior, config)


@pytest.mark.parametrize("recognition", ["output", "mlp", "conv", "gru"])
def test_infinite_k_equals_pr_ssm(recognition, key):
    """k → ∞ takes the gain to zero: CBF-SSM then rolls out the prior, as PR-SSM does."""
    sequences = make_sequences(missing=0.2)
    settings = {**SMALL, "dim_x": 3, "recognition": recognition}
    cbf = make_system(cbf_ssm(k=float("inf"), **settings), sequences)
    no_smoother = Posterior(cbf.posterior.recognition, None, jnp.zeros(0))
    pr = System(cbf.model, no_smoother, pr_ssm(**settings))
    ours, oracle = run_posterior(key, cbf, sequences), run_posterior(key, pr, sequences)
    np.testing.assert_allclose(ours.forward.x, oracle.forward.x, rtol=1e-12)
    np.testing.assert_allclose(ours.forward.state_kl, 0.0, atol=1e-12)
    np.testing.assert_allclose(
        elbo(key, cbf, sequences).log_likelihood,
        elbo(key, pr, sequences).log_likelihood,
        rtol=1e-12,
    )


def test_large_k_tends_to_pr_ssm(key):
    """The distance to the rollout of the prior falls as 1/k."""
    sequences = make_sequences()
    base = make_system(cbf_ssm(k=float("inf"), dim_x=3, **SHARED), sequences)
    limit = run_posterior(key, base, sequences).forward.x
    distances = []
    for k in (1e3, 1e4, 1e5):
        system = with_config(base, cbf_ssm(k=k, dim_x=3, **SHARED))
        x = run_posterior(key, system, sequences).forward.x
        distances.append(float(jnp.max(jnp.abs(x - limit))))
    assert distances[0] > 1e-6
    np.testing.assert_allclose(distances[1] / distances[0], 0.1, rtol=0.2)
    np.testing.assert_allclose(distances[2] / distances[1], 0.1, rtol=0.2)


@pytest.mark.parametrize("recognition", ["output", "mlp"])
def test_fully_observed_cbf_ssm_1s_equals_vcdt(recognition, key):
    """Nothing hidden: no backward GP, x̃ = y, and both condition on the measurements."""
    sequences = make_sequences(dim_y=2, missing=0.2)
    settings = {**SMALL, "dim_x": 2, "recognition": recognition}
    cbf = make_system(cbf_ssm(k=1, function_draw="trajectory", **settings), sequences)
    assert cbf.posterior.smoother is None
    ours = elbo(key, cbf, sequences)
    oracle = elbo(key, with_config(cbf, vcdt(**settings)), sequences)
    for name, value in ours._asdict().items():
        np.testing.assert_array_equal(value, getattr(oracle, name), err_msg=name)
    assert ours.state_kl > 0.0
    np.testing.assert_array_equal(
        run_posterior(key, cbf, sequences).forward.x,
        run_posterior(key, with_config(cbf, vcdt(**settings)), sequences).forward.x,
    )


def test_delta_inducing_values_make_all_draws_agree(key):
    """With q(u) a point, `independent`, `trajectory`, `mean` and `delta` are one method."""
    sequences = make_sequences()
    settings = {**SMALL, "dim_x": 3, "covariance": "delta"}
    base = make_system(cbf_ssm(function_draw="delta", **settings), sequences)
    oracle = run_posterior(key, base, sequences)
    for draw in ("independent", "trajectory", "mean"):
        system = with_config(base, cbf_ssm(function_draw=draw, **settings))
        ours = run_posterior(key, system, sequences)
        np.testing.assert_allclose(ours.forward.x, oracle.forward.x, rtol=1e-9, err_msg=draw)
        np.testing.assert_allclose(ours.backward.hidden, oracle.backward.hidden, rtol=1e-9)


def test_draws_disagree_when_the_inducing_values_are_uncertain(key):
    """The test above can fail: with a diagonal q(u) the draws differ."""
    sequences = make_sequences()
    settings = {**SMALL, "dim_x": 3, "inducing_std": 0.5}
    base = make_system(cbf_ssm(**settings), sequences)
    oracle = run_posterior(key, base, sequences).forward.x
    for draw in ("trajectory", "mean"):
        system = with_config(base, cbf_ssm(function_draw=draw, **settings))
        assert np.max(np.abs(run_posterior(key, system, sequences).forward.x - oracle)) > 1e-2


@pytest.mark.parametrize("lag", [9, 10, 50])
@pytest.mark.parametrize("draw", ["independent", "trajectory", "pathwise"])
def test_windows_of_a_long_lag_equal_the_whole_sequence(lag, draw, key):
    """lag ≥ T: one window, begun at the end, which delivers everything."""
    sequences = make_sequences(time=9)
    settings = {**SMALL, "dim_x": 3, "function_draw": draw}
    base = make_system(cbf_ssm(**{**settings, "lag": None}), sequences)
    windowed = with_config(base, cbf_ssm(**{**settings, "lag": lag}))
    factor = factor_system(base, jnp.float64).backward
    np.testing.assert_array_equal(
        backward_pass(key, windowed, factor, sequences).hidden,
        backward_pass(key, base, factor, sequences).hidden,
    )
    np.testing.assert_array_equal(
        elbo(key, windowed, sequences).total, elbo(key, base, sequences).total
    )


def test_windows_of_a_short_lag_have_the_same_law_where_the_past_is_forgotten(key):
    """A contracting f_b forgets where a window began: moments agree with the whole pass."""
    sequences = make_sequences(batch=2, time=40)
    config = cbf_ssm(**{**SMALL, "dim_x": 2, "lag": None, "particles": 3000, "covariance": "delta"})
    base = make_system(config, sequences)
    # f_b = −0.8 h + 0.5 y[t]: h forgets its start at a rate of 0.2 per step
    z, row = jnp.eye(4), jnp.array([[-0.8, 0.0, 0.5, 0.0]])
    q = InducingPosterior(row, None, False, "delta")
    gp = SparseGP(Linear(raw_positive(jnp.ones((1, 4)))), z, q)
    posterior = Posterior(base.posterior.recognition, gp, base.posterior.raw_hidden_noise)
    means = []
    for lag in (None, 12):
        system = System(base.model, posterior, config.replace(lag=lag))
        factor = factor_system(system, jnp.float64).backward
        hidden = backward_pass(key, system, factor, sequences).hidden
        means.append(np.asarray(hidden.reshape(40, 1, 2, 3000).mean(axis=-1)))
    np.testing.assert_allclose(means[1][:28], means[0][:28], atol=1e-4)
