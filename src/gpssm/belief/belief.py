"""What is known of the state of a plant now, from its inputs and outputs so far."""

import copy
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from gpssm.base.errors import ConfigError, DataError, expected
from gpssm.metrics import Forecast

from . import files, forecasting, rows, tellings
from .fitted_model import FittedModel
from .inputs import Past, as_rows, check_inputs, check_outputs
from .registry import FILTERS
from .state import FilterNoise

_WORKING_SET = 50_000  # members of all plants that are side by side at a time

_begin = partial(jax.jit, static_argnums=(0, 4))(rows.begin)
_advance = partial(jax.jit, static_argnums=0)(rows.advance)
_advance_plants = partial(jax.jit, static_argnums=(0, 1))(rows.advance_plants)


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
        _check_count("particles", particles, 2)
        _check_count("plants", 1 if plants is None else plants, 1)
        dtype = model.precision(kind)
        self.model, self.kind, self.seed, self.plants = model, kind, seed, plants
        self.count, self.dtype = particles, dtype
        self._noise, self._factored = model.noise(noise, dtype), model.factored(dtype)
        self._past = Past(model.delays, plants)
        self._record: rows.Record | None = None
        self.time = 0
        with jax.enable_x64(True):
            key = jax.random.key_data(jax.random.key(seed))
            carry = _begin(kind, key, self._factored, self._noise, particles)
            self._carry = carry if plants is None else _repeated(carry, plants)

    def __repr__(self) -> str:
        many = "" if self.plants is None else f" of {self.plants} plants"
        return f"Belief({self.kind!r}{many} after {self.time} rows)"

    # ------------------------------------------------------------------ rows

    def update(
        self,
        u: Float[np.ndarray, "*rows inputs"] | None,
        y: Float[np.ndarray, "*rows outputs"],
    ) -> "Belief":
        """Take in one row [channels], or several [time, channels]; NaN is a missing output.

        With `u=None` the input follows by `apply`, as where a controller chooses it after it has
        seen y. An output far from all training data and far from its forecast is left out and
        told; from its sixth such row in a row it is used. Returns the belief itself.
        """
        self.filtered(u, y)
        return self

    def filtered(self, u: Any, y: Any) -> rows.Record:
        """As `update`; returns what every row told, in normalised units."""
        seen = check_outputs(as_rows("y", y, self.model.dim_y, self.plants))
        given = self._given(u, seen.shape[-2])
        before = self._past.before(given, seen.shape[-2])
        normal_y = np.asarray(self.model.normalisation.y(seen), self.dtype)
        carry, records = self._moved(before.astype(self.dtype), normal_y)
        told = records[0] if len(records) == 1 else _joined(records, self.plants)
        tellings.tell_left_out(self.model, seen, normal_y, told.info.used, self.time)
        self._carry, self._past = carry, self._past.after(given)
        self._record = _at(told, seen.shape[-2] - 1, self.plants)
        self.time += seen.shape[-2]
        return told

    def apply(self, u: Float[np.ndarray, "*plants inputs"]) -> "Belief":
        """The input of the last row, after `update(None, y)`. Returns the belief itself."""
        if not self._past.open:
            remedy = "Use it after update(None, y)."
            raise DataError(expected("apply", "a row whose input is known", "an open one", remedy))
        given = self._normal_inputs(u)
        if given.shape[-2] != 1:
            raise DataError(expected("u", f"{given.shape[-2]} rows", "that of the last row"))
        self._past = self._past.after(given)
        return self

    def _given(self, u: Any, count: int) -> np.ndarray | None:
        """The inputs of the rows, normalised; None where that of a single row is open."""
        if self._past.open:
            remedy = "Call apply(u) with the input that the plant got after the last update."
            raise DataError(expected("update", "a row after one without input", "apply", remedy))
        if u is None and self.model.dim_u:
            if count > 1:
                raise DataError(expected("u", f"nothing for {count} rows", "one for each row"))
            if not self.model.delays.all():
                remedy = "Give u and y of the row together."
                wanted = "the input of the row: an input acts on its output at once (delay 0)"
                raise DataError(expected("u", "nothing", wanted, remedy))
            return None
        lead = () if self.plants is None else (self.plants,)
        given = np.zeros((*lead, count, 0)) if u is None else self._normal_inputs(u)
        if given.shape[-2] != count:
            raise DataError(expected("u and y", f"{given.shape[-2]} and {count} rows", "as many"))
        return given

    def _normal_inputs(self, u: Any) -> np.ndarray:
        u = check_inputs(as_rows("u", u, self.model.dim_u, self.plants))
        return np.asarray(self.model.normalisation.u(u))

    def _moved(self, u: np.ndarray, y: np.ndarray) -> tuple[rows.Carry, list[rows.Record]]:
        """The state after these rows, and what they told, block by block."""
        carry, found, block = self._carry, [], rows.BLOCK if self.plants is None else 1
        with jax.enable_x64(True):
            for first in range(0, y.shape[-2], block):
                part = [each[..., first : first + block, :] for each in (u, y)]
                count = part[1].shape[-2]
                part = [_filled(each, block) for each in part]
                arguments = self._factored, self._noise, carry, *part, np.int32(count)
                if self.plants is None:
                    carry, record = _advance(self.kind, *arguments)
                else:
                    at_once = max(1, _WORKING_SET // self.count)
                    carry, record = _advance_plants(self.kind, at_once, *arguments)
                found.append(_first(record, count, self.plants))
        return carry, found

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
        return np.swapaxes(self._members[..., : self.model.dim_x, :], -1, -2).astype(np.float64)

    @property
    def output_mean(self) -> Float[np.ndarray, "*plants outputs"]:
        """Mean of the outputs without noise, C x + d, in the units of the data."""
        mean = tellings.observed(self._moments[0], self.model.dim_y, axis=-1)
        return np.asarray(self.model.normalisation.y_mean_back(mean))

    @property
    def output_std(self) -> Float[np.ndarray, "*plants outputs"]:
        """Their standard deviation: of what is not known, without the noise of the sensor."""
        covariance = tellings.observed(self._moments[1], self.model.dim_y, axis=-1)
        covariance = tellings.observed(covariance, self.model.dim_y, axis=-2)
        variance = np.diagonal(covariance, axis1=-2, axis2=-1)
        return np.asarray(self.model.normalisation.y_std_back(np.sqrt(variance)))

    @property
    def disturbance(self) -> Float[np.ndarray, "*plants outputs"]:
        """Mean of d, in the units of the data."""
        return np.asarray(
            self.model.normalisation.y_std_back(self._moments[0][..., self.model.dim_x :])
        )

    @property
    def log_likelihood(self) -> Any:
        """log p of all outputs so far, each given those before it, in the units of the data."""
        per_output = np.log(self.model.normalisation.y_std)
        found = np.asarray(self._carry.log_likelihood) - np.asarray(self._carry.used) @ per_output
        return float(found) if self.plants is None else found

    @property
    def last(self) -> "tellings.Telling":
        """What the last row told: its forecast from the rows before it, and its innovation."""
        if self._record is None:
            raise DataError(expected("last", "no row", "a belief after at least one update"))
        return tellings.telling(self.model, self._record.info)

    @property
    def _moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and covariance of z = (x, d)."""
        if self._record is None:
            with jax.enable_x64(True):
                found = _many(FILTERS[self.kind].moments, self.plants)(self._carry.state)
        else:
            found = self._record.mean, self._record.covariance
        mean, covariance = (np.asarray(each).astype(np.float64) for each in found)
        return mean, covariance

    @property
    def _members(self) -> Float[np.ndarray, "*plants rows n"]:
        """Draws of z of equal weight, where the filter has them."""
        with jax.enable_x64(True):
            return np.asarray(_many(FILTERS[self.kind].members, self.plants)(self._carry.state))

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

        Row 0 is the next row. After `update(None, y)` the first inputs are those of the row that is
        open, and the forecast begins one row after it. The noises and draws of f are those of
        `Run.predict`; a disturbance stays where it is. Without inputs give the number of `steps`.
        Returns a `Forecast`; for many plants a tuple of them.
        """
        if not self.time:
            raise DataError(expected("predict", "a belief without a row", "at least one update"))
        u = self._future(u_future, steps)
        before = self._past.before(u, u.shape[-2])
        z = self._draws(particles or self.count, seed)
        if self.plants is None:
            return self._forecast(z[None], before[None], seed)[0]
        return self._forecast(z, before, seed)

    def _forecast(self, z: np.ndarray, u: np.ndarray, seed: int) -> tuple[Forecast, ...]:
        return forecasting.forecasts(self.model, z, u, seed)

    def _future(self, u: Any, steps: int | None) -> np.ndarray:
        if u is None and not self.model.dim_u:
            _check_count("steps", 0 if steps is None else steps, 1)
            lead = () if self.plants is None else (self.plants,)
            return np.zeros((*lead, steps, 0))
        if u is None or steps is not None:
            given = "nothing" if u is None else f"{steps} together with u_future"
            raise DataError(expected("u_future and steps", given, "the inputs of the rows to come"))
        u = as_rows("u_future", u, self.model.dim_u, self.plants)
        return np.asarray(self.model.normalisation.u(check_inputs(u)))

    def _draws(self, count: int, seed: int) -> Float[np.ndarray, "*plants rows count"]:
        """Draws of z: the members, or some of them, or draws from the Gaussian."""
        _check_count("particles", count, 1)
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
        """Write the belief to a file, which `gpssm.belief.load` reads beside the same model."""
        settings = {
            "kind": self.kind, "particles": self.count, "seed": self.seed, "plants": self.plants,
            "time": self.time, "open": self._past.open, "model": self.model.fingerprint,
        }  # fmt: skip
        with jax.enable_x64(True):
            arrays = files.named_arrays(self._kept())
        return files.save(path, settings, arrays)

    @classmethod
    def restored(cls, path: str | Path, model: FittedModel) -> "Belief":
        """What `save` wrote; raise unless it is a belief of this model."""
        settings, arrays = files.load(path, model.fingerprint)
        given = (settings[name] for name in ("kind", "particles", "seed", "plants"))
        belief = cls(model, *given)
        with jax.enable_x64(True):
            belief._restore(path, settings, arrays)
        return belief

    def _kept(self) -> dict[str, Any]:
        """All arrays of this belief, by name; None where there is none."""
        return {
            "filter": self._carry, "noise": self._noise, "past": self._past.rows,
            "record": self._record,
        }  # fmt: skip

    def _restore(self, path: Any, settings: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        has_past, self.time = "past" in arrays, int(settings["time"])
        lead = () if self.plants is None else (self.plants,)
        if has_past:
            shape = (*lead, self._past.depth, self.model.dim_u)
            self._past.rows = np.zeros(shape)
        if self.time:
            self._record = self._blank_record()
        self._past.open = bool(settings["open"])
        kept = files.filled(path, self._kept(), arrays)
        self._carry, self._noise, self._record = kept["filter"], kept["noise"], kept["record"]
        self._past.rows = None if kept["past"] is None else np.asarray(kept["past"])

    def _blank_record(self) -> rows.Record:
        """One of the right shape."""
        shape = (1, self.model.dim_u), (1, self.model.dim_y)
        carry = self._carry if self.plants is None else _at(self._carry, 0, None)
        u, y = (np.zeros(each, self.dtype) for each in shape)
        arguments = self._factored, self._noise, carry, u, y, np.int32(1)
        record = jax.eval_shape(partial(rows.advance, self.kind), *arguments)[1]
        lead = () if self.plants is None else (self.plants,)
        return jax.tree.map(lambda leaf: jnp.zeros((*lead, *leaf.shape[1:]), leaf.dtype), record)


def _check_count(field: str, given: Any, least: int) -> None:
    if isinstance(given, bool) or not isinstance(given, int | np.integer) or given < least:
        raise ConfigError(expected(field, given, f"a whole number of at least {least}"))


def _repeated(carry: rows.Carry, plants: int) -> rows.Carry:
    """The same for every plant."""
    return jax.tree.map(lambda leaf: jnp.repeat(leaf[None], plants, axis=0), carry)


def _filled(values: np.ndarray, block: int) -> np.ndarray:
    """With as many rows as a block has."""
    missing = block - values.shape[-2]
    if not missing:
        return values
    filled = np.zeros((*values.shape[:-2], block, values.shape[-1]), values.dtype)
    filled[..., : values.shape[-2], :] = values
    return filled


def _first(record: rows.Record, count: int, plants: int | None) -> rows.Record:
    """The rows of a block that are rows of the log."""
    if plants is not None or len(record.mean) == count:
        return record
    return jax.tree.map(lambda leaf: np.asarray(leaf)[:count], record)


def _joined(records: list[rows.Record], plants: int | None) -> rows.Record:
    axis = 0 if plants is None else 1
    return jax.tree.map(lambda *parts: np.concatenate(parts, axis=axis), *records)


def _at(record: Any, row: int, plants: int | None) -> Any:
    """One row of all plants."""
    place: Any = row if plants is None else (slice(None), row)
    return jax.tree.map(lambda leaf: leaf[place], record)


def _many(function: Any, plants: int | None) -> Any:
    return function if plants is None else jax.vmap(function)
