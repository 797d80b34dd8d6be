"""Rows of a log as they are given: checked, and each input in the row in which it acts."""

from typing import Any

import numpy as np
from jaxtyping import Float, Int

from gpssm.base.errors import DataError, expected

Rows = Float[np.ndarray, "*plants time channels"]


def as_rows(field: str, values: Any, channels: int, plants: int | None) -> Rows:
    """One row [channels] or several [time, channels], for each of the plants if there are many."""
    lead = () if plants is None else (plants,)
    wanted = f"[{channels}] or [time, {channels}]"
    if plants is not None:
        wanted = f"[{plants}, {channels}] or [{plants}, time, {channels}]"
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(expected(field, f"no numbers ({error})", f"an array {wanted}")) from error
    shape = array.shape
    if shape == () and channels == 1 and plants is None:
        return array.reshape(1, 1)
    if shape == (*lead, channels):
        return array[..., None, :]
    if len(shape) == len(lead) + 2 and shape[:-2] == lead and shape[-1] == channels and shape[-2]:
        return array
    what = "one row or several, with the channels that the model was trained on"
    raise DataError(expected(field, f"shape {shape}", f"{wanted}: {what}"))


def check_inputs(u: Rows) -> Rows:
    """Raise unless all are finite."""
    if np.isfinite(u).all():
        return u
    place = tuple(int(i) for i in np.argwhere(~np.isfinite(u))[0])
    remedy = "An input must be known at every step."
    raise DataError(expected("u", f"{u[place]} at row {place[-2]}", "finite values", remedy))


def check_outputs(y: Rows) -> Rows:
    """Raise if one is infinite; NaN marks a missing one."""
    if not np.isinf(y).any():
        return y
    place = tuple(int(i) for i in np.argwhere(np.isinf(y))[0])
    wanted = "finite values, or NaN for a missing one"
    raise DataError(expected("y", f"{y[place]} at row {place[-2]}", wanted))


class Past:
    """The last inputs, as many as the longest delay takes. Values do not change; it is replaced.

    Before the first row the first one is repeated, as in `gpssm.data.alignment`.
    """

    def __init__(
        self,
        delays: Int[np.ndarray, " inputs"],
        plants: int | None,
        rows: Rows | None = None,
        open_row: bool = False,
    ) -> None:
        self.delays, self.plants, self.rows = delays, plants, rows
        self.open = open_row  # whether the input of the last row is not known yet

    @property
    def depth(self) -> int:
        """Number of rows that are kept."""
        return max([1, *self.delays.tolist()])

    def before(self, u: Rows | None, count: int) -> Rows:
        """The inputs that lead to each of the `count` rows to come, whose own inputs are u.

        If the input of the last row is open, u starts with it.
        """
        lead = () if self.plants is None else (self.plants,)
        known = self.rows if u is None else self._with(u)
        if known is None:
            return np.zeros((*lead, count, len(self.delays)))
        # The row that is the first to come has this place among those that are known.
        first = self.depth + (1 if self.open else 0)
        places = first + np.arange(count)[:, None] - self.delays[None]
        places = np.clip(places, 0, known.shape[-2] - 1)
        return known[..., places, np.arange(len(self.delays))[None]]

    def after(self, u: Rows | None) -> "Past":
        """With the inputs u of further rows; None: of one row, not known yet."""
        if u is None:
            return Past(self.delays, self.plants, self.rows, True)
        rows = self._with(u)[..., -self.depth :, :]
        return Past(self.delays, self.plants, rows, False)

    def _with(self, u: Rows) -> Rows:
        rows = self.rows
        if rows is None:
            rows = np.repeat(u[..., :1, :], self.depth, axis=-2)
        return np.concatenate([rows, u], axis=-2)
