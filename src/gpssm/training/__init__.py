"""The gradient step, the loop around it, and how it tells where it is."""

from .checkpoints import Checkpoints, data_hash
from .history import History
from .loop import TrainingResult, train
from .progress import Progress, bar, log_lines, silent
from .settings import Training
from .signals import TrainingStopped

__all__ = [
    "Checkpoints",
    "History",
    "Progress",
    "Training",
    "TrainingResult",
    "TrainingStopped",
    "bar",
    "data_hash",
    "log_lines",
    "silent",
    "train",
]
