"""What the reverse pass keeps of a step: counts of numbers by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from gpssm import inference
from gpssm.gp import make_keys
from gpssm.gp.kernels import KERNEL_VALUES
from gpssm.gp.sparse import MOMENTS, PRODUCTS
from gpssm.inference import backward, cbf_ssm, forward
from gpssm.inference.checkpointing import checkpointed
from gpssm.inference.terms import factor_system
from support import SMALL, make_sequences, make_system


def factor_of(inducing_points):
    """Three states and two hidden ones, one kernel for all."""
    config = cbf_ssm(dim_x=3, **{**SMALL, "inducing_points": inducing_points})
    shapes = jax.eval_shape(
        lambda: factor_system(make_system(config, make_sequences()), jnp.float64).forward
    )
    return jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)


@pytest.fixture
def kept(monkeypatch):
    """Names that are kept, of a call of `checkpointed`."""
    monkeypatch.setattr(jax.checkpoint_policies, "save_only_these_names", lambda *names: set(names))
    monkeypatch.setattr(jax, "checkpoint", lambda step, policy, **_: lambda: policy)
    return lambda factor, columns: checkpointed(np.add, factor, columns)()


@pytest.fixture(scope="module")
def few():
    return factor_of(5)


@pytest.mark.parametrize(
    ("columns", "names"),
    [
        (1_142_857, {KERNEL_VALUES, MOMENTS}),
        (1_142_858, {KERNEL_VALUES}),
        (1_600_000, {KERNEL_VALUES}),
        (1_600_001, set()),
    ],
)
def test_of_few_inducing_points_kernel_values_and_moments_are_kept(few, kept, columns, names):
    """5 kernel values, and for 3 outputs 1 + 2 · 3 = 7 moments per column; 64 MB of each."""
    assert kept(few, columns) == names


@pytest.mark.parametrize(("points", "products"), [(49, False), (50, True)])
def test_of_many_inducing_points_products_are_kept_as_well(kept, points, products):
    factor = factor_of(points)
    assert (PRODUCTS in kept(factor, 10)) == products
    most = int(64e6 / 8 / factor.rows.shape[1])
    assert (PRODUCTS in kept(factor, most)) == products
    assert PRODUCTS not in kept(factor, most + 1)


def test_both_passes_count_the_columns_that_their_scan_visits(monkeypatch):
    """Two sequences of 9 steps with 4 particles; a lag of 3 makes two windows of 6 steps."""
    seen = {}
    for module in (forward, backward):
        count = lambda step, _, columns, name=module.__name__: seen.update({name: columns}) or step  # noqa: E731
        monkeypatch.setattr(module, "checkpointed", count)
    sequences = make_sequences(batch=2, time=9)
    config = cbf_ssm(dim_x=3, **{**SMALL, "lag": 3})
    keys = make_keys(jax.random.key(0), 2)
    jax.eval_shape(lambda: inference.elbo(keys, make_system(config, sequences), sequences).total)
    assert seen == {forward.__name__: 9 * 2 * 4, backward.__name__: 6 * 2 * 2 * 4}
