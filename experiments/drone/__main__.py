"""The VoliroX drone: figure 4 (forces) and figure 3b (test error against sequence length).

    python -m experiments.drone            both figures, from scratch where results are missing
    python -m experiments.drone --quick    few steps, into runs/quick

Every finished training is a record of `results/drone.json`, the one that figure 4 shows also
a model file beside it in `runs`; a second start goes on where the first stopped.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import gpssm

from ..common.files import ROOT
from . import figures
from .study import LENGTHS, METHODS, QUICK_LENGTHS, QUICK_STEPS, STEPS, compute


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parse(arguments)
    gpssm.prepare(cores=1)
    results = options.results or ROOT / ("runs/quick/results" if options.quick else "results")
    steps = QUICK_STEPS if options.quick else options.steps
    if not options.pages:
        lengths = options.lengths or (QUICK_LENGTHS if options.quick else LENGTHS)
        compute(options.methods, lengths, steps, results)
    for path in figures.write(results, options.figure):
        print(path)
    return 0


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="experiments.drone", description=__doc__)
    parser.add_argument("--figure", choices=("4", "3b", "both"), default="both")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--lengths", nargs="+", type=int, metavar="STEPS")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--results", type=Path, help="default: results, with --quick runs/quick")
    parser.add_argument("--quick", action="store_true", help="two lengths and few steps")
    parser.add_argument("--pages", action="store_true", help="only draw the figures anew")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
