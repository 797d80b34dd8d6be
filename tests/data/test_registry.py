"""The registry: names, shapes, splits and units of the benchmarks, against the data's README."""

import numpy as np
import pytest

from gpssm.base.errors import DataError
from gpssm.data import list_datasets, load_dataset

# rows of the training experiments, rows of the test experiments, inputs, outputs
SHAPES = {
    "actuator": ([512], [512], 1, 1),
    "ballbeam": ([500], [500], 1, 1),
    "drive": ([250], [250], 1, 1),
    "dryer": ([500], [500], 1, 1),
    "furnace": ([148], [148], 1, 1),
    "flutter": ([512], [512], 1, 1),
    "tank": ([1250], [1250], 1, 2),
    "sarcos": ([337] * 60, [337] * 6, 7, 7),
    "cascaded_tanks": ([1024], [1024], 1, 1),
    "silverbox": ([65062], [21688, 40475], 1, 1),
    "wiener_hammerstein": ([100000], [88000], 1, 1),
    "emps": ([24841], [24841], 1, 1),
    "damper": ([2000], [1499], 1, 1),
    "winding": ([1500], [1000], 5, 2),
    "cstr": ([6000], [1499], 1, 2),
    "hoop": ([1400], [638], 1, 1),
    "tailsitter": ([7001] * 4, [7001, 9001], 4, 6),
    "dubins": ([25000], [5000], 2, 2),
    "dubins_full": ([25000], [5000], 2, 4),
    "spring": ([5000], [5000], 1, 1),
    "kink": ([500], [100], 0, 1),
    "two_tanks": ([4000], [1000], 1, 1),
    "cart_pole": ([3000], [1000], 1, 2),
}
SAMPLING = {
    "ballbeam": 0.1,
    "cascaded_tanks": 4.0,
    "wiener_hammerstein": 1 / 51200,
    "emps": 1e-3,
    "damper": 0.005,
    "winding": 0.1,
    "cstr": 6.0,
    "hoop": 0.4,
    "tailsitter": 0.01,
}
CHANNELS = {  # names and units of inputs and outputs
    "actuator": ("u", "p", "", ""),
    "ballbeam": ("u", "y", "", ""),
    "drive": ("u1", "z1", "", ""),
    "furnace": ("InputGasRate", "CO2", "", ""),
    "tank": ("u", "y[0] y[1]", "", " "),
    "cascaded_tanks": ("u", "y", "V", "V"),
    "silverbox": ("V1", "V2", "V", "V"),
    "wiener_hammerstein": ("uBenchMark", "yBenchMark", "V", "V"),
    "emps": ("vir", "qm", "N", "m"),
    "winding": ("u1 u2 u3 u4 u5", "y1 y2", "    ", " "),
    "hoop": ("u1", "y1", "", ""),
}
MEAN_PREDICTOR = {
    "actuator": 1.630,
    "ballbeam": 0.0733,
    "drive": 0.7346,
    "dryer": 0.8241,
    "furnace": 3.398,
    "flutter": 0.5797,
    "tank": 2.494,
    "sarcos": 0.1641,
}


@pytest.mark.data
@pytest.mark.parametrize("name", SHAPES)
def test_shapes_splits_and_the_announced_counts(name, load):
    data = load(name)
    train, test, dim_u, dim_y = SHAPES[name]
    assert [len(each) for each in data.train] == train
    assert [len(each) for each in data.test] == test
    assert (data.dim_u, data.dim_y) == (dim_u, dim_y)
    row = next(line for line in str(list_datasets()).splitlines() if line.startswith(f"{name} "))
    assert f" {dim_u} " in row
    assert f" {sum(train) + sum(test)} " in row
    assert row.endswith(("yes", "not needed"))
    if name in SAMPLING:
        assert data.sampling_time == pytest.approx(SAMPLING[name], rel=1e-9)
    if name in CHANNELS:
        channels = data.input_names, data.output_names, data.input_units, data.output_units
        assert tuple(map(" ".join, channels)) == CHANNELS[name]
    assert data.name == name


@pytest.mark.data
@pytest.mark.parametrize("name", MEAN_PREDICTOR)
def test_the_rmse_of_the_training_mean_is_that_of_the_paper_s_split(name, load):
    data = load(name)
    mean = np.concatenate([each.y for each in data.train]).mean(axis=0)
    errors = np.concatenate([each.y for each in data.test]) - mean
    assert np.sqrt(np.mean(errors**2)) == pytest.approx(MEAN_PREDICTOR[name], rel=5e-3)


@pytest.mark.data
def test_sarcos_says_that_its_training_positions_are_partly_interpolated(load):
    text = str(load("sarcos"))
    assert "sarcos_reconstructed" in text
    assert "54.2 % of the training positions are interpolated" in text


@pytest.mark.data
def test_robots_and_aircraft_have_names_units_and_notes(load):
    sarcos, flights = load("sarcos"), load("tailsitter")
    assert (sarcos.input_names[0], sarcos.input_names[-1]) == ("torque1", "torque7")
    assert (sarcos.output_names[0], sarcos.output_names[-1]) == ("position1", "position7")
    assert sarcos.output_units == ("rad",) * 7
    assert [each.name for each in sarcos.test] == [f"episode-{i}" for i in range(60, 66)]
    assert flights.output_units == ("m",) * 3 + ("rad",) * 3
    assert [each.name for each in flights.test] == ["step_size2_2", "manual_position_1"]
    assert flights.notes == ("smoothed with a moving mean by its authors",)
    assert load("winding").notes == ("from DaISy",)


@pytest.mark.data
def test_flutter_has_the_spread_of_the_readme(load):
    data = load("flutter")
    assert data.train[0].y.std() == pytest.approx(1.289, abs=1e-3)
    assert data.test[0].y.std() == pytest.approx(0.580, abs=1e-3)


def test_the_list_iterates_over_names_and_prints_without_any_file(empty_disk):
    names = list(list_datasets())
    assert names == list(SHAPES)
    assert len(list_datasets()) == len(names)
    assert "tank" in list_datasets()
    assert list_datasets()[:2] == ("actuator", "ballbeam")
    text = repr(list_datasets())
    for word in ("name", "size", "inputs", "outputs", "rows", "source", "licence", "on disk"):
        assert word in text.splitlines()[0]
    assert next(line for line in text.splitlines() if "silverbox" in line).endswith("no")


def test_unknown_names_and_needless_seeds_are_refused():
    with pytest.raises(DataError, match=r"'actuater'.*Nearest: \['actuator'"):
        load_dataset("actuater")
    with pytest.raises(DataError, match=r"seed: got 3.*'tank' was measured.*dubins"):
        load_dataset("tank", seed=3)


def test_simulated_sets_follow_their_seed():
    first, again, other = (load_dataset("kink", seed=s) for s in (4, 4, 5))
    np.testing.assert_array_equal(first.train[0].y, again.train[0].y)
    assert not np.array_equal(first.train[0].y, other.train[0].y)
