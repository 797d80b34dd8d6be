"""Where a training step runs: the sequences of a batch are cut over the devices of a mesh."""

from collections.abc import Callable, Sequence

import jax
import numpy as np
from jax.sharding import Mesh, PartitionSpec
from jaxtyping import Array

from gpssm.gp import Keys
from gpssm.inference import Elbo, Sequences, System, Weights

AXIS = "batch"

Gradient = Callable[[System, Keys, Sequences, Weights], tuple[Elbo, System]]


def make_mesh(batch_size: int, devices: Sequence[jax.Device] | None = None) -> Mesh:
    """As many of the devices (by default: all local ones) as divide the batch evenly."""
    available = list(jax.local_devices() if devices is None else devices)
    count = max(n for n in range(1, len(available) + 1) if batch_size % n == 0)
    return Mesh(np.array(available[:count]), (AXIS,))


def over_devices(gradient: Gradient, mesh: Mesh) -> Gradient:
    """The same gradient of a mean over sequences, each device with its share of them."""
    if mesh.size == 1:
        return gradient

    def part(
        system: System, keys: tuple[Array, Array], sequences: Sequences, weights: Weights
    ) -> tuple[Elbo, System]:
        return jax.tree.map(_mean, gradient(system, Keys(*keys), sequences, weights))

    everywhere, cut = PartitionSpec(), PartitionSpec(None, None, AXIS)
    shared = jax.shard_map(
        part,
        mesh=mesh,
        in_specs=(everywhere, (everywhere, PartitionSpec(AXIS)), cut, everywhere),
        out_specs=everywhere,
        check_vma=False,
    )
    return lambda system, keys, *others: shared(system, (keys.shared, keys.each), *others)


def _mean(value: Array) -> Array:
    return jax.lax.pmean(value, AXIS)
