"""Probabilistic models of dynamical systems, learned from logged inputs and outputs.

```python
import gpssm

model = gpssm.cbf_ssm(dim_x=4, k=50)
run = gpssm.fit(model, data.train, steps=1000, seed=0)
forecast = run.predict(u, y_warmup)
```

A name is loaded when it is first used: `gpssm --help` need not wait for JAX.
"""

import importlib
import typing

__version__ = "0.1.0"

if typing.TYPE_CHECKING:
    from .data import (
        Dataset,
        DataWarning,
        Experiment,
        Normalisation,
        list_datasets,
        load_dataset,
        read,
        simulate,
        simulators,
    )
    from .errors import (
        ConfigError,
        DataError,
        GpssmError,
        ModelFileError,
        ProcessLostError,
        TrainingError,
    )
    from .fitting import fit, fit_candidates
    from .held_out import recalibrate
    from .inference import Model, cbf_ssm, method, pr_ssm, vcdt
    from .model import Physics, Prior, log_normal, normal
    from .prediction import Forecast, Outlook, Stability, stability
    from .run import Run, load
    from .startup import connect, prepare
    from .study import Cluster, Study, Sweep, sweep
    from .training import Stage, Training

__all__ = [
    "Cluster",
    "ConfigError",
    "DataError",
    "DataWarning",
    "Dataset",
    "Experiment",
    "Forecast",
    "GpssmError",
    "Model",
    "ModelFileError",
    "Normalisation",
    "Outlook",
    "Physics",
    "Prior",
    "ProcessLostError",
    "Run",
    "Stability",
    "Stage",
    "Study",
    "Sweep",
    "Training",
    "TrainingError",
    "cbf_ssm",
    "connect",
    "fit",
    "fit_candidates",
    "list_datasets",
    "load",
    "load_dataset",
    "log_normal",
    "method",
    "normal",
    "pr_ssm",
    "prepare",
    "read",
    "recalibrate",
    "simulate",
    "simulators",
    "stability",
    "sweep",
    "vcdt",
]

_NAMES = {
    "data": (
        "Dataset DataWarning Experiment Normalisation list_datasets load_dataset read simulate "
        "simulators"
    ),
    "errors": "ConfigError DataError GpssmError ModelFileError ProcessLostError TrainingError",
    "fitting": "fit fit_candidates",
    "held_out": "recalibrate",
    "inference": "Model cbf_ssm method pr_ssm vcdt",
    "model": "Physics Prior log_normal normal",
    "prediction": "Forecast Outlook Stability stability",
    "run": "Run load",
    "startup": "connect prepare",
    "study": "Cluster Study Sweep sweep",
    "training": "Stage Training",
}
_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}
_PACKAGES = (
    "data",
    "gp",
    "inference",
    "mechanics",
    "model",
    "prediction",
    "report",
    "study",
    "training",
)


def __getattr__(name: str) -> typing.Any:
    """Load a public name, or a subpackage, when somebody asks for it."""
    if name in _PACKAGES:
        return importlib.import_module(f".{name}", __name__)
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_PACKAGES})
