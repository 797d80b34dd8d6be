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
from gpssm.inference import Sequences, build, cbf_ssm, initialise
from gpssm.inference.initialise import _kmeans, lagged_embeddings, typical_embeddings
from gpssm.inference.linear_part import LinearStart
from gpssm.model import Increment, LinearPart
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


def test_a_system_keeps_the_settings_that_make_its_parts(key):
    """A kernel for each output, hidden states with their own noise, a prior of x[1] that counts."""
    config = cbf_ssm(
        dim_x=3, kernel_per_output=True, hidden_variance=0.3, recognition="mlp",
        informative_initial_state=True, inducing_inputs="kmeans", **SMALL,
    )  # fmt: skip
    system = build(key, config, make_sequences(dim_u=2))
    gps = system.model.transition.gp, system.posterior.smoother
    assert [gp.kernel.raw_lengthscales.shape for gp in gps] == [(3, 5), (2, 6)]
    assert [gp.inducing_inputs.shape for gp in gps] == [(5, 5), (5, 6)]
    np.testing.assert_allclose(system.posterior.hidden_noise, [0.3, 0.3], rtol=1e-12)
    np.testing.assert_allclose(system.model.emission.noise, [1.0], rtol=1e-12)
    assert system.model.initial.informative


def linear_values(hidden):
    """Numbers that are all different."""
    part = LinearPart.blank(3, 3 - hidden, 1)._replace(
        scale=np.array([1.0, 2.0, 3.0]), backward_scale=np.arange(4.0, 4.0 + hidden)
    )
    noises = np.array([0.1, 0.2, 0.3]), np.full(3 - hidden, 0.4), np.full(hidden, 0.6)
    inputs = np.arange(80.0).reshape(20, 4), np.arange(120.0).reshape(20, 6)
    return LinearStart(part, *noises, *inputs)


def test_a_linear_part_is_in_units_of_the_kernels():
    config = cbf_ssm(dim_x=3, linear_part=True, kernel_variance=0.25)
    linear = linear_values(hidden=2)
    found = initialise._affine(config, 1, 1, linear).part
    np.testing.assert_allclose(found.scale, [2.0, 4.0, 6.0], rtol=1e-12)
    np.testing.assert_allclose(found.backward_scale, [8.0, 10.0], rtol=1e-12)
    np.testing.assert_array_equal(found.root, np.eye(5))
    for ours, blank in zip(
        initialise._affine(config, 1, 1, None).part, LinearPart.blank(3, 1, 1), strict=True
    ):
        np.testing.assert_array_equal(ours, blank)


@pytest.mark.parametrize("target", ["smoother", "none"])
def test_the_noise_of_a_linear_fit_goes_where_it_belongs(target, key):
    config = cbf_ssm(dim_x=3, target=target, recognition="mlp", **SMALL)
    system = initialise._with_noise(build(key, config, make_sequences()), linear_values(hidden=2))
    np.testing.assert_allclose(system.model.transition.noise, [0.1, 0.2, 0.3], rtol=1e-12)
    np.testing.assert_allclose(system.model.emission.noise, [0.4], rtol=1e-12)
    hidden = [0.6, 0.6] if target == "smoother" else []
    np.testing.assert_allclose(system.posterior.hidden_noise, hidden, rtol=1e-12)


def test_the_points_of_a_linear_fit_are_centres_of_what_its_gps_saw(key):
    config = cbf_ssm(dim_x=3, linear_part=True, **SMALL)
    linear, keys = linear_values(hidden=2), [jax.random.fold_in(key, i) for i in range(2)]
    found = initialise._place(key, config, Increment(), make_sequences(), linear)
    for points, each, seen in zip(found, keys, (linear.f_inputs, linear.b_inputs), strict=True):
        np.testing.assert_array_equal(points.z, _kmeans(each, seen, 5))
        assert points.values is None


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_embeddings_of_a_known_physics_have_hidden_states_of_unit_size(dtype):
    """The same in every run: (y, h, u)[t], and (h, y[t+1], y[t], u[t]), in double precision."""
    sequences = make_sequences(batch=3, time=200, dim_u=2, dtype=dtype)
    config = cbf_ssm(dim_x=3)
    forward, backward = typical_embeddings(config, Increment(), sequences)
    assert forward.dtype == backward.dtype == np.float64
    h = np.random.default_rng(0).standard_normal((2, 199 * 3)).T
    y, u = (np.moveaxis(np.asarray(a, dtype=float), 1, 2) for a in (sequences.y, sequences.u))
    now, later, u = (a.reshape(199 * 3, -1) for a in (y[:-1], y[1:], u[:-1]))
    np.testing.assert_array_equal(forward, np.hstack([now, h, u]))
    np.testing.assert_array_equal(backward, np.hstack([h, later, now, u]))


def test_lagged_embeddings_can_have_steps_in_double_precision():
    sequences = make_sequences(batch=2, time=8, dim_y=2, dtype=jnp.float32)
    y = np.moveaxis(np.asarray(sequences.y, dtype=float), 2, 0)
    typical = np.sqrt(np.mean(np.diff(y, axis=1) ** 2, axis=(0, 1)))
    steps = np.zeros(y.shape)
    steps[:, :-1] = np.diff(y, axis=1) / typical
    forward, backward = lagged_embeddings(cbf_ssm(dim_x=3, smoother_sees_steps=True), sequences)
    np.testing.assert_allclose(backward[:, 1:3], steps.reshape(-1, 2), rtol=1e-12, atol=1e-12)
    assert forward.dtype == backward.dtype == np.float64


@pytest.mark.parametrize("distance", [0.0, 1.0])
def test_centres_are_kept_apart_by_a_thousandth_of_the_spread(distance, key):
    """As many centres as samples: each is one of them and a little noise."""
    samples = np.stack([np.zeros(200), distance * np.arange(200.0)], axis=1)
    found = _kmeans(key, samples, 200)
    found = found[np.argsort(found[:, 1])]
    for column in range(2):
        spread = 1e-3 * (samples[:, column].std() + 1e-3)
        noise = (found - samples)[:, column]
        assert noise.std() == pytest.approx(spread, rel=0.2)


def test_few_samples_all_have_centres_near_them(key):
    samples = np.array([[1.0], [2.0], [3.0]])
    found = _kmeans(key, samples, 8)
    assert set(np.round(found[:, 0]).tolist()) == {1.0, 2.0, 3.0}
    assert np.abs(found - np.round(found)).max() < 0.01
