"""One file per fitted model: safetensors for the arrays, JSON in its header for the rest.

No pickle: reading a model cannot run code. A file is written under another name and renamed, so
that an interrupted save leaves the old file as it was.
"""

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as serialise

from . import __version__
from .data import Normalisation
from .errors import DataError, ModelFileError, expected
from .inference import Model, Sequences, System, build
from .model import Physics
from .training import History, Training

FORMAT = 1
_KIND = "gpssm model"
_HISTORY = "history."


class Content(NamedTuple):
    """What a model file holds."""

    system: System
    normalisation: Normalisation
    training: Training
    seed: int
    history: History
    input_names: tuple[str, ...]
    output_names: tuple[str, ...]


def save(path: str | Path, content: Content) -> Path:
    """Write the file, atomically."""
    path = Path(path)
    arrays = {name: np.asarray(leaf) for name, leaf in _named_leaves(content.system)}
    columns = content.history.columns().items()
    # Numbered, since the file gives its arrays back in the order of their names.
    arrays |= {f"{_HISTORY}{i:02d}.{name}": column for i, (name, column) in enumerate(columns)}
    header = {
        "kind": _KIND,
        "format": str(FORMAT),
        "content": json.dumps(_describe(content), allow_nan=False),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(serialise(arrays, metadata=header))
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return path


def load(path: str | Path, physics: Physics | None = None) -> Content:
    """Read the file; whatever is wrong with it is said in one sentence."""
    path = Path(path)
    if not path.is_file():
        raise ModelFileError(expected("model file", f"{path}, which is no file", "a saved model"))
    try:
        with safe_open(path, framework="numpy") as file:
            header = file.metadata() or {}
            _check_header(path, header)
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        remedy = "It is truncated or damaged: save the model again, or take a copy."
        raise ModelFileError(
            expected("model file", f"{path} ({error})", "a whole file", remedy)
        ) from error
    try:
        described = json.loads(header["content"])
        _check_physics(path, described["model"].get("physics"), physics)
        described["model"]["physics"] = physics
        return _restore(described, arrays)
    except (KeyError, TypeError, ValueError) as error:
        remedy = f"What is wrong with it: {error}"
        raise ModelFileError(
            expected("model file", f"{path}", "what gpssm wrote", remedy)
        ) from error


def _check_header(path: Path, header: dict[str, str]) -> None:
    if header.get("kind") != _KIND:
        raise ModelFileError(expected("model file", f"{path}, of another kind", f"a {_KIND}"))
    if header.get("format") != str(FORMAT):
        remedy = f"Read it with the version that wrote it; this is gpssm {__version__}."
        given = f"{path} of format {header.get('format')}"
        raise ModelFileError(expected("model file", given, f"format {FORMAT}", remedy))


def _check_physics(path: Path, kept: dict[str, Any] | None, given: Physics | None) -> None:
    """The physics of a hybrid model is code, which the file does not hold: it must come again."""
    if kept is None and given is None:
        return
    if kept is None or given is None:
        wanted = "none: the model is a black box" if kept is None else f"{kept['name']!r} again"
        remedy = "" if kept is None else "A file holds no code: gpssm.load(path, physics=...)."
        told = "nothing" if given is None else repr(given.name)
        raise ModelFileError(expected(f"physics of {path}", told, wanted, remedy))
    now = json.loads(json.dumps(given.describe()))
    differs = sorted(name for name in {*kept, *now} if kept.get(name) != now.get(name))
    if differs:
        told = ", ".join(f"{name} = {now.get(name)}" for name in differs)
        wanted = ", ".join(f"{name} = {kept.get(name)}" for name in differs)
        raise ModelFileError(expected(f"physics of {path}", told, wanted))


def _describe(content: Content) -> dict[str, Any]:
    """Everything but the arrays, as JSON."""
    return {
        "version": __version__,
        "model": content.system.config.to_json(),
        "training": content.training.to_json(),
        "normalisation": content.normalisation.to_json(),
        "seed": content.seed,
        "input_names": list(content.input_names),
        "output_names": list(content.output_names),
    }


def _restore(described: dict[str, Any], arrays: dict[str, np.ndarray]) -> Content:
    normalisation = Normalisation.from_json(described["normalisation"])
    blank = _blank_system(Model(**described["model"]), normalisation)
    with jax.enable_x64(True):
        leaves = [_checked(name, leaf, arrays) for name, leaf in _named_leaves(blank)]
    return Content(
        jax.tree.unflatten(jax.tree.structure(blank), leaves),
        normalisation,
        Training(**described["training"]),
        int(described["seed"]),
        _restore_history(arrays),
        tuple(described["input_names"]),
        tuple(described["output_names"]),
    )


def _restore_history(arrays: dict[str, np.ndarray]) -> History:
    columns = sorted(name for name in arrays if name.startswith(_HISTORY))
    return History.from_columns({name.split(".", 2)[2]: arrays[name] for name in columns})


def _checked(name: str, leaf: Any, arrays: dict[str, np.ndarray]) -> jax.Array:
    given = arrays.get(name)
    if given is None or (given.shape, given.dtype) != (leaf.shape, leaf.dtype):
        told = "nothing" if given is None else f"{given.dtype} of shape {given.shape}"
        raise DataError(expected(name, told, f"{leaf.dtype} of shape {leaf.shape}"))
    if given.dtype.kind == "f" and not np.isfinite(given).all():
        raise DataError(expected(name, "values that are no finite numbers", "finite ones"))
    return jnp.asarray(given)


def _blank_system(config: Model, normalisation: Normalisation) -> System:
    """A system of the right shape, whose values do not matter."""
    dim_u, dim_y = len(normalisation.u_mean), len(normalisation.y_mean)
    plain = config.replace(inducing_inputs="uniform")
    steps = config.warmup + 1
    with jax.enable_x64(True):
        examples = Sequences(
            jnp.zeros((steps, dim_u, 1)),
            jnp.zeros((steps, dim_y, 1)),
            jnp.ones((steps, dim_y, 1), bool),
        )
        system = build(jax.random.key(0), plain, examples, normalisation)
    return System(system.model, system.posterior, config)


def _named_leaves(system: System) -> list[tuple[str, Any]]:
    """Every array with the path that leads to it, for example `.model.emission.raw_noise`."""
    paths, _ = jax.tree_util.tree_flatten_with_path(system)
    return [(jax.tree_util.keystr(path), leaf) for path, leaf in paths]
