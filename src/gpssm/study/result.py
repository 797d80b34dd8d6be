"""Result of a study: the table, the ranking, the best settings."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from gpssm.base.errors import ConfigError, TrainingError, expected
from gpssm.metrics import metrics

from .scores import configuration_losses, overall, scores_of
from .settings import Study
from .space import Resolved, resolve
from .table import chosen_in

TABLE = "trials.parquet"
SCORE = "score"


@dataclass(frozen=True, eq=False)
class Sweep:
    """A study and its trials."""

    study: Study
    datasets: tuple[str, ...]
    folder: Path
    table: pd.DataFrame
    lost: tuple[str, ...] = ()  # fits without a row, whose workers died; another start tries again

    @property
    def path(self) -> Path:
        """The table on the disk, for `pandas.read_parquet`."""
        return self.folder / TABLE

    @property
    def ranking(self) -> pd.DataFrame:
        """The configurations by number, best first: their settings and scores.

        `score` is over all data sets, `score NAME` on one: the geometric mean of an error such
        as the RMSE, the mean of a log-likelihood, of all seeds. One that failed has none.
        """
        loss = configuration_losses(self.study, self.datasets, self.table)
        columns = {SCORE: overall(loss), **{f"{SCORE} {name}": loss[name] for name in loss}}
        shown = {k: scores_of(v.to_numpy(float), self.study.objective) for k, v in columns.items()}
        scores = pd.DataFrame(shown, loss.index).replace([np.inf, -np.inf], np.nan)
        settings = self.table.drop_duplicates("configuration").set_index("configuration")
        whole = settings[list(self.study.search.space)].join(scores)
        return whole.sort_values(SCORE, ascending=self._ascending)

    def best(self, dataset: str | None = None) -> Resolved:
        """The settings with the best score, over all data sets or on one of them."""
        if dataset is not None and dataset not in self.datasets:
            wanted = f"one of {', '.join(self.datasets)}"
            raise ConfigError(expected("dataset", repr(dataset), wanted))
        column = SCORE if dataset is None else f"{SCORE} {dataset}"
        ranked = self.ranking.dropna(subset=[column])
        if ranked.empty:
            errors = self.table["error"].dropna()
            why = errors.iloc[0] if len(errors) else "no trial has finished"
            raise TrainingError(f"study: no configuration has a score. The first error: {why}")
        number = ranked.sort_values(column, ascending=self._ascending).index[0]
        return resolve(self.study, chosen_in(self.table)[int(number)])

    @property
    def _ascending(self) -> bool:
        return metrics()[self.study.objective].better == "lower"
