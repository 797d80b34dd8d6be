"""The page of metrics names every metric of the table, and how to read it."""

from pathlib import Path

import pytest

from gpssm.metrics import metrics

PAGE = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text(encoding="utf-8")
WORDS = {"lower": "lower", "higher": "higher", "nominal": "near"}


@pytest.mark.parametrize("metric", metrics().values(), ids=lambda each: each.name)
def test_every_metric_has_its_row(metric):
    rows = [line for line in PAGE.splitlines() if line.startswith(f"| `{metric.name}` |")]
    assert len(rows) == 1
    assert WORDS[metric.better] in rows[0].split("|")[3]
