"""The loss of many forecasts against a recursion row by row, its gradient, and L-BFGS."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize

from gpssm.linear.batch import Batch, evaluate, fit
from gpssm.linear.forecasting import RIDGE, WARMUP, Parameters, loss, window_errors
from gpssm.linear.lbfgs import minimise
from gpssm.linear.windows import Signal, overlapping, side_by_side, stacked


def signal(rows, seed=0, gaps=0.0, inputs=2, outputs=2):
    rng = np.random.default_rng(seed)
    u = np.concatenate([rng.standard_normal((rows, inputs)), np.ones((rows, 1))], axis=1)
    whole = rng.standard_normal((rows, outputs))
    return Signal(u, np.where(rng.random(whole.shape) < gaps, np.nan, whole), whole)


def model(states=3, seed=1, gain=0.0, inputs=2, outputs=2):
    rng = np.random.default_rng(seed)
    A = 0.9 * np.linalg.qr(rng.standard_normal((states, states)))[0]
    shapes = (states, inputs + 1), (outputs, states), (outputs,), (states, outputs)
    B, C, d, K = (rng.standard_normal(shape) for shape in shapes)
    return Parameters(A, B, C, d, gain * K)


def on_device(p):
    return Parameters(*map(jnp.asarray, p))


def row_by_row(p, run):
    """Errors of one window; x[1] from the normal equations of its warm-up."""

    def errors(x, u, y, offset):
        found = []
        for t in range(len(y)):
            found.append(y[t] - p.C @ x - offset)
            x = p.A @ x + p.B @ u[t] + p.K @ found[-1]
        return np.array(found)

    start = slice(0, WARMUP)
    zero = errors(np.zeros(len(p.A)), run.u[start], run.whole[start], p.d)
    still = np.zeros_like(run.u[start]), np.zeros_like(run.whole[start])
    effect = np.stack([errors(x, *still, 0 * p.d) for x in np.eye(len(p.A))], axis=-1)
    known = ~np.isnan(run.y[start])
    E, r = -effect[known], zero[known]
    x = np.linalg.solve(E.T @ E + RIDGE * np.eye(len(p.A)), E.T @ r)
    return errors(x, run.u, run.whole, p.d)


@pytest.mark.parametrize("gain", [0.0, 0.1])
@pytest.mark.parametrize("gaps", [0.0, 0.3])
def test_the_errors_of_a_window_are_those_of_the_recursion(gain, gaps):
    run, p = signal(4 * WARMUP, gaps=gaps), model(gain=gain)
    windows = stacked([[run]])
    found = window_errors(on_device(p), windows.inputs[0], windows.y[0], windows.seen[0])[0]
    np.testing.assert_allclose(found, row_by_row(p, run), rtol=1e-7, atol=1e-8)


def test_gaps_and_padding_do_not_count():
    """A run that ends within a chunk, beside a longer one of another data set."""
    short, p = signal(3 * WARMUP - 7, gaps=0.2), model()
    windows = stacked([[short], [signal(8 * WARMUP), signal(5 * WARMUP)]])
    batch = Batch.of([p], [0], with_gain=False)
    e = row_by_row(p, Signal(*(np.pad(a, ((0, 7), (0, 0))) for a in short)))[: len(short.y)]
    known = ~np.isnan(short.y)
    known[:WARMUP] = False
    np.testing.assert_allclose(evaluate(batch, windows)[0], [np.mean(np.square(e[known]))])


def test_the_gradient_is_that_of_finite_differences():
    windows, p = stacked([[signal(3 * WARMUP)]]), model(gain=0.05)
    one = type(windows)(*(a[0] for a in windows))
    gradient = jax.grad(lambda q: loss(q, one, jnp.inf))(on_device(p))
    for name in ("A", "B", "C", "d", "K"):
        direction = np.random.default_rng(2).standard_normal(getattr(p, name).shape)
        ends = [p._replace(**{name: getattr(p, name) + s * 1e-6 * direction}) for s in (1, -1)]
        above, below = (float(loss(on_device(end), one, jnp.inf)) for end in ends)
        slope = (above - below) / 2e-6
        assert float(np.sum(getattr(gradient, name) * direction)) == pytest.approx(
            float(slope), rel=1e-5
        )


def test_models_of_different_order_share_a_batch_and_fits_reach_the_truth():
    rng, p = np.random.default_rng(0), model(states=2, seed=3, inputs=1, outputs=1)
    u = np.concatenate([rng.standard_normal((200, 1)), np.ones((200, 1))], axis=1)
    x, y = np.zeros(2), np.zeros((200, 1))
    for t in range(200):
        y[t], x = p.C @ x + p.d, p.A @ x + p.B @ u[t]
    windows = stacked([[Signal(u, y, y)]])
    off = Parameters(*(a + 0.05 * rng.standard_normal(a.shape) for a in p))
    batch = Batch.of([model(1, inputs=1, outputs=1), off], [0, 0], with_gain=False)
    (first, last) = fit(batch, windows, 80, (1,))
    np.testing.assert_array_equal(first, batch.rows)
    fitted = batch.models(last)
    assert np.all(fitted.A[0, 1:] == 0.0)
    assert np.all(fitted.K == 0.0)
    np.testing.assert_allclose(np.linalg.eigvals(fitted.A[1]), np.linalg.eigvals(p.A), atol=1e-3)


def test_windows_cover_a_run_and_are_at_most_so_long():
    run = signal(1000)
    pieces = side_by_side([run], 300)
    np.testing.assert_array_equal(np.concatenate([p.y for p in pieces]), run.y)
    assert {len(p.y) for p in overlapping([run], 150)} == {150}
    assert {len(p.y) for p in overlapping([run])} == {600}


# ---------------------------------------------------------------------- L-BFGS


def bowls(x):
    """Rosenbrock's function from several starts, and one that ends at a cliff."""
    a, b = x.T
    value = (1 - a) ** 2 + 100 * (b - a**2) ** 2
    slope = np.stack([-2 * (1 - a) - 400 * a * (b - a**2), 200 * (b - a**2)], axis=1)
    return np.where(b > 4.0, np.nan, value), slope


def test_minima_are_those_of_scipy_and_a_cliff_is_not_crossed():
    start = np.array([[-1.2, 1.0], [2.0, 3.9], [0.0, 0.0]])
    (end,), (value,) = minimise(bowls, start, 300)
    one = minimize(lambda x: bowls(x[None])[0][0], start[0], jac=lambda x: bowls(x[None])[1][0])
    np.testing.assert_allclose(end, np.tile(one.x, (3, 1)), atol=1e-4)
    assert np.all(value < 1e-7)


def test_snapshots_come_first_and_never_get_worse():
    start = np.array([[-1.2, 1.0], [1.0, 1.0]])
    points, values = minimise(bowls, start, 100, (1, 10, 30))
    assert len(points) == len(values) == 4
    np.testing.assert_array_equal(points[0], start)
    assert np.all(np.diff(np.array(values), axis=0) <= 0.0)
    np.testing.assert_array_equal(points[-1][1], [1.0, 1.0])
