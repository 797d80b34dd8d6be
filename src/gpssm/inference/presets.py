"""Models by the name of their method: the settings of `methods.registry` as a `Model`."""

from typing import Any

from gpssm.base.errors import ConfigError

from .family import Model
from .methods.registry import METHODS


def pr_ssm(**settings: Any) -> Model:
    """PR-SSM: no conditioning; the posterior over states is the prior, rolled out."""
    return method("pr-ssm", **settings)


def vcdt(**settings: Any) -> Model:
    """VCDT: conditions on the measurements; one draw of the inducing values per trajectory."""
    return method("vcdt", **settings)


def cbf_ssm(k: float = 50.0, **settings: Any) -> Model:
    """CBF-SSM: conditions softly on pseudo-states that a backward pass smooths."""
    return method("cbf-ssm-50", k=k, **settings)


def method(name: str, /, **settings: Any) -> Model:
    """A method by the name that the paper's table gives it."""
    if name not in METHODS:
        raise ConfigError(f"method: got {name!r}, expected one of {', '.join(METHODS)}.")
    return Model(**METHODS[name].settings(name, settings))


def default_dim_x(dim_y: int) -> int:
    """Four states as in the paper's benchmarks, and at least one that is hidden."""
    return max(Model.model_fields["dim_x"].default, dim_y + 1)
