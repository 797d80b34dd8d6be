"""Where training starts: inducing inputs from the data, and parameters from the settings."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from gpssm import ConfigError
from gpssm.gp.positive import positive
from gpssm.inference import Sequences, build, cbf_ssm
from gpssm.inference.initialise import _kmeans, lagged_embeddings
from support import SMALL, make_sequences

SETTINGS = {**SMALL, "inducing_points": 20}


@given(
    dim_y=st.integers(1, 2),
    hidden=st.integers(0, 5),
    dim_u=st.integers(0, 2),
    time=st.integers(2, 6),
    sees_next=st.booleans(),
)
def test_lagged_embeddings_equal_a_plain_loop(dim_y, hidden, dim_u, time, sees_next):
    """f sees (y[t], older and older outputs, u[t]); f_b sees (future outputs, y[t+1], y[t], u[t]).

    In the place of hidden state i stands channel i mod Dy, one step further away per round.
    """
    config = cbf_ssm(dim_x=dim_y + hidden, smoother_sees_next_output=sees_next)
    rng = np.random.default_rng(time)
    u, y = rng.standard_normal((time, dim_u, 2)), rng.standard_normal((time, dim_y, 2))
    sequences = Sequences(*map(jnp.asarray, (u, y, np.ones(y.shape, bool))))
    forward, backward = [], []
    for n in range(2):
        for t in range(time):
            past, future = [], []
            for i in range(hidden):
                lag = 1 + i // dim_y
                past.append(y[max(t - lag, 0), i % dim_y, n])
                future.append(y[min(t + lag, time - 1), i % dim_y, n])
            following = y[min(t + 1, time - 1), :, n] if sees_next else []
            forward.append(np.concatenate([y[t, :, n], past, u[t, :, n]]))
            backward.append(np.concatenate([future, following, y[t, :, n], u[t, :, n]]))
    ours = lagged_embeddings(config, sequences)
    np.testing.assert_array_equal(ours[0], np.stack(forward))
    np.testing.assert_array_equal(ours[1], np.stack(backward))


def both_gps(key, **settings):
    """The GPs of f and f_b with the embeddings that stand in for their inputs."""
    config = cbf_ssm(dim_x=3, **{**SETTINGS, **settings})
    sequences = make_sequences(batch=4, time=30)
    system = build(key, config, sequences)
    gps = system.model.transition.gp, system.posterior.smoother
    return list(zip(gps, lagged_embeddings(config, sequences), strict=True))


@pytest.mark.parametrize("settings", [{"inducing_inputs": "kmeans"}, {"start": "linear"}])
def test_the_smoother_can_see_steps_in_the_place_of_the_next_output(settings, key):
    """(h[t+1], (y[t+1] − y[t]) / typical step, y[t], u[t]); inducing inputs lie among them."""
    config = cbf_ssm(dim_x=3, smoother_sees_steps=True, **SETTINGS, **settings)
    sequences = make_sequences(batch=40, time=30, dim_y=2)
    system = build(key, config, sequences)
    typical = np.sqrt(np.mean(np.square(np.diff(sequences.y, axis=0)), axis=(0, 2)))
    h, signal = jnp.array([[7.0]]), jnp.array([[1.5], [-2.0], [1.0], [-1.0], [0.3]])
    before, seen = system.model.transition.dynamics.look_back(h, signal)
    assert before == h
    oracle = [7.0, 0.5 / typical[0], -1.0 / typical[1], 1.0, -1.0, 0.3]
    np.testing.assert_allclose(seen[:, 0], oracle, rtol=1e-6)
    z = np.asarray(system.posterior.smoother.inducing_inputs)
    assert np.all(np.abs(z[:, 1:3].mean(axis=0)) < 1.0)
    assert np.all(z[:, 1:3].std(axis=0) > 0.3)


def test_steps_need_the_next_output():
    with pytest.raises(ConfigError, match="smoother_sees_steps: got True without"):
        cbf_ssm(smoother_sees_steps=True, smoother_sees_next_output=False)


def test_kmeans_places_inducing_inputs_among_the_data(key):
    """Inside the range of every coordinate, and nearer to the data than chance would put them."""
    for gp, samples in both_gps(key, inducing_inputs="kmeans"):
        z = np.asarray(gp.inducing_inputs)
        slack = 0.01 * samples.std(axis=0)
        assert np.all(z >= samples.min(axis=0) - slack)
        assert np.all(z <= samples.max(axis=0) + slack)
        distance = np.linalg.norm(samples[:, None] - z[None], axis=2).min(axis=1)
        rng = np.random.default_rng(0)
        by_chance = rng.uniform(samples.min(axis=0), samples.max(axis=0), z.shape)
        chance = np.linalg.norm(samples[:, None] - by_chance[None], axis=2).min(axis=1)
        assert np.mean(distance**2) < 0.7 * np.mean(chance**2)


def test_kmeans_finds_the_middle_of_every_cluster(key):
    rng = np.random.default_rng(0)
    middles = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0], [20.0, 20.0]])
    samples = np.repeat(middles, 50, axis=0) + 0.1 * rng.standard_normal((200, 2))
    found = _kmeans(key, samples, 4)
    found = found[np.argsort(found @ [1.0, 2.0])]
    oracle = samples.reshape(4, 50, 2).mean(axis=1)
    np.testing.assert_allclose(found, oracle, atol=0.02)


def test_kmeans_keeps_centres_apart_where_the_data_have_fewer_points(key):
    found = _kmeans(key, np.array([[1.0, 5.0], [2.0, 7.0], [3.0, 6.0]]), 8)
    distances = np.linalg.norm(found[:, None] - found[None], axis=2) + np.eye(8)
    assert np.isfinite(found).all()
    assert distances.min() > 1e-6


def test_uniform_inducing_inputs_fill_their_range(key):
    for gp, _ in both_gps(key, inducing_range=3.5, inducing_points=300):
        z = np.asarray(gp.inducing_inputs)
        assert np.all(np.abs(z) <= 3.5)
        assert stats.kstest(z.ravel(), stats.uniform(-3.5, 7.0).cdf).pvalue > 1e-3


@pytest.mark.parametrize("inputs", ["kmeans", "uniform"])
def test_inducing_inputs_belong_to_the_key(inputs, key):
    first, again, other = (
        [np.asarray(gp.inducing_inputs) for gp, _ in both_gps(k, inducing_inputs=inputs)]
        for k in (key, key, jax.random.key(0))
    )
    for a, b, c in zip(first, again, other, strict=True):
        np.testing.assert_array_equal(a, b)
        assert np.all(a != c)


def test_a_system_starts_from_the_values_of_its_settings(key):
    config = cbf_ssm(
        dim_x=3, kernel_variance=0.7, lengthscale=1.6, inducing_mean=0.2, inducing_std=0.03,
        process_variance=0.004, output_variance=0.6, **{**SMALL, "inducing_points": 400},
    )  # fmt: skip
    system = build(key, config, make_sequences())
    model, posterior = system.model, system.posterior
    np.testing.assert_allclose(model.transition.noise, [0.004] * 3, rtol=1e-12)
    np.testing.assert_allclose(model.emission.noise, [0.6], rtol=1e-12)
    np.testing.assert_allclose(posterior.hidden_noise, [0.6] * 2, rtol=1e-12)
    np.testing.assert_array_equal(model.initial.mean, 0.0)
    np.testing.assert_allclose(model.initial.variance, [1.0] * 3, rtol=1e-12)
    for gp in (model.transition.gp, posterior.smoother):
        np.testing.assert_allclose(positive(gp.kernel.raw_variance), 0.7, rtol=1e-12)
        np.testing.assert_allclose(positive(gp.kernel.raw_lengthscales), 1.6, rtol=1e-12)
        np.testing.assert_allclose(gp.posterior.std, 0.03, rtol=1e-12)
        assert stats.kstest(np.ravel(gp.posterior.mean), stats.norm(0.0, 0.2).cdf).pvalue > 1e-3


def test_forward_and_backward_gp_do_not_start_alike(key):
    """One state, one output: both GPs could have the same shape; each has a key of its own."""
    system = build(
        key, cbf_ssm(dim_x=2, smoother_sees_next_output=False, **SMALL), make_sequences()
    )
    forward, backward = system.model.transition.gp, system.posterior.smoother
    assert forward.inducing_inputs.shape == backward.inducing_inputs.shape
    assert jnp.all(forward.inducing_inputs != backward.inducing_inputs)
    assert jnp.all(forward.posterior.mean[:1] != backward.posterior.mean)


@pytest.mark.parametrize(("dim_x", "dim_y"), [(1, 2), (2, 3)])
def test_fewer_states_than_outputs_are_refused(dim_x, dim_y, key):
    message = rf"dim_x: got {dim_x}, expected at least the number of outputs, {dim_y}"
    with pytest.raises(ConfigError, match=message):
        build(key, cbf_ssm(dim_x=dim_x, **SMALL), make_sequences(dim_y=dim_y))
