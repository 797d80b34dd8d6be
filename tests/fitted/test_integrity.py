"""A model file that is not what was written is refused, and before anything is built of it."""

import hashlib
import json
import struct

import numpy as np
import pytest
from safetensors.numpy import save_file
from test_modelfile import MODELS, change, make_content, read, rewrite

from gpssm import ModelFileError
from gpssm.base.errors import GpssmWarning
from gpssm.base.sealing import is_sealed
from gpssm.fitted import integrity, modelfile


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """One file, which no test changes."""
    return modelfile.save(tmp_path_factory.mktemp("original") / "a.gpssm", make_content())


@pytest.fixture
def saved(original, tmp_path):
    copy = tmp_path / "tank.gpssm"
    copy.write_bytes(original.read_bytes())
    return copy


def test_no_byte_can_be_flipped_unnoticed(original):
    """One bit of each byte: size of the header, JSON, padding, arrays."""
    data = bytearray(original.read_bytes())
    assert is_sealed(bytes(data))
    for i in range(len(data)):
        data[i] ^= 1 << i % 8
        assert not is_sealed(bytes(data)), f"byte {i}"
        data[i] ^= 1 << i % 8


PLACES = {  # a byte of each kind: from the data and the size of the header
    "size of the header": lambda data, size: 0,
    "start of the header": lambda data, size: 8,
    "name of the checksum": lambda data, size: data.index(b'"checksum"') + 3,
    "checksum": lambda data, size: data.index(b'"checksum"') + 20,
    "format": lambda data, size: data.index(b'"format": "') + 11,
    "description": lambda data, size: data.index(b"learning_rate"),
    "scale": lambda data, size: data.index(b"u_std") + 10,
    "name of an array": lambda data, size: data.index(b'"f.inducing_inputs"') + 3,
    "shape of an array": lambda data, size: data.index(b'"shape": [') + 10,
    "end of the header": lambda data, size: 8 + size - 1,
    "first array": lambda data, size: 8 + size,
    "last array": lambda data, size: len(data) - 1,
}


def place_of(kind, data):
    return PLACES[kind](bytes(data), struct.unpack("<Q", data[:8])[0])


@pytest.mark.parametrize("bit", [0, 3, 7])
@pytest.mark.parametrize("kind", PLACES)
def test_a_flipped_bit_is_one_sentence(kind, bit, saved):
    data = bytearray(saved.read_bytes())
    data[place_of(kind, data)] ^= 1 << bit
    saved.write_bytes(data)
    with pytest.raises(ModelFileError, match=r"model file: got .*tank\.gpssm"):
        modelfile.load(saved)


def test_a_file_cannot_pass_for_an_older_one(saved):
    """The digit 3 is one bit away from 1 and from 2, which have no checksum."""
    for digit in b"12":
        data = bytearray(saved.read_bytes())
        data[place_of("format", data)] = digit
        saved.write_bytes(data)
        with pytest.raises(ModelFileError, match="does not match its checksum"):
            modelfile.load(saved)


def test_the_checksum_is_that_of_the_file_with_zeros_in_its_place(original):
    """By hand, as somebody without gpssm would check it."""
    data, header = original.read_bytes(), read(original)[1]
    blank = data.replace(header["checksum"].encode(), b"0" * 64)
    assert hashlib.sha256(blank).hexdigest() == header["checksum"]


def test_equal_models_are_equal_files(original, tmp_path):
    """safetensors itself writes its metadata in a random order."""
    again = modelfile.save(tmp_path / "again.gpssm", make_content())
    assert again.read_bytes() == original.read_bytes()


def test_older_files_are_remarked_once_for_each_folder(saved, monkeypatch):
    integrity._tell_unsealed.cache_clear()
    tensors, header = read(saved)
    del header["checksum"]
    paths = [saved, saved.with_name("other.gpssm")]
    for path in paths:
        save_file(tensors, path, metadata={**header, "format": "2"})
    with pytest.warns(GpssmWarning, match="earlier version, without a checksum") as told:
        assert len({modelfile.load(path).seed for path in paths}) == 1
    assert len(told) == 1


# ---------------------------------------------------------------------- with the right checksum


def described(saved, where, value):
    tensors, header = read(saved)
    wrong = change(json.loads(header["content"]), where, value)
    rewrite(saved, tensors, {**header, "content": wrong})


@pytest.mark.parametrize(
    ("where", "value", "said"),
    [
        ("normalisation.y_std", [-1.0], r"y_std: got \[-1\.0\], expected positive"),
        ("normalisation.u_std", [0.0], r"u_std: got \[0\.0\], expected positive"),
        ("normalisation.y_std", [float("nan")], "y_std: got .*expected positive finite"),
        ("normalisation.y_mean", [float("inf")], "y_mean: got .*expected finite"),
        ("normalisation.y_mean", [[1.0]], "y_mean"),
        ("output_names", ["level", "flow"], "output_names: got .*expected 1 names"),
        ("input_names", "u", "input_names: got u"),
    ],
)
def test_scales_and_names_that_no_model_has_are_refused(where, value, said, saved):
    described(saved, where, value)
    with pytest.raises(ModelFileError, match=said):
        modelfile.load(saved)


@pytest.mark.parametrize(
    "name", ["output_noise", "initial_state.raw_variance", "f.kernel.raw_variance"]
)
def test_learned_scales_of_zero_are_refused(name, saved):
    tensors, header = read(saved)
    tensors[name] = np.full_like(tensors[name], -1e4)
    rewrite(saved, tensors, header)
    with pytest.raises(ModelFileError, match=rf"{name}: got a scale of zero"):
        modelfile.load(saved)


HUGE = {
    "dim_x": ("cbf-ssm, no lag", 10**9),
    "inducing_points": ("cbf-ssm, no lag", 10**9),
    "warmup": ("pr-ssm, k = inf", 10**9),
    "kernel": ("pr-ssm, k = inf", "+".join(["rbf"] * 200)),
}


@pytest.mark.parametrize("name", HUGE)
def test_sizes_that_the_file_does_not_have_are_refused_before_anything_is_built(
    name, tmp_path, monkeypatch
):
    model, value = HUGE[name]
    path = modelfile.save(tmp_path / "a.gpssm", make_content(MODELS[model]))
    described(path, f"model.{name}", value)
    monkeypatch.setattr(modelfile, "_blank_system", None)  # calling it would be no ModelFileError
    with pytest.raises(ModelFileError, match=r"got .*expected (shape|at least|what gpssm)"):
        modelfile.load(path)


def test_a_covariance_that_the_file_does_not_have_is_refused(saved, monkeypatch):
    described(saved, "model.covariance", "full")
    monkeypatch.setattr(modelfile, "_blank_system", None)
    with pytest.raises(ModelFileError, match=r"f\.posterior\.raw_scale: got .*expected shape"):
        modelfile.load(saved)


def test_a_setting_without_an_array_costs_nothing(saved):
    """The look-ahead of a network that the model does not have."""
    described(saved, "model.warmup", 10**9)
    try:
        assert modelfile.load(saved).system.config.warmup == 10**9
    except ModelFileError as error:  # where settings have a bound of their own
        assert "warmup" in str(error)  # noqa: PT017


@pytest.mark.parametrize("text", ["[" * 100_000, '{"model": []}', '{"model": {"physics": 1e999}}'])
def test_odd_json_is_one_sentence(text, saved):
    tensors, header = read(saved)
    rewrite(saved, tensors, {**header, "content": text})
    with pytest.raises(ModelFileError, match="what gpssm wrote"):
        modelfile.load(saved)


def test_arrays_of_another_kind_are_one_sentence(saved):
    header = {
        "__metadata__": read(saved)[1],
        "a": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]},
    }
    text = json.dumps(header).encode()
    saved.write_bytes(len(text).to_bytes(8, "little") + text + bytes(4))
    with pytest.raises(ModelFileError, match=r"tank\.gpssm"):
        modelfile.load(saved)
