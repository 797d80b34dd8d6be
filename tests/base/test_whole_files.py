"""A file is written whole or not at all, and its content reaches the disk before its name."""

import errno
import os
import stat

import pytest

from gpssm.base import files
from gpssm.base.files import write_whole

CONTENTS = {
    "text": "grün\n",
    "bytes": "grün\n".encode(),
    "function": lambda path: path.write_text("grün\n", encoding="utf-8"),
}


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
def test_text_bytes_and_functions_write_the_same_file(tmp_path, content):
    path = tmp_path / "new" / "result.txt"
    assert write_whole(path, content) == path
    assert path.read_bytes() == "grün\n".encode()
    assert os.listdir(path.parent) == ["result.txt"]


@pytest.fixture
def events(monkeypatch):
    """What happens to files, in order: ("fsync", name) and ("rename", name)."""
    found, fsync, replace = [], os.fsync, os.replace

    def watched_fsync(descriptor):
        found.append(("fsync", os.fstat(descriptor).st_ino))
        fsync(descriptor)

    def watched_replace(old, new):
        found.append(("rename", os.stat(old).st_ino))
        replace(old, new)

    monkeypatch.setattr(os, "fsync", watched_fsync)
    monkeypatch.setattr(os, "replace", watched_replace)
    return found


def test_the_content_is_on_disk_before_the_name_and_the_name_before_the_return(tmp_path, events):
    path = write_whole(tmp_path / "result.txt", "new")
    file, folder = path.stat().st_ino, tmp_path.stat().st_ino
    assert events == [("fsync", file), ("rename", file), ("fsync", folder)]


def test_new_folders_are_on_disk_before_what_is_in_them(tmp_path, events):
    path = write_whole(tmp_path / "new" / "deep" / "result.txt", "new")
    above = [("fsync", each.stat().st_ino) for each in (tmp_path / "new", tmp_path)]
    assert events[:2] == above
    assert events[2:] == [
        ("fsync", path.stat().st_ino), ("rename", path.stat().st_ino),
        ("fsync", path.parent.stat().st_ino),
    ]  # fmt: skip


def test_a_folder_is_put_in_place_after_all_of_its_files(tmp_path, events):
    part = tmp_path / "arrays.part"
    part.mkdir()
    inodes = [part.stat().st_ino]
    for name in ("u.npy", "y.npy"):
        (part / name).write_bytes(b"numbers")
        inodes.append((part / name).stat().st_ino)
    files.put_in_place(part, tmp_path / "arrays")
    flushed, (renamed, *after) = events[:3], events[3:]
    assert sorted(flushed) == sorted(("fsync", inode) for inode in inodes)
    assert flushed[-1] == ("fsync", inodes[0])
    assert renamed == ("rename", inodes[0])
    assert after == [("fsync", tmp_path.stat().st_ino)]


def half_written(path):
    path.write_text("half")
    raise KeyboardInterrupt


@pytest.mark.parametrize("failing", ["write", "fsync", "replace"])
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, failing):
    def full_disk(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "result.txt"
    path.write_text("old")
    if failing != "write":
        monkeypatch.setattr(os, failing, full_disk)
    with pytest.raises((OSError, KeyboardInterrupt)):
        write_whole(path, half_written if failing == "write" else "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["result.txt"]


def test_the_old_file_is_there_while_the_new_one_is_written(tmp_path):
    path = write_whole(tmp_path / "result.txt", "old")

    def write(temporary):
        temporary.write_text("new")
        assert temporary.parent == tmp_path, "a rename is atomic on one file system only"
        assert path.read_text() == "old"

    assert write_whole(path, write).read_text() == "new"


@pytest.mark.skipif(os.name == "nt", reason="permissions of Unix")
@pytest.mark.parametrize("mode", [0o600, 0o664, 0o444])
def test_a_replaced_file_keeps_its_permissions(tmp_path, mode):
    path = write_whole(tmp_path / "result.txt", "old")
    path.chmod(mode)
    write_whole(path, "new")
    assert (stat.S_IMODE(path.stat().st_mode), path.read_text()) == (mode, "new")


@pytest.mark.parametrize(("code", "refused"), [(errno.EINVAL, False), (errno.EIO, True)])
def test_a_disk_that_cannot_flush_folders_is_no_obstacle(tmp_path, monkeypatch, code, refused):
    fsync = os.fsync

    def only_files(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(code, "not a folder")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", only_files)
    if refused:
        with pytest.raises(OSError, match="not a folder"):
            write_whole(tmp_path / "result.txt", "new")
    else:
        assert write_whole(tmp_path / "result.txt", "new").read_text() == "new"
