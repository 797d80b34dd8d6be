"""Downloads: corrupt, killed, two at once, offline; and that a wrong file is never used."""

import hashlib
import os
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from gpssm.base.errors import DataError
from gpssm.data import DataWarning, load_dataset
from gpssm.data.benchmarks.sets import BENCHMARKS
from gpssm.data.benchmarks.sources import (
    SourceFile,
    _DownloadBar,
    cache_folder,
    locate,
    locate_first,
    on_disk,
)

CONTENT = np.random.default_rng(0).bytes(400_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Server:
    """Serves CONTENT in several ways from 127.0.0.1, and counts the requests."""

    def __init__(self):
        self.requests = 0
        self.resume = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.requests += 1
                outer.answer(self)

            def log_message(self, *args):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True).start()

    def answer(self, handler):
        if handler.path == "/absent":
            handler.send_error(404)
            return
        body = CONTENT[:-1] + b"?" if handler.path == "/corrupt" else CONTENT
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        half = len(body) // 2
        handler.wfile.write(body[:half])
        if handler.path == "/stalled":
            self.resume.wait(30)
        if handler.path == "/slow":
            time.sleep(0.5)
        if handler.path != "/broken":
            handler.wfile.write(body[half:])

    def file(self, way, path="folder/log.bin", sha256=SHA256):
        url = f"http://127.0.0.1:{self.http.server_port}/{way}"
        return SourceFile(path, len(CONTENT), sha256, url, "example.org/data")


@pytest.fixture
def server(empty_disk):
    made = Server()
    yield made
    made.resume.set()
    made.http.shutdown()
    made.http.server_close()


def leftovers(folder):
    return [p for p in folder.rglob("*") if p.is_file()] if folder.exists() else []


def test_a_download_is_whole_checked_and_made_once(server, empty_disk):
    path = locate(server.file("good"))
    assert path == empty_disk / "folder/log.bin"
    assert path.read_bytes() == CONTENT
    assert locate(server.file("good")) == path
    assert server.requests == 1
    assert leftovers(empty_disk) == [path]


@pytest.mark.parametrize("way", ["corrupt", "broken"])
def test_a_corrupt_download_leaves_nothing_behind(way, server, empty_disk):
    with pytest.raises(DataError) as error:
        locate(server.file(way))
    message = str(error.value)
    for word in ("folder/log.bin", f"/{way}", "by hand", "example.org/data", str(empty_disk)):
        assert word in message
    assert leftovers(empty_disk) == []


def test_a_missing_page_and_no_connection_are_clear(server, empty_disk):
    with pytest.raises(DataError, match=r"folder/log\.bin: got no download.*404.*by hand"):
        locate(server.file("absent"))
    assert server.requests == 2  # a second try, and no third one
    offline = SourceFile("log.bin", 1, SHA256, "http://127.0.0.1:9/log.bin", "example.org")
    with pytest.raises(DataError, match=r"expected a connection.*by hand at .*log\.bin"):
        locate(offline)


def test_a_corrupt_cached_file_is_not_used_but_downloaded_again(server, empty_disk):
    path = empty_disk / "folder/log.bin"
    path.parent.mkdir(parents=True)
    path.write_bytes(CONTENT[:1000])
    with pytest.warns(DataWarning, match=r"log\.bin.*corrupt.*not used"):
        assert locate(server.file("good")).read_bytes() == CONTENT
    path.write_bytes(CONTENT[:1000])
    with pytest.warns(DataWarning), pytest.raises(DataError, match="by hand"):
        locate(server.file("absent"))


def test_a_corrupt_file_of_the_user_is_refused_and_left_alone(server, tmp_path, monkeypatch):
    monkeypatch.setenv("GPSSM_DATA", str(tmp_path / "mine"))
    path = tmp_path / "mine/folder/log.bin"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"mine")
    with pytest.raises(DataError) as error:
        locate(server.file("good"))
    for word in (str(path), "SHA-256", SHA256, "Delete it", "example.org/data"):
        assert word in str(error.value)
    assert path.read_bytes() == b"mine"
    assert server.requests == 0


def test_a_corrupt_cached_file_that_has_no_address_is_refused(empty_disk):
    path = empty_disk / "log.bin"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"mine")
    with pytest.raises(DataError, match=rf"a wrong checksum, expected {SHA256}.*Delete it"):
        locate(SourceFile("log.bin", 4, SHA256, None, "example.org"))


def test_the_bar_of_a_download_counts_bytes():
    with _DownloadBar("log.bin", None, transient=True) as bar:
        (task,) = bar._rich.tasks
        bar.total = 100
        bar.update(30)
        bar.update(20)
        assert (task.total, task.completed) == (100, 50)
        bar.reset()
        bar.close()
        assert (task.total, task.completed) == (100, 0)


def test_the_user_s_folder_comes_before_the_cache(server, tmp_path, monkeypatch):
    cached = locate(server.file("good"))
    monkeypatch.setenv("GPSSM_DATA", str(tmp_path / "mine"))
    assert locate(server.file("good")) == cached
    own = tmp_path / "mine/folder/log.bin"
    own.parent.mkdir(parents=True)
    own.write_bytes(CONTENT)
    assert locate(server.file("good")) == own


def test_of_equivalent_files_the_first_on_disk_is_taken(server, empty_disk):
    first, second = server.file("good", "first.bin"), server.file("good", "second.bin")
    locate(second)
    assert locate_first((first, second)).name == "second.bin"
    locate(first)
    assert locate_first((first, second)).name == "first.bin"


def test_a_file_without_an_address_says_where_to_put_it(empty_disk):
    with pytest.raises(DataError) as error:
        load_dataset("silverbox")
    for word in ("SNLS80mV.mat", "by hand", str(empty_disk), "nonlinearbenchmark.org"):
        assert word in str(error.value)


# ---------------------------------------------------------------------- other processes

SCRIPT = """
import sys
from gpssm.data.benchmarks.sources import SourceFile, locate
print(locate(SourceFile("folder/log.bin", 1, sys.argv[2], sys.argv[1], "example.org")))
"""


def start_download(file):
    command = [sys.executable, "-c", SCRIPT, file.url, file.sha256]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.01)


def test_a_killed_download_leaves_no_file_of_that_name(server, empty_disk):
    process = start_download(server.file("stalled"))
    try:
        wait_until(lambda: any(p.stat().st_size > 1000 for p in leftovers(empty_disk)))
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
    assert on_disk(server.file("good")) is None
    assert all(p.name != "log.bin" for p in leftovers(empty_disk))
    assert locate(server.file("good")).read_bytes() == CONTENT


def test_two_processes_that_download_at_once_both_get_the_file(server, empty_disk):
    path = empty_disk / "folder/log.bin"
    both = [start_download(server.file("slow")) for _ in range(2)]
    while any(process.poll() is None for process in both):
        if path.exists():  # whoever looks sees the right file or none
            assert path.read_bytes() == CONTENT
        time.sleep(0.002)
    for process in both:
        output, errors = process.communicate()
        assert process.returncode == 0, errors
        assert output.strip() == str(path)
    assert leftovers(empty_disk) == [path]


# ---------------------------------------------------------------------- sarcos_inv.mat


def test_the_original_sarcos_file_is_checked_by_its_shape(empty_disk):
    import scipy.io

    cache_folder().mkdir(parents=True)
    path = cache_folder() / "sarcos_inv.mat"
    rows = np.arange(44484.0)[:, None] + np.linspace(0, 0.5, 28)
    scipy.io.savemat(path, {"sarcos_inv": rows})
    data = load_dataset("sarcos")
    assert "original sarcos_inv.mat" in str(data)
    assert (len(data.train), len(data.test)) == (60, 6)
    np.testing.assert_array_equal(data.train[1].y, rows[674:1348:2, :7])
    np.testing.assert_array_equal(data.test[0].u, rows[60 * 674 : 61 * 674 : 2, 21:])
    scipy.io.savemat(path, {"sarcos_inv": rows[:-1]})
    with pytest.raises(DataError, match=r"sarcos_inv\.mat: got 44483 rows.*Delete it"):
        load_dataset("sarcos")


def test_every_entry_names_a_checksum_or_says_why_not():
    for name, entry in BENCHMARKS.items():
        for file in entry.files:
            assert file.home.startswith(("http", "the benchmark data")), name
            if file.path != "sarcos_inv.mat":
                assert len(file.sha256) == 64
            assert file.url is None or file.url.endswith(file.path.split("/")[-1])
