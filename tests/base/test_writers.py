"""Every file that the package writes is replaced, never written over.

A hard link to the old file sees a write in place; a reader that has it open would, too.
"""

import ast
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from gpssm import Dataset
from gpssm.base.errors import ConfigError
from gpssm.base.files import leftovers, temporary_name, write_whole
from gpssm.base.locks import alone_in, claim, is_unused
from gpssm.data.io.archive import save_dataset
from gpssm.training import History
from gpssm.workflow.configuration import RunConfig
from gpssm.workflow.folder import keep_config, mark

SOURCE = Path(__file__).parents[2] / "src"
Y = np.sin(np.arange(20.0))
WRITERS = {
    "text": lambda folder: write_whole(folder / "a.txt", "new"),
    "bytes": lambda folder: write_whole(folder / "a.txt", b"new"),
    "function": lambda folder: write_whole(folder / "a.txt", lambda path: path.write_text("new")),
    "data": lambda folder: save_dataset(folder / "data.npz", Dataset.from_arrays(Y)),
    "history": lambda folder: History.from_columns({"elbo": Y}).to_csv(folder / "history.csv"),
    "configuration": lambda folder: keep_config(folder, RunConfig()),
    "marker": lambda folder: mark(folder, "run"),
}


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_a_file_is_replaced_and_not_written_over(write, tmp_path):
    write(tmp_path)
    (path,) = tmp_path.iterdir()
    path.write_bytes(b"old")
    os.link(path, tmp_path / "link")
    write(tmp_path)
    assert (tmp_path / "link").read_bytes() == b"old"
    assert path.read_bytes() != b"old"
    assert sorted(tmp_path.iterdir()) == sorted([path, tmp_path / "link"])


def test_a_reader_sees_the_old_file_or_the_new_one(tmp_path):
    """Large ones, so that a write takes longer than a look."""
    path, seen, done = tmp_path / "a.bin", set(), threading.Event()
    contents = [bytes([number]) * 4_000_000 for number in range(4)]
    write_whole(path, contents[0])

    def read():
        while not done.is_set():
            data = path.read_bytes()
            seen.add((len(data), data[:1], data[-1:]))

    reader = threading.Thread(target=read)
    reader.start()
    for content in contents * 3:
        write_whole(path, content)
    done.set()
    reader.join()
    assert seen <= {(len(data), data[:1], data[-1:]) for data in contents}


KILLED = """
import os, pathlib, sys
from gpssm.base.files import write_whole
os.replace = lambda *_: os._exit(9)  # as if killed with all of the content written
write_whole(pathlib.Path(sys.argv[1]), "new" * 1000)
"""


@pytest.fixture
def killed(tmp_path):
    """A folder with an old file, where a process was killed while it wrote the new one."""
    (tmp_path / "run.json").write_text('{"steps": 3}')
    command = [sys.executable, "-c", KILLED, str(tmp_path / "run.json")]
    assert subprocess.run(command, timeout=300).returncode == 9
    return tmp_path


def test_a_killed_write_leaves_the_old_file_and_one_that_is_known_as_ours(killed):
    assert (killed / "run.json").read_text() == '{"steps": 3}'
    (left,) = leftovers(killed)
    assert left.name.startswith(".run.json.")
    (killed / "run.json").unlink()
    assert is_unused(killed)
    with alone_in(killed, "--out"):
        assert not left.exists()
        claim(killed / "run.json", {"steps": 3}, "run_dir")


def test_a_folder_that_a_killed_process_left_is_removed_as_well(tmp_path):
    left = temporary_name(tmp_path / "log-0123")
    left.mkdir()
    (left / "y.npy").touch()
    assert is_unused(tmp_path)
    with alone_in(tmp_path, "--out"):
        assert not left.exists()


NOT_OURS = ("run.tmp", ".data.npz.12.tmp", ".a.gpssm-tmp", ".a.x.gpssm-tmp", "a.12.gpssm-tmp")


@pytest.mark.parametrize("name", NOT_OURS)
def test_only_our_own_temporary_files_are_removed(name, tmp_path):
    (tmp_path / name).write_text("of the user")
    assert not is_unused(tmp_path)
    with alone_in(tmp_path, "--out"):
        pass
    assert (tmp_path / name).read_text() == "of the user"


@pytest.mark.skipif(os.name == "nt", reason="devices of Unix")
@pytest.mark.parametrize("kind", ["folder", "pipe", "device"])
def test_what_is_no_file_is_refused_by_name(kind, tmp_path):
    path = tmp_path / "out"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/null")
    given = rf"{path}, which is a {'folder' if kind == 'folder' else 'device or a pipe'}"
    with pytest.raises(ConfigError, match=given):
        write_whole(path, "text")
    assert os.listdir(tmp_path) == ["out"]
    assert not path.is_file()


@pytest.mark.skipif(os.name == "nt", reason="permissions of Unix")
def test_what_others_may_not_read_they_cannot_read_while_it_is_written(tmp_path):
    path, modes = write_whole(tmp_path / "a.txt", "old"), []
    path.chmod(0o600)

    def write(temporary):
        temporary.write_text("new")
        modes.append(temporary.stat().st_mode & 0o777)

    write_whole(path, write)
    assert modes == [0o600]


# ---------------------------------------------------------------------- no other way to write

# `write_whole` itself; folders that are renamed when they are whole; figures.
IN_PLACE = {"base/files.py", "data/io/conversion.py", "data/io/archive.py", "plots.py"}
WRITING = {"write_text", "write_bytes", "savefig", "to_parquet", "tofile", "save_file", "dump"}


def in_place(path):
    """Calls that write to a path by themselves."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            modes = [each.value for each in node.args[:2] if isinstance(each, ast.Constant)]
            opened = node.func.attr == "open" and any("w" in str(mode) for mode in modes)
            named = node.func.attr in WRITING and any(
                not isinstance(each, ast.Constant) for each in node.args
            )
            if opened or named:
                yield f"{path.name}:{node.lineno}"


def test_nothing_else_writes_files():
    package = SOURCE / "gpssm"
    allowed = {package / name for name in IN_PLACE}
    others = [path for path in sorted(package.rglob("*.py")) if path not in allowed]
    assert [place for path in others for place in in_place(path)] == []


def test_a_write_in_place_is_found(tmp_path):
    path = tmp_path / "a.py"
    path.write_text("path.write_text(content)\n")
    assert list(in_place(path)) == ["a.py:1"]
