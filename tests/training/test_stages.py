"""Stages: other settings for the first steps, each compiled once, and none that cross."""

import jax
import numpy as np
import pytest
from test_loop import LOOP, STEPS, Recorder, assert_same_parameters
from test_step import LENGTH, ROWS, make_problem

import gpssm
from gpssm import ConfigError, DataError, Dataset, Normalisation, Stage, Training
from gpssm.training import loop, make_phases, silent, train

SHORT = {"sequence_length": 4, "batch_size": 2, "state_kl": 0.5}


def wave() -> Dataset:
    """The data of the other tests of the loop."""
    rng, time = np.random.default_rng(0), np.arange(ROWS)
    y = np.sin(0.5 * time) + 0.1 * rng.standard_normal(ROWS)
    return Dataset.from_arrays(y, np.cos(0.5 * time))


def run_training(training: Training, show=silent):
    data = wave()
    phases = make_phases(data, Normalisation.of(data), training)
    system, key = make_problem(training)[0].system, jax.random.key(3)
    return train(key[None], [system], phases, show, jax.devices()[:1])[0]


@pytest.fixture(scope="module")
def plain():
    return run_training(LOOP)


@pytest.fixture(scope="module")
def staged():
    recorder = Recorder(note=loop.run_chunk._cached._cache_size)
    return run_training(LOOP.replace(stages=[Stage(steps=30, **SHORT)]), recorder), recorder


def test_a_stage_with_the_same_settings_changes_nothing_and_compiles_nothing(plain):
    before, recorder = loop.run_chunk._cached._cache_size(), Recorder()
    stage = Stage(steps=7, sequence_length=LENGTH)
    result = run_training(LOOP.replace(stages=[stage]), recorder)
    assert recorder.steps == [7, 32, 57, 60]
    assert_same_parameters(result, plain)
    assert result.history.table.equals(plain.history.table)
    assert loop.run_chunk._cached._cache_size() == before


def test_a_stage_is_as_a_training_with_its_settings_and_ends_where_it_should(staged, plain):
    """The schedule of the learning rate is that of all steps."""
    result, recorder = staged
    other = run_training(LOOP.replace(**SHORT))
    assert recorder.steps == [25, 30, 55, 60]
    ours, short, long = (each.history.table for each in (result, other, plain))
    assert ours.iloc[:30].equals(short.iloc[:30])
    assert not np.isclose(ours["elbo"].iloc[30:], short["elbo"].iloc[30:]).any()
    np.testing.assert_array_equal(ours["learning_rate"], long["learning_rate"])


def test_every_stage_is_compiled_once(staged):
    programs = staged[1].notes
    assert programs[0] == programs[1]
    assert programs[2] == programs[3]


def test_a_stage_has_windows_of_its_own_length_and_the_same_rows():
    data = wave()
    stages = [Stage(steps=5, sequence_length=4), Stage(steps=6)]
    phases = make_phases(data, Normalisation.of(data), LOOP.replace(stages=stages))
    assert [phase.until for phase in phases] == [5, 11, STEPS]
    assert [phase.training.sequence_length for phase in phases] == [4, LENGTH, LENGTH]
    counts = [len(phase.windows.starts) for phase in phases]
    assert counts == [ROWS - 3, ROWS - LENGTH + 1, ROWS - LENGTH + 1]
    assert phases[0].windows.y is phases[2].windows.y


def test_the_settings_of_a_stage_are_those_of_the_training_but_for_its_own():
    training = Training(steps=10, stages=[{"steps": 3, "entropy": 0.2}, {"steps": 4, **SHORT}])
    (one, first), (two, second), (three, rest) = training.phases()
    assert (one, two, three) == (3, 7, 10)
    assert rest == training.replace(stages=())
    assert first == rest.replace(entropy=0.2)
    assert second == rest.replace(**SHORT)
    assert Training(**training.to_json()) == training
    assert hash(Training(**training.to_json())) == hash(training)


def fit(**settings):
    model = gpssm.vcdt(dim_x=1, warmup=6, recognition="mlp")
    return gpssm.fit(model, wave(), quiet=True, **{"steps": 20, **settings})


@pytest.mark.parametrize(
    ("stages", "kind", "message"),
    [
        ([{"steps": 20}], ConfigError, r"stages: got 20 steps .*expected fewer than the 20"),
        ([{"steps": 0}], ConfigError, r"steps: got 0, expected at least 1"),
        ([{"steps": 3, "lenght": 4}], ConfigError, r"lenght: unknown setting.*sequence_length"),
        (
            [{"steps": 3, "sequence_length": ROWS + 1}], DataError,
            r"sequence_length: got 41, expected at most the 40 rows",
        ),
        (
            [{"steps": 3, "sequence_length": 5}], ConfigError,
            r"sequence_length: got 5, expected at least the warm-up of the recognition, 6",
        ),
    ],
)  # fmt: skip
def test_stages_that_make_no_sense_are_refused(stages, kind, message):
    with pytest.raises(kind, match=message):
        fit(stages=stages)
