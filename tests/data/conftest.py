"""Shared fixtures: the folder of benchmark files, and a cache of its own for every test."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def data_folder(monkeypatch):
    """The benchmark files, wherever GPSSM_DATA says, else beside the repository."""
    folder = Path(os.environ.get("GPSSM_DATA", ROOT / ".." / "shared" / "data"))
    folder = folder if folder.is_absolute() else (Path.cwd() / folder)
    if not (folder / "actuator.mat").is_file():
        pytest.skip(f"needs the benchmark files; {folder / 'actuator.mat'} is missing")
    monkeypatch.setenv("GPSSM_DATA", str(folder))
    return folder


@pytest.fixture
def empty_disk(monkeypatch, tmp_path):
    """No benchmark file anywhere: GPSSM_DATA unset, an empty cache."""
    monkeypatch.delenv("GPSSM_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "cache" / "gpssm"
