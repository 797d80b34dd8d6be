"""Pieces of HTML, and the one file that they become. Every text is escaped here."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from gpssm.base.version import __version__
from gpssm.evaluation.scoring import Evaluation

from .findings import Finding
from .tables import score_blocks
from .traces import Chart
from .verdict import Verdict

_HERE = Path(__file__).parent
_LONG = 8  # numbers of an array that is worth a place of its own


def page(title: str, body: Iterable[str], charts: Iterable[Chart]) -> str:
    """A self-contained page: style, script, data and plotly.js inside, nothing to fetch."""
    arrays: dict[tuple[float | None, ...], int] = {}
    content = {chart.key: _with_places(chart.to_json(), arrays) for chart in charts}
    return Template(_read("page.html")).substitute(
        title=escape(title),
        version=__version__,
        style=_read("page.css"),
        body="\n".join(body),
        charts=_as_script(content),
        arrays=_as_script(list(arrays)),
        plotly=_read("plotly/plotly-basic.min.js"),
        script=_read("page.js"),
    )


def _with_places(value: Any, arrays: dict[tuple[float | None, ...], int]) -> Any:
    """The value with {"array": place} for each list of numbers, which is kept once in `arrays`."""
    if isinstance(value, dict):
        return {key: _with_places(each, arrays) for key, each in value.items()}
    if not isinstance(value, list | tuple):
        return value
    if len(value) < _LONG or not all(v is None or type(v) in (int, float) for v in value):
        return [_with_places(each, arrays) for each in value]
    return {"array": arrays.setdefault(tuple(value), len(arrays))}


def _as_script(content: Any) -> str:
    """JSON without blanks, in which no text can end the script."""
    text = json.dumps(content, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


def section(key: str, title: str, *content: str, note: str = "") -> str:
    """A heading, a paragraph about what follows, and what follows."""
    words = f"<p>{note}</p>" if note else ""
    return f'<section id="{key}"><h2>{escape(title)}</h2>{words}{"".join(content)}</section>'


def grid(*cards: str) -> str:
    """Cards side by side where the screen is wide enough."""
    return f'<div class="grid">{"".join(cards)}</div>'


def card(chart: Chart, title: str, caption: str, wide: bool = False) -> str:
    """The place of a chart, with what the reader may choose."""
    fields = "".join(_choice(label, names) for label, names in chart.choices)
    choices = f'<div class="choices">{fields}</div>' if fields else ""
    kind = "card wide" if wide else "card"
    words = f"{escape(caption)} {escape(chart.note)}".strip()
    return (
        f'<figure class="{kind}" data-chart="{chart.key}"><h3>{escape(title)}</h3>{choices}'
        f'<div class="plot" style="min-height:{chart.height}px"></div>'
        f"<figcaption>{words}</figcaption></figure>"
    )


def tiles(pairs: Iterable[tuple[str, str]]) -> str:
    """Large numbers with small words below."""
    inside = "".join(
        f'<div class="tile"><b>{escape(value)}</b><span>{escape(words)}</span></div>'
        for value, words in pairs
    )
    return f'<div class="tiles">{inside}</div>'


def verdict(given: Verdict) -> str:
    """The verdict in its colour, why, and the next command."""
    kind = given.level.replace(" ", "-")
    why = "".join(f"<li>{escape(each.text)}</li>" for each in given.reasons)
    words = " ".join(f"<span>{escape(word)}</span>" for word in given.next_step.split(" "))
    command = f"<p>Next: <code>{words}</code></p>" if given.next_step else ""
    return (
        f'<div class="verdict {kind}" id="verdict"><b>{given.level.capitalize()}</b>'
        f"<ul>{why}</ul>{command}</div>"
    )


def findings(found: Iterable[Finding]) -> str:
    """The list of what to trust."""
    items = "".join(
        f'<li><span class="mark {each.mark}">{each.mark}</span>'
        f"<span>{escape(each.text)}</span></li>"
        for each in found
    )
    return f'<ul class="findings">{items}</ul>'


def table(
    header: Sequence[str], rows: Iterable[Sequence[str]], bold: Collection[tuple[int, int]] = ()
) -> str:
    """A table that scrolls where the screen is narrow; `bold` cells by row and column."""
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    lines = []
    for i, row in enumerate(rows):
        kinds = (" class=best" if (i, j) in bold else "" for j in range(len(row)))
        cells = "".join(f"<td{kind}>{escape(c)}</td>" for kind, c in zip(kinds, row, strict=True))
        lines.append(f"<tr>{cells}</tr>")
    body = "".join(lines)
    inside = f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
    return f'<div class="scroll"><table>{inside}</table></div>'


def score_tables(
    models: Mapping[str, Evaluation], units: Sequence[str], comparable: bool = True
) -> str:
    """The scores of several models, one table for each output.

    The best values are bold, where all models forecast the same rows: if they are `comparable`.
    """
    found = []
    for heading, rows in score_blocks(list(models.values()), units):
        bold = {
            (i, 1 + row.best) for i, row in enumerate(rows) if comparable and row.best is not None
        }
        cells = [(row.label, *row.cells) for row in rows]
        found.append(table((heading or "", *models), cells, bold))
    return "".join(found)


def folded(title: str, *content: str) -> str:
    """What opens on demand."""
    return f"<details><summary>{escape(title)}</summary>{''.join(content)}</details>"


def listing(text: str) -> str:
    """A text as it was written, line by line."""
    return f"<pre>{escape(text)}</pre>"


def links(pairs: Iterable[tuple[str, str]]) -> str:
    """The sections, side by side."""
    words = " ".join(f'<a href="#{key}">{escape(name)}</a>' for key, name in pairs)
    return f"<nav>{words}</nav>"


def _choice(label: str, names: Sequence[str]) -> str:
    options = "".join(f"<option value={i}>{escape(name)}</option>" for i, name in enumerate(names))
    hidden = " hidden" if len(names) == 1 else ""
    return f"<label{hidden}>{escape(label)} <select>{options}</select></label>"


def _read(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")
