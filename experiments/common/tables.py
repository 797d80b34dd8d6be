"""Tables of a study, in Markdown."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]], words: int = 1) -> str:
    """Rows under a header; the first `words` columns are aligned to the left, numbers right."""
    rule = ["---"] * words + ["---:"] * (len(header) - words)
    return "\n".join(f"| {' | '.join(row)} |" for row in (header, rule, *rows))


def mean_std(values: Sequence[float]) -> str:
    """`mean (std)` over several runs, the standard deviation that of a sample; one run has none."""
    mean = _decimals(float(np.mean(values)))
    return mean if len(values) < 2 else f"{mean} ({_decimals(float(np.std(values, ddof=1)))})"


def best_within_std(runs: Mapping[str, Sequence[float]]) -> set[str]:
    """Names whose mean is within one standard deviation of the least mean; lower is better."""
    if not runs:
        return set()
    means = {name: float(np.mean(values)) for name, values in runs.items()}
    first = min(means, key=lambda name: means[name])
    spread = float(np.std(runs[first], ddof=1)) if len(runs[first]) > 1 else 0.0
    return {name for name, mean in means.items() if mean <= means[first] + spread}


def _decimals(value: float) -> str:
    """Three decimals as in the paper; large values as powers of ten."""
    return f"{value:.3f}" if abs(value) < 1000 else f"{value:.1e}"
