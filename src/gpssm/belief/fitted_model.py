"""What a belief needs of a fitted model."""

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from gpssm.base.errors import ConfigError, DataError, expected
from gpssm.data import Normalisation
from gpssm.inference import System

from .factored import Factored, factored
from .registry import FILTERS
from .state import FilterNoise

_POSITIVE = ("process", "sensor")


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A system with the units of its data, and `dtype`, the precision of its forecasts."""

    system: System
    normalisation: Normalisation
    dtype: str
    output_names: tuple[str, ...] = ()

    @property
    def dim_x(self) -> int:
        """Number of states."""
        return self.system.model.dim_x

    @property
    def dim_y(self) -> int:
        """Number of outputs."""
        return self.system.model.dim_y

    @property
    def dim_u(self) -> int:
        """Number of inputs."""
        return len(self.normalisation.u_mean)

    @cached_property
    def delays(self) -> np.ndarray:
        """Steps after which each input acts."""
        given = self.system.config.input_delays
        return np.ones(self.dim_u, int) if given is None else np.array(given, int)

    def precision(self, kind: str) -> str:
        """Covariances need double precision; an ensemble has the precision of forecasts."""
        if kind not in FILTERS:
            raise ConfigError(expected("kind", repr(kind), f"one of {sorted(FILTERS)}"))
        return "float64" if FILTERS[kind].members is None else self.dtype

    @cached_property
    def _factored(self) -> dict[str, Factored]:
        return {}

    def factored(self, dtype: str) -> Factored:
        """f ready for use in this precision; factored once."""
        if dtype not in self._factored:
            with jax.enable_x64(True):
                self._factored[dtype] = factored(self.system, dtype)
        return self._factored[dtype]

    def noise(self, given: FilterNoise | None, dtype: str) -> FilterNoise:
        """The noises that are given, else those of the model."""
        with jax.enable_x64(True):
            noise = FilterNoise.of(self.system)
            if given is None:
                return noise.cast(dtype)
            for field, ours, theirs in zip(noise._fields, noise, given, strict=True):
                _check_variances(field, np.asarray(theirs), np.shape(ours), field in _POSITIVE)
            return FilterNoise(*(jnp.asarray(each, dtype) for each in given))

    def name(self, output: int) -> str:
        """Of an output, for messages."""
        return repr(self.output_names[output]) if self.output_names else str(output)

    @cached_property
    def fingerprint(self) -> str:
        """A checksum of all parameters, settings and units."""
        found = hashlib.sha256()
        described = [self.system.config.to_json(), self.normalisation.to_json(), self.dtype]
        found.update(json.dumps(described, sort_keys=True, default=str).encode())
        for leaf in jax.tree.leaves(self.system):
            found.update(np.asarray(leaf).tobytes())
        return found.hexdigest()


def _check_variances(
    field: str, given: Float[np.ndarray, "..."], shape: tuple[int, ...], positive: bool
) -> None:
    sign = "positive" if positive else "non-negative"
    wanted = f"{shape[0]} {sign} numbers" if shape else f"a {sign} number"
    fits = given.shape == shape and np.isfinite(given).all() and (given >= 0).all()
    if not fits or (positive and not (given > 0).all()):
        raise DataError(expected(f"{field} of the noise", given, wanted))
