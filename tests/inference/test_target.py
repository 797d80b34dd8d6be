"""What the forward pass conditions on: values, and where they count."""

import jax.numpy as jnp
import numpy as np
import pytest

from gpssm import cbf_ssm
from gpssm.inference.forward import make_target
from gpssm.inference.sequences import Sequences

TIME, BATCH, PARTICLES, HIDDEN = 9, 2, 3, 2


@pytest.fixture
def sequences():
    y = jnp.arange(TIME * BATCH, dtype=float).reshape(TIME, 1, BATCH)
    return Sequences(jnp.zeros((TIME, 1, BATCH)), y, jnp.ones(y.shape, bool).at[2, 0, 1].set(False))


def target(sequences, conditioned, lookahead):
    config = cbf_ssm(k=1, dim_x=1 + HIDDEN, particles=PARTICLES, lookahead=lookahead)
    hidden = 100.0 + jnp.arange(TIME * HIDDEN * BATCH * PARTICLES, dtype=float)
    hidden = hidden.reshape(TIME, HIDDEN, BATCH * PARTICLES)
    return make_target(sequences, hidden, conditioned, config), hidden


def test_outputs_come_first_and_every_particle_sees_those_of_its_sequence(sequences):
    found, hidden = target(sequences, TIME, 0)
    np.testing.assert_array_equal(found.values[:, 0], np.repeat(sequences.y[:, 0], PARTICLES, 1))
    np.testing.assert_array_equal(found.values[:, 1:], hidden)


def test_what_is_missing_does_not_count(sequences):
    found, _ = target(sequences, TIME, 0)
    assert found.known[2].tolist() == [[True] * 3 + [False] * 3, [True] * 6, [True] * 6]


@pytest.mark.parametrize(("conditioned", "lookahead"), [(TIME, 0), (6, 0), (6, 2), (TIME, 4)])
def test_hidden_states_count_where_they_have_seen_enough(sequences, conditioned, lookahead):
    """Outputs after those that are conditioned on are seen, too: it is the smoother that looks."""
    known = target(sequences, conditioned, lookahead)[0].known
    assert np.all(known[:, 0, 0] == (np.arange(TIME) < conditioned))
    seen_later = TIME - 1 - np.arange(TIME)
    expected = (np.arange(TIME) < conditioned) & (seen_later >= lookahead)
    assert np.all(known[:, 1:] == expected[:, None, None])
