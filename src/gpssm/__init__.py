"""Probabilistic models of dynamical systems, learned from logged inputs and outputs.

```python
import gpssm

model = gpssm.cbf_ssm(dim_x=4, k=50)
run = gpssm.fit(model, data.train, steps=2000, seed=0)
forecast = run.predict(u, y_warmup)
```
"""

__version__ = "0.1.0"

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
from .errors import ConfigError, DataError, GpssmError, ModelFileError, TrainingError
from .inference import Model, cbf_ssm, method, pr_ssm, vcdt
from .model import Physics, Prior, log_normal, normal
from .prediction import Forecast
from .prepare import prepare
from .run import Run, fit, fit_candidates, load
from .training import Stage, Training

__all__ = [
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
    "Physics",
    "Prior",
    "Run",
    "Stage",
    "Training",
    "TrainingError",
    "cbf_ssm",
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
    "simulate",
    "simulators",
    "vcdt",
]
