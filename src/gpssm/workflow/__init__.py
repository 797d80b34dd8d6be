"""`gpssm fit` as Python calls: configuration, run folder, fit, scores, report."""

from .configuration import RunConfig
from .fitting import fit_folder
from .folder import RunFolder, open_folder
from .scoring import Scoring, score, write_report

__all__ = [
    "RunConfig",
    "RunFolder",
    "Scoring",
    "fit_folder",
    "open_folder",
    "score",
    "write_report",
]
