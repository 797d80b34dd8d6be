"""The error to expect where a level walks: least squares where it stands still, honest if not."""

import numpy as np
import pytest
from experiments.files import ROOT, read_json

from experiments import level
from gpssm.data import Experiment


def record(seed, walk, rows=300):
    """Two past inputs, an AR(1) noise of spread 0.1, and a level that walks."""
    rng = np.random.default_rng(seed)
    u, noise = rng.standard_normal((rows, 1)), np.zeros(rows)
    for t in range(1, rows):
        noise[t] = 0.8 * noise[t - 1] + 0.06 * rng.standard_normal()
    clean = 0.7 * np.roll(u[:, 0], 1) - 0.4 * np.roll(u[:, 0], 2) + 3.0
    walked = np.cumsum(walk * rng.standard_normal(rows))
    return Experiment.of((clean + noise + walked)[:, None], u)


def regression(rows=60, later=20):
    rng = np.random.default_rng(3)
    x = np.concatenate([rng.standard_normal((rows + later, 3)), np.ones((rows + later, 1))], axis=1)
    return x, x[:rows] @ [1.0, -2.0, 0.5, 4.0] + 0.3 * rng.standard_normal(rows)


def test_white_noise_and_no_walk_is_least_squares():
    x, y = regression()
    found = level._fit(x, y, 60, memory=0.0, walk=0.0)
    weights, (square,), *_ = np.linalg.lstsq(x[:60], y, rcond=None)
    variance = square / (60 - 4)
    np.testing.assert_allclose(found.mean, x[60:] @ weights)
    inverse = np.linalg.inv(x[:60].T @ x[:60])
    expected = variance * (np.eye(20) + x[60:] @ inverse @ x[60:].T)
    np.testing.assert_allclose(found.covariance, expected, atol=1e-12)


def test_a_walk_is_conditioned_on_as_a_joint_gaussian_is():
    """Flat priors are the limit of wide ones: one dense Gaussian of coefficients and noise."""
    x, y = regression()
    found = level._fit(x, y, 60, memory=0.9, walk=0.2)
    time = np.arange(1, 81)
    K = 0.9 ** np.abs(time[:, None] - time) + 0.04 * np.minimum(time[:, None], time)
    joint = K + 1e7 * x @ x.T
    gain = np.linalg.solve(joint[:60, :60], joint[:60, 60:]).T
    np.testing.assert_allclose(found.mean, gain @ y, atol=1e-4)
    shape = joint[60:, 60:] - gain @ joint[:60, 60:]
    np.testing.assert_allclose(found.covariance / found.covariance[0, 0], shape / shape[0, 0], 1e-3)


@pytest.mark.parametrize("walk", [0.0, 0.02])
def test_the_offset_is_as_large_as_it_was_expected_to_be(walk):
    shares, ranks = [], []
    for seed in range(12):
        whole = record(seed, walk)
        found = level.expected_error(whole.cut(2, 202, "train"), whole.u[202:])
        missed = whole.y[202:, 0] - found.mean
        shares.append(missed.mean() / found.offset_std)
        ranks.append(np.mean(found.rmse < np.sqrt(np.mean(missed**2))))
    # Of 12 standard normals the root mean square is within 0.6 and 1.4 in 99 of 100 cases. Where
    # nothing walks the prior still thinks that something might: then it may be smaller.
    assert (0.6 if walk else 0.1) < np.sqrt(np.mean(np.square(shares))) < 1.4
    assert np.mean(ranks) < 0.75


def test_what_walks_is_less_certain():
    def known_to(walk):
        records = (record(seed, walk) for seed in range(6))
        found = (level.expected_error(r.cut(2, 202, "train"), r.u[202:]) for r in records)
        return np.median([each.offset_std for each in found])

    assert known_to(0.03) > 1.5 * known_to(0.0)


def test_the_page_has_what_was_computed():
    page = (ROOT / "docs" / "table1.md").read_text(encoding="utf-8")
    record = read_json(ROOT / "results" / "level.json")
    assert level.table(record) in page
    test, prose = record["forecasts"]["test"], " ".join(page.split())
    assert f"still has {test['offset']:.3f} of that offset" in prose
    assert "an error within the target would be luck" in prose
    assert 0.08 < test["chance"] < 0.12
    others = record["chance with other memories"]
    assert list(others) == ["20", "24", "32"]
    assert (
        f"the chance is {100 * min(others.values()):.0f} to {100 * max(others.values()):.0f} %"
        in prose
    )
    assert "to about ±0.08" in prose
    assert f"{test['offset_std']:.2f}" == "0.08"
