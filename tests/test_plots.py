"""The figure of a history: a panel for whatever the table tells, and a file where asked for."""

import numpy as np

from gpssm.report import plot_history
from gpssm.training import History


def make_history(validated: bool) -> History:
    steps = np.arange(200.0)
    columns = {
        "elbo": steps - 3.0,
        "log_likelihood": steps,
        "state_kl": np.full(200, 3.0),
        "initial_kl": np.zeros(200),
        "inducing_kl": np.exp(-steps / 50.0),
        "gradient_norm": np.where(steps == 7, np.nan, 2.0),
        "learning_rate": np.full(200, 0.1),
    }
    if validated:
        columns["validation_rmse"] = np.where(steps % 50 == 49, 1.0 / (1.0 + steps), np.nan)
    return History.from_columns(columns)


def labels(axis) -> list[str]:
    return [line.get_label() for line in axis.lines if not line.get_label().startswith("_")]


def test_columns_without_content_have_no_line(tmp_path):
    """An initial KL of zero, and scores of a run without validation."""
    axes = plot_history(make_history(False), path=tmp_path / "new" / "history.png").axes
    expected = [
        ["elbo", "log likelihood"], ["state kl"], ["inducing kl"], ["gradient norm"],
        ["learning rate"],
    ]  # fmt: skip
    assert [labels(axis) for axis in axes] == expected
    assert (tmp_path / "new" / "history.png").stat().st_size > 10_000


def test_lines_are_running_means_and_scores_are_as_they_are():
    axes = plot_history(make_history(True)).axes
    raw, smooth = (line.get_ydata() for line in axes[0].lines[:2])
    np.testing.assert_array_equal(raw, np.arange(200.0) - 3.0)
    np.testing.assert_allclose(smooth[10], np.mean(raw[8:12]))  # a fiftieth of 200 steps
    scores = axes[-1].lines[0]
    assert scores.get_xdata().tolist() == [49, 99, 149, 199]
    np.testing.assert_allclose(scores.get_ydata(), [1 / 50, 1 / 100, 1 / 150, 1 / 200])
