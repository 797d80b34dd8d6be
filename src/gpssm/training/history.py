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
    def of(cls, steps: StepInfo) -> "History":
        """From the infos of all steps, stacked."""
        terms, others = steps.elbo._asdict(), steps._asdict()
        del others["elbo"]
        columns = {"elbo": terms.pop("total"), **terms, **others}
        return cls.from_columns({name: np.asarray(value) for name, value in columns.items()})

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
