"""What the list says of each data set, with and without its files, and how sets are described."""

import jax
import numpy as np
import pytest

from gpssm.base.errors import DataError
from gpssm.data import load_dataset
from gpssm.data.benchmarks import cart, registry, simulators
from gpssm.data.benchmarks.registry import DatasetList, describe_dataset
from gpssm.data.benchmarks.sets import BENCHMARKS
from gpssm.data.benchmarks.sources import SourceFile, locate_first, on_disk, places

# inputs, outputs, rows
COUNTS = {
    "actuator": (1, 1, 1024),
    "ballbeam": (1, 1, 1000),
    "drive": (1, 1, 500),
    "dryer": (1, 1, 1000),
    "furnace": (1, 1, 296),
    "flutter": (1, 1, 1024),
    "tank": (1, 2, 2500),
    "sarcos": (7, 7, 22242),
    "cascaded_tanks": (1, 1, 2048),
    "silverbox": (1, 1, 127225),
    "wiener_hammerstein": (1, 1, 188000),
    "emps": (1, 1, 49682),
    "damper": (1, 1, 3499),
    "winding": (5, 2, 2500),
    "cstr": (1, 2, 7499),
    "hoop": (1, 1, 2038),
    "tailsitter": (4, 6, 44006),
    "dubins": (2, 2, 30000),
    "dubins_full": (2, 4, 30000),
    "spring": (1, 1, 10000),
    "kink": (0, 1, 600),
    "two_tanks": (1, 1, 5000),
    "cart_pole": (1, 2, 4000),
}


@pytest.mark.parametrize("name", COUNTS)
def test_each_entry_has_its_counts(name):
    found = describe_dataset(name)
    assert tuple(int(found[key]) for key in ("inputs", "outputs", "rows")) == COUNTS[name]
    assert found["name"] == name
    simulated = name not in BENCHMARKS
    assert (found["source"] == "simulated") is simulated
    assert (found["licence"] == "part of gpssm") is simulated
    assert (found["on disk"] == "not needed") is simulated


def test_the_list_is_a_table_of_its_names(empty_disk):
    text = repr(DatasetList(("furnace", "sarcos", "kink")))
    terms, own = "terms of the source; not part of gpssm", f"{'part of gpssm':<38}"
    assert text.splitlines() == [
        f"name        size  inputs  outputs   rows  source               {'licence':<38}  on disk",
        f"furnace     4 kB       1        1    296  zhenwendai/RGP       {terms}  no",
        f"sarcos   unknown       7        7  22242  gaussianprocess.org  {terms}  no",
        f"kink           -       0        1    600  simulated            {own}  not needed",
    ]


def test_sizes_are_in_kilobytes_below_a_megabyte():
    assert registry._size([999_400]) == "999 kB"
    assert registry._size([400_000, 600_000]) == "1.0 MB"
    assert registry._size([1_260_000, 300_000]) == "1.6 MB"
    assert registry._size([1000, None]) == "unknown"


def put(folder, name):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()


def test_all_files_of_a_set_must_be_there_or_one_of_equivalent_ones(empty_disk):
    emps, sarcos = ([file.path for file in BENCHMARKS[name].files] for name in ("emps", "sarcos"))
    assert describe_dataset("emps")["size"] == "1.3 MB"
    for path, have in zip(emps, ("no", "yes"), strict=True):
        put(empty_disk, path)
        assert describe_dataset("emps")["on disk"] == have
    put(empty_disk, sarcos[1])
    assert (describe_dataset("sarcos")["on disk"], describe_dataset("sarcos")["size"]) == (
        "yes",
        "1.9 MB",
    )
    put(empty_disk, sarcos[0])
    assert (describe_dataset("sarcos")["on disk"], describe_dataset("sarcos")["size"]) == (
        "yes",
        "unknown",
    )


def test_a_name_that_is_near_none_is_answered_with_all():
    with pytest.raises(DataError) as caught:
        load_dataset("xyzxyz")
    assert "Nearest" not in str(caught.value)
    assert all(f"'{name}'" in str(caught.value) for name in COUNTS)
    with pytest.raises(DataError, match=r"Nearest: \['kink', "):
        load_dataset("kin_of")


def test_without_a_seed_a_simulated_set_has_seed_zero():
    first, again = load_dataset("kink"), load_dataset("kink", seed=0)
    np.testing.assert_array_equal(first.train[0].y, again.train[0].y)


def test_a_file_is_looked_for_in_the_user_s_folder_and_then_in_the_cache(empty_disk, monkeypatch):
    file = SourceFile("a/log.bin", 1, None, None, "example.org")
    assert places(file) == [empty_disk / "a/log.bin"]
    monkeypatch.setenv("GPSSM_DATA", str(empty_disk.parent / "mine"))
    assert places(file) == [empty_disk.parent / "mine/a/log.bin", empty_disk / "a/log.bin"]
    assert on_disk(file) is None
    put(empty_disk, "a/log.bin")
    assert on_disk(file) == empty_disk / "a/log.bin"
    assert locate_first([file]) == empty_disk / "a/log.bin"  # its content cannot be checked


# ---------------------------------------------------------------------- how sets are described

SIMULATED = {  # names and units of inputs and outputs, sampling time
    simulators.dubins: ("speed curvature", "px py", " ", " ", None),
    simulators.dubins_full: ("speed curvature", "px py sin cos", " ", "   ", None),
    simulators.spring: ("u", "y", "", "", 0.01),
    simulators.kink: ("", "y", "", "", None),
    simulators.two_tanks: ("pump", "level", "V", "cm", 1.0),
    cart.cart_pole: ("force", "position angle", "N", "m rad", 0.02),
}


@pytest.mark.parametrize("simulator", SIMULATED, ids=lambda each: each.__name__)
def test_a_simulated_set_has_names_units_and_a_step(simulator):
    with jax.enable_x64(False):
        data = simulator(jax.random.key(0), 500, 400)
    inputs, outputs, input_units, output_units, step = SIMULATED[simulator]
    assert (" ".join(data.input_names), " ".join(data.output_names)) == (inputs, outputs)
    assert (" ".join(data.input_units), " ".join(data.output_units)) == (input_units, output_units)
    assert (data.name, data.sampling_time) == (simulator.__name__, step)
    y = data.train[0].y
    assert np.mean(y == y.astype(np.float32)) < 0.1  # not rounded to single precision anywhere
