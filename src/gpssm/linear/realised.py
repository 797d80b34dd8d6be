"""From the matrices of a fit to a model with noise: C = (I 0), intervals that held-out data set."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from scipy.linalg import solve_discrete_are

from gpssm.data import Normalisation
from gpssm.data.alignment import Alignment

from .forecasting import Parameters
from .model import LinearModel
from .noise import fit_noise, held_out
from .rollout import state_moments
from .states import Noise, StateForm, state_form
from .windows import LONGEST, Signal

_FLOOR = 1e-10  # of a variance


def realised(
    models: Sequence[Parameters],
    alignment: Alignment,
    training: Sequence[Sequence[Signal]],
    held: Sequence[Sequence[Signal]],
    normalisation: Normalisation,
) -> LinearModel:
    """The last model, with the noise that the others showed when they forecast held-out runs."""
    forms = [in_states(each, alignment, runs) for each, runs in zip(models, training, strict=True)]
    stretches = [
        held_out(form, P, run, LONGEST)
        for (form, P), runs in zip(forms, held, strict=False)
        for run in runs
    ]
    return with_noise(*forms[-1], fit_noise(stretches), normalisation)


def in_states(
    start: Parameters, alignment: Alignment, runs: Sequence[Signal]
) -> tuple[StateForm, Float[np.ndarray, "n n"]]:
    """The model in coordinates whose first states are the outputs, and their second moments."""
    moments = state_moments(start, runs)
    form = state_form(start.A, start.B, start.C, start.d, moments, alignment)
    mean = form.T @ moments.mean + form.c
    return form, form.T @ moments.covariance @ form.T.T + np.outer(mean, mean)


def with_noise(
    form: StateForm, P: Float[np.ndarray, "n n"], noise: Noise, normalisation: Normalisation
) -> LinearModel:
    """The steady-state Kalman filter of this noise, as a model in innovation form."""
    Q, R = np.diag(np.maximum(noise.Q, _FLOOR)), np.diag(np.maximum(noise.R, _FLOOR))
    C = np.eye(len(R), len(Q))
    covariance = solve_discrete_are(form.A.T, C.T, Q, R)
    innovations = C @ covariance @ C.T + R
    K = np.linalg.solve(innovations, C @ covariance @ form.A.T).T
    D = np.zeros((len(R), form.B.shape[1]))
    return LinearModel(
        form.A, form.B, C, D, K, innovations, P, normalisation,
        alignment=form.alignment, noise=Noise(np.diag(Q), np.diag(R)),
    )  # fmt: skip
