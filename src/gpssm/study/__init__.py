"""Studies: many configurations, data sets and seeds, each finished trial kept at once."""

from .cluster import Cluster, open_runner
from .display import open_display
from .driver import IDENTITY, sweep
from .jobs import Job, run_round
from .result import SCORE, Sweep
from .settings import Range, Search, Study
from .trials import training_cost

__all__ = [
    "IDENTITY",
    "SCORE",
    "Cluster",
    "Job",
    "Range",
    "Search",
    "Study",
    "Sweep",
    "open_display",
    "open_runner",
    "run_round",
    "sweep",
    "training_cost",
]
