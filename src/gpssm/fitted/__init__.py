"""`fit` and what it returns: a run that predicts, and the file that keeps it."""

from .fitting import fit, fit_candidates
from .run import Run, load

__all__ = ["Run", "fit", "fit_candidates", "load"]
