"""What happened during training: one row per gradient step."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from .step import StepInfo


@dataclass(frozen=True)
class History:
    """The terms of the ELBO, the gradient norm, the learning rate and whether a step was skipped.

    `elbo`, `log_likelihood`, `state_kl`, `initial_kl` and `entropy` are per time step;
    `inducing_kl` and `smoother_kl` are those of the whole GPs. All are unweighted but `elbo`.
    """

    table: pd.DataFrame

    @classmethod
    def empty(cls) -> "History":
        """No steps yet."""
        return cls(pd.DataFrame())

    def extended(self, info: StepInfo) -> "History":
        """With the rows of another chunk of steps."""
        columns = {name: np.asarray(value) for name, value in info.elbo._asdict().items()}
        columns["elbo"] = columns.pop("total")
        columns["gradient_norm"] = np.asarray(info.gradient_norm)
        columns["learning_rate"] = np.asarray(info.learning_rate)
        columns["skipped"] = np.asarray(info.skipped)
        table = pd.concat([self.table, pd.DataFrame(columns)], ignore_index=True)
        return History(table.rename_axis("step"))

    def columns(self) -> dict[str, np.ndarray]:
        """The table as plain arrays."""
        return {str(name): self.table[name].to_numpy() for name in self.table}

    @classmethod
    def from_columns(cls, columns: dict[str, np.ndarray]) -> "History":
        """The inverse of `columns`."""
        return cls(pd.DataFrame(columns).rename_axis("step"))

    def to_csv(self, path: str | Path) -> None:
        """Write the table."""
        self.table.to_csv(path)
