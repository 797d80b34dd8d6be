"""Shared fixtures: the folder of benchmark files, and a cache of its own for every test."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def load(monkeypatch):
    """`load_dataset` on the files of GPSSM_DATA, else beside the repository; skips without them."""
    from gpssm.data import load_dataset
    from gpssm.data.benchmarks.sets import BENCHMARKS

    folder = Path(os.environ.get("GPSSM_DATA", ROOT / ".." / "shared" / "data")).absolute()
    monkeypatch.setenv("GPSSM_DATA", str(folder))

    def load_or_skip(name):
        files = (
            [folder / file.path for file in BENCHMARKS[name].files] if name in BENCHMARKS else []
        )
        missing = [str(path) for path in files if not path.is_file()]
        alternatives = name in BENCHMARKS and BENCHMARKS[name].one_of_files
        if missing and (not alternatives or len(missing) == len(files)):
            pytest.skip(f"needs the benchmark file {missing[0]}")
        return load_dataset(name)

    return load_or_skip


@pytest.fixture
def empty_disk(monkeypatch, tmp_path):
    """No benchmark file anywhere: GPSSM_DATA unset, an empty cache."""
    monkeypatch.delenv("GPSSM_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "cache" / "gpssm"
