"""Rows of a log as they are given: checked, and each input in the row in which it acts."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from gpssm.base.errors import ConfigError, DataError, expected
from gpssm.data import Normalisation

Rows = Float[np.ndarray, "*plants _ channels"]


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


def check_count(field: str, given: Any, least: int) -> int:
    """Raise unless it is a whole number that is not too small."""
    if isinstance(given, bool) or not isinstance(given, int | np.integer) or given < least:
        raise ConfigError(expected(field, given, f"a whole number of at least {least}"))
    return int(given)


class Past(NamedTuple):
    """The last inputs, normalised, as many as the longest delay takes; None before the first row.

    Before the first row the first one is repeated, as in `gpssm.data.alignment`. `open`: the input
    of the last row is not known yet.
    """

    delays: Int[np.ndarray, " inputs"]
    plants: int | None
    rows: Rows | None = None
    open: bool = False

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
            return self._replace(open=True)
        return self._replace(rows=self._with(u)[..., -self.depth :, :], open=False)

    def _with(self, u: Rows) -> Rows:
        rows = self.rows
        if rows is None:
            rows = np.repeat(u[..., :1, :], self.depth, axis=-2)
        return np.concatenate([rows, u], axis=-2)


class Channels(NamedTuple):
    """Inputs and outputs of one plant or many, as they are given to a belief."""

    scales: Normalisation
    plants: int | None

    def inputs(self, u: Any, field: str = "u") -> Rows:
        """Normalised."""
        rows = as_rows(field, u, len(self.scales.u_mean), self.plants)
        return np.asarray(self.scales.u(check_inputs(rows)))

    def outputs(self, y: Any) -> Rows:
        """In the units of the data, checked."""
        return check_outputs(as_rows("y", y, len(self.scales.y_mean), self.plants))

    def no_inputs(self, count: int) -> Rows:
        """Rows without channels, for a plant that has none."""
        lead = () if self.plants is None else (self.plants,)
        return np.zeros((*lead, count, 0))

    def of_rows(self, u: Any, count: int, past: Past) -> Rows | None:
        """The inputs of further rows; None where that of a single row is left open."""
        if past.open:
            remedy = "Call apply(u) with the input that the plant got after the last update."
            raise DataError(expected("update", "a row after one without input", "apply", remedy))
        if len(self.scales.u_mean) == 0 and u is None:
            return self.no_inputs(count)
        if u is None:
            _check_open(count, past)
            return None
        given = self.inputs(u)
        if given.shape[-2] != count:
            raise DataError(expected("u and y", f"{given.shape[-2]} and {count} rows", "as many"))
        return given

    def to_come(self, u: Any, steps: int | None) -> Rows:
        """The inputs of a forecast, or its number of steps where there are none."""
        if u is None and len(self.scales.u_mean) == 0:
            return self.no_inputs(check_count("steps", steps, 1))
        if u is None or steps is not None:
            given = "nothing" if u is None else f"{steps} steps together with u_future"
            raise DataError(expected("u_future", given, "the inputs of the rows to come alone"))
        return self.inputs(u, "u_future")


def _check_open(count: int, past: Past) -> None:
    """Raise unless the input of a row can follow its output."""
    if count > 1:
        raise DataError(expected("u", f"nothing for {count} rows", "an input for each row"))
    if not past.delays.all():
        wanted = "the input of the row, which acts on its output at once (delay 0)"
        raise DataError(expected("u", "nothing", wanted, "Give u and y of the row together."))
