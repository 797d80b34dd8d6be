"""The gradient step, the loop around it, and its progress display."""

from .calibration import Calibration, calibrate, calibrate_all, long_stretches
from .checkpoints import Checkpoints, data_hash
from .groups import GROUPS
from .history import History
from .loop import Failure, TrainingResult, train
from .phases import Phase, make_phases
from .processes import alone, is_first, on_first
from .progress import Progress, bar, log_lines, silent
from .recovery import ROLLBACKS
from .settings import Stage, Training, TrainingOptions
from .signals import TrainingStopped
from .starts import FAILED, keep_one, open_loop_loss, start_keys
from .step import BatchedSettings
from .validation import Stretches, cut_stretches

__all__ = [
    "FAILED",
    "GROUPS",
    "ROLLBACKS",
    "BatchedSettings",
    "Calibration",
    "Checkpoints",
    "Failure",
    "History",
    "Phase",
    "Progress",
    "Stage",
    "Stretches",
    "Training",
    "TrainingOptions",
    "TrainingResult",
    "TrainingStopped",
    "alone",
    "bar",
    "calibrate",
    "calibrate_all",
    "cut_stretches",
    "data_hash",
    "is_first",
    "keep_one",
    "log_lines",
    "long_stretches",
    "make_phases",
    "on_first",
    "open_loop_loss",
    "silent",
    "start_keys",
    "train",
]
