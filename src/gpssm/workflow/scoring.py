"""Scores of fitted models on a test part, beside those of the baselines; the page about them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from gpssm.base.errors import DataError, expected
from gpssm.base.files import write_whole
from gpssm.data import Dataset
from gpssm.evaluation.scoring import DEFAULT, Evaluation, Protocol, evaluate, evaluate_baselines
from gpssm.fitted.run import Run
from gpssm.report.page import report_page
from gpssm.report.report_data import ReportInput
from gpssm.report.tables import score_table


@dataclass(frozen=True, eq=False)
class Scoring:
    """Every seed of a method, and the baselines, on the same test data."""

    method: str
    seeds: dict[int, Evaluation]
    baselines: dict[str, Evaluation]
    output_units: tuple[str, ...]

    @property
    def models(self) -> dict[str, Evaluation]:
        """All models by their names in tables."""
        seeds = {f"{self.method}, seed {seed}": each for seed, each in self.seeds.items()}
        return {**seeds, **self.baselines}

    def to_json(self) -> dict[str, Any]:
        """Scores by model, output and metric."""
        names = next(iter(self.seeds.values())).scores.output_names
        return {
            "method": self.method,
            "units": dict(zip(names, self.output_units, strict=True)),
            "seeds": {str(seed): each.to_json() for seed, each in self.seeds.items()},
            "baselines": {
                name.lower().replace(" ", "_"): each.to_json()
                for name, each in self.baselines.items()
            },
        }

    def table(self) -> Table:
        """For the terminal: how far, from how much, and all scores."""
        first = next(iter(self.seeds.values()))
        steps = sum(len(each.y) for each in first.open_loop)
        title = f"{steps} steps open loop after {first.first_scored} measurements"
        return score_table(title, self.models, self.output_units)


def score(
    runs: Run | Sequence[Run],
    data: Dataset,
    *,
    test: Dataset | None = None,
    trained_on: Dataset | None = None,
    protocol: Protocol = DEFAULT,
    baselines: dict[str, Evaluation] | None = None,
) -> Scoring:
    """Forecast the test part of `data` with every run, and with baselines that learn from the rest.

    `test`: other data to forecast in its place. `trained_on`: the rows of the training part that
    the runs have seen, if these are not all. `baselines`: their evaluation, if it is there already.
    """
    several = [runs] if isinstance(runs, Run) else list(runs)
    if not several:
        raise DataError(expected("runs", "none", "at least one"))
    if test is None and "test" not in data.parts:
        remedy = "Split it, data.split(0.7), or give other data as `test`."
        raise DataError(expected("data", "a data set without a test part", "one with it", remedy))
    test, own = data.test if test is None else test, trained_on or data.train
    seeds = {run.seed: evaluate(run, test, protocol, own) for run in several}
    if baselines is None:
        baselines = evaluate_baselines(data.train, test, protocol, own)
    return Scoring(several[0].model.name, seeds, baselines, data.output_units)


def write_report(
    run: Run,
    data: Dataset,
    path: str | Path,
    *,
    scoring: Scoring | None = None,
    title: str = "",
    configuration: str = "",
) -> Path:
    """Write the page of one run; its table has all seeds of the `scoring`, which may be given."""
    scoring = scoring or score(run, data)
    given = ReportInput(
        title=title or f"{run.model.name} on {data.name}",
        run=run,
        data=data,
        evaluation=scoring.seeds[run.seed],
        baselines=scoring.baselines,
        other_seeds={seed: each for seed, each in scoring.seeds.items() if seed != run.seed},
        configuration=configuration,
    )
    return write_whole(Path(path), report_page(given))
