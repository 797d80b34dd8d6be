"""Whether a model file is what was written: its checksum, the sizes it claims, its scales."""

import functools
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from gpssm.base.errors import DataError, GpssmWarning, ModelFileError, expected
from gpssm.base.sealing import CHECKSUM, is_sealed
from gpssm.data import Normalisation
from gpssm.inference import Model

_LOWEST = -700.0  # of an unconstrained scale: softplus of less is zero


def check_seal(path: Path, header: Mapping[str, str], first_sealed: int) -> None:
    """Raise if the file has changed since it was written; warn if its format has no checksum."""
    if int(header["format"]) < first_sealed and CHECKSUM not in header:
        _tell_unsealed(path.parent)
    elif not is_sealed(path.read_bytes()):
        remedy = "It is damaged: save the model again, or take a copy."
        given = f"{path}, whose content does not match its checksum"
        raise ModelFileError(expected("model file", given, "an unchanged file", remedy))


@functools.cache  # once for all models of a folder
def _tell_unsealed(folder: Path) -> None:
    message = (
        f"models in {folder} were written by an earlier version, without a checksum: damage to "
        "them cannot be noticed. Load and save them again to add one."
    )
    warnings.warn(message, GpssmWarning, stacklevel=2)


def check_content(described: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Raise if scales or sizes cannot be those of a model, before anything is built of them."""
    scales = Normalisation.from_json(described["normalisation"])
    _check_scales(scales)
    _check_names("input_names", described["input_names"], len(scales.u_mean))
    _check_names("output_names", described["output_names"], len(scales.y_mean))
    _check_sizes(Model(**described["model"]), scales, arrays)
    for name, array in arrays.items():
        is_scale = "raw_" in name or name in ("process_noise", "output_noise", "hidden_noise")
        if is_scale and (array < _LOWEST).any():
            raise DataError(expected(name, "a scale of zero", "positive scales"))


def _check_scales(scales: Normalisation) -> None:
    for kind in "uy":
        mean, std = getattr(scales, f"{kind}_mean"), getattr(scales, f"{kind}_std")
        if mean.ndim != 1 or mean.shape != std.shape:
            given = f"shapes {mean.shape} and {std.shape}"
            raise DataError(expected(f"{kind}_mean and {kind}_std", given, "equal lengths"))
        if not np.isfinite(mean).all():
            raise DataError(expected(f"{kind}_mean", mean.tolist(), "finite numbers"))
        if not (np.isfinite(std) & (std > 0)).all():
            raise DataError(expected(f"{kind}_std", std.tolist(), "positive finite numbers"))


def _check_names(field: str, names: Any, channels: int) -> None:
    """A model of plain arrays may have no names."""
    fits = isinstance(names, list) and len(names) in (0, channels)
    if not fits or not all(isinstance(name, str) for name in names):
        raise DataError(expected(field, names, f"{channels} names"))


def _check_sizes(model: Model, scales: Normalisation, arrays: Mapping[str, np.ndarray]) -> None:
    """Raise if the arrays of the file are not as large as its settings say.

    What is built for them is then not much larger than the file.
    """
    dim_u, dim_y = len(scales.u_mean), len(scales.y_mean)
    points, hidden = model.inducing_points, model.hidden(dim_y)
    _expect(arrays, "initial_state.mean", model.dim_x)
    _expect(arrays, "output_noise", dim_y)
    if model.recognition == "mlp":
        _expect(arrays, "recognition.encoder.weight", None, model.warmup * (dim_u + dim_y))
    for name in ("f", "f_b")[: 1 + (hidden > 0)]:
        black_box = {"f": (model.dim_x, model.dim_x + dim_u), "f_b": (hidden, None)}[name]
        outputs, inputs = (None, None) if model.physics else black_box
        _expect(arrays, f"{name}.inducing_inputs", points, inputs)
        _expect(arrays, f"{name}.posterior.mean", outputs, points)
        if model.covariance == "full":
            _expect(arrays, f"{name}.posterior.raw_scale", outputs, points, points)
        _check_kernel(model, name, arrays)


def _check_kernel(model: Model, gp: str, arrays: Mapping[str, np.ndarray]) -> None:
    """Raise if the file has fewer numbers than the hyper-parameters of the kernel of a GP."""
    kernel = (gp == "f_b" and model.smoother_kernel) or model.kernel
    groups = len(arrays[f"{gp}.posterior.mean"]) if model.kernel_per_output else 1
    parts = 1 + kernel.count("+") + kernel.count("*")
    claimed = parts * groups * arrays[f"{gp}.inducing_inputs"].shape[1]
    found = sum(array.size for name, array in arrays.items() if name.startswith(f"{gp}.kernel."))
    if claimed > found:
        raise DataError(expected(f"{gp}.kernel", f"{found} numbers", f"at least {claimed}"))


def _expect(arrays: Mapping[str, np.ndarray], name: str, *shape: int | None) -> None:
    """Raise unless an array has this shape; None: any length."""
    given = arrays.get(name)
    found = () if given is None else given.shape
    if len(found) != len(shape) or any(
        wanted not in (None, length) for length, wanted in zip(found, shape, strict=True)
    ):
        lengths = ", ".join("any" if length is None else str(length) for length in shape)
        said = "nothing" if given is None else f"{given.dtype} of shape {found}"
        raise DataError(expected(name, said, f"shape ({lengths})"))
