"""The gradient step, the loop around it, and how it tells where it is."""

from .history import History
from .loop import TrainingResult, train
from .progress import Progress, bar, log_lines, silent
from .settings import Training

__all__ = [
    "History",
    "Progress",
    "Training",
    "TrainingResult",
    "bar",
    "log_lines",
    "silent",
    "train",
]
