"""Devices of a training step: sequences and particles are split over a mesh."""

from collections.abc import Callable, Sequence
from itertools import product
from typing import TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array

from gpssm.base.errors import ConfigError, expected
from gpssm.data import Rows
from gpssm.gp import Keys
from gpssm.inference import Elbo, Sequences, System, Weights

SEQUENCES, PARTICLES = AXES = ("sequences", "particles")

Tree = TypeVar("Tree")
Gradient = Callable[[System, Keys, Sequences, Weights], tuple[System, Elbo]]


def make_mesh(batch_size: int, particles: int, devices: Sequence[jax.Device] | None = None) -> Mesh:
    """As many of the devices (by default: those of all processes) as can have equal shares.

    Sequences are cut rather than particles, whose noise every device must draw for all shares.
    """
    available = list(jax.devices() if devices is None else devices)
    counts = range(1, len(available) + 1)
    shapes = [
        (rows, columns)
        for rows, columns in product(counts, counts)
        if rows * columns <= len(available) and batch_size % rows == 0 and particles % columns == 0
    ]
    rows, columns = max(shapes, key=lambda shape: (shape[0] * shape[1], shape[0]))
    used = available[: rows * columns]
    if len({device.process_index for device in used}) < jax.process_count():
        given = f"{batch_size} sequences and {particles} particles for {len(available)} devices"
        wanted = f"equal shares for all {jax.process_count()} processes"
        remedy = "Use a batch_size that is a multiple of the number of devices."
        raise ConfigError(expected("batch_size", given, wanted, remedy))
    return Mesh(np.array(used).reshape(rows, columns), AXES)


def over_devices(gradient: Gradient, mesh: Mesh) -> Gradient:
    """The same gradient of a mean over sequences and particles, each device with its share."""
    if mesh.size == 1:
        return gradient
    shares = mesh.shape[PARTICLES]

    def part(
        system: System, keys: tuple[Array, Array], sequences: Sequences, weights: Weights
    ) -> tuple[System, Elbo]:
        share = jax.lax.axis_index(PARTICLES) if shares > 1 else None
        local = system.with_particles(system.config.particles // shares)
        slopes, terms = gradient(local, Keys(*keys, share, shares), sequences, weights)
        terms, slopes = _mean((terms, slopes.with_particles(system.config.particles)))
        return slopes, terms

    whole, cut = PartitionSpec(), PartitionSpec(None, None, SEQUENCES)
    shared = jax.shard_map(
        part,
        mesh=mesh,
        in_specs=(whole, (whole, PartitionSpec(SEQUENCES)), cut, whole),
        out_specs=whole,
        check_vma=False,
    )
    return lambda system, keys, *others: shared(system, (keys.shared, keys.each), *others)


def everywhere(tree: Tree, mesh: Mesh) -> Tree:
    """The same numbers on every device of the mesh, those of other processes included."""
    if mesh.size == 1:
        return tree
    sharding = NamedSharding(mesh, PartitionSpec())

    def place(leaf: Array) -> Array:
        if isinstance(leaf, jax.Array) and leaf.sharding == sharding:
            return leaf
        host = np.asarray(leaf)
        return jax.make_array_from_callback(host.shape, sharding, lambda index: host[index])

    return jax.tree.map(place, tree)


def kept_everywhere(tree: Tree, mesh: Mesh) -> Tree:
    """Inside a program: results that every device has, so that any process can look at them."""
    if mesh.size == 1:
        return tree
    return jax.lax.with_sharding_constraint(tree, NamedSharding(mesh, PartitionSpec()))


def brought_home(tree: Tree) -> Tree:
    """Arrays of all devices as arrays of this process."""
    return jax.tree.map(lambda leaf: jnp.asarray(np.asarray(leaf)), tree)


def place_batches(
    read: Callable[[tuple[slice, ...]], Rows], shape: tuple[int, int, int], mesh: Mesh
) -> Rows:
    """Batches [runs, steps, batch, time, channels], each device with its share of the batch.

    `read` is asked for the share of this process only.
    """
    if mesh.size == 1:
        return read((slice(None),) * 3)
    shares = NamedSharding(mesh, PartitionSpec(None, None, SEQUENCES))
    parts = shares.addressable_devices_indices_map(shape).values()
    mine = [part[2] for part in parts if part is not None]
    first, last = min(part.start or 0 for part in mine), max(part.stop or shape[2] for part in mine)
    rows = read((slice(None), slice(None), slice(first, last)))
    place = jax.make_array_from_process_local_data
    return Rows(*(place(shares, part, (*shape, *part.shape[3:])) for part in rows))


def _mean(tree: Tree) -> Tree:
    """The mean over all devices, in one message: each of many would have to be waited for."""
    numbers, restore = ravel_pytree(tree)
    return restore(jax.lax.pmean(numbers, AXES))
