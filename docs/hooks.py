"""A hook of MkDocs: takes the marks that only the tests read off the code blocks."""

import re
from typing import Any

# `text output` is what the block before it prints, `toml NAME` is a file of that name.
_MARKS = re.compile(r"^```(text output|toml \S+)$", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """The page as MkDocs should see it."""
    return _MARKS.sub(lambda found: f"```{found[1].split()[0]}", markdown)
