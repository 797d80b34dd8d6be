"""Checkpoints of a training run, from which a stopped run resumes.

Orbax writes each one under another name and renames it when it is whole. A checkpoint that cannot
be written or read is reported; training goes on, and the older ones stay.
"""

import hashlib
import io
import json
import shutil
import time
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
import orbax.checkpoint as ocp
from orbax.checkpoint.options import MultiprocessingOptions

from gpssm.base.errors import GpssmWarning
from gpssm.base.files import flush_all, make_folder
from gpssm.base.locks import claim
from gpssm.data import WindowsOnDisk, WindowSource

from .loop_state import Saved, histories
from .processes import are_several, from_first, is_first, on_first
from .validation import Stretches

_KEEP = 3
_HALF = "*.orbax-checkpoint-tmp*"  # what Orbax leaves when its process is killed
_SAMPLED = 1000  # rows of data on disk that are part of their fingerprint
_IDENTITY, _FOLDER = "run.json", "checkpoints"
_WRITTEN = (_FOLDER, "history-*.csv", "seed-*.gpssm")  # what a run writes into its directory


class Checkpoints:
    """The checkpoints below one run directory: when to write one, and where to go on."""

    def __init__(
        self, run_dir: str | Path, runs: Sequence[str], every_steps: int, every_seconds: float
    ) -> None:
        """`runs` are the names of those that train side by side, for the files of their history."""
        self.run_dir, self._runs = Path(run_dir).absolute(), runs
        self._every_steps, self._every_seconds = every_steps, every_seconds
        self._last_time, self._last_step = time.monotonic(), 0
        self._manager: ocp.CheckpointManager | None = None

    def claim(self, identity: dict[str, Any], defaults: dict[str, dict[str, Any]]) -> None:
        """Claim the directory for this run, before anything else is written to it.

        Raise if it belongs to another run, or holds what this one would overwrite.
        """
        path = self.run_dir / _IDENTITY
        on_first(lambda: claim(path, identity, "run_dir", defaults, _WRITTEN))
        self._manager = _manager(self.run_dir) if is_first() else None

    def due(self, step: int) -> bool:
        """Whether enough steps or seconds have passed since the last checkpoint."""
        waited = time.monotonic() - self._last_time
        return step - self._last_step >= self._every_steps or waited >= self._every_seconds

    def save(self, step: int, saved: Saved) -> None:
        """Write a checkpoint; if that fails, keep the older ones and warn."""
        self._last_time, self._last_step = time.monotonic(), step
        if self._manager is None or step in self._manager.all_steps():
            return
        try:
            self._manager.save(step, args=ocp.args.StandardSave(_as_dict(saved)))
            flush_all(self.run_dir / _FOLDER / str(step))  # Orbax renames, but does not flush
            for name, history in zip(self._runs, histories(saved), strict=True):
                history.to_csv(self.run_dir / f"history-{name}.csv")
        except Exception as error:  # a disk can fail in many ways; none may end the training
            kept = self._manager.latest_step()
            message = (
                f"checkpoint of step {step} in {self.run_dir} could not be written ({error}). "
                f"Training continues; the newest checkpoint is that of step {kept}."
            )
            warnings.warn(message, GpssmWarning, stacklevel=2)

    def newest(self, like: Saved) -> Saved | None:
        """The newest checkpoint that can be read, in the shape of `like` but for its steps."""
        found = None if self._manager is None else self._newest(self._manager, like)
        content = from_first(b"" if found is None else _to_bytes(_as_dict(found)))
        if not content:
            return None
        found = found or _from_dict(_from_bytes(content), like)
        self._last_step = int(found.state.step[0])
        return found

    def _newest(self, manager: ocp.CheckpointManager, like: Saved) -> Saved | None:
        for step in sorted(manager.all_steps(), reverse=True):
            try:
                content = manager.restore(step, args=ocp.args.StandardRestore())
                found = _from_dict(content, like)
            except Exception as error:  # any kind of damage: an older one may be complete
                message = (
                    f"checkpoint of step {step} in {self.run_dir} cannot be read "
                    f"({str(error)[:200]}). Trying an older one."
                )
                warnings.warn(message, GpssmWarning, stacklevel=2)
                manager.delete(step)
            else:
                return found
        return None


def _manager(run_dir: Path) -> ocp.CheckpointManager:
    """Of one process: Orbax would otherwise wait for the others at every step of its work."""
    alone = MultiprocessingOptions(
        primary_host=0, active_processes={0}, barrier_sync_key_prefix="gpssm"
    )
    folder = run_dir / _FOLDER
    make_folder(folder)
    for half in folder.glob(_HALF):
        shutil.rmtree(half, ignore_errors=True)
    options = ocp.CheckpointManagerOptions(
        max_to_keep=_KEEP,
        enable_async_checkpointing=False,
        create=False,
        **({"multiprocessing_options": alone} if are_several() else {}),
    )
    return ocp.CheckpointManager(folder, options=options)


def data_hash(data: WindowSource | Stretches) -> str:
    """A fingerprint of the data as training sees them.

    Of data on disk only some rows are read; but their normalisation, which is a part of it, has
    seen all of them.
    """
    if isinstance(data, WindowsOnDisk):
        sample = np.linspace(0, data.num_rows - 1, _SAMPLED).round().astype(int)
        moments = json.dumps(data.normalisation.to_json())
        about = f"{data.num_rows} rows, {len(data.starts)} windows, {moments}"
        return _digest([about.encode(), *data.read(sample, 1)])
    return _digest(jax.tree.leaves(data))


def _digest(parts: Iterable[Any]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part if isinstance(part, bytes) else np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()


def _as_dict(saved: Saved) -> dict[str, dict[str, np.ndarray]]:
    """Plain dictionaries of arrays, which need no classes to be read.

    An empty array is left out, since Orbax refuses it: a model without hidden states has some.
    """
    return {
        name: {
            f"{i:03d}": np.asarray(leaf)
            for i, leaf in enumerate(jax.tree.leaves(part))
            if np.size(leaf)
        }
        for name, part in zip(Saved._fields, saved, strict=True)
    }


def _to_bytes(content: dict[str, dict[str, np.ndarray]]) -> bytes:
    """For the way to another process."""
    arrays: dict[str, Any] = {
        f"{part}/{name}": leaf for part, leaves in content.items() for name, leaf in leaves.items()
    }
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def _from_bytes(content: bytes) -> dict[str, dict[str, np.ndarray]]:
    found: dict[str, dict[str, np.ndarray]] = {part: {} for part in Saved._fields}
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        for key in arrays.files:
            part, name = key.split("/")
            found[part][name] = arrays[key]
    return found


def _from_dict(content: dict[str, dict[str, Any]], like: Saved) -> Saved:
    state, steps, scores, best = (_part(content[n], getattr(like, n)) for n in like._fields)
    for ours, theirs in ((state, like.state), (best, like.best)):
        if _shapes(ours) != _shapes(theirs):
            raise ValueError("its arrays have other shapes than this model")
    state, best = jax.tree.map(jax.numpy.asarray, (state, best))
    return Saved(state, steps, scores, best)


def _part(content: dict[str, Any], like: Any) -> Any:
    """In the structure of `like`, from which come the empty arrays that were not written."""
    names = {f"{i:03d}": leaf for i, leaf in enumerate(jax.tree.leaves(like))}
    written = {name for name, leaf in names.items() if np.size(leaf)}
    if not written <= content.keys() <= names.keys():
        raise ValueError("its arrays are not those of this model")
    leaves = [np.asarray(content.get(name, leaf)) for name, leaf in names.items()]
    return jax.tree.unflatten(jax.tree.structure(like), leaves)


def _shapes(tree: Any) -> list[tuple[int, ...]]:
    return [leaf.shape for leaf in jax.tree.leaves(tree)]
