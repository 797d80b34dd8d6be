"""Scores of fitted models on a test part, beside those of the baselines; the page about them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from rich.table import Table
from rich.text import Text

from gpssm.base.errors import DataError, expected
from gpssm.base.files import write_whole
from gpssm.data import Dataset
from gpssm.data.channels import with_units
from gpssm.evaluation.scoring import (
    ARX,
    DEFAULT,
    Evaluation,
    Protocol,
    evaluate,
    evaluate_baselines,
)
from gpssm.fitted.run import Run
from gpssm.report.one_step import OneStep, one_step_scores, one_step_table
from gpssm.report.page import report_page
from gpssm.report.report_data import ReportInput, Residuals, one_step_errors
from gpssm.report.summary import failed_seeds
from gpssm.report.tables import score_table, verdict_text
from gpssm.report.untested import untested_page
from gpssm.report.verdict import Evidence, Remedy, Verdict, decide, gather, not_tested
from gpssm.training.phase import phase


class Assessment(NamedTuple):
    """The verdict on one seed, and what it follows from; without a test part there is nothing."""

    verdict: Verdict
    evidence: Evidence | None = None
    residuals: Residuals | None = None


@dataclass(frozen=True, eq=False)
class Scoring:
    """Every seed of a method, and the baselines, on the same test data, or on training rows."""

    method: str
    seeds: dict[int, Evaluation]
    baselines: dict[str, Evaluation]
    output_units: tuple[str, ...]
    chosen: int  # the seed that commands use, and that is assessed
    assessment: Assessment

    @property
    def verdict(self) -> Verdict:
        """Whether to use the chosen seed."""
        return self.assessment.verdict

    @property
    def models(self) -> dict[str, Evaluation]:
        """All models by their names in tables."""
        seeds = {f"{self.method}, seed {seed}": each for seed, each in self.seeds.items()}
        return {**seeds, **self.baselines}

    @property
    def tested(self) -> bool:
        """Whether there was a test part; without one all scores are those of training rows."""
        return all(each.tested for each in self.seeds.values())

    def to_json(self) -> dict[str, Any]:
        """Scores by model, output and metric."""
        names = next(iter(self.seeds.values())).scores.output_names
        return {
            "method": self.method,
            "tested": self.tested,
            "verdict": {"seed": self.chosen, **self.verdict.to_json()},
            "units": dict(zip(names, self.output_units, strict=True)),
            "one_step": {n: each.to_json() for n, each in zip(names, self.one_step, strict=False)},
            "seeds": {str(seed): each.to_json() for seed, each in self.seeds.items()},
            "baselines": {
                name.lower().replace(" ", "_"): each.to_json()
                for name, each in self.baselines.items()
            },
        }

    @property
    def one_step(self) -> list[OneStep]:
        """Errors of the chosen seed one step ahead, by output; none without a test part."""
        residuals, linear = self.assessment.residuals, self.baselines[ARX].linear
        return one_step_scores(residuals, linear, self.method) if residuals else []

    def shown(self) -> list[Table | Text]:
        """For the terminal: the tables of scores, and the verdict."""
        names = self.seeds[self.chosen].scores.output_names
        labels, ahead = with_units(names, self.output_units), self.one_step
        tables = [self.table(), *([one_step_table(ahead, labels)] if ahead else [])]
        return [*tables, verdict_text(self.verdict)]

    def table(self) -> Table:
        """For the terminal: how far, from how much, and all scores."""
        first = next(iter(self.seeds.values()))
        steps = sum(len(each.y) for each in first.open_loop)
        title = f"{steps} steps open loop after {first.first_scored} measurements"
        if not self.tested:
            title = f"not tested: {title} of training rows"
        return score_table(title, self.models, self.output_units)


def score(
    runs: Run | Sequence[Run],
    data: Dataset,
    *,
    test: Dataset | None = None,
    trained_on: Dataset | None = None,
    protocol: Protocol = DEFAULT,
    baselines: dict[str, Evaluation] | None = None,
    commands: Mapping[Remedy, str] | None = None,
    quiet: bool = True,
) -> Scoring:
    """Forecast the test part of `data` with every run, and with baselines that learn from the rest.

    Data that are all training have no test part: the scores are then those of training rows.
    `test`: other data to forecast in its place. `trained_on`: the rows of the training part that
    the runs have seen, if these are not all. `baselines`: their evaluation, if it is there already.
    `commands`: what the verdict may name as the next step.
    """
    several = [runs] if isinstance(runs, Run) else list(runs)
    if not several:
        raise DataError(expected("runs", "none", "at least one"))
    if test is None and not data.parts:
        remedy = "Split it, data.split(0.7), or give other data as `test`."
        raise DataError(expected("data", "a data set that is not split", "one that is", remedy))
    test, own = tested_part(data) if test is None else test, trained_on or data.train
    seeds = {}
    with phase("scores", len(several) + (baselines is None), quiet) as tell:
        for run in several:
            seeds[run.seed] = evaluate(run, test, protocol, own)
            tell()
        if baselines is None:
            baselines = evaluate_baselines(data.train, test, protocol, own)
            tell()
    known = {seed: each.training_rmse for seed, each in seeds.items()}
    run = choose_run(several, {seed: rmse for seed, rmse in known.items() if rmse is not None})
    found = _assess(run, seeds[run.seed], baselines, data.train, test, commands)
    return Scoring(several[0].model.name, seeds, baselines, data.output_units, run.seed, found)


def choose_run(runs: Sequence[Run], training_rmse: Mapping[int, float]) -> Run:
    """The run with the best ELBO, of those that have not failed on their own training rows.

    The test part is not used to choose.
    """
    failed = failed_seeds(training_rmse) if len(runs) > 1 else {}
    usable = [run for run in runs if run.seed not in failed]
    return max(usable, key=lambda run: run.history.final_elbo)


def _assess(
    run: Run,
    evaluation: Evaluation,
    baselines: Mapping[str, Evaluation],
    train: Dataset,
    test: Dataset | None,
    commands: Mapping[Remedy, str] | None,
) -> Assessment:
    """The verdict on one seed, with its evidence."""
    if test is None:
        return Assessment(not_tested(commands))
    residuals = one_step_errors(run, evaluation)
    errors = residuals.errors if residuals else []
    evidence = gather(evaluation, baselines, train, test, errors)
    return Assessment(decide(evidence, commands), evidence, residuals)


def tested_part(data: Dataset) -> Dataset | None:
    """The test part; None if all rows are for training."""
    return data.test if "test" in data.parts else None


def write_report(
    run: Run,
    data: Dataset,
    path: str | Path,
    *,
    scoring: Scoring | None = None,
    title: str = "",
    configuration: str = "",
    commands: Mapping[Remedy, str] | None = None,
    quiet: bool = True,
) -> Path:
    """Write the page of one run; its table has all seeds of the `scoring`, which may be given."""
    scoring = scoring or score(run, data, commands=commands, quiet=quiet)
    evaluation, found = scoring.seeds[run.seed], scoring.assessment
    if run.seed != scoring.chosen:
        test = tested_part(data)
        found = _assess(run, evaluation, scoring.baselines, data.train, test, commands)
    given = ReportInput(
        title=title or f"{run.model.name} on {data.name}",
        run=run,
        data=data,
        evaluation=evaluation,
        baselines=scoring.baselines,
        verdict=found.verdict,
        other_seeds={seed: each for seed, each in scoring.seeds.items() if seed != run.seed},
        configuration=configuration,
    )
    with phase("report", 1, quiet) as tell:
        if found.evidence is None:
            page = untested_page(given)
        else:
            page = report_page(given, found.evidence, found.residuals)
        written = write_whole(Path(path), page)
        tell()
    return written
