"""Groups of parameters: every one has its place, its own learning rate, or none at all."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from test_step import GOAL, TRAINING, make_problem, make_step, norm_of, parabola, with_outputs

from gpssm import ConfigError, Training, cbf_ssm, pr_ssm, vcdt
from gpssm.inference import build
from gpssm.training import GROUPS
from gpssm.training import step as step_module
from gpssm.training.groups import groups_not_finite, scale_groups
from support import SMALL, make_sequences

MODELS = {
    "cbf-ssm": cbf_ssm(dim_x=3, **SMALL),
    "gru and a sum of kernels": vcdt(dim_x=2, recognition="gru", kernel="rbf+linear", **SMALL),
    "delta": pr_ssm(dim_x=2, covariance="delta", function_draw="delta", **SMALL),
}
EVERYWHERE = {
    "kernel", "inducing_inputs", "inducing_values", "process_noise", "output_noise",
    "initial_state",
}  # fmt: skip


def system_of(name):
    return build(jax.random.key(0), MODELS[name], make_sequences())


def numbers(part) -> np.ndarray:
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(part)])


def parts(system) -> dict:
    """The groups, picked by hand."""
    gp, posterior = system.model.transition.gp, system.posterior
    return {
        "kernel": gp.kernel,
        "inducing_inputs": gp.inducing_inputs,
        "inducing_values": gp.posterior,
        "smoother": posterior.smoother,
        "process_noise": system.model.transition.raw_noise,
        "output_noise": system.model.emission.raw_noise,
        "target_noise": posterior.raw_hidden_noise,
        "initial_state": system.model.initial,
        "recognition": posterior.recognition,
        "method": posterior.added,
        "physics": system.model.transition.dynamics,
    }


@pytest.mark.parametrize("name", MODELS)
def test_every_parameter_has_one_group(name):
    """A factor of 2 + i for group i: the leaves say to which group they belong."""
    ones = jax.tree.map(jnp.ones_like, system_of(name))
    scaled = scale_groups(ones, {group: 2.0 + i for i, group in enumerate(GROUPS)})
    seen = set()
    for i, group in enumerate(GROUPS):
        leaves = jax.tree.leaves(parts(scaled)[group])
        if any(leaf.size for leaf in leaves):
            seen.add(group)
            assert set(numbers(leaves)) == {2.0 + i}
    extra = {"cbf-ssm": {"smoother", "target_noise"}, "delta": {"recognition"}}
    assert seen == EVERYWHERE | extra.get(name, {"recognition"})


def test_groups_that_are_not_finite_are_named_in_order():
    system = jax.tree.map(jnp.ones_like, system_of("cbf-ssm"))
    assert groups_not_finite(system) == ()
    bad = scale_groups(system, {"smoother": jnp.inf, "kernel": jnp.nan})
    assert groups_not_finite(bad) == ("kernel", "smoother")


# ---------------------------------------------------------------------- learning rates


def after(monkeypatch, key, steps=3, **settings):
    """The state before and after some steps towards the parabola's minimum."""
    monkeypatch.setattr(step_module, "elbo", parabola)
    training, step = TRAINING.replace(**settings), make_step()
    begin, windows, weights = make_problem(training)
    windows, state = with_outputs(windows, GOAL), begin
    for _ in range(steps):
        state, info = step(state, windows, key, training, weights)
    return begin, state, info


@pytest.mark.parametrize("group", ["kernel", "inducing_inputs", "initial_state"])
def test_a_factor_of_zero_leaves_a_group_as_it_is_to_the_last_bit(group, monkeypatch, key):
    begin, state, _ = after(monkeypatch, key, rate_factors={group: 0.0})
    for name in EVERYWHERE:
        for system in (state.system, state.average):
            same = numbers(parts(system)[name]) == numbers(parts(begin.system)[name])
            assert same.all() if name == group else not same.any()


def test_a_frozen_group_has_no_part_in_the_norm_of_the_gradient(monkeypatch, key):
    begin, _, info = after(monkeypatch, key, steps=1, rate_factors={"inducing_inputs": 0.0})
    found = parts(begin.system)
    moving = [numbers(found[name]) - GOAL for name in EVERYWHERE - {"inducing_inputs"}]
    assert float(info.gradient_norm) == pytest.approx(norm_of(moving))


def test_a_factor_of_one_changes_nothing(monkeypatch, key):
    _, plain, _ = after(monkeypatch, key)
    _, state, _ = after(monkeypatch, key, rate_factors={"kernel": 1.0, "smoother": 1.0})
    for a, b in zip(jax.tree.leaves(plain), jax.tree.leaves(state), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_factor_scales_the_first_move_of_its_group_and_of_no_other(monkeypatch, key):
    begin, state, _ = after(monkeypatch, key, steps=1, rate_factors={"kernel": 0.25})
    for name in EVERYWHERE:
        move = np.abs(numbers(parts(state.system)[name]) - numbers(parts(begin.system)[name]))
        np.testing.assert_allclose(move, 0.0025 if name == "kernel" else 0.01, rtol=1e-5)


# ---------------------------------------------------------------------- settings


def test_an_unknown_group_is_refused_with_the_known_ones():
    with pytest.raises(ConfigError, match=r"rate_factors: got 'kernels', expected one of kernel,"):
        Training(rate_factors={"kernels": 1.0})
    with pytest.raises(ConfigError, match=r"rate_factors.kernel: got -1.*at least 0"):
        Training(rate_factors={"kernel": -1.0})


def test_factors_survive_json_and_have_a_hash_without_an_order():
    one = Training(rate_factors={"kernel": 0.5, "smoother": 0.0})
    other = Training(rate_factors={"smoother": 0.0, "kernel": 0.5})
    assert (one, hash(one)) == (other, hash(other))
    assert one.to_json()["rate_factors"] == {"kernel": 0.5, "smoother": 0.0}
    assert Training(**one.to_json()) == one.replace(steps=1000)
    assert hash(one) != hash(Training())


# ---------------------------------------------------------------------- β warm-up


def telling(keys, system, sequences, weights):
    """A parabola whose other terms are the weights that it was given."""
    terms = parabola(keys, system, sequences, weights)
    seen = {"state_kl": weights.state_kl, "inducing_kl": weights.inducing_kl}
    return terms._replace(**seen, smoother_kl=jnp.asarray(weights.entropy))


def test_the_weights_of_the_kls_rise_in_a_line_to_their_values(monkeypatch, key):
    monkeypatch.setattr(step_module, "elbo", telling)
    training = TRAINING.replace(kl_warmup_steps=4, state_kl=0.6, inducing_kl=0.9, entropy=0.3)
    step, (state, windows, weights) = make_step(), make_problem(training)
    for share in (0.25, 0.5, 0.75, 1.0, 1.0):
        state, info = step(state, windows, key, training, weights)
        terms, length = info.elbo, training.sequence_length
        assert float(terms.state_kl) == pytest.approx(share * 0.6 / length)
        assert float(terms.inducing_kl) == pytest.approx(
            share * training.inducing_kl * weights.inducing_kl
        )
        assert float(terms.smoother_kl) == 0.3
