"""Cases can be repeated, sound files are read, and what ends otherwise is found and kept."""

import importlib
import random

import pytest
from tools.fuzz import cases, tables

from gpssm.base.errors import DataError, GpssmError

main = importlib.import_module("tools.fuzz.__main__")


def draw_table(seed, kind):
    return tables.make_table(random.Random(seed), kind)


@pytest.mark.parametrize("kind", [".csv", ".tsv", ".txt", ".npz", ".mat", ".v73.mat", ".parquet"])
def test_a_sound_file_is_read_and_others_end_in_a_message(kind, tmp_path):
    sound = cases.Case(kind, {f"log{kind.removeprefix('.v73')}": tables.sound(kind)})
    assert cases.run(kind, sound.write(tmp_path)) == "read"
    name = next(iter(sound.files))
    (tmp_path / name).write_bytes(b"\x00\xff")
    assert cases.run(kind, tmp_path / name).startswith("refused: ")


def test_the_same_number_draws_the_same_text():
    assert draw_table(3, ".csv") == draw_table(3, ".csv")
    assert len({draw_table(seed, ".csv") for seed in range(20)}) > 15


def test_another_exception_is_a_fault(monkeypatch, tmp_path):
    monkeypatch.setitem(cases._DOERS, "model", lambda path: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        cases.run("model", tmp_path)


def test_running_out_of_memory_is_a_fault_even_with_a_message():
    try:
        try:
            raise MemoryError
        except MemoryError:
            raise DataError("a file that cannot be read") from None
    except GpssmError as error:
        with pytest.raises(MemoryError):
            cases.check_refusal(error)
    assert cases.check_refusal(DataError("no file")) == "no file"


def test_a_page_that_arrow_could_not_reserve_is_a_refusal():
    pyarrow = pytest.importorskip("pyarrow")
    error = DataError("a page")
    error.__cause__ = pyarrow.ArrowMemoryError("malloc of size 2147483648 failed")
    assert cases.check_refusal(error) == "a page"


class FakeWorker:
    """Dies at case 3 and hangs at case 6, the first time."""

    def __init__(self, seed, first, end, step):
        self.said = []
        for number in range(first, end, step):
            self.said.append({"number": number, "kind": "model"})
            if number == 3:
                self.said.append("dead, exit code -6")
            if number == 6:
                self.said.append("hang")
            self.said.append({"number": number, "kind": "model", "end": "read"})

    def line(self, seconds):
        return self.said.pop(0)

    def stop(self):
        self.said = ["stopped"]


def test_a_worker_that_dies_or_hangs_is_replaced(monkeypatch):
    monkeypatch.setattr(main, "Worker", FakeWorker)
    monkeypatch.setattr(cases, "draw", lambda seed, number: cases.Case("model", {}))
    found = list(main.watch(0, 0, 9, 1, until=float("inf")))
    assert [each["number"] for each in found] == list(range(9))
    assert {each["number"]: each.get("error") for each in found if each["end"] == "fault"} == {
        3: "dead, exit code -6",
        6: "hang",
    }


def test_a_fault_is_kept_and_can_be_repeated(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(main, "FAULTS", tmp_path)
    monkeypatch.setattr(cases, "draw", lambda *_: cases.Case(".csv", {"log.csv": b"t,u,y\n"}))
    folder = main.keep(0, {"number": 12, "kind": ".csv", "error": "some"})
    assert (folder / "files" / "log.csv").read_bytes() == b"t,u,y\n"
    assert main.main(["--replay", str(folder)]) == 0
    assert "refused: " in capsys.readouterr().out


def test_most_cases_are_models_and_folders():
    assert sum(cases.SHARES.values()) == 100
    assert cases.SHARES["model"] >= 20
    assert cases.SHARES["folder"] >= 20
