"""q(x[1]): the first output, and the networks that correct it from a warm-up."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from gpssm.inference import build, vcdt
from gpssm.inference.sequences import Sequences
from support import SMALL, make_sequences, make_system

NETWORKS = ["mlp", "conv", "gru"]
WARMUP = 5
SEQUENCES = make_sequences(batch=3, time=9, dim_u=2)
WIDTH = 32


def make(kind: str, **more):
    config = vcdt(dim_x=3, recognition=kind, **{**SMALL, "warmup": WARMUP, **more})
    return make_system(config, SEQUENCES)


@eqx.filter_jit
def first_state(system, sequences):
    nothing_hidden = jnp.zeros((sequences.length, 0, sequences.batch))
    return system.posterior.recognition.first_state(system.model, sequences, nothing_hidden)


def without_network(system, sequences):
    """(y[1], μ1) and (Σy, Σ1), for every sequence."""
    model, n = system.model, sequences.batch
    hidden_mean = np.repeat(model.initial.mean[1:, None], n, axis=1)
    variance = np.concatenate([model.emission.noise, model.initial.variance[1:]])
    return (
        np.concatenate([sequences.y[0], hidden_mean]),
        np.repeat(variance[:, None], n, axis=1),
    )


def corrected(system, sequences, encoded):
    """The read-out by hand: a shift of the mean and a factor on the variance."""
    readout = system.posterior.recognition.readout
    out = np.asarray(readout.weight) @ encoded + np.asarray(readout.bias)[:, None]
    mean, variance = without_network(system, sequences)
    return mean + out[:3], variance * np.exp(out[3:])


def signals_of(sequences, n):
    """Rows (y[t], u[t]) of the warm-up of one sequence."""
    rows = np.concatenate([sequences.y, sequences.u], axis=1)[:WARMUP, :, n]
    return np.asarray(rows)


def test_output_is_the_first_output_and_the_initial_state():
    system = make("output")
    ours = first_state(system, SEQUENCES)
    for value, oracle in zip(ours, without_network(system, SEQUENCES), strict=True):
        np.testing.assert_allclose(value, oracle, rtol=1e-12)
    assert np.all(np.abs(np.asarray(system.model.initial.mean)) > 1e-3)


def encode_mlp(encoder, rows):
    return np.tanh(np.asarray(encoder.weight) @ rows.ravel() + np.asarray(encoder.bias))


def encode_conv(encoder, rows):
    """Every stretch of four steps through the same linear map; the mean over the stretches."""
    weight, bias = np.asarray(encoder.weight), np.asarray(encoder.bias)[:, 0]
    size = weight.shape[2]
    assert size == 4
    stretches = [rows[t : t + size] for t in range(len(rows) - size + 1)]
    return np.mean([np.tanh(np.einsum("ocs,sc->o", weight, s) + bias) for s in stretches], axis=0)


def encode_gru(encoder, rows):
    """From the last step of the warm-up to the first."""
    carry = jnp.zeros(WIDTH)
    for t in range(WARMUP - 1, -1, -1):
        carry = encoder(jnp.asarray(rows[t]), carry)
    return np.asarray(carry)


@pytest.mark.parametrize("kind", NETWORKS)
def test_a_network_equals_its_replay_by_hand(kind):
    system = make(kind)
    encode = {"mlp": encode_mlp, "conv": encode_conv, "gru": encode_gru}[kind]
    encoder = system.posterior.recognition.encoder
    encoded = np.stack([encode(encoder, signals_of(SEQUENCES, n)) for n in range(3)], axis=1)
    ours = first_state(system, SEQUENCES)
    for value, oracle in zip(ours, corrected(system, SEQUENCES, encoded), strict=True):
        np.testing.assert_allclose(value, oracle, rtol=1e-10)


def test_the_gru_does_not_read_forwards():
    system = make("gru")
    encoder = system.posterior.recognition.encoder
    rows = [signals_of(SEQUENCES, n)[::-1] for n in range(3)]
    forwards = np.stack([encode_gru(encoder, each) for each in rows], axis=1)
    mean, _ = first_state(system, SEQUENCES)
    assert np.all(np.abs(mean - corrected(system, SEQUENCES, forwards)[0]) > 1e-6)


@pytest.mark.parametrize("kind", NETWORKS)
def test_all_of_the_warm_up_matters_and_nothing_after_it(kind):
    """Gradients with respect to every y[t] and u[t]: zero after the warm-up, else not."""
    system = make(kind)

    def total(y, u):
        mean, variance = first_state(system, Sequences(u, y, SEQUENCES.mask))
        return jnp.sum(jnp.sin(mean)) + jnp.sum(jnp.sin(variance))

    for gradient in jax.jit(jax.grad(total, argnums=(0, 1)))(SEQUENCES.y, SEQUENCES.u):
        assert np.all(gradient[:WARMUP] != 0.0)
        np.testing.assert_array_equal(gradient[WARMUP:], 0.0)


@pytest.mark.parametrize("kind", ["output", *NETWORKS])
def test_nonsense_after_the_warm_up_and_in_other_sequences_changes_nothing(kind):
    system = make(kind)
    after = jnp.arange(9)[:, None, None] >= WARMUP
    other = jnp.arange(3)[None, None, :] != 1
    u, y = (jnp.where(after | other, 1e6, a) for a in (SEQUENCES.u, SEQUENCES.y))
    before, now = (
        first_state(system, SEQUENCES),
        first_state(system, Sequences(u, y, SEQUENCES.mask)),
    )
    for a, b in zip(before, now, strict=True):
        np.testing.assert_allclose(a[:, 1], b[:, 1], rtol=1e-12)
        assert np.all(np.isfinite(b))


def test_a_convolution_fits_into_a_warm_up_shorter_than_itself():
    """Two steps: one stretch of two."""
    system = make("conv", warmup=2)
    encoder = system.posterior.recognition.encoder
    weight, bias = np.asarray(encoder.weight), np.asarray(encoder.bias)[:, 0]
    rows = np.stack([signals_of(SEQUENCES, n)[:2] for n in range(3)], axis=2)
    encoded = np.tanh(np.einsum("ocs,scn->on", weight, rows) + bias[:, None])
    mean, _ = first_state(system, SEQUENCES)
    np.testing.assert_allclose(mean, corrected(system, SEQUENCES, encoded)[0], rtol=1e-10)


@pytest.mark.parametrize("kind", NETWORKS)
def test_training_starts_near_what_output_says(kind):
    """A fresh network: shifts of a fraction of the data's unit variance."""
    config = vcdt(dim_x=3, recognition=kind, **{**SMALL, "warmup": WARMUP})
    system = build(jax.random.key(1), config, SEQUENCES)
    ours, oracle = first_state(system, SEQUENCES), without_network(system, SEQUENCES)
    assert np.all(np.abs(ours[0] - oracle[0]) < 0.3)
    assert np.all(np.abs(np.log(ours[1] / oracle[1])) < 0.3)


@pytest.mark.parametrize("kind", NETWORKS)
def test_a_read_out_starts_at_a_tenth_of_the_usual_size(kind):
    """Uniform between ±1/√32 is usual for a layer of 32 inputs."""
    config = vcdt(dim_x=3, recognition=kind, **{**SMALL, "warmup": WARMUP})
    readout = build(jax.random.key(1), config, SEQUENCES).posterior.recognition.readout
    assert 0.09 / np.sqrt(32) < np.max(np.abs(readout.weight)) < 0.1 / np.sqrt(32)
