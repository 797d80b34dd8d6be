"""What is known of the state of a plant now, from its inputs and outputs so far."""

import copy
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from gpssm.base.errors import ConfigError, DataError, expected
from gpssm.metrics import Forecast

from . import files, forecasting
from .blocks import Filtering, as_one_row, last_row
from .fitted_model import FittedModel
from .inputs import Channels, Past, check_count
from .registry import FILTERS
from .rows import Record
from .state import FilterNoise
from .tellings import Telling, observed, observed_std, tell_left_out, telling


class Belief:
    """A filter in a fitted model, moved on by `update` with every row of a log.

    Row t has the input u[t] and the output y[t] of the same time step, in the units of the data:
    x[t+1] = f(x[t], u[t]), y[t] = C x[t] + d[t], with d = 0 unless the noise has a disturbance.
    With many `plants` every array has them as its first axis.
    """

    def __init__(
        self,
        model: FittedModel,
        kind: str = "ensemble",
        particles: int = 200,
        seed: int = 0,
        plants: int | None = None,
        noise: FilterNoise | None = None,
    ) -> None:
        check_count("particles", particles, 2)
        check_count("plants", 1 if plants is None else plants, 1)
        self.model, self.seed, self.dtype = model, seed, model.precision(kind)
        parts = model.factored(self.dtype), model.noise(noise, self.dtype)
        self._filter = Filtering(kind, *parts, particles, plants)
        self._channels = Channels(model.normalisation, plants)
        self._past = Past(model.delays, plants)
        self._record: Record | None = None
        self.time = 0
        forecasting.check_state(plants or 1, particles, model.dim_x + model.dim_y)
        with jax.enable_x64(True):
            self._carry = self._filter.begin(seed)

    def __repr__(self) -> str:
        many = "" if self.plants is None else f" of {self.plants} plants"
        return f"Belief({self.kind!r}{many} after {self.time} rows)"

    @property
    def kind(self) -> str:
        """The filter: `ensemble`, `particle` or `gaussian`."""
        return self._filter.kind

    @property
    def plants(self) -> int | None:
        """Number of plants; None: one, without an axis of its own."""
        return self._filter.plants

    @property
    def noise(self) -> FilterNoise:
        """The noises of the filter, normalised."""
        return self._filter.noise

    # ------------------------------------------------------------------ rows

    def update(
        self,
        u: Float[np.ndarray, "*rows_of_u inputs"] | None,
        y: Float[np.ndarray, "*rows_of_y outputs"],
    ) -> "Belief":
        """Take in one row [channels], or several [time, channels]; NaN is a missing output.

        With `u=None` the input follows by `apply`, as where a controller chooses it after it has
        seen y. An output that is far from all training data and from its forecast is left out and
        told; from the sixth such row in a row it is used. Returns the belief itself.
        """
        self.record(u, y)
        return self

    def record(self, u: Any, y: Any) -> Record:
        """As `update`, but returns what every row told, in normalised units."""
        seen = self._channels.outputs(y)
        given = self._channels.of_rows(u, seen.shape[-2], self._past)
        before = self._past.before(given, seen.shape[-2]).astype(self.dtype)
        normal_y = np.asarray(self.model.normalisation.y(seen), self.dtype)
        with jax.enable_x64(True):
            carry, told = self._filter.advance(self._carry, before, normal_y)
        tell_left_out(self.model, seen, normal_y, told.info.used, self.time)
        self._carry, self._past = carry, self._past.after(given)
        self._record, self.time = told, self.time + seen.shape[-2]
        return told

    def apply(self, u: Float[np.ndarray, "*plants inputs"]) -> "Belief":
        """The input of the last row, after `update(None, y)`. Returns the belief itself."""
        if not self._past.open:
            remedy = "Use it after update(None, y)."
            raise DataError(expected("apply", "a row whose input is known", "an open one", remedy))
        given = self._channels.inputs(u)
        if given.shape[-2] != 1:
            raise DataError(expected("u", f"{given.shape[-2]} rows", "that of the last row"))
        self._past = self._past.after(given)
        return self

    # ------------------------------------------------------------------ what is known

    @property
    def mean(self) -> Float[np.ndarray, "*plants states"]:
        """Mean of the states, in normalised units as those of `Run.states`; outputs come first."""
        return self._moments[0][..., : self.model.dim_x]

    @property
    def cov(self) -> Float[np.ndarray, "*plants states states"]:
        """Covariance of the states, in normalised units."""
        states = self.model.dim_x
        return self._moments[1][..., :states, :states]

    @property
    def particles(self) -> Float[np.ndarray, "*plants particles states"]:
        """Draws of the states of equal weight, in normalised units."""
        if FILTERS[self.kind].members is None:
            remedy = "Draw from N(mean, cov), or take kind='ensemble'."
            raise ConfigError(expected("particles", f"a {self.kind} belief", "particles", remedy))
        x = self._members[..., : self.model.dim_x, :]
        return np.swapaxes(x, -1, -2).astype(np.float64)

    @property
    def output_mean(self) -> Float[np.ndarray, "*plants outputs"]:
        """Mean of the outputs without noise, C x + d, in the units of the data."""
        mean = observed(self._moments[0], self.model.dim_y, axis=-1)
        return np.asarray(self.model.normalisation.y_mean_back(mean))

    @property
    def output_std(self) -> Float[np.ndarray, "*plants outputs"]:
        """Their standard deviation: of what is not known, without the noise of the sensor."""
        std = observed_std(self._moments[1], self.model.dim_y)
        return np.asarray(self.model.normalisation.y_std_back(std))

    @property
    def disturbance(self) -> Float[np.ndarray, "*plants outputs"]:
        """Mean of d, in the units of the data."""
        d = self._moments[0][..., self.model.dim_x :]
        return np.asarray(self.model.normalisation.y_std_back(d))

    @property
    def log_likelihood(self) -> Any:
        """log p of all outputs so far, each given those before it, in the units of the data."""
        per_output = np.log(self.model.normalisation.y_std)
        found = np.asarray(self._carry.log_likelihood) - np.asarray(self._carry.used) @ per_output
        return float(found) if self.plants is None else found

    @property
    def last(self) -> Telling:
        """What the last row told: its forecast from the rows before it, and its innovation."""
        if self._record is None:
            raise DataError(expected("last", "no row", "a belief after at least one update"))
        return telling(self.model, last_row(self._record, self.plants).info)

    @property
    def _moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and covariance of z = (x, d)."""
        if self._record is None:
            with jax.enable_x64(True):
                found = self._filter.moments(self._carry)
        else:
            found = last_row(self._record, self.plants)[1:]
        mean, covariance = (np.asarray(each, np.float64) for each in found)
        return mean, covariance

    @property
    def _members(self) -> Float[np.ndarray, "*plants states_and_outputs n"]:
        """Draws of z of equal weight."""
        with jax.enable_x64(True):
            return self._filter.members(self._carry)

    # ------------------------------------------------------------------ forecasts

    def predict(
        self,
        u_future: Float[np.ndarray, "*plants time inputs"] | None,
        *,
        steps: int | None = None,
        particles: int | None = None,
        seed: int = 0,
    ) -> Any:
        """Forecast the outputs of the rows to come, one for each row of `u_future`.

        Row 0 is that of the next row. After `update(None, y)` row 0 is the input that is still
        open; the forecast begins with the row that it leads to. Noises and draws of f are those of
        `Run.predict`; a disturbance stays where it is. Without inputs give the number of `steps`.
        Returns a `Forecast`; for many plants one for each.
        """
        if not self.time:
            raise DataError(expected("predict", "a belief without a row", "at least one update"))
        u = self._channels.to_come(u_future, steps)
        before = self._past.before(u, u.shape[-2])
        z = self._draws(check_count("particles", particles or self._filter.particles, 1), seed)
        if self.plants is None:
            return self._forecasts(z[None], before[None], seed)[0]
        return self._forecasts(z, before, seed)

    def _forecasts(self, z: np.ndarray, u: np.ndarray, seed: int) -> tuple[Forecast, ...]:
        return forecasting.forecasts(self.model, z, u, seed)

    def _draws(self, count: int, seed: int) -> Float[np.ndarray, "*plants states_and_outputs n"]:
        """Draws of z: the members, or some of them, or draws from the Gaussian."""
        rng = np.random.default_rng(seed)
        if FILTERS[self.kind].members is None:
            return forecasting.gaussian_draws(rng, *self._moments, count)
        members = self._members
        if count == members.shape[-1]:
            return members
        return members[..., forecasting.even_choice(rng, members.shape[-1], count)]

    # ------------------------------------------------------------------ copies

    def copy(self) -> "Belief":
        """One that is updated on its own."""
        return copy.copy(self)  # nothing that a belief holds is changed in place

    def save(self, path: str | Path) -> Path:
        """Write the belief to a file, which `Run.load_belief` of the same model reads."""
        settings = {
            "kind": self.kind, "particles": self._filter.particles, "seed": self.seed,
            "plants": self.plants, "time": self.time, "open": self._past.open,
        }  # fmt: skip
        with jax.enable_x64(True):
            arrays = files.named_arrays(self._kept())
        return files.save(path, {**settings, "model": self.model.fingerprint}, arrays)

    @classmethod
    def restored(cls, path: str | Path, model: FittedModel) -> "Belief":
        """What `save` wrote; raise unless it is a belief of this model."""
        settings, arrays = files.load(path, model.fingerprint)
        belief = cls(model, *(settings[name] for name in ("kind", "particles", "seed", "plants")))
        belief._blank(int(settings["time"]), bool(settings["open"]), "past" in arrays)
        with jax.enable_x64(True):
            kept = files.filled(path, belief._kept(), arrays)
        belief._carry = kept["filter"]
        if belief._record is not None:
            belief._record = as_one_row(kept["record"], belief.plants)
        belief._filter = belief._filter._replace(noise=kept["noise"])
        rows = None if kept["past"] is None else np.asarray(kept["past"])
        belief._past = belief._past._replace(rows=rows)
        return belief

    def _kept(self) -> dict[str, Any]:
        """All arrays of this belief, by name; None where there is none."""
        record = None if self._record is None else last_row(self._record, self.plants)
        kept = {"filter": self._carry, "noise": self.noise, "past": self._past.rows}
        return {**kept, "record": record}

    def _blank(self, time: int, is_open: bool, has_past: bool) -> None:
        """Arrays of the right shape in all places."""
        shape = (*self._channels.no_inputs(self._past.depth).shape[:-1], self.model.dim_u)
        self._past = self._past._replace(rows=np.zeros(shape) if has_past else None, open=is_open)
        self.time = time
        if time:
            with jax.enable_x64(True):
                record = self._filter.blank_record(self._carry, self.model.dim_u)
            self._record = as_one_row(record, self.plants)
