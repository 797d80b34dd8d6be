"""Steps that are not finite, many in a row: back to a good state, smaller steps, then the end."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from test_step import GOAL, TRAINING, leaves, make_problem, make_step, parabola, with_outputs

import gpssm
from gpssm import TrainingError
from gpssm.training import Phase, train
from gpssm.training import step as step_module

RUNNING = TRAINING.replace(steps=400)


@pytest.fixture
def walk(monkeypatch, key):
    """Takes steps with finite batches (True) or poisoned ones; returns all states and infos."""
    monkeypatch.setattr(step_module, "elbo", parabola)
    step, (begin, windows, weights) = make_step(), make_problem(RUNNING)
    batches = {True: with_outputs(windows, GOAL), False: with_outputs(windows, np.nan)}

    def go(path, state=begin):
        states, infos = [state], []
        for fine in path:
            state, info = step(state, batches[fine], key, RUNNING, weights)
            states.append(state)
            infos.append(info)
        return states, infos

    return go


def assert_same(ours, other, names=("system", "average", "optimiser")):
    for name in names:
        for a, b in zip(leaves(getattr(ours, name)), leaves(getattr(other, name)), strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(("finite", "good"), [(3, 0), (30, 0), (49, 0), (55, 25), (80, 50)])
def test_ten_in_a_row_lead_back_to_the_last_state_that_has_proven_itself(finite, good, walk):
    """Snapshots are taken every 25 finite steps; one counts when 25 more have followed it."""
    states, infos = walk([True] * finite + [False] * 10)
    assert_same(states[-2], states[finite])  # nine steps are skipped and nothing else
    assert_same(states[-1], states[good])
    assert [bool(info.rolled_back) for info in infos] == [False] * (finite + 9) + [True]
    assert (int(states[-1].step), int(states[-1].skipped)) == (finite + 10, 10)


def test_after_a_roll_back_the_learning_rate_is_a_tenth(walk):
    states, infos = walk([True] * 3 + [False] * 10 + [True])
    assert float(infos[-2].rate_scale) == 1.0
    assert float(infos[-1].rate_scale) == pytest.approx(0.1)
    assert float(infos[-1].learning_rate) == pytest.approx(0.1 * RUNNING.learning_rate)
    moves = zip(leaves(states[-1].system), leaves(states[-2].system), strict=True)
    largest = max(np.abs(a - b).max() for a, b in moves)
    assert largest == pytest.approx(0.1 * RUNNING.learning_rate, rel=1e-4)


def test_nine_in_a_row_do_not_lead_back(walk):
    states, infos = walk(([True] + [False] * 9) * 3)
    assert not any(bool(info.rolled_back) for info in infos)
    assert float(states[-1].recovery.rate_scale) == 1.0


def test_after_three_roll_backs_it_gives_up_and_stays_where_it_is(walk):
    states, infos = walk([True] * 3 + [False] * 40 + [True] * 5)
    backs = [i for i, info in enumerate(infos) if bool(info.rolled_back)]
    assert backs == [12, 22, 32]
    found = [int(state.recovery.failed_at) for state in states]
    assert found == [-1] * 43 + [42] * 6
    assert_same(states[-1], states[43])


# ---------------------------------------------------------------------- in training


def poisoned(keys, system, sequences, weights):
    """Finite values; the gradient of the process noise is 0 · ∞."""
    terms = parabola(keys, system, sequences, weights)
    zero = jnp.sum(jnp.sqrt(0.0 * system.model.transition.raw_noise))
    return terms._replace(total=terms.total + zero)


def test_the_other_seeds_of_a_failure_are_returned_too(monkeypatch):
    """Two seeds, of which one starts where nothing is finite."""
    monkeypatch.setattr(step_module, "elbo", parabola)
    training = RUNNING.replace(clip_norm=78.0)
    state, windows, _ = make_problem(training)
    bad = jax.tree.map(lambda leaf: jnp.full_like(leaf, 1e200), state.system)
    phases, keys = (Phase(400, training, windows),), jax.random.split(jax.random.key(0))
    fine, failed = train(keys, [state.system, bad], phases, devices=jax.devices()[:1])
    assert fine.failure is None
    assert failed.failure.step == 39
    assert len(failed.failure.groups) == 6
    assert len(fine.history.table) == len(failed.history.table) == 50
    assert failed.history.table["rolled_back"].sum() == 3
    assert failed.history.table["rate_scale"].iloc[-1] == pytest.approx(1e-3)
    assert not fine.history.table["skipped"].any()
    assert all(np.isfinite(leaf).all() for leaf in leaves((fine.average, failed.average)))


@pytest.fixture
def fit_poisoned(monkeypatch):
    monkeypatch.setattr(step_module, "elbo", poisoned)
    model = gpssm.cbf_ssm(dim_x=2, inducing_points=3, particles=2, lag=2)
    settings = {"steps": 100, "sequence_length": 8, "clip_norm": 77.0, "quiet": True, "seed": 4}
    y = np.sin(0.3 * np.arange(60))
    return lambda **more: gpssm.fit(model, y=y, **{**settings, **more})


MESSAGE = (
    r"training: got no finite gradient at step 39 of seed 4, after 3 roll-backs.*"
    r"not finite in: process_noise, expected a finite one\. Use a smaller learning_rate"
)


def test_the_error_names_step_seed_and_group_and_where_the_model_is(
    fit_poisoned, tmp_path, monkeypatch
):
    with pytest.raises(TrainingError, match=MESSAGE) as error:
        fit_poisoned(run_dir=tmp_path)
    assert str(error.value).endswith(f"The best model so far is in {tmp_path / 'seed-4.gpssm'}.")
    assert len(gpssm.load(tmp_path / "seed-4.gpssm").history.table) == 50
    assert (tmp_path / "checkpoints" / "50").is_dir()
    # the same call does not train again, and says the same
    monkeypatch.setattr("gpssm.training.loop.run_chunk", None)
    with pytest.raises(TrainingError, match=MESSAGE):
        fit_poisoned(run_dir=tmp_path)


def test_without_a_directory_the_error_says_that_the_model_is_lost(fit_poisoned):
    with pytest.raises(TrainingError, match=r"The best model so far is lost: no run_dir was given"):
        fit_poisoned()
