"""Groups of parameters, by where they are in a system: for learning rates and for messages."""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from gpssm.base.errors import ConfigError, expected
from gpssm.inference import System

_PLACES = {
    "kernel": ".model.transition.gp.kernel",
    "inducing_inputs": ".model.transition.gp.inducing_inputs",
    "inducing_values": ".model.transition.gp.posterior",
    "smoother": ".posterior.smoother",
    "physics": ".model.transition.dynamics",
    "process_noise": ".model.transition.raw_noise",
    "output_noise": ".model.emission.raw_noise",
    "target_noise": ".posterior.raw_hidden_noise",
    "initial_state": ".model.initial",
    "recognition": ".posterior.recognition",
    "method": ".posterior.added",
}
GROUPS = tuple(_PLACES)


class RateFactors(dict[str, float]):
    """A factor per group. It has a hash, as a static argument of a compiled function needs one."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(sorted(self.items())))


def check_factors(factors: Mapping[str, float]) -> RateFactors:
    """The factors, if all of their groups are known."""
    for name in factors:
        if name not in _PLACES:
            raise ConfigError(expected("rate_factors", repr(name), f"one of {', '.join(GROUPS)}"))
    return RateFactors(factors)


def scale_groups(tree: System, factors: Mapping[str, float]) -> System:
    """Every leaf times the factor of its group; 0 gives exact zeros, even for NaN."""

    def scaled(path: Any, leaf: Any) -> Any:
        factor = factors.get(_group(path), 1.0)
        return factor * leaf if factor else jnp.zeros_like(leaf)

    return jax.tree_util.tree_map_with_path(scaled, tree) if factors else tree


def groups_not_finite(tree: System) -> tuple[str, ...]:
    """The groups whose norm is not finite: some number is not, or is too large to be squared."""
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    found = {_group(path) for path, leaf in leaves if not np.isfinite(jnp.sum(jnp.square(leaf)))}
    return tuple(name for name in GROUPS if name in found)


def _group(path: Any) -> str:
    place = jax.tree_util.keystr(path)
    return next(name for name, prefix in _PLACES.items() if place.startswith(prefix))
