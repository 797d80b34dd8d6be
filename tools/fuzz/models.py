"""Model files, configurations and run folders: sound ones, and such as nobody has written."""

import io
import json
import tomllib
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import tomli_w

from .edits import ODD, WORDS, damage, edit_json, edit_text, encode, splice
from .tables import odd_array

_STORED = Path(__file__).parents[2] / "tests" / "fitted" / "files"
_MODEL = "seed-0.gpssm"
_DEEP = "[" * 100_000
_SHAPES: tuple[Any, ...] = (
    [],
    [0],
    [-1],
    [1],
    [2**40],
    [2**40, 2**40],
    [2**63],
    [1.5],
    "x",
    None,
    [[1]],
    [1] * 100,
)
_OFFSETS = ([0, 0], [0, 2**62], [-8, 8], [8, 0], [0, 1], "x", [0], [0.5, 1], None)
_VALUES = (0.0, -1.0, np.nan, np.inf, 1e300, -1e300, 1e-320, 1e10)


@cache
def stored() -> tuple[bytes, ...]:
    """Model files of every kind, as written now and by earlier versions."""
    import gpssm

    paths = sorted(_STORED.glob("*.gpssm"))
    with TemporaryDirectory() as folder:
        saved = [gpssm.load(path).save(Path(folder) / path.name) for path in paths]
        return tuple(path.read_bytes() for path in [*paths, *saved])


def make_model(rng: Random) -> bytes:
    """A model file: damaged bytes, or an edited header around bytes that fit or not."""
    content = rng.choice(stored())
    how = rng.random()
    if how < 0.3:
        return damage(rng, content)
    if how < 0.33:
        return splice(rng, content, rng.choice(stored()))
    header, body = split(content)
    if how < 0.5:
        return join(_edit_tensors(rng, header), body)
    if how < 0.65:
        return join(header, _edit_values(rng, header, body))
    return join(_edit_description(rng, header), body)


def split(content: bytes) -> tuple[dict[str, Any], bytes]:
    """The header of a safetensors file, and its numbers."""
    length = int.from_bytes(content[:8], "little")
    return json.loads(content[8 : 8 + length]), content[8 + length :]


def join(header: dict[str, Any], body: bytes) -> bytes:
    """The inverse of `split`."""
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + body


def _edit_tensors(rng: Random, header: dict[str, Any]) -> dict[str, Any]:
    names = sorted(set(header) - {"__metadata__"})
    name, other = rng.choice(names), rng.choice(names)
    entry = dict(header[name])
    how = rng.randrange(6)
    if how == 0:
        return {key: each for key, each in header.items() if key != name}
    if how == 1:
        return {**header, name: header[other], other: header[name]}
    if how == 2:
        return {**header, rng.choice(["", "x", "history.00.x", name + "."]): entry}
    entry |= rng.choice(
        [
            {"shape": rng.choice(_SHAPES)},
            {"data_offsets": rng.choice(_OFFSETS)},
            {"dtype": rng.choice(["F32", "F64", "I64", "U8", "BOOL", "BF16", "F8_E4M3", "X"])},
            {"shape": entry["shape"][::-1]},
        ]
    )
    return {**header, name: entry}


def _edit_values(rng: Random, header: dict[str, Any], body: bytes) -> bytes:
    """Numbers that are possible in a file, but not in a model."""
    names = [
        name for name in sorted(set(header) - {"__metadata__"}) if header[name]["dtype"] == "F64"
    ]
    begin, end = header[rng.choice(names)]["data_offsets"] if names else (0, len(body) // 8 * 8)
    values = np.frombuffer(body[begin:end], dtype="<f8").copy()
    if len(values):
        some = rng.choice([slice(None), slice(rng.randrange(len(values)), None)])
        values[some] = rng.choice(_VALUES)
    return body[:begin] + values.tobytes() + body[end:]


def _edit_description(rng: Random, header: dict[str, Any]) -> dict[str, Any]:
    """Settings, scales and names; a checksum, if there is one, is left out of most of these."""
    about = dict(header["__metadata__"])
    if rng.random() < 0.1:
        return {**header, "__metadata__": about | {rng.choice(sorted(about)): rng.choice(WORDS)}}
    if rng.random() < 0.9:
        about = {key: each for key, each in about.items() if key in ("kind", "format", "content")}
    content = json.loads(about["content"])
    for _ in range(rng.choice([1, 1, 2])):
        content = edit_json(rng, content)
    text = (
        json.dumps(content) if rng.random() < 0.98 else rng.choice([_DEEP, "", "[]", "null", "1"])
    )
    return {**header, "__metadata__": {**about, "content": text}}


@cache
def sound_folder() -> dict[str, bytes]:
    """The files of a finished run."""
    import gpssm
    from gpssm.data.io.archive import save_dataset
    from gpssm.workflow.configuration import RunConfig

    with TemporaryDirectory() as folder:
        path = Path(folder) / _MODEL
        path.write_bytes(stored()[1])
        run = gpssm.load(path)
        rng = np.random.default_rng(0)
        u = rng.standard_normal((60, len(run.normalisation.u_mean)))
        y = rng.standard_normal((60, len(run.normalisation.y_mean)))
        data = gpssm.Dataset.from_arrays(
            y, u, sampling_time=0.1, input_names=run.input_names, output_names=run.output_names
        ).split(train=0.7)
        save_dataset(path.with_name("data.npz"), data)
        config = RunConfig(data={"files": ("log.csv",), "outputs": run.output_names})
        config = config.resolved(run.model, run.training)
        path.with_name("config.toml").write_text(config.to_toml(), encoding="utf-8")
        path.with_name("scores.json").write_text('{"seeds": {"0": {"training": null}}}')
        path.with_name("run.json").write_text("{}")
        path.with_name(".gpssm-run").write_text("The folder of a gpssm run.\n")
        return {each.name: each.read_bytes() for each in sorted(Path(folder).iterdir())}


def make_folder(rng: Random) -> dict[str, bytes]:
    """The files of a run folder, one or two of them damaged, edited, exchanged or lost."""
    files = dict(sound_folder())
    for _ in range(rng.choice([1, 1, 2])):
        name = rng.choice(
            ["config.toml", "config.toml", "data.npz", "data.npz", _MODEL, *sorted(files)]
        )
        how = rng.random()
        if how < 0.05:
            files.pop(name, None)
        elif how < 0.1:
            files[name] = files[rng.choice(sorted(files))]
        elif name not in files:  # it was lost in the step before
            continue
        elif how < 0.13:
            copy = rng.choice(["seed-1.gpssm", "seed-x.gpssm", "run.tmp", "config.toml~"])
            files[copy] = files[name]
        else:
            files[name] = _edit_file(rng, name, files[name])
    return files


def _edit_file(rng: Random, name: str, content: bytes) -> bytes:
    if rng.random() < 0.3:
        return damage(rng, content)
    if name == _MODEL:
        return make_model(rng)
    if name == "config.toml":
        return make_config(rng)
    if name == "data.npz":
        return _edit_data(rng)
    return damage(rng, content)


def _edit_data(rng: Random) -> bytes:
    """Another description, or other arrays."""
    with np.load(io.BytesIO(sound_folder()["data.npz"])) as kept:
        arrays = {name: kept[name] for name in kept.files}
    if rng.random() < 0.6:
        about = edit_json(rng, json.loads(arrays["about"].tobytes()))
        text = json.dumps(about) if rng.random() < 0.98 else _DEEP
        arrays["about"] = np.frombuffer(text.encode(), np.uint8)
    else:
        arrays[rng.choice(sorted(arrays))] = odd_array(rng)
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def make_config(rng: Random) -> bytes:
    """A configuration with edits of its entries or of its text, or a damaged one."""
    content = sound_folder_config()
    how = rng.random()
    if how < 0.6:
        odd = [each for each in ODD if each is not None]
        try:
            return tomli_w.dumps(edit_json(rng, tomllib.loads(content), odd)).encode()
        except (TypeError, ValueError, AttributeError):  # no TOML can say it
            return b"x = " + _DEEP.encode()
    if how < 0.9:
        return encode(rng, edit_text(rng, content))
    return damage(rng, content.encode())


@cache
def sound_folder_config() -> str:
    """The configuration of a run with every default written out."""
    return sound_folder()["config.toml"].decode()
