"""The names that `fit` shows to a type checker are those of the settings."""

import inspect
import typing

import gpssm
from gpssm.fitted.fitting import FitOptions
from gpssm.training import Training, TrainingOptions


def test_every_setting_of_training_is_an_option():
    assert set(TrainingOptions.__annotations__) == set(Training.model_fields)


def test_the_options_are_the_arguments_of_fit():
    named = set(inspect.signature(gpssm.fit).parameters) - {"model", "data", "seeds", "settings"}
    assert set(typing.get_type_hints(FitOptions)) == named | set(Training.model_fields)
