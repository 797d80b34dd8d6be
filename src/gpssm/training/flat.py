"""All parameters of a system as one vector, while the compiled loop runs.

The optimiser, the average and the way back treat every number alike. On a vector that is a few
operations; on the many small arrays of a system it is hundreds, each to be compiled and started.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from gpssm.inference import System


class Flat(eqx.Module):
    """The parameters of a system, and the way back to it."""

    vector: Float[Array, " parameters"]
    restore: Callable[[Array], System] = eqx.field(static=True)

    def like(self, system: System) -> "Flat":
        """Another system of the same shape, flat."""
        return Flat(ravel_pytree(system)[0], self.restore)

    def system(self) -> System:
        """The system itself."""
        return self.restore(self.vector)


def flatten_systems(tree: Any) -> Any:
    """Every system in the tree as one vector. All must have the same shape."""
    systems = [leaf for leaf in jax.tree.leaves(tree, is_leaf=_is_system) if _is_system(leaf)]
    pattern = Flat(*ravel_pytree(systems[0]))
    flat = lambda leaf: pattern.like(leaf) if _is_system(leaf) else leaf  # noqa: E731
    return jax.tree.map(flat, tree, is_leaf=_is_system)


def restore_systems(tree: Any) -> Any:
    """The inverse of `flatten_systems`."""
    full = lambda leaf: leaf.system() if isinstance(leaf, Flat) else leaf  # noqa: E731
    return jax.tree.map(full, tree, is_leaf=lambda leaf: isinstance(leaf, Flat))


def _is_system(leaf: Any) -> bool:
    return isinstance(leaf, System)
