"""The model file: what it holds, and what is said of a file that is not whole or not ours."""

import json
import os
import pickle
import struct
from itertools import pairwise
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal
from safetensors import safe_open
from safetensors.numpy import save_file

from gpssm import ModelFileError, Normalisation, Training, cbf_ssm, pr_ssm, vcdt
from gpssm.base.errors import GpssmWarning
from gpssm.base.sealing import sealed
from gpssm.fitted import modelfile
from gpssm.fitted.modelfile import Content
from gpssm.inference import build
from gpssm.training import History
from gpssm.training.settings import LARGEST_WEIGHT, MOST_STEPS
from support import SMALL, make_sequences

MODELS = {
    "pr-ssm, k = inf": pr_ssm(dim_x=2, **SMALL),
    "vcdt, gru": vcdt(dim_x=2, recognition="gru", **SMALL),
    "cbf-ssm, no lag": cbf_ssm(dim_x=3, **{**SMALL, "lag": None}),
    "conv, full, whitened, one kernel per output": cbf_ssm(
        dim_x=2, recognition="conv", covariance="full", whitened=True, kernel_per_output=True,
        kernel="matern52", **SMALL,
    ),
    "delta, inducing inputs from the data": cbf_ssm(
        dim_x=2, covariance="delta", function_draw="delta", inducing_inputs="kmeans", **SMALL
    ),
}  # fmt: skip


def make_content(model=MODELS["cbf-ssm, no lag"], dim_u=1, **more) -> Content:
    rng, fresh = (
        np.random.default_rng(0),
        build(jax.random.key(0), model, make_sequences(dim_u=dim_u)),
    )
    system = jax.tree.map(lambda leaf: jnp.asarray(rng.standard_normal(leaf.shape)), fresh)
    values = {
        "normalisation": Normalisation(
            np.full(dim_u, 0.1), np.full(dim_u, 3.3), np.array([-1e5]), np.array([1e-7]), ("u",)
        ),
        "training": Training(steps=7, learning_rate=0.1 + 0.2),
        "seed": 12,
        "history": History.from_columns(
            {"elbo": np.array([-3.0, 0.1 + 0.2]), "skipped": np.array([True, False])}
        ),
        "input_names": ("valve",) * dim_u,
        "output_names": ("level",),
    }
    return Content(system=system, **{**values, **more})


@pytest.fixture(scope="module")
def content() -> Content:
    return make_content()


@pytest.fixture(scope="module")
def plain() -> Content:
    """The smallest one."""
    return make_content(pr_ssm(dim_x=1, recognition="output", **SMALL))


@pytest.fixture
def saved(content, tmp_path) -> Path:
    return modelfile.save(tmp_path / "tank.gpssm", content)


def read(path: Path) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    with safe_open(path, framework="numpy") as file:
        return {name: file.get_tensor(name) for name in file.keys()}, file.metadata()  # noqa: SIM118


def rewrite(path: Path, tensors: dict[str, np.ndarray], header: dict[str, str]) -> None:
    """A file that nobody saved, with the checksum of its own content."""
    path.write_bytes(sealed(tensors, header))


def assert_same_content(ours: Content, other: Content) -> None:
    assert jax.tree.structure(ours.system) == jax.tree.structure(other.system)
    for a, b in zip(jax.tree.leaves(ours.system), jax.tree.leaves(other.system), strict=True):
        assert a.dtype == b.dtype
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()
    assert ours.normalisation.to_json() == other.normalisation.to_json()
    assert ours.system.config == other.system.config
    assert_frame_equal(ours.history.table, other.history.table, check_exact=True, check_like=True)
    for name in ("training", "seed", "input_names", "output_names"):
        assert getattr(ours, name) == getattr(other, name)


# ---------------------------------------------------------------------- a whole file


@pytest.mark.parametrize("name", MODELS)
def test_a_round_trip_keeps_every_bit_and_every_setting(name, tmp_path):
    content = make_content(MODELS[name])
    assert_same_content(modelfile.load(modelfile.save(tmp_path / "a.gpssm", content)), content)


def test_a_round_trip_without_inputs(tmp_path):
    content = make_content(pr_ssm(dim_x=2, **SMALL), dim_u=0)
    assert_same_content(modelfile.load(modelfile.save(tmp_path / "a.gpssm", content)), content)


positive = st.floats(1e-300, 1e300)
names = st.text(min_size=1, max_size=8)


@given(
    rate=st.floats(1e-300, 1000.0), std=positive, mean=st.floats(-1e300, 1e300),
    seed=st.integers(0, 2**63 - 1), label=names,
    steps=st.integers(1, MOST_STEPS), entropy=st.floats(0.0, LARGEST_WEIGHT),
)  # fmt: skip
@settings(max_examples=20)
def test_any_setting_normalisation_and_name_survives(
    plain, tmp_path_factory, rate, std, mean, seed, label, steps, entropy
):
    """Floats to the last bit, names in any alphabet."""
    content = plain._replace(
        normalisation=Normalisation(*np.full((4, 1), [[mean], [std], [-mean], [rate]])),
        training=Training(learning_rate=rate, steps=steps, entropy=entropy),
        seed=seed,
        output_names=(label,),
    )
    path = tmp_path_factory.mktemp("any") / "a.gpssm"
    assert_same_content(modelfile.load(modelfile.save(path, content)), content)


def test_the_file_is_a_json_header_and_numbers_and_nothing_else(saved):
    """No place for code: after the header, every byte belongs to one named array."""
    data = saved.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + size])
    described = json.loads(header.pop("__metadata__")["content"])
    assert described["model"]["name"] == "cbf-ssm-50"
    assert described["output_names"] == ["level"]
    spans = sorted(tuple(entry["data_offsets"]) for entry in header.values())
    assert spans[0][0] == 0
    assert all(end == begin for (_, end), (begin, _) in pairwise(spans))
    assert 8 + size + spans[-1][1] == len(data)


def test_arrays_are_named_by_what_they_are(saved, content):
    """By no attribute above them, which may be renamed."""
    tensors, _ = read(saved)
    model, posterior = content.system.model, content.system.posterior
    np.testing.assert_array_equal(tensors["output_noise"], model.emission.raw_noise)
    np.testing.assert_array_equal(tensors["initial_state.mean"], model.initial.mean)
    z = posterior.smoother.inducing_inputs
    np.testing.assert_array_equal(tensors["f_b.inducing_inputs"], z)
    assert not [name for name in tensors if name.startswith(".")]


def test_saving_makes_the_folder_and_replaces_an_older_file(plain, content, tmp_path):
    path = tmp_path / "deep" / "er" / "a.gpssm"
    assert modelfile.save(str(path), plain) == path
    modelfile.save(path, content)
    assert_same_content(modelfile.load(path), content)
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("broken", ["write", "replace"])
def test_a_failed_save_leaves_the_older_file_and_nothing_else(broken, saved, plain, monkeypatch):
    before = saved.read_bytes()

    def fail(*arguments):
        if broken == "write":  # half of it is on the disk when the disk is full
            with arguments[0].open("wb") as file:
                file.write(arguments[1][:100])
        raise OSError("no space left on device")

    owner, name = (Path, "write_bytes") if broken == "write" else (os, "replace")
    monkeypatch.setattr(owner, name, fail)
    with pytest.raises(OSError, match="no space left"):
        modelfile.save(saved, plain)
    monkeypatch.undo()
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


def test_history_keeps_the_order_of_its_columns(plain, tmp_path):
    history = History.from_columns({"elbo": np.zeros(2), "state_kl": np.ones(2), "a": np.ones(2)})
    path = modelfile.save(tmp_path / "a.gpssm", plain._replace(history=history))
    assert list(modelfile.load(path).history.table) == ["elbo", "state_kl", "a"]


def test_others_may_read_a_saved_file_as_they_may_any_other(saved):
    other = saved.with_name("other")
    other.write_bytes(b"")
    assert saved.stat().st_mode == other.stat().st_mode


def test_the_description_is_json_by_the_standard(plain, tmp_path):
    """Python reads NaN and Infinity, other languages do not."""

    def refuse(constant):
        raise AssertionError(f"{constant} is no JSON")

    path = modelfile.save(tmp_path / "a.gpssm", plain)
    described = json.loads(read(path)[1]["content"], parse_constant=refuse)
    assert described["model"]["k"] == "Infinity"


# ---------------------------------------------------------------------- files that are not


def whole_size(path: Path) -> int:
    return path.stat().st_size


def header_size(path: Path) -> int:
    return 8 + struct.unpack("<Q", path.read_bytes()[:8])[0]


@pytest.mark.parametrize(
    "length",
    [
        lambda path: 0,
        lambda path: 5,
        lambda path: 8,
        lambda path: header_size(path) // 2,
        header_size,
        lambda path: (header_size(path) + whole_size(path)) // 2,
        lambda path: whole_size(path) - 1,
    ],
    ids=["empty", "5 bytes", "length only", "half header", "header only", "half", "one byte less"],
)
def test_a_truncated_file_is_refused(length, saved):
    saved.write_bytes(saved.read_bytes()[: length(saved)])
    with pytest.raises(ModelFileError, match=r"model file: got .*tank\.gpssm.*expected") as error:
        modelfile.load(saved)
    assert "truncated or damaged: save the model again" in str(error.value)


def test_parameters_that_are_no_numbers_are_refused(tmp_path):
    content = make_content()
    broken = jax.tree.map(lambda leaf: leaf.at[..., :1].set(jnp.nan), content.system)
    path = modelfile.save(tmp_path / "broken.gpssm", content._replace(system=broken))
    with pytest.raises(ModelFileError, match="no finite numbers"):
        modelfile.load(path)


FOREIGN = {
    "text": b"time,u,y\n0,1,2\n" * 40,
    "zeros": bytes(4000),
    "a pickle": pickle.dumps({"weights": np.arange(300.0)}),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_file_of_another_format_is_refused(kind, saved):
    saved.write_bytes(FOREIGN[kind])
    with pytest.raises(ModelFileError, match=r"model file: got .*tank\.gpssm.*expected a whole"):
        modelfile.load(saved)


@pytest.mark.parametrize("metadata", [None, {"format": "pt"}, {"kind": "gpssm checkpoint"}])
def test_a_safetensors_file_of_another_kind_is_refused(metadata, tmp_path):
    save_file({"weight": np.arange(3.0)}, tmp_path / "other.bin", metadata=metadata)
    message = r"model file: got .*other\.bin, of another kind, expected a gpssm model"
    with pytest.raises(ModelFileError, match=message):
        modelfile.load(tmp_path / "other.bin")


@pytest.mark.parametrize("version", ["0", "4", "1.0"])
def test_a_file_of_another_format_version_is_refused(version, saved):
    tensors, header = read(saved)
    rewrite(saved, tensors, {**header, "format": version})
    message = (
        rf"model file: got .*tank\.gpssm of format {version}, expected format 1 to 3\. Read it with"
    )
    with pytest.raises(ModelFileError, match=message):
        modelfile.load(saved)


def test_a_file_without_one_of_its_arrays_is_refused(saved):
    tensors, header = read(saved)
    del tensors["initial_state.mean"]
    rewrite(saved, tensors, header)
    message = r"tank\.gpssm.*initial_state\.mean: got nothing, expected shape \(3\)"
    with pytest.raises(ModelFileError, match=message):
        modelfile.load(saved)


def test_a_file_with_an_array_of_another_shape_is_refused(saved):
    tensors, header = read(saved)
    tensors["initial_state.mean"] = np.zeros(5)
    rewrite(saved, tensors, header)
    message = r"initial_state\.mean: got float64 of shape \(5,\), expected shape \(3\)"
    with pytest.raises(ModelFileError, match=message):
        modelfile.load(saved)


def test_a_file_without_a_history_is_refused(saved):
    tensors, header = read(saved)
    kept = {name: each for name, each in tensors.items() if not name.endswith(".elbo")}
    assert len(kept) == len(tensors) - 1
    rewrite(saved, kept, header)
    with pytest.raises(ModelFileError, match=r"tank\.gpssm.*history.*elbo among them"):
        modelfile.load(saved)


def test_an_array_of_more_dimensions_than_numpy_has_is_refused(tmp_path):
    path = tmp_path / "wide.gpssm"
    wide = {"dtype": "F64", "shape": [1] * 100, "data_offsets": [0, 8]}
    header = {"kind": "gpssm model", "format": "2", "content": "{}"}
    text = json.dumps({"wide": wide, "__metadata__": header}).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + bytes(8))
    with (
        pytest.warns(GpssmWarning, match="without a checksum"),
        pytest.raises(ModelFileError, match=r"wide\.gpssm \(.*dimension.*expected a whole file"),
    ):
        modelfile.load(path)


def change(described: dict, where: str, value: object) -> str:
    *path, last = where.split(".")
    inner = described
    for part in path:
        inner = inner[part]
    if value is None:
        del inner[last]
    else:
        inner[last] = value
    return json.dumps(described)


@pytest.mark.parametrize(
    ("where", "value"),
    [
        ("model.dim_x", 7),
        ("model.dim_x", "many"),
        ("model.new_setting", 1),
        ("training.steps", -1),
        ("training", None),
        ("normalisation.u_std", None),
        ("seed", "first"),
        ("normalisation.y_mean", ["high"]),
    ],
)
def test_a_description_that_gpssm_never_wrote_is_refused(where, value, saved):
    tensors, header = read(saved)
    wrong = change(json.loads(header["content"]), where, value)
    rewrite(saved, tensors, {**header, "content": wrong})
    with pytest.raises(ModelFileError, match=r"model file: got .*tank\.gpssm.*expected what gpssm"):
        modelfile.load(saved)


@pytest.mark.parametrize("text", ["", "{", "[]", "7"])
def test_a_description_that_is_no_json_object_is_refused(text, saved):
    tensors, header = read(saved)
    rewrite(saved, tensors, {**header, "content": text})
    with pytest.raises(
        ModelFileError, match=r"(?s)model file: got .*tank\.gpssm.*expected what gpssm"
    ):
        modelfile.load(saved)


@pytest.mark.parametrize("name", ["nothing.gpssm", "."])
def test_a_missing_file_and_a_folder_are_refused(name, tmp_path):
    message = r"model file: got .*, which is no file, expected a saved model"
    with pytest.raises(ModelFileError, match=message) as error:
        modelfile.load(tmp_path / name)
    assert str(tmp_path) in str(error.value)
