"""The cost study: what its page computes from times. A test of the command line measures some."""

import pytest
from experiments.cost import __main__ as cost

VERSIONS = {"jax": "1.2.3", "machine": "a machine"}


def records(seconds):
    """By method and length: seconds per step; a forecast takes ten times as long."""
    return [
        {
            "variant": title,
            "length": length,
            "seconds per step": value,
            "seconds per forecast": 10 * value,
        }
        for (title, length), value in seconds.items()
    ]


def test_growth_is_the_power_of_the_length():
    assert cost.growth({50: 0.1, 100: 0.2, 200: 0.4}) == pytest.approx(1.0)
    assert cost.growth({50: 0.1, 100: 0.4}) == pytest.approx(2.0)


def test_the_page_has_ratios_to_the_method_without_a_backward_pass():
    times = {
        ("PR-SSM", 50): 0.010, ("PR-SSM", 100): 0.020,
        ("CBF-SSM-50", 50): 0.025, ("CBF-SSM-50", 100): 0.060,
    }  # fmt: skip
    page = cost.page(records(times), VERSIONS)
    assert "| PR-SSM | 10.0 | 20.0 | 1.00 | T^1.00 |" in page
    assert "| CBF-SSM-50 | 25.0 | 60.0 | 2.75 | T^1.26 |" in page
    assert "| CBF-SSM-50 | 250 |" in page


def test_the_first_chunk_compiles_and_does_not_count():
    watch = cost.Stopwatch()
    watch.times = [0.0, 100.0, 105.0, 111.0]
    assert watch.seconds_per_step == pytest.approx(5.0 / cost.CHUNK)
    calls = []
    assert cost.least(lambda: calls.append(1)) >= 0.0
    assert len(calls) == 1 + cost.REPEATS
