"""One gradient step: Adam on the clipped gradient, the average, and steps that are skipped."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpssm import Dataset, Normalisation, Training, cbf_ssm, vcdt
from gpssm.data import Windows, batch, make_windows
from gpssm.inference import Weights, build, elbo
from gpssm.inference.sequences import from_batch_first
from gpssm.training.step import learning_rate_schedule, start, train_step

ROWS, LENGTH = 40, 8
MODEL = vcdt(
    dim_x=1, recognition="output", inducing_points=4, particles=3, warmup=1, process_variance=0.05,
    informative_initial_state=True,
)  # fmt: skip
# No gradient is small against this: the clipped one is, and shows Adam's ε.
TRAINING = Training(
    steps=20, batch_size=2, sequence_length=LENGTH, precision="float64", average=0.4,
    warmup_steps=0, schedule="constant", learning_rate=0.01, clip_norm=1e-6,
)  # fmt: skip

step = eqx.filter_jit(train_step)


def make_problem(training: Training = TRAINING):
    """The first state of training, the windows of a noisy wave, and the weights of the ELBO."""
    rng = np.random.default_rng(0)
    time = np.arange(ROWS)
    y = np.sin(0.5 * time) + 0.1 * rng.standard_normal(ROWS)
    data = Dataset.from_arrays(y, np.cos(0.5 * time))
    windows = make_windows(data, Normalisation.of(data), LENGTH, 1, training.dtype)
    examples = from_batch_first(*batch(windows, LENGTH, jax.random.key(0), 0, 4))
    system = build(jax.random.key(0), MODEL, examples)
    return start(system, training), windows, training.weights(MODEL, ROWS)


def run_steps(state, windows, weights, count, key):
    """Every state on the way, the first one included, and what each step told."""
    states, infos = [state], []
    for _ in range(count):
        state, info = step(state, windows, key, TRAINING, weights)
        states.append(state)
        infos.append(info)
    return states, infos


def leaves(tree) -> list[np.ndarray]:
    """Every array that holds a number."""
    return [np.asarray(leaf) for leaf in jax.tree.leaves(tree) if leaf.size]


def test_a_step_is_adam_on_the_clipped_gradient_of_the_negative_elbo_per_time_step(key):
    """By hand: −∇ELBO/T of the batch of (key, 0), scaled to `clip_norm`, then Adam's first step."""
    state, windows, weights = make_problem()
    after, info = step(state, windows, key, TRAINING, weights)
    key_batch, key_noise = jax.random.split(key)
    sequences = from_batch_first(*batch(windows, LENGTH, key_batch, 0, 2))
    noise = jax.random.fold_in(key_noise, 0)
    loss = lambda system: -elbo(noise, system, sequences, weights).total / LENGTH  # noqa: E731
    value, gradient = eqx.filter_jit(eqx.filter_value_and_grad(loss))(state.system)
    norm = np.sqrt(sum(np.sum(g**2) for g in leaves(gradient)))
    np.testing.assert_allclose(info.elbo.total, -value, rtol=1e-10)
    np.testing.assert_allclose(info.gradient_norm, norm, rtol=1e-10)
    assert norm > 0.01
    rows = zip(leaves(state.system), leaves(after.system), leaves(gradient), strict=True)
    for before, moved, g in rows:
        clipped = g * TRAINING.clip_norm / norm
        np.testing.assert_allclose(
            moved, before - 0.01 * clipped / (np.abs(clipped) + 1e-8), rtol=1e-8
        )


def test_the_average_forgets_its_start_and_then_remembers_as_asked(key):
    """a ← m a + (1 − m) s with m = min(average, t / (t + 10)), t = 0, 1, …"""
    states, _ = run_steps(*make_problem(), 12, key)
    average = leaves(states[0].system)
    for t, state in enumerate(states[1:]):
        memory = min(0.4, t / (t + 10.0))
        new = leaves(state.system)
        average = [memory * a + (1.0 - memory) * s for a, s in zip(average, new, strict=True)]
        for ours, oracle in zip(leaves(state.average), average, strict=True):
            np.testing.assert_allclose(ours, oracle, rtol=1e-12, atol=1e-15)
    gap = [np.abs(a - s).max() for a, s in zip(average, leaves(states[-1].system), strict=True)]
    assert max(gap) > 1e-3


def poison(windows: Windows, value: float) -> Windows:
    """Every output becomes a number that no loss survives."""
    return windows._replace(y=jnp.full_like(windows.y, value))


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e200])
def test_a_step_that_is_not_finite_changes_nothing_but_the_counters(value, key):
    state, windows, weights = make_problem()
    state, _ = step(state, windows, key, TRAINING, weights)
    after, info = step(state, poison(windows, value), key, TRAINING, weights)
    assert bool(info.skipped)
    assert (int(after.step), int(after.skipped)) == (2, 1)
    for name in ("system", "average", "optimiser"):
        before, now = getattr(state, name), getattr(after, name)
        for a, b in zip(leaves(before), leaves(now), strict=True):
            np.testing.assert_array_equal(a, b)


def test_training_goes_on_after_a_skipped_step(key):
    state, windows, weights = make_problem()
    state, _ = step(state, poison(windows, np.nan), key, TRAINING, weights)
    after, info = step(state, windows, key, TRAINING, weights)
    assert not bool(info.skipped)
    assert (int(after.step), int(after.skipped)) == (2, 1)
    for before, moved in zip(leaves(state.system), leaves(after.system), strict=True):
        assert np.all(before != moved)
    assert all(np.isfinite(leaf).all() for leaf in leaves(after))


def test_the_batch_and_the_noise_belong_to_key_and_step(key):
    """Learning nothing, the ELBO of a step still changes with the step and with the key."""
    state, windows, weights = make_problem()
    later = state._replace(step=jnp.asarray(1, jnp.int32))
    totals = [
        float(step(at, windows, k, TRAINING, weights)[1].elbo.total)
        for at, k in [(state, key), (state, key), (later, key), (state, jax.random.key(1))]
    ]
    assert totals[0] == totals[1]
    assert len(set(totals)) == 3


# ---------------------------------------------------------------------- learning rate


def rates(**settings) -> np.ndarray:
    training = Training(learning_rate=0.2, **settings)
    schedule = learning_rate_schedule(training)
    return np.array([float(schedule(i)) for i in range(training.steps + 1)])


def test_the_learning_rate_rises_in_a_line_and_falls_in_a_cosine_to_zero():
    found = rates(steps=50, warmup_steps=10, schedule="cosine")
    rise = 0.2 * np.arange(10) / 10
    fall = 0.1 * (1.0 + np.cos(np.pi * np.arange(41) / 40))
    np.testing.assert_allclose(found, np.concatenate([rise, fall]), atol=1e-7)


def test_the_constant_learning_rate_rises_in_a_line_and_stays():
    found = rates(steps=30, warmup_steps=6, schedule="constant")
    np.testing.assert_allclose(found, 0.2 * np.minimum(np.arange(31) / 6, 1.0), atol=1e-7)


@given(
    steps=st.integers(1, 12),
    warmup_steps=st.integers(0, 15),
    schedule=st.sampled_from(["cosine", "constant"]),
)
def test_however_short_the_training_it_reaches_its_highest_learning_rate(
    steps, warmup_steps, schedule
):
    """The rise ends at the last step at the latest, and no rate is above the one asked for."""
    found = rates(steps=steps, warmup_steps=warmup_steps, schedule=schedule)[:steps]
    assert np.all((found >= 0.0) & (found <= 0.2 + 1e-7))
    assert found.max() == pytest.approx(0.2)


def longest_move(state, windows, training, weights, key):
    """Adam's first moves have the length of the learning rate: the longest one shows it."""
    after, info = step(state, windows, key, training, weights)
    pairs = zip(leaves(state.system), leaves(after.system), strict=True)
    return after, max(np.abs(a - b).max() for a, b in pairs), float(info.learning_rate)


RISING = TRAINING.replace(clip_norm=1e6, warmup_steps=10)


def test_the_learning_rate_that_is_told_is_the_one_that_acts(key):
    state, windows, weights = make_problem(RISING)
    state, length, rate = longest_move(state, windows, RISING, weights, key)
    assert (length, rate) == (0.0, 0.0)
    state, length, rate = longest_move(state, windows, RISING, weights, key)
    assert rate == pytest.approx(0.001, rel=1e-5)
    assert 0.5 * rate < length < 2.0 * rate


@pytest.mark.xfail(
    strict=True, reason="src: the optimiser's own count stands still in a skipped step"
)
def test_the_learning_rate_that_is_told_is_the_one_that_acts_after_a_skipped_step(key):
    state, windows, weights = make_problem(RISING)
    state, _ = step(state, poison(windows, np.nan), key, RISING, weights)
    _, length, rate = longest_move(state, windows, RISING, weights, key)
    assert rate == pytest.approx(0.001, rel=1e-5)
    assert 0.5 * rate < length < 2.0 * rate


# ---------------------------------------------------------------------- weights


@given(
    windows=st.integers(1, 200),
    length=st.integers(2, 60),
    weight=st.floats(0.0, 10.0),
    draw=st.sampled_from(["independent", "trajectory", "pathwise"]),
)
def test_the_inducing_kl_counts_once_over_all_the_data(windows, length, weight, draw):
    """Summed over as many sequences as the rows make up; `weight` times where one asks for it."""
    model = cbf_ssm(function_draw=draw)
    rows = windows * length
    training = Training(sequence_length=length, inducing_kl=weight, state_kl=0.3, entropy=0.2)
    weights = training.weights(model, rows)
    per_sequence = length if draw == "independent" else 1  # how often the ELBO counts it
    assert windows * per_sequence * weights.inducing_kl == pytest.approx(weight)
    assert (weights.state_kl, weights.entropy) == (0.3, 0.2)


def test_terms_are_told_per_time_step_but_the_inducing_kl_is_told_whole(key):
    """elbo = likelihood − KL(x) − KL(u) / rows: as if the data were one long sequence."""
    state, windows, weights = make_problem()
    _, info = step(state, windows, key, TRAINING, weights)
    key_batch, key_noise = jax.random.split(key)
    sequences = from_batch_first(*batch(windows, LENGTH, key_batch, 0, 2))
    whole = eqx.filter_jit(elbo)(
        jax.random.fold_in(key_noise, 0), state.system, sequences, Weights()
    )
    for name in ("log_likelihood", "state_kl", "initial_kl"):
        oracle = getattr(whole, name) / LENGTH
        np.testing.assert_allclose(getattr(info.elbo, name), oracle, rtol=1e-10)
    np.testing.assert_allclose(info.elbo.inducing_kl, whole.inducing_kl, rtol=1e-10)
    total = info.elbo.log_likelihood - info.elbo.state_kl - info.elbo.initial_kl
    total = total - info.elbo.inducing_kl / ROWS
    np.testing.assert_allclose(info.elbo.total, total, rtol=1e-10)
