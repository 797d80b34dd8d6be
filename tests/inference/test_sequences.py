"""The layout of the time loop, and what stands where an output is missing."""

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gpssm.inference.sequences import fill_missing, from_batch_first, repeat_particles
from support import make_sequences

SHAPE = (6, 2, 3)  # one shape, compiled once
fill = jax.jit(fill_missing)


def filled_by_hand(y, mask):
    """The last value before the gap, else the first one after it, else zero."""
    filled = np.zeros_like(y)
    for t, channel, n in np.ndindex(y.shape):
        before = [s for s in range(t + 1) if mask[s, channel, n]]
        after = [s for s in range(t, len(y)) if mask[s, channel, n]]
        if before or after:
            filled[t, channel, n] = y[before[-1] if before else after[0], channel, n]
    return filled


@given(
    y=hnp.arrays(np.float64, SHAPE, elements=st.floats(-1e6, 1e6)),
    mask=hnp.arrays(bool, SHAPE),
    nonsense=st.sampled_from([np.nan, np.inf, 1e30]),
)
def test_gaps_are_filled_from_the_nearest_past_else_the_nearest_future(y, mask, nonsense):
    """Whatever stood in the gaps, NaN included."""
    poisoned = np.where(mask, y, nonsense)
    ours = fill(jnp.asarray(poisoned), jnp.asarray(mask))
    np.testing.assert_array_equal(ours, filled_by_hand(y, mask))


def test_gaps_of_one_step():
    y, mask = np.array([[[3.0, 4.0]]]), np.array([[[True, False]]])
    np.testing.assert_array_equal(fill_missing(*map(jnp.asarray, (y, mask))), [[[3.0, 0.0]]])


def test_time_comes_first_and_the_batch_last():
    rng = np.random.default_rng(0)
    u, y = rng.standard_normal((3, 5, 2)), rng.standard_normal((3, 5, 1))
    mask = rng.uniform(size=y.shape) < 0.6
    sequences = from_batch_first(*map(jnp.asarray, (u, y, mask)))
    assert (sequences.length, sequences.batch) == (5, 3)
    for b, t in np.ndindex(3, 5):
        np.testing.assert_array_equal(sequences.u[t, :, b], u[b, t])
        np.testing.assert_array_equal(sequences.mask[t, :, b], mask[b, t])
        if mask[b, t, 0]:
            assert sequences.y[t, 0, b] == y[b, t, 0]
    np.testing.assert_array_equal(
        sequences.y, filled_by_hand(np.transpose(y, (1, 2, 0)), np.transpose(mask, (1, 2, 0)))
    )


def test_the_first_steps_are_those_of_every_sequence():
    sequences = make_sequences(missing=0.3)
    for whole, part in zip(sequences, sequences.first(4), strict=True):
        np.testing.assert_array_equal(part, whole[:4])


def test_the_particles_of_a_sequence_lie_side_by_side_and_see_the_same():
    values = jnp.arange(24.0).reshape(2, 4, 3)
    repeated = repeat_particles(values, 5)
    for b in range(3):
        for p in range(5):
            np.testing.assert_array_equal(repeated[..., 5 * b + p], values[..., b])
