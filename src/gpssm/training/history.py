"""History of a training: one row per gradient step."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from gpssm.base.files import write_whole

from .step import StepInfo
from .validation import Scores


@dataclass(frozen=True)
class History:
    """The terms of the ELBO, the gradient norm, the learning rate, and how each step went.

    `elbo`, `log_likelihood`, `state_kl`, `initial_kl` and `entropy` are per time step;
    `inducing_kl` and `smoother_kl` are those of the whole GPs, `parameter_kl` that of the physical
    parameters. All are unweighted but `elbo`.
    `learning_rate` is the one that acted, `rate_scale` the part of it that roll-backs left.
    With validation there are also `validation_rmse`, `validation_log_likelihood` and that of the
    `validation_metric`, in normalised units; they are NaN after a step that was not validated.
    """

    table: pd.DataFrame

    @classmethod
    def of(cls, steps: StepInfo, scores: Scores | None = None) -> "History":
        """From the infos of all steps, stacked, and the scores after them."""
        terms, others = steps.elbo._asdict(), steps._asdict()
        del others["elbo"]
        columns = {"elbo": terms.pop("total"), **terms, **others}
        if scores is not None:
            columns |= {f"validation_{name}": value for name, value in scores.items()}
        return cls.from_columns({name: np.asarray(value) for name, value in columns.items()})

    def columns(self) -> dict[str, np.ndarray]:
        """The table as plain arrays."""
        return {str(name): self.table[name].to_numpy() for name in self.table}

    @classmethod
    def from_columns(cls, columns: dict[str, np.ndarray]) -> "History":
        """The inverse of `columns`."""
        return cls(pd.DataFrame(columns).rename_axis("step"))

    @property
    def final_elbo(self) -> float:
        """The mean over the last tenth of the steps; minus infinity where none was finite."""
        elbo = self.table["elbo"].to_numpy()
        last = elbo[-max(len(elbo) // 10, 1) :]
        return float(np.mean(last[np.isfinite(last)])) if np.isfinite(last).any() else -np.inf

    def to_csv(self, path: str | Path) -> None:
        """Write the table as CSV, whole or not at all."""
        write_whole(path, self.table.to_csv)
