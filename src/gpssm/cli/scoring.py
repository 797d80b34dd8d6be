"""Scores of a run beside those of what it must beat, for people and for machines."""

from typing import Any, NamedTuple

from rich.table import Table

from gpssm.data import Dataset
from gpssm.report.evaluation import MODEL, Evaluation, evaluate, evaluate_baselines
from gpssm.report.tables import score_table

from .folders import RunFolder, row_name


class Judged(NamedTuple):
    """Every seed of a run, and the baselines, on the same test data."""

    seeds: dict[int, Evaluation]
    baselines: dict[str, Evaluation]

    def scores(self, model: str = MODEL) -> dict[str, Any]:
        """RMSE, log-likelihood and coverage of all of them."""
        named = {row_name(seed, model): each for seed, each in self.seeds.items()}
        return {name: each.scores for name, each in (named | self.baselines).items()}

    def table(self, model: str, data: Dataset) -> Table:
        """The same for the terminal: how far, from how much, in which unit."""
        first = next(iter(self.seeds.values()))
        steps = sum(len(each.y) for each in first.open_loop)
        warmup = first.stretches[0].scored.forecast.warmup
        units = sorted({unit for unit in data.output_units if unit})
        words = f", in {units[0]}" if len(units) == 1 else ""
        title = f"{steps} steps open loop after {warmup} measurements{words}"
        return score_table(title, self.scores(model))


def judge(
    folder: RunFolder,
    test: Dataset | None = None,
    baselines: dict[str, Evaluation] | None = None,
) -> Judged:
    """The seeds of a run on its own test part, or on other data."""
    test, protocol, own = test or folder.data.test, folder.protocol, folder.trained_on
    seeds = {run.seed: evaluate(run, test, protocol, own) for run in folder.runs}
    if baselines is None:
        baselines = evaluate_baselines(folder.data.train, test, protocol, own)
    return Judged(seeds, baselines)
