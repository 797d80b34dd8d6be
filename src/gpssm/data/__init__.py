"""Trajectories in: container, loaders, normalisation, windows, benchmarks, simulators."""

from . import simulators
from .dataset import Dataset
from .experiment import Experiment
from .normalisation import DataWarning, Normalisation
from .reading import read
from .registry import DatasetList, list_datasets, load_dataset
from .simulators import simulate
from .windows import Windows, batch, make_windows

__all__ = [
    "DataWarning",
    "Dataset",
    "DatasetList",
    "Experiment",
    "Normalisation",
    "Windows",
    "batch",
    "list_datasets",
    "load_dataset",
    "make_windows",
    "read",
    "simulate",
    "simulators",
]
