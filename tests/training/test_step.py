"""One gradient step, on an ELBO whose gradient is known: Adam, clipping, average, skipped steps."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpssm import Dataset, Normalisation, Training, cbf_ssm, pr_ssm, vcdt
from gpssm.data import Rows, Windows, batch, make_windows
from gpssm.inference import Elbo, build
from gpssm.inference.sequences import from_batch_first
from gpssm.training import step as step_module
from gpssm.training.batches import batch_key
from gpssm.training.devices import make_mesh
from gpssm.training.flat import flatten_systems, restore_systems
from gpssm.training.step import (
    READ_BY_A_STEP,
    BatchedSettings,
    rate_schedule,
    start,
    train_step,
    without_batched,
)

ROWS, LENGTH, GOAL = 40, 8, 0.7
MODEL = vcdt(
    dim_x=1, recognition="output", inducing_points=4, particles=3, warmup=1, process_variance=0.05,
    informative_initial_state=True,
)  # fmt: skip
TRAINING = Training(
    steps=20, batch_size=2, sequence_length=LENGTH, precision="float64", average=0.4,
    warmup_steps=0, schedule="constant", learning_rate=0.01,
)  # fmt: skip


def make_problem(training: Training = TRAINING):
    """The first state of training, the windows of a noisy wave, and the weights of the ELBO."""
    rng = np.random.default_rng(0)
    time = np.arange(ROWS)
    y = np.sin(0.5 * time) + 0.1 * rng.standard_normal(ROWS)
    data = Dataset.from_arrays(y, np.cos(0.5 * time))
    windows = make_windows(data, Normalisation.of(data), LENGTH, 1, training.dtype)
    examples = from_batch_first(*batch(windows, LENGTH, jax.random.key(0), 0, 4))
    system = build(jax.random.key(0), MODEL, examples)
    return start(system, training), windows, without_batched(training).weights(MODEL, ROWS)


def leaves(tree) -> list[np.ndarray]:
    """Every array that holds a number."""
    return [np.asarray(leaf) for leaf in jax.tree.leaves(tree) if leaf.size]


def parabola(keys, system, sequences, weights) -> Elbo:
    """T times −½ Σ (parameter − mean output)²; the other terms tell what the step has seen."""
    goal = jnp.mean(sequences.y)
    distance = sum(jnp.sum(jnp.square(leaf - goal)) for leaf in jax.tree.leaves(system))
    seen = sum(jnp.sum(jax.random.key_data(key) * 1.0) for key in jax.tree.leaves(keys))
    total = -0.5 * sequences.length * distance
    numbers = (jnp.asarray(value) for value in (30.0, 40.0, 50.0))
    return Elbo(total, goal, *numbers, jnp.asarray(weights.inducing_kl), seen, jnp.asarray(60.0))


def cusp(keys, system, sequences, weights) -> Elbo:
    """A finite value without a finite gradient."""
    terms = parabola(keys, system, sequences, weights)
    zero = sum(jnp.sum(0.0 * leaf) for leaf in jax.tree.leaves(system))
    return terms._replace(total=terms.total + jnp.sqrt(zero))


def make_step():
    """A step as training compiles it, on one device; anew, because `elbo` is another one."""
    mesh = make_mesh(TRAINING.batch_size, 1, jax.devices()[:1])

    @eqx.filter_jit
    def step(state, windows, key, training, weights):
        rows = batch(windows, LENGTH, batch_key(key), state.step, training.batch_size)
        arguments = (
            Rows(*rows),
            key,
            BatchedSettings.of(training),
            without_batched(training),
            weights,
            mesh,
        )
        return restore_systems(train_step(flatten_systems(state), *arguments))

    return step


@pytest.fixture
def step(monkeypatch):
    monkeypatch.setattr(step_module, "elbo", parabola)
    return make_step()


def with_outputs(windows: Windows, value: float) -> Windows:
    """The same output everywhere: every batch has the same mean."""
    return windows._replace(y=jnp.full_like(windows.y, value))


def norm_of(gradient: list[np.ndarray]) -> float:
    return np.sqrt(sum(np.sum(g**2) for g in gradient))


def adam(parameters: list[np.ndarray], rate: float, clip: float, steps: int):
    """Adam on ½ Σ (parameter − GOAL)², from its paper: all parameters, and the gradient norms."""
    first = second = [np.zeros_like(p) for p in parameters]
    path, norms = [parameters], []
    for t in range(1, steps + 1):
        gradient = [p - GOAL for p in path[-1]]
        norms.append(norm_of(gradient))
        gradient = [g * min(1.0, clip / norms[-1]) for g in gradient]
        first = [0.9 * m + 0.1 * g for m, g in zip(first, gradient, strict=True)]
        second = [0.999 * v + 0.001 * g**2 for v, g in zip(second, gradient, strict=True)]
        moves = [
            (m / (1.0 - 0.9**t)) / (np.sqrt(v / (1.0 - 0.999**t)) + 1e-8)
            for m, v in zip(first, second, strict=True)
        ]
        path.append([p - rate * move for p, move in zip(path[-1], moves, strict=True)])
    return path, norms


def test_steps_are_those_of_adam_on_the_clipped_gradient_per_time_step(step, key):
    """Clipped at first and not later; the reported norm is that before clipping."""
    state, windows, weights = make_problem()
    windows = with_outputs(windows, GOAL)
    clip = 0.99 * norm_of([p - GOAL for p in leaves(state.system)])
    path, norms = adam(leaves(state.system), 0.01, clip, 8)
    assert norms[0] > clip > norms[-1]
    for oracle, norm in zip(path[1:], norms, strict=True):
        state, info = step(state, windows, key, TRAINING.replace(clip_norm=clip), weights)
        np.testing.assert_allclose(info.gradient_norm, norm, rtol=1e-10)
        for ours, theirs in zip(leaves(state.system), oracle, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


def test_the_average_forgets_its_start_and_then_remembers_as_asked(step, key):
    """a ← m a + (1 − m) s with m = min(average, t / (t + 10)), t = 0, 1, …"""
    state, windows, weights = make_problem()
    average = leaves(state.system)
    for t in range(12):
        memory = min(0.4, t / (t + 10.0))
        state, _ = step(state, windows, key, TRAINING, weights)
        new = leaves(state.system)
        average = [memory * a + (1.0 - memory) * s for a, s in zip(average, new, strict=True)]
        for ours, oracle in zip(leaves(state.average), average, strict=True):
            np.testing.assert_allclose(ours, oracle, rtol=1e-12, atol=1e-15)
    gap = [np.abs(a - s).max() for a, s in zip(average, new, strict=True)]
    assert min(gap) > 1e-4


@pytest.mark.parametrize("schedule", ["constant", "cosine"])
def test_a_step_reads_only_what_its_program_is_compiled_for(key, monkeypatch, schedule):
    """All others are at their default in the training that `run_chunk` is given."""
    training = TRAINING.replace(schedule=schedule, rate_factors={"kernel": 0.5, "smoother": 0.0})
    state, windows, weights = make_problem(training)
    monkeypatch.setattr(step_module, "elbo", parabola)
    rows, batched = batch(windows, LENGTH, key, 0, 2), BatchedSettings.of(training)
    mesh = make_mesh(TRAINING.batch_size, 1, jax.devices()[:1])
    read, original = set(), Training.__getattribute__

    def noted(self, name):
        read.add(name)
        return original(self, name)

    monkeypatch.setattr(Training, "__getattribute__", noted)
    jax.eval_shape(
        lambda state: train_step(
            flatten_systems(state), Rows(*rows), key, batched, training, weights, mesh
        ),
        state,
    )
    assert read & set(Training.model_fields) == set(READ_BY_A_STEP)


# ---------------------------------------------------------------------- skipped steps


def assert_only_the_counters_moved(before, after, info):
    assert bool(info.skipped)
    assert (int(after.step), int(after.skipped)) == (int(before.step) + 1, int(before.skipped) + 1)
    for name in ("system", "average", "optimiser"):
        for a, b in zip(leaves(getattr(before, name)), leaves(getattr(after, name)), strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e200])
def test_a_step_without_a_finite_loss_changes_nothing_but_the_counters(value, step, key):
    state, windows, weights = make_problem()
    state, info = step(state, windows, key, TRAINING, weights)
    assert not bool(info.skipped)
    bad = with_outputs(windows, value)
    assert_only_the_counters_moved(state, *step(state, bad, key, TRAINING, weights))


def test_a_step_without_a_finite_gradient_changes_nothing_but_the_counters(key, monkeypatch):
    monkeypatch.setattr(step_module, "elbo", cusp)
    state, windows, weights = make_problem()
    after, info = make_step()(state, windows, key, TRAINING, weights)
    assert np.isfinite(info.elbo.total)
    assert_only_the_counters_moved(state, after, info)


def test_training_goes_on_after_a_skipped_step(step, key):
    """As if nothing had been: Adam's path, from its beginning."""
    state, windows, weights = make_problem()
    path, _ = adam(leaves(state.system), 0.01, TRAINING.clip_norm, 2)
    for outputs in (np.nan, GOAL, np.inf, GOAL):
        state, _ = step(state, with_outputs(windows, outputs), key, TRAINING, weights)
    assert (int(state.step), int(state.skipped)) == (4, 2)
    for ours, theirs in zip(leaves(state.system), path[-1], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


# ---------------------------------------------------------------------- what a step sees and tells


def test_the_batch_and_the_noise_belong_to_key_and_step(step, key):
    state, windows, weights = make_problem()
    later = state._replace(step=jnp.asarray(1, jnp.int32))
    told = []
    for at, k in [(state, key), (state, key), (later, key), (state, jax.random.key(1))]:
        terms = step(at, windows, k, TRAINING, weights)[1].elbo
        told.append((float(terms.log_likelihood), float(terms.entropy)))
    batches, noises = zip(*told, strict=True)
    assert told[0] == told[1]
    assert len(set(batches)) == len(set(noises)) == 3


def test_terms_are_told_per_time_step_but_the_inducing_kl_is_told_whole(step, key):
    state, windows, weights = make_problem()
    distance = norm_of([p - GOAL for p in leaves(state.system)]) ** 2
    terms = step(state, with_outputs(windows, GOAL), key, TRAINING, weights)[1].elbo
    np.testing.assert_allclose(terms.total, -0.5 * distance, rtol=1e-10)
    assert float(terms.log_likelihood) == pytest.approx(GOAL / LENGTH)
    assert float(terms.state_kl) == pytest.approx(30.0 / LENGTH)
    assert (float(terms.inducing_kl), float(terms.smoother_kl)) == (40.0, 50.0)
    assert float(terms.parameter_kl) == 60.0
    assert float(terms.initial_kl) == pytest.approx(weights.inducing_kl / LENGTH)


@given(
    windows=st.integers(1, 200),
    length=st.integers(2, 60),
    weight=st.floats(0.0, 10.0),
    draw=st.sampled_from(["independent", "trajectory", "pathwise"]),
)
def test_the_inducing_kl_counts_once_over_all_the_data(windows, length, weight, draw):
    """Summed over as many sequences as the rows make up; `weight` times where one asks for it."""
    training = Training(sequence_length=length, inducing_kl=weight, state_kl=0.3, entropy=0.2)
    weights = training.weights(cbf_ssm(function_draw=draw), windows * length)
    per_sequence = length if draw == "independent" else 1  # how often the ELBO counts it
    assert windows * per_sequence * weights.inducing_kl == pytest.approx(weight)
    assert (weights.state_kl, weights.entropy) == (0.3, 0.2)


@pytest.mark.parametrize(("k", "price"), [(1, 10.0), (4, 2.5), (10, 1.0), (50, 1.0)])
def test_a_correction_is_dear_where_it_is_strong(k, price):
    assert Training().weights(cbf_ssm(k=k), 100).state_kl == price
    assert Training(state_kl=1.0).weights(cbf_ssm(k=k), 100).state_kl == 1.0
    assert Training().weights(pr_ssm(), 100).state_kl == 1.0  # whatever it is: there is no such KL


# ---------------------------------------------------------------------- learning rate


def rates(**settings) -> np.ndarray:
    training = Training(learning_rate=0.2, **settings)
    schedule = rate_schedule(training)
    return np.array(
        [training.learning_rate * float(schedule(i)) for i in range(training.steps + 1)]
    )


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


RISING = TRAINING.replace(warmup_steps=10)


def move(step, state, windows, weights, key) -> tuple[float, float]:
    """How far Adam's first moves go, which is the rate that acts; and the rate that is told."""
    after, info = step(state, windows, key, RISING, weights)
    moves = [np.abs(a - b) for a, b in zip(leaves(state.system), leaves(after.system), strict=True)]
    return max(each.max() for each in moves), float(info.learning_rate)


def test_the_learning_rate_that_is_told_is_the_one_that_acts(step, key):
    state, windows, weights = make_problem(RISING)
    assert move(step, state, windows, weights, key) == (0.0, 0.0)
    state, _ = step(state, windows, key, RISING, weights)
    acts, told = move(step, state, windows, weights, key)
    assert told == pytest.approx(0.001, rel=1e-5)
    assert acts == pytest.approx(told, rel=0.1)


def test_the_learning_rate_that_is_told_is_the_one_that_acts_after_a_skipped_step(step, key):
    state, windows, weights = make_problem(RISING)
    state, _ = step(state, with_outputs(windows, np.nan), key, RISING, weights)
    acts, told = move(step, state, windows, weights, key)
    assert told == pytest.approx(0.001, rel=1e-5)
    assert acts == pytest.approx(told, rel=0.1)
