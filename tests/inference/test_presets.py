"""Methods by name."""

import pytest

from gpssm import ConfigError, method
from gpssm.inference.methods.registry import METHODS


@pytest.mark.parametrize("name", METHODS)
def test_a_method_has_its_name_unless_it_is_given_another(name):
    assert method(name).name == name
    assert method(name, name="mine") == method(name).replace(name="mine")


def test_an_unknown_method_is_refused_with_those_that_there_are():
    with pytest.raises(ConfigError, match="method: got 'kalman', expected one of pr-ssm, vcdt"):
        method("kalman")


@pytest.mark.parametrize("wrong", ["many", ["a", "b"], None, 10**400])
def test_a_setting_of_another_type_is_refused_by_its_name(wrong):
    with pytest.raises(ConfigError, match="k: got ") as refused:
        method("cbf-ssm-50", k=wrong)
    assert str(wrong) in str(refused.value)
