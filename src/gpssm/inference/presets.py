"""The methods of the paper, as settings of the one family.

| preset       | target of the conditioning      | draw of f     | k  |
|--------------|---------------------------------|---------------|----|
| `pr-ssm`     | none                            | independent   | –  |
| `vcdt`       | the observation y[t+1]          | trajectory    | 1  |
| `cbf-ssm-1`  | the smoothed pseudo-state x̃     | independent   | 1  |
| `cbf-ssm-50` | the smoothed pseudo-state x̃     | independent   | 50 |
| `cbf-ssm-1s` | the smoothed pseudo-state x̃     | trajectory    | 1  |
"""

from collections.abc import Callable
from typing import Any

from gpssm.errors import ConfigError

from .family import Model


def pr_ssm(**settings: Any) -> Model:
    """PR-SSM: no conditioning; the posterior over states is the prior, rolled out."""
    preset = {"target": "none", "recognition": "mlp", "k": float("inf")}
    return Model(**{"name": "pr-ssm", **preset, **settings})


def vcdt(**settings: Any) -> Model:
    """VCDT: conditions on the measurements; one draw of the inducing values per trajectory."""
    preset = {"target": "observation", "recognition": "mlp", "function_draw": "trajectory", "k": 1}
    return Model(**{"name": "vcdt", **preset, **settings})


def cbf_ssm(k: float = 50.0, **settings: Any) -> Model:
    """CBF-SSM: conditions softly on pseudo-states that a backward pass smooths."""
    sampled = "s" if settings.get("function_draw") == "trajectory" else ""
    return Model(**{"name": f"cbf-ssm-{k:g}{sampled}", "k": k, **settings})


METHODS: dict[str, tuple[Callable[..., Model], dict[str, Any]]] = {
    "pr-ssm": (pr_ssm, {}),
    "vcdt": (vcdt, {}),
    "cbf-ssm-1": (cbf_ssm, {"k": 1}),
    "cbf-ssm-50": (cbf_ssm, {"k": 50}),
    "cbf-ssm-1s": (cbf_ssm, {"k": 1, "function_draw": "trajectory"}),
}


def method(name: str, /, **settings: Any) -> Model:
    """A method by the name that the paper's table gives it."""
    if name not in METHODS:
        raise ConfigError(f"method: got {name!r}, expected one of {', '.join(METHODS)}.")
    preset, fixed = METHODS[name]
    return preset(**{**fixed, **settings})


def default_dim_x(dim_y: int) -> int:
    """Four states as in the paper's benchmarks, and at least one that is hidden."""
    return max(Model.model_fields["dim_x"].default, dim_y + 1)
