"""A case is a few files and what a user does with them."""

import contextlib
import io
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

from gpssm.base.errors import GpssmError

from . import models, tables

# Out of a hundred cases. Workbooks count only where they can be read.
SHARES = {
    "model": 25, "folder": 25, "config": 10, ".csv": 12, ".tsv": 4, ".txt": 4, ".dat": 2, ".npz": 6,
    ".mat": 4, ".v73.mat": 3, ".parquet": 3, ".xlsx": 2,
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """Files by name, and the kind of thing that they are."""

    kind: str
    files: dict[str, bytes]

    def write(self, folder: Path) -> Path:
        """Write the files; the path that a user would give."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in self.files.items():
            (folder / name).write_bytes(content)
        return folder if self.kind == "folder" else folder / next(iter(self.files))


def draw(seed: int, number: int) -> Case:
    """The case of a number; the same one whenever it is drawn."""
    rng = Random(f"{seed}/{number}")
    kind = rng.choices(list(SHARES), list(SHARES.values()))[0]
    if kind == "model":
        return Case(kind, {"model.gpssm": models.make_model(rng)})
    if kind == "folder":
        return Case(kind, models.make_folder(rng))
    if kind == "config":
        return Case(kind, {"config.toml": models.make_config(rng)})
    return Case(kind, {f"log{kind.removeprefix('.v73')}": tables.make_table(rng, kind)})


def run(kind: str, path: Path) -> str:
    """`read`, or `refused` with the reason; any other exception leaves this function."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            _DOERS.get(kind, _check_table)(path)
        except GpssmError as error:
            return f"refused: {check_refusal(error)}"
    return "read"


def check_refusal(error: GpssmError) -> str:
    """The message; raise where the memory ran out behind it."""
    cause: BaseException | None = error
    while cause is not None:
        # Arrow reserves a page before it unpacks it, and uses nothing of it if that fails.
        if isinstance(cause, MemoryError) and type(cause).__name__ != "ArrowMemoryError":
            raise cause
        cause = cause.__cause__ or cause.__context__
    if not str(error).strip():
        raise AssertionError("an error without a message")
    return str(error)


def _load_model(path: Path) -> None:
    import gpssm

    str(gpssm.load(path))


def _open_folder(path: Path) -> None:
    from gpssm.workflow.folder import check_folder, open_folder

    check_folder(path)
    folder = open_folder(path)
    str(folder.data)
    if len(folder.runs) == 1:  # more of them would be simulated
        folder.choose()


def _read_config(path: Path) -> None:
    from gpssm.training import Training
    from gpssm.workflow.configuration import make_config, read_config

    config = make_config(read_config(path), {})
    model = config.build_model(2)
    config.resolved(model, Training(**config.training)).to_toml()


def _check_table(path: Path) -> None:
    """As `gpssm data check` does, with columns and without."""
    from gpssm.cli import app

    for columns in ([], ["--inputs", "u", "--outputs", "y"], ["--outputs", "y", "--time", "t"]):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            app(["data", "check", str(path), *columns, "--debug"], standalone_mode=False)


_DOERS: dict[str, Callable[[Path], None]] = {
    "model": _load_model,
    "folder": _open_folder,
    "config": _read_config,
}
