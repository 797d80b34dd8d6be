"""Trajectories in: container, loaders, normalisation, windows, benchmarks, simulators."""

from . import simulators
from .dataset import Dataset
from .experiment import Experiment
from .normalisation import DataWarning, Normalisation
from .reading import read
from .registry import DatasetList, list_datasets, load_dataset
from .simulators import simulate
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
