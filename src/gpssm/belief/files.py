"""One file per belief: safetensors for the arrays, JSON in its header for the rest.

A file says which model the belief is of. With another one it is refused: its numbers would mean
nothing there.
"""

import json
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from gpssm.base.errors import ModelFileError, expected
from gpssm.base.files import write_whole
from gpssm.base.sealing import DamagedFileError, is_sealed, read_arrays, read_header, sealed

_KIND, _FORMAT = "gpssm belief", "1"
_FIELD = "belief file"


def save(path: str | Path, settings: dict[str, Any], arrays: dict[str, np.ndarray]) -> Path:
    """Write the file, atomically."""
    header = {"kind": _KIND, "format": _FORMAT, "content": json.dumps(settings)}
    return write_whole(path, sealed(arrays, header))


def load(path: str | Path, model: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Settings and arrays of the file; raise unless it is whole and of the given model."""
    path = Path(path)
    if not path.is_file():
        raise ModelFileError(expected(_FIELD, f"{path}, which is no file", "a saved belief"))
    try:
        header, arrays = read_header(path), read_arrays(path)
    except DamagedFileError as error:
        raise ModelFileError(_damaged(f"{path} ({error})")) from error
    if (header.get("kind"), header.get("format")) != (_KIND, _FORMAT):
        given = f"{path}, of another kind or version"
        raise ModelFileError(expected(_FIELD, given, f"a {_KIND} of format {_FORMAT}"))
    if not is_sealed(path.read_bytes()):
        raise ModelFileError(_damaged(f"{path}, whose content does not match its checksum"))
    settings = json.loads(header["content"])
    if settings["model"] != model:
        remedy = "Load it beside the run that made it, or begin a new belief."
        given = f"{path}, a belief of another model"
        raise ModelFileError(expected(_FIELD, given, "one of this model", remedy))
    return settings, arrays


def named_arrays(kept: dict[str, Any]) -> dict[str, np.ndarray]:
    """Every array with its name in the file, for example `filter.state.members`."""
    paths, _ = jax.tree_util.tree_flatten_with_path(kept)
    return {_name(path): np.asarray(leaf) for path, leaf in paths}


def filled(path: str | Path, blank: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
    """The same tree with the arrays of the file."""

    def found(place: Any, leaf: Any) -> Any:
        given = arrays.get(_name(place))
        if given is None or (given.shape, given.dtype) != (np.shape(leaf), leaf.dtype):
            said = "nothing" if given is None else f"{given.dtype} of shape {given.shape}"
            wanted = f"{leaf.dtype} of shape {np.shape(leaf)}"
            raise ModelFileError(expected(f"{_name(place)} in {path}", said, wanted))
        return jnp.asarray(given)

    return jax.tree_util.tree_map_with_path(found, blank)


def _name(path: Any) -> str:
    return jax.tree_util.keystr(path, simple=True, separator=".")


def _damaged(given: str) -> object:
    remedy = "It is truncated or damaged: take a copy, or begin a new belief."
    return expected(_FIELD, given, "a whole file", remedy)
