"""The training loop: one compilation, the same numbers every time, and what it tells."""

import logging
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from test_step import LENGTH, MODEL, ROWS, TRAINING, leaves, make_problem

from gpssm import Dataset, Normalisation
from gpssm.data import batch, make_windows
from gpssm.training import Phase, Progress, bar, log_lines, loop, progress, silent, train
from gpssm.training.settings import default_state_kl
from gpssm.training.step import rate_schedule

STEPS = 60  # two whole chunks and a part of one
LOOP = TRAINING.replace(
    steps=STEPS, batch_size=5, learning_rate=0.05, schedule="cosine", warmup_steps=5,
    clip_norm=100.0, average=0.9,
)  # fmt: skip
COLUMNS = {
    "log_likelihood", "state_kl", "inducing_kl", "smoother_kl", "initial_kl", "entropy",
    "parameter_kl",
    "elbo", "gradient_norm", "learning_rate", "rate_scale", "skipped", "rolled_back",
}  # fmt: skip


class Recorder:
    """A progress that remembers what it was told."""

    def __init__(self, title="", total=0, note=lambda: None):
        self.title, self.total, self.note = title, total, note
        self.steps, self.terms, self.notes, self.left = [], [], [], "not yet"

    def __call__(self, title, total):
        self.title, self.total = title, total
        return self

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self.left = kind

    def update(self, step, terms):
        self.steps.append(step)
        self.terms.append(terms)
        self.notes.append(self.note())


class CompileLog(logging.Handler):
    """Counts what jax says that it compiles."""

    def __init__(self):
        super().__init__()
        self.compiled = []

    def emit(self, record):
        if record.getMessage().startswith("Compiling"):
            self.compiled.append(record.getMessage().split()[1])


def run_training(key, show=silent, windows=None, training=LOOP):
    """One seed on one device."""
    state, ours, _ = make_problem(LOOP)
    windows = ours if windows is None else windows
    phases = (Phase(STEPS, training, windows),)
    return train(key[None], [state.system], phases, show, jax.devices()[:1])[0]


@pytest.fixture(scope="module")
def first():
    """The first training of this process, with all that is compiled on the way."""
    log, logger = CompileLog(), logging.getLogger("jax")
    recorder = Recorder(note=lambda: list(log.compiled))
    logger.addHandler(log)
    try:
        with jax.log_compiles():
            result = run_training(jax.random.key(3), recorder)
    finally:
        logger.removeHandler(log)
    return result, recorder


# ---------------------------------------------------------------------- numbers


def test_the_elbo_rises(first):
    """By far more than its noise from step to step."""
    elbo = first[0].history.table["elbo"].to_numpy()
    before, after = elbo[:10], elbo[-10:]
    assert after.mean() - before.mean() > 5.0 * (before.std() + after.std()) / np.sqrt(10)
    assert after.mean() - before.mean() > 0.3


def test_history_has_one_row_per_step_and_its_columns_add_up(first):
    table = first[0].history.table
    assert set(table.columns) == COLUMNS
    assert list(table.index) == list(range(STEPS))
    inducing = table["inducing_kl"] + table["smoother_kl"]
    states = default_state_kl(MODEL.k) * table["state_kl"]
    total = table["log_likelihood"] - states - table["initial_kl"] - inducing / ROWS
    np.testing.assert_allclose(table["elbo"], total, rtol=1e-10)
    rates = [LOOP.learning_rate * rate_schedule(LOOP)(i) for i in range(STEPS)]
    np.testing.assert_allclose(table["learning_rate"], rates)
    assert (table["gradient_norm"] > 0.0).all()
    assert not table["skipped"].any()


def test_history_survives_a_csv_file(first, tmp_path):
    history = first[0].history
    history.to_csv(tmp_path / "history.csv")
    again = pd.read_csv(tmp_path / "history.csv", index_col="step")
    pd.testing.assert_frame_equal(again, history.table, check_dtype=False, rtol=1e-6)


def assert_same_parameters(ours, other):
    for name in ("average", "last"):
        pairs = zip(leaves(getattr(ours, name)), leaves(getattr(other, name)), strict=True)
        for a, b in pairs:
            np.testing.assert_array_equal(a, b)


def test_the_same_key_gives_the_same_parameters(first):
    again = run_training(jax.random.key(3))
    assert_same_parameters(again, first[0])
    assert again.history.table.equals(first[0].history.table)


def test_another_key_gives_other_parameters(first):
    other = run_training(jax.random.key(4))
    for a, b in zip(leaves(first[0].last), leaves(other.last), strict=True):
        assert np.all(a != b)


@pytest.mark.parametrize("chunk", [1, 7, 24])
def test_the_size_of_a_chunk_does_not_matter(chunk, first, monkeypatch):
    monkeypatch.setattr(loop, "CHUNK", chunk)
    recorder = Recorder()
    again = run_training(jax.random.key(3), recorder)
    assert_same_parameters(again, first[0])
    assert again.history.table.equals(first[0].history.table)
    assert recorder.steps == [*range(chunk, STEPS, chunk), STEPS]


def test_the_average_is_not_the_last_one(first):
    result = first[0]
    gaps = [
        np.abs(a - b).max()
        for a, b in zip(leaves(result.average), leaves(result.last), strict=True)
    ]
    assert 1e-6 < max(gaps) < 0.5


def test_batches_that_are_not_finite_are_skipped_and_the_others_are_not(first):
    """One poisoned row: the steps whose batch holds it, and only these, are skipped."""
    key = jax.random.key(5)
    _, windows, _ = make_problem(LOOP)
    windows = windows._replace(y=np.where(np.arange(ROWS)[:, None] == ROWS - 1, np.inf, windows.y))
    result = run_training(key, windows=windows)
    key_batch, _ = jax.random.split(key)
    hit = [
        bool(jnp.isinf(batch(windows, LENGTH, key_batch, i, LOOP.batch_size)[1]).any())
        for i in range(STEPS)
    ]
    assert 0 < sum(hit) < STEPS
    assert result.history.table["skipped"].tolist() == hit
    assert all(np.isfinite(leaf).all() for leaf in leaves((result.average, result.last)))


# ---------------------------------------------------------------------- compilation


def test_nothing_is_compiled_after_the_first_chunk(first):
    """Neither for the second chunk nor for the shorter one at the end."""
    compiled = first[1].notes
    assert any("run_chunk" in name for name in compiled[0])
    assert len(compiled) == 3
    assert compiled[1] == compiled[2] == compiled[0]


def test_another_training_of_the_same_shape_compiles_no_chunk(first):
    before = loop.run_chunk._cached._cache_size()
    run_training(jax.random.key(6))
    assert loop.run_chunk._cached._cache_size() == before


def test_other_rows_and_what_no_step_reads_compile_no_chunk_and_count_as_they_should(first):
    """As those of a fold do: the KLs that count once for all the data are shares of fewer rows."""
    before, rows = loop.run_chunk._cached._cache_size(), ROWS // 2
    data = Dataset.from_arrays(np.sin(0.5 * np.arange(rows)), np.cos(0.5 * np.arange(rows)))
    windows = make_windows(data, Normalisation.of(data), LENGTH, 1, LOOP.dtype)
    other = LOOP.replace(calibrate=False, patience=3, validate_steps=7, half_life=9.0)
    table = run_training(jax.random.key(3), windows=windows, training=other).history.table
    assert loop.run_chunk._cached._cache_size() == before
    inducing = (table["inducing_kl"] + table["smoother_kl"]) / rows
    states = default_state_kl(MODEL.k) * table["state_kl"]
    total = table["log_likelihood"] - states - table["initial_kl"] - inducing
    np.testing.assert_allclose(table["elbo"], total, rtol=1e-10)


# ---------------------------------------------------------------------- progress


def test_progress_is_told_of_every_chunk_and_left_at_the_end(first):
    recorder, table = first[1], first[0].history.table
    assert (recorder.title, recorder.total) == (MODEL.name, STEPS)
    assert recorder.steps == [25, 50, 60]
    assert recorder.left is None
    last = table.iloc[50:]
    assert recorder.terms[-1] == pytest.approx(
        {
            "elbo": last["elbo"].mean(),
            "fit": last["log_likelihood"].mean(),
            "kl_x": last["state_kl"].mean(),
            "kl_u": (last["inducing_kl"] + last["smoother_kl"]).mean(),
        }
    )


def test_silence_prints_nothing(first, capfd):
    run_training(jax.random.key(3), silent)
    assert capfd.readouterr() == ("", "")


def test_log_lines_go_to_standard_error_and_end_with_the_last_step(first, capsys):
    run_training(jax.random.key(3), log_lines)
    out, error = capsys.readouterr()
    assert out == ""
    elbo = first[0].history.table["elbo"].iloc[50:].mean()
    assert error.splitlines()[-1].startswith(f"{MODEL.name} 60/60 elbo {elbo:.3g} fit")


def test_log_lines_are_seconds_apart(monkeypatch, capsys):
    """A chunk every 4 s: a line every 12 s, and one for the last step."""
    clock = iter(range(0, 1000, 4))
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    with log_lines("plant", 8) as shown:
        for step in range(1, 9):
            shown.update(step, {"elbo": -1.0})
    lines = capsys.readouterr().err.splitlines()
    assert [line.split()[1] for line in lines] == ["3/8", "6/8", "8/8"]
    assert lines[0] == "plant 3/8 elbo -1 0.25 steps/s, left 0:00:20"


class BrokenError(Exception):
    pass


@pytest.mark.parametrize("error", [BrokenError, KeyboardInterrupt])
def test_an_error_in_training_closes_the_bar_and_comes_through(error, monkeypatch, capfd):
    shown = []

    def remembered_bar(title, total):
        shown.append(bar(title, total))
        return shown[0]

    def fail(*_):
        assert shown[0]._rich.live.is_started
        raise error

    monkeypatch.setattr(loop, "run_chunk", fail)
    with pytest.raises(error):
        run_training(jax.random.key(3), remembered_bar)
    assert not shown[0]._rich.live.is_started


def test_a_progress_learns_of_an_error(monkeypatch):
    recorder = Recorder()
    monkeypatch.setattr(loop, "run_chunk", lambda *_: [][0])
    with pytest.raises(IndexError):
        run_training(jax.random.key(3), recorder)
    assert recorder.left is IndexError


def test_the_bar_shows_steps_and_terms(capfd):
    with bar("plant", 50) as shown:
        shown.update(25, {"elbo": -1.25})
        task = shown._rich.tasks[0]
        assert (task.completed, task.total, task.fields["terms"]) == (25, 50, "elbo -1.25")
        assert task.fields["pace"] == ""
    out, error = capfd.readouterr()
    assert out == ""
    assert "plant" in error
    assert "25/50" in error


WIDE = {"elbo": -1234.5, "fit": -1.2345, "kl_x": 0.012345, "kl_u": 123.45, "rmse": 0.98765}


@pytest.mark.parametrize("show", [bar, log_lines])
def test_all_that_is_told_fits_into_120_columns(show, monkeypatch, capsys):
    """A chunk every 2 s: 12.5 steps per second, and 1925 steps are left."""
    clock = iter(range(0, 100000, 2))
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    monkeypatch.setenv("COLUMNS", "120")
    with show("cbf-ssm-50", 2000) as shown:
        for step in (25, 50, 75):
            shown.update(step, WIDE)
        if show is bar:
            shown._rich.refresh()
    line = capsys.readouterr().err.splitlines()[-1].rstrip()
    assert "75/2000 elbo -1.23e+03 fit -1.23 kl_x 0.0123 kl_u 123 rmse 0.988" in line
    assert line.endswith("12.5 steps/s, left 0:02:34")
    assert len(line) <= 120


def test_a_training_that_ends_early_still_gets_its_last_line(capsys):
    with log_lines("plant", 100) as shown:
        shown.update(25, {"elbo": -1.0})
    assert capsys.readouterr().err == "plant 25/100 elbo -1\n"


@pytest.mark.parametrize(
    ("quiet", "terminal", "chosen"),
    [(True, True, silent), (True, False, silent), (False, True, bar), (False, False, log_lines)],
)
def test_progress_suits_the_place(quiet, terminal, chosen, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    assert progress.automatic(quiet) is chosen
    assert isinstance(chosen("plant", 10), Progress)
