"""The length of training sequences follows the plant, the record and the forecasts."""

import numpy as np
import pytest

import gpssm
from gpssm import Dataset, Training
from gpssm.training.lengths import needed_length, with_growing_sequences


@pytest.mark.parametrize(
    ("settling", "shortest", "horizon", "wanted"),
    [
        (200.0, 2000, None, 200),  # the slowest mode
        (np.inf, 2000, None, 1000),  # an integrator: the longest that is sensible
        (np.inf, 500, None, 300),  # 60 % of the record
        (np.inf, 2000, 120, 120),  # the forecast that is asked for
        (3.0, 2000, None, 50),  # a plant that forgets at once
        (np.inf, 40, None, 40),  # a record that is shorter than all of that
    ],
)
def test_the_length_is_the_least_of_what_is_needed_and_what_there_is(
    settling, shortest, horizon, wanted
):
    assert needed_length(settling, shortest, horizon) == wanted


def test_stages_grow_and_keep_the_rows_of_a_batch():
    grown = with_growing_sequences(Training(steps=1000), 450)
    phases = [
        (until, each.sequence_length, each.batch_size * each.sequence_length)
        for until, each in grown.phases()
    ]
    assert [(until, length) for until, length, _ in phases] == [(500, 50), (750, 150), (1000, 450)]
    assert all(500 <= rows <= 900 for *_, rows in phases)


def test_nothing_changes_where_the_usual_length_is_enough():
    training = Training(steps=1000)
    assert with_growing_sequences(training, 50) == training


def test_a_handful_of_steps_has_no_stages():
    assert with_growing_sequences(Training(steps=2), 200).stages == ()


def test_growing_and_stages_exclude_each_other():
    with pytest.raises(gpssm.ConfigError, match="grow: got True with stages"):
        Training(grow=True, stages=({"steps": 10},))


def test_a_fit_grows_its_sequences_to_the_slow_mode_of_the_plant():
    rng = np.random.default_rng(0)
    u, x, y = rng.normal(size=400), 0.0, np.empty(400)
    for t in range(400):
        y[t] = x + 0.01 * rng.normal()
        x = 0.98 * x + 0.1 * u[t]
    model = gpssm.pr_ssm(dim_x=1, particles=2, inducing_points=3, recognition="output")
    run = gpssm.fit(model, Dataset.from_arrays(y, u), grow=True, steps=4, quiet=True)
    assert run.training.sequence_length == pytest.approx(np.log(0.05) / np.log(0.98), rel=0.25)
    assert run.training.grow is False
