"""The measured benchmarks: which file, which columns, which split. One entry each."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from gpssm.base.errors import DataError, expected
from gpssm.base.text import percent
from gpssm.data.dataset import Dataset
from gpssm.data.io.files import read_table
from gpssm.data.io.reading import read
from gpssm.data.io.tables import Name

from .sources import SourceFile

_RAW, _GITHUB = "https://raw.githubusercontent.com", "https://github.com"
_RGP = "zhenwendai/RGP"
_RGP_COMMIT = "be679607d3457a1038a2fe39b36b816ea380ea39"
_RGP_FOLDER = "datasets/system_identification"
_TAILSITTER = "RockyJBL/Tailsitter-hovering-dataset"
_TAILSITTER_COMMIT = "5bba36f3a1690d4e5f0a95e1bc4a14638f6595b4"


@dataclass(frozen=True)
class Benchmark:
    """Description of a data set: source, columns and split.

    `build` takes the paths of `files` in their order; with `one_of_files` the path of the one
    that was found.
    """

    files: tuple[SourceFile, ...]
    build: Callable[..., Dataset]
    inputs: int
    outputs: int
    rows: int
    source: str
    licence: str = "terms of the source; not part of gpssm"
    one_of_files: bool = False


# ---------------------------------------------------------------------- how a file is read


def _halves(
    name: str,
    inputs: Name,
    outputs: Name,
    split: int,
    sampling_time: float | None,
    path: Path,
    unit: str = "",
) -> Dataset:
    """One record, cut in time; channels are called u and y where the file has no names."""
    data = read(path, inputs=inputs, outputs=outputs, sampling_time=sampling_time, name=name)
    if isinstance(inputs, int):
        data = replace(data, input_names=("u",), output_names=("y",))
    data = replace(data, input_units=(unit,), output_units=(unit,) * data.dim_y)
    return data.split_at(split)


def _sarcos(path: Path) -> Dataset:
    """66 episodes, every second row: 7 torques in, 7 joint positions out; the last 6 are the test.

    Reads the original file or the reconstructed one, and notes which.
    """
    original = path.suffix == ".mat"
    torque, position, note = _sarcos_original(path) if original else _sarcos_reconstructed(path)
    names = [f"episode-{i:02d}" for i in range(66)]
    data = Dataset.from_arrays(
        list(position[:, ::2]),
        list(torque[:, ::2]),
        input_names=[f"torque{i + 1}" for i in range(7)],
        output_names=[f"position{i + 1}" for i in range(7)],
        output_units=("rad",) * 7,
        experiment_names=names,
        name="sarcos",
    )
    return replace(data, notes=(note,)).split_experiments(train=names[:60], test=names[60:])


def _sarcos_original(path: Path) -> tuple[np.ndarray, np.ndarray, str]:
    table = read_table(path)
    columns = table.groups.get("sarcos_inv", ())
    rows = len(table.columns[columns[0]]) if columns else 0
    if (rows, len(columns)) != (44484, 28):  # its checksum is not published, its shape is
        given = f"{rows} rows of {len(columns)} columns of `sarcos_inv`"
        remedy = "Delete it and download it again."
        raise DataError(expected(str(path), given, "44484 rows of 28", remedy))
    episodes = np.stack([table.columns[c] for c in columns], axis=1).reshape(66, 674, 28)
    note = "read from the original sarcos_inv.mat: all positions are measured"
    return episodes[..., 21:], episodes[..., :7], note


def _sarcos_reconstructed(path: Path) -> tuple[np.ndarray, np.ndarray, str]:
    with np.load(path, allow_pickle=False) as arrays:
        torque, position = arrays["torque"], arrays["position"]
        measured = float(arrays["position_is_exact"][:60, ::2].mean())
    interpolated = f"{percent(1 - measured, 1)} of the training positions are interpolated"
    note = f"read from {path.name}: all test positions are measured, {interpolated}"
    return torque, position, note


def _cascaded_tanks(path: Path) -> Dataset:
    """The estimation record trains, the validation record of the benchmark is the test."""
    columns = read_table(path).columns
    data = Dataset.from_arrays(
        [columns["yEst"], columns["yVal"]],
        [columns["uEst"], columns["uVal"]],
        sampling_time=4.0,
        input_units=("V",),
        output_units=("V",),
        experiment_names=("estimation", "validation"),
        name="cascaded_tanks",
    )
    return data.split_experiments(train=["estimation"], test=["validation"])


def _silverbox(path: Path) -> Dataset:
    """The common split of SNLS80mV: a multisine record trains, its rest and the arrow test.

    Rows 40650 to 127399 are the multisine (the first three quarters train); rows 100 to 40574
    are the arrow, a swept amplitude that grows beyond what was seen in training.
    """
    columns = read_table(path).columns
    border = 40650 + (127400 - 40650) * 3 // 4
    pieces = {
        "multisine-train": slice(40650, border),
        "multisine-test": slice(border, 127400),
        "arrow": slice(100, 40575),
    }
    data = Dataset.from_arrays(
        [columns["V2"][rows] for rows in pieces.values()],
        [columns["V1"][rows] for rows in pieces.values()],
        sampling_time=1 / 610.35,
        input_names=("V1",),
        output_names=("V2",),
        input_units=("V",),
        output_units=("V",),
        experiment_names=list(pieces),
        name="silverbox",
    )
    note = "rows 40650-127399 (multisine) and 100-40574 (arrow) of the 131072 of SNLS80mV"
    return replace(data, notes=(note,)).split_experiments(train=["multisine-train"])


def _emps(train: Path, test: Path) -> Dataset:
    """Motor force in, position out; the second record (with pulses) is the test."""
    data = read([train, test], inputs="vir", outputs="qm", time="t", name="emps")
    data = replace(data, input_units=("N",), output_units=("m",))
    return data.split_experiments(train=[0], test=[1])


def _tailsitter(*paths: Path) -> Dataset:
    """Hover flights: four actuator controls in, position and attitude out.

    The four controls (roll, pitch, yaw, thrust) are what the autopilot decides; the six actuator
    outputs are a fixed mix of them. One step flight and the manual flight are the test.
    """
    data = read(
        paths,
        inputs="actuator_controls",
        outputs=("vision_position", "vision_attitude"),
        time="time",
        units={"vision_position": "m", "vision_attitude": "rad"},
        name="tailsitter",
    )
    note = "smoothed with a moving mean by its authors"
    test = ["step_size2_2", "manual_position_1"]
    train = [each.name for each in data if each.name not in test]
    return replace(data, notes=(note,)).split_experiments(train=train, test=test)


def _panel(
    name: str, split: int, sampling_time: float, notes: tuple[str, ...], path: Path
) -> Dataset:
    """Columns u1… and y1… of a table, cut in time."""
    channels = read_table(path).columns
    inputs, outputs = (tuple(c for c in channels if c.startswith(kind)) for kind in "uy")
    data = read(path, inputs=inputs, outputs=outputs, sampling_time=sampling_time, name=name)
    return replace(data, notes=notes).split_at(split)


# ---------------------------------------------------------------------- the table


def _paper(
    name: str,
    path: str,
    inputs: Name,
    outputs: Name,
    rows: int,
    *,
    dim_y: int = 1,
    source: str = _RGP,
    sampling_time: float | None = None,
) -> Benchmark:
    """A record of the paper: the first half trains, the second is the test."""
    url = f"{_RAW}/{_RGP}/{_RGP_COMMIT}/{_RGP_FOLDER}/{path}"
    file = SourceFile.of(path, url, f"{_GITHUB}/{_RGP}/tree/{_RGP_COMMIT}/{_RGP_FOLDER}")
    build = partial(_halves, name, inputs, outputs, rows // 2, sampling_time)
    return Benchmark((file,), build, 1, dim_y, rows, source)


def _nonlinear(page: str, build: Callable[..., Dataset], rows: int, *names: str) -> Benchmark:
    """Files of an archive whose address changes: only its page can be named."""
    home = f"https://www.nonlinearbenchmark.org/benchmarks/{page}"
    files = tuple(SourceFile.of(f"nonlinear/{name}", None, home) for name in names)
    return Benchmark(files, build, 1, 1, rows, "nonlinearbenchmark.org")


def _plant(
    name: str,
    source: str,
    split: int,
    rows: int,
    sampling_time: float,
    *notes: str,
    dim_u: int = 1,
    dim_y: int = 1,
) -> Benchmark:
    """A plant of the panel: a table that was made from files of a repository."""
    file = SourceFile.of(f"panel/{name}.csv", None, f"{_GITHUB}/{source} (as a table)")
    build = partial(_panel, name, split, sampling_time, notes)
    return Benchmark((file,), build, dim_u, dim_y, rows, source, _NO_LICENCE)


def _flight(name: str) -> SourceFile:
    url = f"{_RAW}/{_TAILSITTER}/{_TAILSITTER_COMMIT}/dataset/{name}.mat"
    return SourceFile.of(f"tailsitter/{name}.mat", url, f"{_GITHUB}/{_TAILSITTER}")


_NO_LICENCE = "no licence stated: use, do not redistribute"
_ODE_RSSM = "yuanzhaolin/ODE-RSSM"
_DAISY = f"DaISy, in {_RGP}"
_GPML = "http://www.gaussianprocess.org/gpml/data"
_SARCOS = (
    # neither size nor checksum is published; the loader checks the shape
    SourceFile("sarcos_inv.mat", None, None, f"{_GPML}/sarcos_inv.mat", _GPML),
    SourceFile.of("sarcos_reconstructed_66x674.npz", None, "the benchmark data of the project"),
)
_STEPS = (f"step_size{flight}" for flight in ("1_1", "1_2", "2_1", "2_2", "3_1"))
_FLIGHTS = tuple(_flight(name) for name in (*_STEPS, "manual_position_1"))
_WIENER = partial(
    _halves, "wiener_hammerstein", "uBenchMark", "yBenchMark", 100_000, 1 / 51200, unit="V"
)

BENCHMARKS: dict[str, Benchmark] = {
    "actuator": _paper("actuator", "actuator.mat", "u", "p", 1024),
    "ballbeam": _paper("ballbeam", "ballbeam.dat", 0, 1, 1000, source=_DAISY, sampling_time=0.1),
    "drive": _paper("drive", "drive.mat", "u1", "z1", 500),
    "dryer": _paper("dryer", "dryer.dat", 0, 1, 1000, source=_DAISY),
    "furnace": _paper("furnace", "gas_furnace.csv", "InputGasRate", "CO2", 296),
    "flutter": _paper("flutter", "flutter.dat", 0, 1, 1024, source=_DAISY),
    "tank": _paper("tank", "tank.mat", "u", "y", 2500, dim_y=2),
    "sarcos": Benchmark(_SARCOS, _sarcos, 7, 7, 66 * 337, "gaussianprocess.org", one_of_files=True),
    "cascaded_tanks": _nonlinear("cascaded-tanks", _cascaded_tanks, 2048, "cascaded_tanks.mat"),
    "silverbox": _nonlinear("silverbox", _silverbox, 127225, "SNLS80mV.mat"),
    "wiener_hammerstein": _nonlinear(
        "wiener-hammerstein", _WIENER, 188000, "WienerHammerBenchmark.csv"
    ),
    "emps": _nonlinear("emps", _emps, 49682, "DATA_EMPS.mat", "DATA_EMPS_PULSES.mat"),
    "damper": _plant("damper", "RomanFoell/DRGP-VSS", 2000, 3499, 0.005),
    "winding": _plant("winding", _ODE_RSSM, 1500, 2500, 0.1, "from DaISy", dim_u=5, dim_y=2),
    "cstr": _plant("cstr", _ODE_RSSM, 6000, 7499, 6.0, "from DaISy", dim_y=2),
    "hoop": _plant("hoop", "helonayala/sysid", 1400, 2038, 0.4, "every 4th row of the source"),
    "tailsitter": Benchmark(
        _FLIGHTS,
        _tailsitter,
        inputs=4,
        outputs=6,
        rows=5 * 7001 + 9001,
        source="RockyJBL on GitHub",
        licence=_NO_LICENCE,
    ),
}
