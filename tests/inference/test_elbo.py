"""The ELBO against the exact evidence of linear-Gaussian models, and term by term."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from gpssm.inference import Model, Sequences, Weights, cbf_ssm, method, vcdt
from gpssm.inference.methods.registry import METHODS
from gpssm.inference.sequences import from_batch_first
from gpssm.model import gaussian_kl, gaussian_log_density
from support import (
    SMALL,
    elbo,
    joint_gaussian,
    linear_system,
    log_evidence,
    make_sequences,
    make_system,
    run_posterior,
)

B = np.array([[0.4], [-0.7]])
PROCESS, INITIAL = np.array([0.3, 0.2]), np.array([0.8, 1.2])
EXACT_F = Weights(inducing_kl=0.0)  # f is known in these tests: its inducing values cost nothing


def linear_config(target: str, k: float = 1.0, particles: int = 400, **more) -> Model:
    return Model(
        dim_x=2, target=target, k=k, recognition="output", function_draw="delta",
        covariance="delta", informative_initial_state=True, warmup=1, inducing_points=3,
        particles=particles, **more,
    )  # fmt: skip


def estimates(system, sequences, repeats=24):
    """Mean and standard error of the ELBO over independent keys."""
    keys = jax.random.split(jax.random.key(5), repeats)
    values = jax.vmap(lambda k: elbo(k, system, sequences, EXACT_F).total)(keys)
    return float(values.mean()), float(values.std() / np.sqrt(repeats - 1))


def sequence_arrays(sequences: Sequences):
    return np.asarray(sequences.u[..., 0]), np.asarray(sequences.y[..., 0])


def test_where_the_posterior_is_exact_the_bound_is_the_evidence():
    """Without memory (A = 0) filtering is exact: what is missing is only KL(q(x1)‖p(x1|y1))."""
    A, output = np.zeros((2, 2)), np.array([0.4, 0.9])
    sequences = make_sequences(batch=1, time=6, dim_y=2)
    system = linear_system(linear_config("observation"), A, B, PROCESS, output, INITIAL)
    u, y = sequence_arrays(sequences)
    posterior_variance = 1.0 / (1.0 / INITIAL + 1.0 / output)
    gap = gaussian_kl(
        jnp.asarray(y[0]),
        jnp.asarray(output),
        jnp.asarray(posterior_variance * y[0] / output),
        jnp.asarray(posterior_variance),
    ).sum()
    exact = log_evidence(A, B, PROCESS, output, INITIAL, u, y) - gap
    value, error = estimates(system, sequences)
    assert error < 0.05
    assert abs(value - exact) < 4.0 * error


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("target", "dim_y"), [("observation", 2), ("smoother", 1), ("none", 1)])
def test_the_bound_never_exceeds_the_evidence(target, dim_y, seed):
    """Any dynamics, any k, hidden states or none, with an untrained smoother."""
    rng = np.random.default_rng(seed)
    A = rng.uniform(-0.9, 0.9, (2, 2))
    output = rng.uniform(0.1, 1.0, dim_y)
    sequences = make_sequences(batch=1, time=6, dim_y=dim_y, seed=seed)
    config = linear_config(target, k=[1.0, 1.0, 5.0, 50.0][seed])
    system = linear_system(config, A, B, PROCESS, output, INITIAL, seed)
    value, error = estimates(system, sequences)
    exact = log_evidence(A, B, PROCESS, output, INITIAL, *sequence_arrays(sequences))
    assert value - 3.0 * error < exact


def test_conditioning_makes_the_bound_tighter():
    """The same model: filtering on the observations loses less than no conditioning at all."""
    A, output = np.array([[0.9, 0.2], [-0.1, 0.8]]), np.array([0.1, 0.1])
    sequences = make_sequences(batch=1, time=8, dim_y=2)
    gaps = []
    for target in ("observation", "none"):
        system = linear_system(linear_config(target), A, B, PROCESS, output, INITIAL)
        value, _ = estimates(system, sequences)
        exact = log_evidence(A, B, PROCESS, output, INITIAL, *sequence_arrays(sequences))
        gaps.append(exact - value)
    assert 0.0 < gaps[0] < 0.5 * gaps[1]


def test_one_step_of_the_forward_pass_is_predict_and_update_of_a_kalman_filter(key):
    """q(x[2]) from x[1]: moments over many particles against the filter's, given x[1]."""
    A, output = np.array([[0.9, 0.2], [-0.1, 0.8]]), np.array([0.1, 0.3])
    sequences = make_sequences(batch=1, time=2, dim_y=2)
    system = linear_system(
        linear_config("observation", particles=40_000), A, B, PROCESS, output, INITIAL
    )
    x = np.asarray(run_posterior(key, system, sequences).forward.x)
    u, y = sequence_arrays(sequences)
    K = np.diag(PROCESS) @ np.linalg.inv(np.diag(PROCESS + output))
    predicted = A @ x[0] + (B @ u[0])[:, None]
    rest = x[1] - (predicted + K @ (y[1][:, None] - predicted))
    covariance = (np.eye(2) - K) @ np.diag(PROCESS)
    count = x.shape[-1]
    assert np.all(np.abs(rest.mean(axis=1)) < 5.0 * np.sqrt(np.diag(covariance) / count))
    variances = np.diag(covariance)
    spread = np.sqrt((np.outer(variances, variances) + covariance**2) / count)
    assert np.all(np.abs(np.cov(rest) - covariance) < 5.0 * spread)


def test_an_unconditioned_pass_has_the_marginals_of_the_dense_joint(key):
    """PR-SSM on a linear model: x[T] given q(x1), against the propagated Gaussian."""
    A, output = np.array([[0.9, 0.2], [-0.1, 0.8]]), np.array([0.4])
    config = linear_config("none", particles=40_000)
    sequences = make_sequences(batch=1, time=5)
    system = linear_system(config, A, B, PROCESS, output, INITIAL)
    u, y = sequence_arrays(sequences)
    start_variance = np.array([output[0], INITIAL[1]])  # what `output` recognition says
    mean, covariance, _, _ = joint_gaussian(A, B, PROCESS, output, start_variance, u)
    mean = mean + np.concatenate([np.linalg.matrix_power(A, t) @ [y[0, 0], 0.0] for t in range(5)])
    last = np.asarray(run_posterior(key, system, sequences).forward.x)[-1]
    spread = np.sqrt(np.diag(covariance)[-2:])
    assert np.all(np.abs(last.mean(axis=1) - mean[-2:]) < 5.0 * spread / np.sqrt(40_000))
    np.testing.assert_allclose(np.cov(last), covariance[-2:, -2:], atol=0.03)


@pytest.mark.parametrize("name", METHODS)
def test_total_is_the_weighted_sum_of_the_named_terms(name, key):
    settings = {**SMALL, "dim_x": 3}
    sequences = make_sequences()
    system = make_system(method(name, **settings), sequences)
    weights = Weights(state_kl=0.7, inducing_kl=0.03, entropy=0.2)
    terms = elbo(key, system, sequences, weights)
    count = 9 if system.config.function_draw == "independent" else 1
    total = (
        terms.log_likelihood
        - 0.7 * terms.state_kl
        - 0.03 * count * (terms.inducing_kl + terms.smoother_kl)
        - terms.initial_kl
        + 0.2 * terms.entropy
    )
    np.testing.assert_allclose(terms.total, total, rtol=1e-12)
    assert (terms.state_kl > 0) == (name != "pr-ssm")
    assert (terms.smoother_kl > 0) == name.startswith("cbf")


def test_learned_parameters_cost_their_kl(key):
    """Those of a linear part, which the spread of the parameters has moved away from its prior."""
    sequences = make_sequences()
    system = make_system(vcdt(dim_x=2, linear_part=True, **SMALL), sequences)
    weights = Weights(state_kl=0.7, inducing_kl=0.03, parameter_kl=0.4)
    terms = elbo(key, system, sequences, weights)
    dynamics = system.model.transition.dynamics
    mean, variance = np.asarray(dynamics.mean), np.square(dynamics.std)
    kl = 0.5 * np.sum(variance + mean**2 - 1.0 - np.log(variance))
    np.testing.assert_allclose(terms.parameter_kl, kl, rtol=1e-10)
    rest = terms.log_likelihood - 0.7 * terms.state_kl - 0.03 * terms.inducing_kl - 0.4 * kl
    np.testing.assert_allclose(terms.total, rest, rtol=1e-10)


def test_terms_equal_a_replay_with_plain_formulas(key):
    """log p(y|x) from the particles, with a sum over time and a mean over the rest."""
    sequences = make_sequences(missing=0.3)
    system = make_system(cbf_ssm(dim_x=3, **SMALL), sequences)
    x = run_posterior(key, system, sequences).forward.x
    y = jnp.repeat(sequences.y, 4, axis=-1)
    density = gaussian_log_density(y, x[:, :1], system.model.emission.noise[:, None][None])
    scored = np.where(np.repeat(sequences.mask, 4, axis=-1), density, 0.0)
    np.testing.assert_allclose(
        elbo(key, system, sequences).log_likelihood, scored.mean(axis=-1).sum(), rtol=1e-10
    )


@pytest.mark.parametrize("name", METHODS)
def test_a_missing_output_is_neither_scored_nor_conditioned_on(name, key):
    """Whatever stands in a masked cell, the ELBO is the same; and it is not that of a full y."""
    sequences = make_sequences(missing=0.4, seed=3)
    system = make_system(method(name, dim_x=2, **SMALL), sequences)
    batch_first = lambda a: jnp.transpose(a, (2, 0, 1))  # noqa: E731
    poisoned = jnp.where(sequences.mask, sequences.y, 1e3)
    again = from_batch_first(*map(batch_first, (sequences.u, poisoned, sequences.mask)))
    full = Sequences(sequences.u, sequences.y, jnp.ones_like(sequences.mask))
    value = elbo(key, system, sequences).total
    np.testing.assert_allclose(elbo(key, system, again).total, value, rtol=1e-12)
    assert abs(elbo(key, system, full).total - value) > 1e-3


def test_steps_without_any_output_leave_the_vcdt_prediction_as_it_is(key):
    """All outputs of the second half missing: no KL there, and the spread grows as in open loop."""
    sequences = make_sequences(time=8)
    mask = sequences.mask & (jnp.arange(8) < 4)[:, None, None]
    half = Sequences(sequences.u, sequences.y, mask)
    system = make_system(vcdt(dim_x=1, **SMALL), sequences)
    np.testing.assert_allclose(
        elbo(key, system, half).state_kl, _vcdt_kl(key, system, half, 4), rtol=1e-10
    )
    assert elbo(key, system, half).state_kl > 0


def _vcdt_kl(key, system, sequences, conditioned):
    """The KL of a pass that is told to stop conditioning, in place of having no outputs."""
    full = Sequences(sequences.u, sequences.y, jnp.ones_like(sequences.mask))
    return run_posterior(key, system, full, conditioned).forward.state_kl


def test_no_inputs_work(key):
    sequences = make_sequences(dim_u=0)
    system = make_system(cbf_ssm(dim_x=3, **SMALL), sequences)
    assert np.isfinite(elbo(key, system, sequences).total)
    assert system.model.transition.gp.inducing_inputs.shape == (5, 3)


def test_single_precision_agrees_with_double_on_the_same_noise(key):
    """Same key, other dtype: JAX draws other bits, so the comparison is statistical."""
    double = make_sequences(batch=4, time=12)
    single = jax.tree.map(lambda a: a.astype(jnp.float32) if a.dtype != bool else a, double)
    system = make_system(cbf_ssm(dim_x=2, **{**SMALL, "particles": 4000}), double)
    ours, oracle = elbo(key, system, single), elbo(jax.random.key(1), system, double)
    assert ours.log_likelihood.dtype == jnp.float32
    for name in ("log_likelihood", "state_kl", "inducing_kl", "entropy"):
        np.testing.assert_allclose(getattr(ours, name), getattr(oracle, name), rtol=0.05, atol=0.05)
