"""Results in a page of the documentation, between two marks."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "robustness.md"


def update(name: str, text: str, page: Path = PAGE) -> None:
    """Replace what stands between the marks of this name; add them at the end of a new page."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    now = page.read_text(encoding="utf-8") if page.is_file() else "# Robustness\n"
    block = f"{begin}\n\n## {name.capitalize()}\n\n{text.strip()}\n\n{end}"
    if begin in now:
        now = re.sub(re.escape(begin) + ".*?" + re.escape(end), lambda _: block, now, flags=re.S)
    else:
        now = f"{now.rstrip()}\n\n{block}\n"
    page.write_text(now, encoding="utf-8")
