"""Studies: many configurations, data sets and seeds, each finished trial kept at once."""

from .cluster import Cluster, open_runner
from .driver import IDENTITY, sweep
from .jobs import Job, run_jobs
from .result import SCORE, Sweep
from .settings import Range, Search, Study
from .space import Resolved, combinations
from .trials import training_cost

__all__ = [
    "IDENTITY",
    "SCORE",
    "Cluster",
    "Job",
    "Range",
    "Resolved",
    "Search",
    "Study",
    "Sweep",
    "combinations",
    "open_runner",
    "run_jobs",
    "sweep",
    "training_cost",
]
