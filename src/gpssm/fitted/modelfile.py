"""One file per fitted model: safetensors for the arrays, JSON in its header for the rest.

No pickle: reading a model cannot run code. A file is written under another name and renamed, so
that an interrupted save leaves the old file as it was.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from gpssm.base.errors import DataError, ModelFileError, expected
from gpssm.base.files import write_whole
from gpssm.base.sealing import DamagedFileError, read_arrays, read_header, sealed
from gpssm.base.version import __version__
from gpssm.belief import FilterNoise
from gpssm.data import Normalisation
from gpssm.inference import Model, Sequences, System, build
from gpssm.model import Physics
from gpssm.training import History, Training

from .integrity import check_content, check_seal

FORMAT = 3
_SEALED = 3  # the first format with a checksum
_KIND = "gpssm model"
_HISTORY, _FILTER = "history.", "filter_noise."
# Where the arrays of a file belong in a system. The names stay when attributes are renamed.
_PLACES = {
    "initial_state": ".model.initial",
    "f": ".model.transition.gp",
    "process_noise": ".model.transition.raw_noise",
    "dynamics": ".model.transition.dynamics",
    "output_noise": ".model.emission.raw_noise",
    "recognition": ".posterior.recognition",
    "f_b": ".posterior.smoother",
    "hidden_noise": ".posterior.raw_hidden_noise",
    "method": ".posterior.added",
}
# What reading a description raises that gpssm never wrote; deep nesting among it.
_DAMAGE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
Stored = tuple[dict[str, Any], dict[str, np.ndarray]]  # the description, and the arrays by name


class Content(NamedTuple):
    """Content of a model file."""

    system: System
    normalisation: Normalisation
    training: Training
    seed: int
    history: History
    input_names: tuple[str, ...]
    output_names: tuple[str, ...]
    sampling_time: float | None = None
    input_units: tuple[str, ...] = ()
    output_units: tuple[str, ...] = ()
    filter_noise: FilterNoise | None = None


def save(path: str | Path, content: Content) -> Path:
    """Write the file, atomically."""
    arrays = {name: np.asarray(leaf) for name, leaf in _named_leaves(content.system)}
    columns = content.history.columns().items()
    # Numbered, since the file gives its arrays back in the order of their names.
    arrays |= {f"{_HISTORY}{i:02d}.{name}": column for i, (name, column) in enumerate(columns)}
    if content.filter_noise is not None:
        noise = content.filter_noise._asdict().items()
        arrays |= {f"{_FILTER}{name}": np.asarray(each) for name, each in noise}
    described = json.dumps(_describe(content), allow_nan=False)
    header = {"kind": _KIND, "format": str(FORMAT), "content": described}
    return write_whole(path, sealed(arrays, header))


def load(path: str | Path, physics: Physics | None = None) -> Content:
    """Read the file; any problem is explained in one sentence."""
    path = Path(path)
    if not path.is_file():
        raise ModelFileError(expected("model file", f"{path}, which is no file", "a saved model"))
    try:
        header = read_header(path)
        _check_header(path, header)
        check_seal(path, header, _SEALED)
        arrays = read_arrays(path)
    except DamagedFileError as error:
        remedy = "It is truncated or damaged: save the model again, or take a copy."
        message = expected("model file", f"{path} ({error})", "a whole file", remedy)
        raise ModelFileError(message) from error
    try:
        described = json.loads(header["content"])
        for migrate in _MIGRATIONS[int(header["format"]) - 1 :]:
            described, arrays = migrate(described, arrays)
        _check_physics(path, described["model"].get("physics"), physics)
        described["model"]["physics"] = physics
        check_content(described, arrays)
        return _restore(described, arrays)
    except _DAMAGE as error:
        remedy = f"The error was: {error}"
        message = expected("model file", f"{path}", "what gpssm wrote", remedy)
        raise ModelFileError(message) from error


def _check_header(path: Path, header: dict[str, str]) -> None:
    if header.get("kind") != _KIND:
        raise ModelFileError(expected("model file", f"{path}, of another kind", f"a {_KIND}"))
    if header.get("format", "") not in [str(known) for known in range(1, FORMAT + 1)]:
        remedy = f"Read it with the version that wrote it; this is gpssm {__version__}."
        given = f"{path} of format {header.get('format')}"
        raise ModelFileError(expected("model file", given, f"format 1 to {FORMAT}", remedy))


def _name_places(described: dict[str, Any], arrays: dict[str, np.ndarray]) -> Stored:
    """Format 1 → 2: arrays were named by the attributes that led to them."""
    return described, {_name(path): array for path, array in arrays.items()}


_MIGRATIONS = (_name_places,)  # from each format to the next


def _check_physics(path: Path, kept: dict[str, Any] | None, given: Physics | None) -> None:
    """Raise unless a hybrid model is given its physics again: the file holds no code."""
    if kept is None and given is None:
        return
    if kept is None or given is None:
        wanted = "none: the model is a black box" if kept is None else f"{kept['name']!r} again"
        remedy = "" if kept is None else "A file holds no code: gpssm.load(path, physics=...)."
        found = "nothing" if given is None else repr(given.name)
        raise ModelFileError(expected(f"physics of {path}", found, wanted, remedy))
    now = json.loads(json.dumps(given.describe()))
    differs = sorted(name for name in {*kept, *now} if kept.get(name) != now.get(name))
    if differs:
        found = ", ".join(f"{name} = {now.get(name)}" for name in differs)
        wanted = ", ".join(f"{name} = {kept.get(name)}" for name in differs)
        raise ModelFileError(expected(f"physics of {path}", found, wanted))


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
        "sampling_time": content.sampling_time,
        "input_units": list(content.input_units),
        "output_units": list(content.output_units),
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
        _history(arrays),
        tuple(described["input_names"]),
        tuple(described["output_names"]),
        described.get("sampling_time"),  # files from before have neither a step nor units
        tuple(described.get("input_units", ())),
        tuple(described.get("output_units", ())),
        _filter_noise(blank, arrays),
    )


def _history(arrays: dict[str, np.ndarray]) -> History:
    """The columns in the order of their numbers."""
    names = sorted(name for name in arrays if name.startswith(_HISTORY))
    columns = {name.split(".", 2)[-1]: arrays[name] for name in names}
    if "elbo" not in columns:
        raise DataError(expected("history", f"the columns {sorted(columns)}", "elbo among them"))
    return History.from_columns(columns)


def _filter_noise(blank: System, arrays: dict[str, np.ndarray]) -> FilterNoise | None:
    """The noises of filters; None in files from before there were any."""
    if not any(name.startswith(_FILTER) for name in arrays):
        return None
    with jax.enable_x64(True):
        shapes = FilterNoise.of(blank)._asdict().items()
        found = FilterNoise(*(_checked(_FILTER + name, leaf, arrays) for name, leaf in shapes))
    if any((np.asarray(each) < 0).any() for each in found):
        raise DataError(expected("filter_noise", "negative numbers", "variances"))
    return found


def _checked(name: str, leaf: Any, arrays: dict[str, np.ndarray]) -> jax.Array:
    given = arrays.get(name)
    if given is None or (given.shape, given.dtype) != (leaf.shape, leaf.dtype):
        found = "nothing" if given is None else f"{given.dtype} of shape {given.shape}"
        raise DataError(expected(name, found, f"{leaf.dtype} of shape {leaf.shape}"))
    if given.dtype.kind == "f" and not np.isfinite(given).all():
        raise DataError(expected(name, "values that are no finite numbers", "finite ones"))
    return jnp.asarray(given)


def _blank_system(config: Model, normalisation: Normalisation) -> System:
    """A system of the right shape with arbitrary values."""
    dim_u, dim_y = len(normalisation.u_mean), len(normalisation.y_mean)
    plain = config.replace(inducing_inputs="uniform", start="noise")  # which need no data
    with jax.enable_x64(True):
        u, y = (jnp.zeros((2, channels, 1)) for channels in (dim_u, dim_y))
        examples = Sequences(u, y, jnp.ones_like(y, bool))
        system = build(jax.random.key(0), plain, examples, normalisation)
    return System(system.model, system.posterior, config)


def _named_leaves(system: System) -> list[tuple[str, Any]]:
    """Every array with its name in the file, for example `f.inducing_inputs`."""
    paths, _ = jax.tree_util.tree_flatten_with_path(system)
    return [(_name(jax.tree_util.keystr(path)), leaf) for path, leaf in paths]


def _name(path: str) -> str:
    """`.model.transition.gp.inducing_inputs` → `f.inducing_inputs`; a column of the history stays.

    When an attribute moves, files keep their names: change `_PLACES`, and give the migration from
    format 1 a copy of the table as it is now.
    """
    for name, place in _PLACES.items():
        if path == place or path.startswith((f"{place}.", f"{place}[")):
            return name + path.removeprefix(place)
    return path
