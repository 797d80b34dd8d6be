"""Every number among the settings has bounds, and what cannot fit into memory is refused."""

import math
from types import UnionType
from typing import Union, get_args, get_origin

import pytest
from annotated_types import Ge, Gt, Le, Lt

from gpssm.base import memory
from gpssm.base.errors import ConfigError
from gpssm.base.settings import Settings, nearest
from gpssm.fitted.memory import check_forecast, check_training, training_bytes
from gpssm.inference import Model
from gpssm.study import Cluster, Study
from gpssm.study.settings import Range, Search
from gpssm.training import Stage, Training
from gpssm.workflow.configuration import DataConfig, ForecastConfig, RunConfig

KINDS = Model, Training, Stage, DataConfig, ForecastConfig, RunConfig, Study, Search, Range, Cluster
UNBOUNDED = {("Model", "k"), ("Training", "clip_norm"), ("Training", "checkpoint_seconds")}


def is_number(annotation):
    if get_origin(annotation) in (Union, UnionType):
        return any(is_number(each) for each in get_args(annotation))
    return annotation in (int, float)


NUMBERS = [
    (kind, name)
    for kind in KINDS
    for name, field in kind.model_fields.items()
    if is_number(field.annotation)
]


def test_all_kinds_of_settings_are_looked_at():
    def own(kind):
        return {each for each in kind.__subclasses__() if each.__module__.startswith("gpssm.")}

    assert own(Settings) <= set(KINDS)
    assert len(NUMBERS) > 50


@pytest.mark.parametrize(("kind", "name"), NUMBERS)
def test_a_number_has_both_bounds(kind, name):
    bounds = kind.model_fields[name].metadata
    assert any(isinstance(each, Ge | Gt) for each in bounds), f"{kind.__name__}.{name}"
    (upper,) = [getattr(each, "le", getattr(each, "lt", None)) for each in bounds
                if isinstance(each, Le | Lt)]  # fmt: skip
    assert (upper == math.inf) == ((kind.__name__, name) in UNBOUNDED)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Model(particles=10**9), "particles: got 1000000000, expected at most 1000000."),
        (lambda: Model(dim_x=0), "dim_x: got 0, expected at least 1."),
        (lambda: Training(learning_rate=0), "learning_rate: got 0, expected more than 0."),
        (lambda: Training(average=1.0), "average: got 1.0, expected less than 1."),
        (lambda: Training(clip_norm=math.nan), "clip_norm: got nan, expected a number."),
        (lambda: Training(rate_factors={"kernel": math.inf}), "expected at most 1000000."),
    ],
)
def test_a_number_outside_of_its_bounds_is_told(make, words):
    with pytest.raises(ConfigError) as error:
        make()
    assert words in str(error.value)


@pytest.fixture
def small(monkeypatch):
    """A machine with 1 MB."""
    monkeypatch.setattr(memory, "machine_memory", lambda: 1e6)


def test_training_that_cannot_fit_is_refused(small):
    del small
    training = Training(batch_size=10, sequence_length=50)
    check_training(Model(dim_x=2, particles=50, inducing_points=5), training, 1)
    words = r"memory: got 42 MB or more.* particles 10000 .* at most the 1 MB of this machine"
    with pytest.raises(ConfigError, match=words):
        check_training(Model(dim_x=2, particles=10_000, inducing_points=5), training, 1)
    stages = training.replace(stages=(Stage(steps=2, batch_size=10_000),))
    with pytest.raises(ConfigError, match="batch_size 10000"):
        check_training(Model(dim_x=2, particles=50, inducing_points=5), stages, 1)


def test_the_estimate_counts_states_kernel_and_factors():
    model = Model(dim_x=3, particles=7, inducing_points=11)
    training = Training(batch_size=2, sequence_length=13)
    paths = 7 * 2
    wanted = 5 * (4 * (paths * 13 * 3 + paths * 11) + 8 * 11**2)
    assert training_bytes(model, training, 5) == wanted


def test_a_forecast_that_cannot_fit_is_refused(small):
    del small
    model = Model(dim_x=2)
    check_forecast(model, 500, 50, 1)
    with pytest.raises(ConfigError, match=r"particles 50 × 100500 steps × 1 outputs"):
        check_forecast(model, 500, 50, 1, kept=100_000)


@pytest.mark.parametrize("settings", [{"steps": True}, {"patience": False}, {"clip_norm": True}])
def test_a_switch_is_no_number(settings):
    with pytest.raises(ConfigError, match="data"):
        RunConfig(data="no section")
    with pytest.raises(ConfigError, match=r"got (true|false), expected a number"):
        Training(**settings)
    assert Training(calibrate=True).calibrate


def test_the_memory_of_this_machine_is_known():
    assert 1e8 < memory.machine_memory() < 1e15


def test_the_nearest_names_are_found_in_any_case():
    assert nearest("LERNING_RATE", ["learning_rate", "steps"]) == ["learning_rate"]
    assert nearest("levl", ["Level", "pump"]) == ["Level"]
    assert nearest("abc", ["abxyz"]) == []
    assert nearest("abc", ["abxyz"], alike=0.4) == ["abxyz"]
