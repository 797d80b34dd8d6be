"""The GRU: its size, what it may see, and that it learns."""

import jax
import jax.numpy as jnp
import numpy as np
from experiments.table1.config import cell_settings, count_parameters
from experiments.table1.gru import GruSettings, fit_gru, make_gru, roll, width_for

import gpssm

SMALL = {"width": 6, "sequence_length": 30, "batch_size": 4}


def size(dim_u, dim_y, width):
    """Number of parameters; the shapes tell, so nothing is computed."""
    make = lambda key: make_gru(key, dim_u, dim_y, width)  # noqa: E731
    return sum(leaf.size for leaf in jax.tree.leaves(jax.eval_shape(make, jax.random.key(0))))


def test_the_width_gives_the_number_of_parameters_asked_for():
    for dim_u, dim_y, width in ((1, 1, 11), (7, 7, 47), (1, 2, 5)):
        assert width_for(size(dim_u, dim_y, width), dim_u, dim_y) == width


def test_it_is_about_as_large_as_cbf_ssm_50(data, tiny):
    wanted = count_parameters(gpssm.method("cbf-ssm-50", **tiny["model"]), data)
    width = cell_settings(tiny, data, "gru").gru.width
    below, above = (size(1, 1, width + i) for i in (-1, 1))
    assert below < wanted < above


def test_the_rest_of_the_outputs_is_not_seen():
    gru = make_gru(jax.random.key(0), 1, 2, 5)
    rng = np.random.default_rng(0)
    u, y = (jnp.asarray(rng.standard_normal((20, n)), jnp.float32) for n in (1, 2))
    seen = jnp.broadcast_to(jnp.arange(20)[:, None] < 8, (20, 2))
    other = y.at[8:].set(1e6)
    np.testing.assert_array_equal(roll(gru, u, y, seen), roll(gru, u, other, seen))


def test_training_reduces_the_error_and_every_seed_is_another_network(data):
    settings = GruSettings(**SMALL, steps=150, learning_rate=0.03)
    trained = fit_gru(data.train, settings, seeds=[0, 1])
    start = fit_gru(data.train, settings.replace(steps=1), seeds=[0])[0]
    test = data.test[0]
    errors = [
        model.predict(test.u, test.y[:16]).score(test.y)["rmse"][0] for model in (*trained, start)
    ]
    assert max(errors[:2]) < 0.5 * errors[2]
    assert errors[0] != errors[1]


def test_seeds_side_by_side_are_those_of_single_runs(data):
    settings = GruSettings(**SMALL, steps=5)
    together, alone = (
        fit_gru(data.train, settings, seeds)[-1].predict(data.test[0].u, data.test[0].y[:16])
        for seeds in ([0, 1], [1])
    )
    np.testing.assert_allclose(together.mean, alone.mean, rtol=1e-4)
