"""Step and frequency response of a linear model, in the units of the data."""

import numpy as np
from jaxtyping import Complex, Float

from .model import LinearModel


def step_response(model: LinearModel, horizon: int) -> Float[np.ndarray, "inputs time outputs"]:
    """What a step of one standard deviation of each input adds to the outputs, from t = 0 on."""
    B, D = model.B[:, :-1], model.D[:, :-1]  # without the constant one, which does not step
    x = np.zeros_like(B)
    found = np.empty((horizon + 1, *D.shape))
    with np.errstate(over="ignore", invalid="ignore"):  # an unstable model may well diverge
        for t in range(horizon + 1):
            found[t] = model.C @ x + D
            x = model.A @ x + B
    return np.moveaxis(found, -1, 0) * model.normalisation.y_std


def frequency_response(
    model: LinearModel, frequencies: Float[np.ndarray, " frequencies"]
) -> Complex[np.ndarray, "inputs frequencies outputs"]:
    """C (zI − A)⁻¹ B + D at z = exp(2πif), f in cycles per step."""
    B, D = model.B[:, :-1], model.D[:, :-1]
    z = np.exp(2j * np.pi * frequencies)[:, None, None]
    gain = model.C @ np.linalg.solve(z * np.eye(len(B)) - model.A, B[None]) + D
    scale = model.normalisation.y_std[:, None] / model.normalisation.u_std
    return np.moveaxis(gain * scale, -1, 0)


def is_stable(model: LinearModel) -> bool:
    """Whether its response to a step stays bounded."""
    return bool(np.max(np.abs(np.linalg.eigvals(model.A)), initial=0.0) < 1.0)
