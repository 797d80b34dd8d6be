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

from .base.version import __version__ as __version__

if typing.TYPE_CHECKING:
    from .base.errors import (
        ConfigError,
        DataError,
        GpssmError,
        ModelFileError,
        ProcessLostError,
        TrainingError,
    )
    from .base.startup import connect, prepare
    from .belief import Belief
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
    from .evaluation import recalibrate
    from .fitted import Run, fit, fit_candidates, load
    from .inference import Model, cbf_ssm, method, pr_ssm, vcdt
    from .metrics import Forecast
    from .model import Physics, Prior, log_normal, normal
    from .prediction import Outlook, Stability, stability
    from .study import Cluster, Study, Sweep, sweep
    from .training import Stage, Training
    from .workflow import (
        RunConfig,
        RunFolder,
        Scoring,
        fit_folder,
        open_folder,
        score,
        write_report,
    )

__all__ = [
    "Belief",
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
    "RunConfig",
    "RunFolder",
    "Scoring",
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
    "fit_folder",
    "list_datasets",
    "load",
    "load_dataset",
    "log_normal",
    "method",
    "normal",
    "open_folder",
    "pr_ssm",
    "prepare",
    "read",
    "recalibrate",
    "score",
    "simulate",
    "simulators",
    "stability",
    "sweep",
    "vcdt",
    "write_report",
]

_NAMES = {
    "base.errors": "ConfigError DataError GpssmError ModelFileError ProcessLostError TrainingError",
    "base.startup": "connect prepare",
    "belief": "Belief",
    "data": (
        "Dataset DataWarning Experiment Normalisation list_datasets load_dataset read simulate "
        "simulators"
    ),
    "evaluation": "recalibrate",
    "fitted": "Run fit fit_candidates load",
    "inference": "Model cbf_ssm method pr_ssm vcdt",
    "metrics": "Forecast",
    "model": "Physics Prior log_normal normal",
    "prediction": "Outlook Stability stability",
    "study": "Cluster Study Sweep sweep",
    "training": "Stage Training",
    "workflow": "RunConfig RunFolder Scoring fit_folder open_folder score write_report",
}
_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}
_PACKAGES = (
    "belief",
    "data",
    "evaluation",
    "fitted",
    "gp",
    "inference",
    "linear",
    "metrics",
    "model",
    "prediction",
    "report",
    "study",
    "training",
    "workflow",
)


def __getattr__(name: str) -> typing.Any:
    """Import a public name or a subpackage at its first use."""
    if name in _PACKAGES:
        return importlib.import_module(f".{name}", __name__)
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_PACKAGES})
