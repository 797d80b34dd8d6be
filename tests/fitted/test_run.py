"""The facade: fit, predict, save, load; and what it says to bad input."""

import json
import subprocess
import sys
import warnings
from functools import partial
from types import ModuleType

import jax
import numpy as np
import pytest
from pandas.testing import assert_frame_equal

import gpssm
from gpssm import ConfigError, DataError, Dataset, GpssmError
from gpssm.base.errors import GpssmWarning
from gpssm.fitted.fitting import _dataset
from gpssm.fitted.run import _columns
from gpssm.inference.methods.registry import METHODS
from gpssm.training.settings import default_state_kl
from support import make_sequences, make_system

# One size for all fits and forecasts of these tests: what is compiled once serves them all.
TINY = {"dim_x": 2, "inducing_points": 6, "particles": 8, "lag": 4, "warmup": 4}
TRAINING = {
    "steps": 5, "sequence_length": 12, "batch_size": 3, "quiet": True, "seed": 3, "calibrate": False
}  # fmt: skip
ROWS, WARMUP, HORIZON = 60, 4, 20


def make_record(rows: int = ROWS, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A leaky integrator of its input, far from zero mean and unit variance."""
    rng = np.random.default_rng(seed)
    u, y = 2.0 + rng.standard_normal((rows, 1)), np.zeros((rows, 1))
    for t in range(rows - 1):
        y[t + 1] = 0.8 * y[t] + 0.5 * (u[t] - 2.0)
    return u, 10.0 + 4.0 * y + 0.2 * rng.standard_normal(y.shape)


def fit_tiny(name: str = "cbf-ssm-50", **more) -> gpssm.Run:
    """A few steps on the record, or on the data that are given."""
    if "data" not in more and "y" not in more:
        more |= dict(zip("uy", make_record(), strict=True))
    return gpssm.fit(gpssm.method(name, **TINY), **{**TRAINING, **more})


def forecast_tiny(run: gpssm.Run, **more) -> gpssm.Forecast:
    u, y = make_record(seed=1)
    return run.predict(u[:HORIZON], y[:WARMUP], **more)


@pytest.fixture(scope="module")
def run() -> gpssm.Run:
    return fit_tiny()


def assert_same_run(ours: gpssm.Run, other: gpssm.Run) -> None:
    """Bit for bit: parameters, normalisation, settings, names and forecast."""
    for a, b in zip(jax.tree.leaves(ours.system), jax.tree.leaves(other.system), strict=True):
        np.testing.assert_array_equal(a, b)
    assert ours.normalisation.to_json() == other.normalisation.to_json()
    assert (ours.model, ours.training, ours.seed) == (other.model, other.training, other.seed)
    assert (ours.input_names, ours.output_names) == (other.input_names, other.output_names)
    assert_frame_equal(ours.history.table, other.history.table, check_exact=True, check_like=True)
    np.testing.assert_array_equal(forecast_tiny(ours).particles, forecast_tiny(other).particles)


# ---------------------------------------------------------------------- the contract


def test_a_data_set_fits_as_its_arrays_do(run):
    u, y = make_record()
    assert_same_run(fit_tiny(data=Dataset.from_arrays(y, u)), run)


def test_plain_columns_fit_as_matrices_do(run):
    u, y = make_record()
    assert_same_run(fit_tiny(u=u[:, 0], y=y[:, 0]), run)


def test_another_seed_gives_another_fit(run):
    other = fit_tiny(seed=4)
    leaves = zip(jax.tree.leaves(run.system), jax.tree.leaves(other.system), strict=True)
    assert all(np.any(a != b) for a, b in leaves if np.ndim(a) == 2)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_fits_and_forecasts(name):
    """Numbers from training and forecast are finite, and every group of parameters has moved."""
    run = fit_tiny(name)
    assert run.model.name == name
    table = run.history.table
    assert np.isfinite(table.to_numpy(float)).all()
    assert not table["skipped"].any()
    # per time step: the KL of the inducing values counts once for all rows, whatever the draw
    inducing = (table["inducing_kl"] + table["smoother_kl"]) / ROWS
    states = default_state_kl(run.model.k) * table["state_kl"]
    total = table["log_likelihood"] - states - table["initial_kl"] - inducing
    np.testing.assert_allclose(table["elbo"], total, rtol=1e-4)
    forecast = forecast_tiny(run)
    assert np.isfinite(forecast.samples).all()
    assert np.all(forecast.std > 0.0)
    assert np.all(np.abs(forecast.mean - 10.0) < 50.0)


def test_a_system_without_inputs_fits_and_forecasts():
    """`u=None` and a number of steps are the same as inputs without columns."""
    y = make_record()[1]
    model = gpssm.pr_ssm(**{**TINY, "dim_x": 1, "recognition": "output"})
    run = gpssm.fit(model, y=y, **TRAINING)
    forecast = run.predict(None, y[:WARMUP], steps=HORIZON)
    other = run.predict(np.zeros((HORIZON, 0)), y[:WARMUP])
    assert np.isfinite(forecast.samples).all()
    np.testing.assert_array_equal(forecast.particles, other.particles)
    ahead = run.outlook(None, y[:WARMUP], steps=HORIZON)
    assert ahead.mean.shape == forecast.mean.shape
    assert run.filter(None, y).rows.mean.shape == y.shape


@pytest.mark.parametrize("name", ["cbf-ssm-50", "cbf-ssm-1"])
@pytest.mark.filterwarnings("ignore:y_warmup")
def test_one_measurement_is_enough(name):
    u, y = make_record()
    forecast = fit_tiny(name).predict(u, y[:1])
    assert np.isfinite(forecast.mean).all()


FORECASTS = {
    "predict": lambda run, u, y: run.predict(u, y),
    "outlook": lambda run, u, y: run.outlook(u, y),
    "states": lambda run, u, y: run.states(u, y),
}


@pytest.mark.parametrize("forecast", FORECASTS.values(), ids=FORECASTS)
def test_a_warm_up_without_a_measurement_is_refused(run, forecast):
    u, y = make_record()
    with pytest.raises(gpssm.DataError, match="y_warmup: got no measurement, expected at least"):
        forecast(run, u, np.full_like(y[:WARMUP], np.nan))


@pytest.mark.parametrize("forecast", FORECASTS.values(), ids=FORECASTS)
def test_fewer_measurements_than_states_are_told(run, forecast):
    """The limit is the number of states; missing values do not count."""
    u, y = make_record()
    seen, states = np.full_like(y[:WARMUP], np.nan), run.model.dim_x
    flat = seen.reshape(-1)
    flat[: states - 1] = 0.5
    with pytest.warns(GpssmWarning, match=rf"got {states - 1} measurement.* at least {states}"):
        forecast(run, u, seen)
    flat[states - 1] = 0.5
    with warnings.catch_warnings():
        warnings.simplefilter("error", GpssmWarning)
        forecast(run, u, seen)


def test_saving_and_loading_changes_nothing(run, tmp_path):
    path = run.save(tmp_path / "tank.gpssm")
    assert_same_run(gpssm.load(path), run)


NEW_PROCESS = """
import json, sys
import jax
before = dict(jax.config.values)
import gpssm
lazy = "matplotlib" not in sys.modules
import numpy as np

imported = dict(jax.config.values)
given = np.load(sys.argv[1] + "/given.npz")
run = gpssm.load(sys.argv[1] + "/run.gpssm")
forecast = run.predict(given["u"], given["y"])
np.savez(sys.argv[1] + "/forecast.npz", particles=forecast.particles, noise=forecast.noise_std)
model = gpssm.pr_ssm(dim_x=1, recognition="output", inducing_points=3, particles=2, warmup=1)
gpssm.fit(model, y=np.sin(np.arange(9.0)), steps=2, quiet=True)
after = dict(jax.config.values)
changed = [name for name in after if not before.get(name) == imported.get(name) == after[name]]
print(json.dumps({"x64": after["jax_enable_x64"], "changed": changed, "lazy": lazy}))
"""


@pytest.fixture(scope="module")
def new_process(run, tmp_path_factory):
    """What a process that knows nothing of this one reads, forecasts and says."""
    folder = tmp_path_factory.mktemp("process")
    run.save(folder / "run.gpssm")
    u, y = make_record(seed=1)
    np.savez(folder / "given.npz", u=u[:HORIZON], y=y[:WARMUP])
    done = subprocess.run(
        [sys.executable, "-c", NEW_PROCESS, str(folder)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), dict(np.load(folder / "forecast.npz"))


def test_a_saved_run_forecasts_the_same_numbers_in_a_new_process(run, new_process):
    here, there = forecast_tiny(run), new_process[1]
    np.testing.assert_array_equal(there["particles"], here.particles)
    np.testing.assert_array_equal(there["noise"], here.noise_std)


def test_no_flag_of_jax_is_changed_by_import_fit_or_forecast(new_process):
    said = new_process[0]
    assert said["x64"] is False
    assert said["changed"] == []


def test_importing_does_not_load_the_plotting_library(new_process):
    assert new_process[0]["lazy"]


def test_all_names_are_public_and_all_public_names_are_there():
    assert gpssm.__all__ == sorted(set(gpssm.__all__))
    public = {
        name
        for name, value in vars(gpssm).items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    }
    modules = {name for name in gpssm.__all__ if isinstance(getattr(gpssm, name), ModuleType)}
    assert public | modules == set(gpssm.__all__) == set(gpssm._HOME)


# ---------------------------------------------------------------------- bad input to fit


def data_with_a_gap_in_the_inputs():
    u, y = make_record()
    u[7] = np.nan
    return {"u": u, "y": y}


BAD_FITS = {
    "the test part": (
        lambda: gpssm.fit(
            gpssm.cbf_ssm(dim_x=2), Dataset.from_arrays(*make_record()[::-1]).split(0.7)
        ),
        DataError,
        r"data: got a data set with its test part, expected what trains. Give data.train",
    ),
    "fewer states than outputs": (
        lambda: gpssm.fit(gpssm.cbf_ssm(dim_x=1), y=np.zeros((30, 2)) + np.arange(30.0)[:, None]),
        ConfigError,
        r"dim_x: got 1, expected at least the number of outputs, 2",
    ),
    "a gap in the inputs": (
        lambda: fit_tiny(**data_with_a_gap_in_the_inputs()),
        DataError,
        r"inputs of .*: got nan at row 7, channel 0.*expected finite values",
    ),
    "inputs of another length": (
        lambda: fit_tiny(u=np.ones((50, 1)), y=make_record()[1]),
        DataError,
        r"got 50 rows of inputs and 60 of outputs, expected as many",
    ),
    "outputs with too many axes": (
        lambda: fit_tiny(y=np.zeros((2, 30, 1))),
        DataError,
        r"outputs of .*: got an array of shape \(2, 30, 1\), expected an array \[time, channels\]",
    ),
    "sequences shorter than the warm-up of a network": (
        lambda: fit_tiny("vcdt", sequence_length=3),
        ConfigError,
        r"sequence_length: got 3, expected at least the warm-up of the recognition, 4",
    ),
    "sequences longer than the data": (
        lambda: fit_tiny(sequence_length=61),
        DataError,
        r"sequence_length: got 61, expected at most the 60 rows of the shortest experiment",
    ),
    "data and outputs": (
        lambda: fit_tiny(data=Dataset.from_arrays(make_record()[1]), y=make_record()[1]),
        DataError,
        r"data or y: got both, expected one of them",
    ),
    "neither data nor outputs": (
        lambda: gpssm.fit(gpssm.cbf_ssm()),
        DataError,
        r"data or y: got neither, expected one of them",
    ),
    "an unknown setting of the training": (
        lambda: fit_tiny(learning_rat=0.1),
        ConfigError,
        r"learning_rat: unknown setting. Nearest: learning_rate",
    ),
    "no steps": (
        lambda: fit_tiny(steps=0),
        ConfigError,
        r"steps: got 0, expected at least 1",
    ),
    "an unknown setting of the model": (
        lambda: gpssm.cbf_ssm(dim_z=3),
        ConfigError,
        r"dim_z: unknown setting. Nearest: dim_x",
    ),
    "a factor k below one": (
        lambda: gpssm.cbf_ssm(k=0.5),
        ConfigError,
        r"k: got 0.5, expected at least 1",
    ),
    "the smoother's first state without a smoother": (
        lambda: gpssm.pr_ssm(recognition="smoother"),
        ConfigError,
        r"recognition: got 'smoother' with target 'none'.* Use recognition='mlp'",
    ),
    "a delta draw of a q(u) with a spread": (
        lambda: gpssm.cbf_ssm(function_draw="delta"),
        ConfigError,
        r"covariance: got 'diagonal' with function_draw='delta'.* Use covariance='delta'",
    ),
    "an unknown kernel": (
        lambda: gpssm.cbf_ssm(kernel="rbx"),
        ConfigError,
        r"kernel.*rbx.*rbf",
    ),
    "an unknown method": (
        lambda: gpssm.method("cbf-ssm-2000"),
        ConfigError,
        r"method: got 'cbf-ssm-2000', expected one of pr-ssm, vcdt",
    ),
}


@pytest.mark.parametrize("what", BAD_FITS)
def test_a_bad_fit_names_the_field_what_was_given_and_what_was_expected(what):
    call, kind, message = BAD_FITS[what]
    with pytest.raises(kind, match=message):
        call()
    assert issubclass(kind, GpssmError)


# ---------------------------------------------------------------------- bad input to predict

U, Y = make_record(seed=1)
BAD_FORECASTS = {
    "inputs with another number of channels": (
        (np.zeros((9, 2)), Y[:4]),
        r"u: got shape \(9, 2\), expected \[time, 1\]",
    ),
    "inputs with too many axes": ((U[None], Y[:4]), r"u: got shape \(1, 60, 1\), expected \[time"),
    "no inputs": ((None, Y[:4]), r"u: got nothing, expected an array \[time, 1\]"),
    "a gap in the inputs": (
        (np.where(np.arange(60)[:, None] == 5, np.nan, U), Y[:4]),
        r"u: got \[nan\] at row 5, expected finite values",
    ),
    "outputs with another number of channels": (
        (U, np.zeros((4, 3))),
        r"y_warmup: got shape \(4, 3\), expected \[time, 1\]",
    ),
    "no outputs": ((U, np.zeros((0, 1))), r"y_warmup: got shape \(0, 1\), expected \[time, 1\]"),
    "a warm-up longer than the inputs": (
        (U[:6], Y[:7]),
        r"y_warmup: got 7 steps, expected between 1 .* and 6 steps",
    ),
}


@pytest.mark.parametrize("what", BAD_FORECASTS)
def test_a_bad_forecast_names_the_field_what_was_given_and_what_was_expected(what, run):
    arguments, message = BAD_FORECASTS[what]
    with pytest.raises(DataError, match=message):
        run.predict(*arguments)


@pytest.mark.parametrize("given", [[["a"], ["b"]], [[1.0], [2.0, 3.0]]], ids=["words", "ragged"])
def test_what_is_no_array_of_numbers_is_one_sentence(given):
    with pytest.raises(DataError, match=r"u: got no numbers .*, expected an array of numbers"):
        _columns("u", given, 1)


@pytest.mark.parametrize("conditioned", [0, 5, -1])
def test_conditioning_beyond_the_warm_up_is_refused(conditioned, run):
    message = rf"conditioned: got {conditioned}, expected between 1 and the 4 steps"
    with pytest.raises(DataError, match=message):
        run.predict(U, Y[:4], conditioned=conditioned)


def test_a_network_needs_the_whole_warm_up(run):
    system = make_system(gpssm.vcdt(**TINY), make_sequences())
    network = gpssm.Run(system, run.normalisation, run.training, 0, run.history)
    message = r"y_warmup: got 3 steps, expected between 4 \(for this recognition\) and 20 steps"
    with pytest.raises(DataError, match=message):
        network.predict(U[:20], Y[:3])


def test_a_system_without_inputs_needs_the_number_of_steps(run):
    free = gpssm.Run(run.system, gpssm.Normalisation.identity(0, 1), run.training, 0, run.history)
    with pytest.raises(DataError, match=r"steps: got nothing, expected the number of steps"):
        free.predict(None, Y[:4])


@pytest.mark.parametrize(
    ("what", "given"),
    [
        ("u", {"u": make_record()[0], "data": Dataset.from_arrays(*make_record()[::-1])}),
        ("steps", {"steps": 33}),
        ("particles", {"particles": 0}),
        ("y_warmup", {"y_warmup": np.array([1.0, np.inf, 2.0, 3.0])}),
    ],
)
def test_no_argument_is_accepted_and_ignored(what, given, run):
    forecast = partial(run.predict, U[:HORIZON])
    call = (
        partial(fit_tiny, **given)
        if "data" in given
        else partial(forecast, **{"y_warmup": Y[:4], **given})
    )
    with pytest.raises(GpssmError, match=rf"{what}.*: got .*expected"):
        call()


@pytest.mark.parametrize("seeds", [0, -1])
def test_no_seeds_are_refused(seeds):
    with pytest.raises(GpssmError, match=rf"seeds: got {seeds}, expected at least 1"):
        fit_tiny(seeds=seeds)


def test_an_array_in_the_place_of_the_data_is_refused_with_the_way_to_pass_it():
    with pytest.raises(DataError, match=r"data: got a ndarray, expected .*fit\(model, u=u, y=y\)"):
        _dataset(Y, None, None)  # fit itself is typed, which the tests enforce


def test_a_fit_without_one_finite_step_is_an_error():
    beyond = gpssm.cbf_ssm(**TINY).model_copy(update={"process_variance": 1e300})
    with pytest.raises(GpssmError, match=r"training: got no finite gradient in 3 steps"):
        gpssm.fit(beyond, u=U, y=Y, **{**TRAINING, "steps": 3})


# ---------------------------------------------------------------------- candidates


def test_candidates_side_by_side_are_the_runs_that_each_would_be_alone():
    """For each candidate and each of its seeds, validated on the way."""
    candidates = [{"inducing_kl": 0.3, "learning_rate": 0.02}, {"inducing_kl": 4.0}]
    u, y = make_record()
    data = Dataset.from_arrays(y, u)
    settings = {**TRAINING, "validation": 0.4, "validate_steps": 2, "precision": "float64"}
    model = gpssm.cbf_ssm(**TINY)
    together = gpssm.fit_candidates(model, data, candidates, seeds=2, **settings)
    assert [len(runs) for runs in together] == [2, 2]
    for candidate, runs in zip(candidates, together, strict=True):
        for seed, run in enumerate(runs, TRAINING["seed"]):
            alone = gpssm.fit(model, data, **{**settings, **candidate, "seed": seed})
            assert (run.training, run.seed) == (alone.training, seed)
            ours, theirs = (jax.tree.leaves(each.system) for each in (run, alone))
            for a, b in zip(ours, theirs, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9)
            assert run.history.table["validation_rmse"].notna().sum() == 3


def test_a_candidate_that_needs_a_program_of_its_own_is_refused():
    u, y = make_record()
    with pytest.raises(ConfigError, match=r"candidate: got steps, expected only learning_rate and"):
        gpssm.fit_candidates(gpssm.cbf_ssm(**TINY), Dataset.from_arrays(y, u), [{"steps": 3}])
