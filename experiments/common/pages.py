"""Parts of the pages that experiments write: titles, places between markers, axes."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .files import ROOT, write_text

MISSING, DIVERGED = "–", "diverged"
TITLES = {
    "pr-ssm": "PR-SSM",
    "vcdt": "VCDT",
    "cbf-ssm-1": "CBF-SSM-1",
    "cbf-ssm-50": "CBF-SSM-50",
    "cbf-ssm-1s": "CBF-SSM-1S",
    "constant-mean": "constant mean",
    "arx": "linear ARX",
    "n4sid": "N4SID",
    "gru": "GRU",
}


def is_published(results: Path) -> bool:
    """Whether these are the results of the repository, from which its documentation is made."""
    return results.resolve() == (ROOT / "results").resolve()


def publish(results: Path, page: Path, body: str, name: str = "generated") -> list[Path]:
    """Into a page of the documentation, if the results are those of the repository."""
    if not is_published(results):
        return []
    write_text(page, between_markers(page.read_text(encoding="utf-8"), body, name))
    return [page]


def between_markers(page: str, body: str, name: str = "generated") -> str:
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    if begin not in page or end not in page:
        raise SystemExit(f"page: got no {begin} … {end}, expected a place for the tables")
    fresh = f"{begin}\n\n{body}\n\n{end}"
    return re.sub(f"{begin}.*{end}", lambda _: fresh, page, flags=re.DOTALL)


def plain_ticks(axis: Any, values: Sequence[float]) -> None:
    """These numbers, as people write them, and no others."""
    axis.set_ticks(values, labels=[f"{value:g}" for value in values])
    axis.set_ticks([], minor=True)


def pictures(results: Path) -> Path:
    """The folder of pictures: that of the documentation, if the results are the repository's."""
    return ROOT / "docs" / "images" if is_published(results) else results / "figures"
