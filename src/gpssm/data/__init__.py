"""Trajectories in: container, loaders, normalisation, windows, benchmarks, simulators."""

from gpssm.base.errors import DataWarning
from gpssm.data.benchmarks.registry import DatasetList, list_datasets, load_dataset
from gpssm.data.benchmarks.simulators import simulate
from gpssm.data.io.reading import read

from .benchmarks import simulators
from .dataset import Dataset
from .experiment import Experiment
from .normalisation import Normalisation
from .windows import (
    Recency,
    Rows,
    Windows,
    WindowsOnDisk,
    WindowSource,
    batch,
    choose_windows,
    make_starts,
    make_windows,
    open_windows,
)

__all__ = [
    "DataWarning",
    "Dataset",
    "DatasetList",
    "Experiment",
    "Normalisation",
    "Recency",
    "Rows",
    "WindowSource",
    "Windows",
    "WindowsOnDisk",
    "batch",
    "choose_windows",
    "list_datasets",
    "load_dataset",
    "make_starts",
    "make_windows",
    "open_windows",
    "read",
    "simulate",
    "simulators",
]
