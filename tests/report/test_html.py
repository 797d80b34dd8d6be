"""The text of a page: what is inside of it, and that no text of the user becomes markup."""

import hashlib
import json
import re
from pathlib import Path

import numpy as np
import pytest

import gpssm.report
from gpssm.report import html
from gpssm.report.traces import Chart, line

BUNDLE = Path(gpssm.report.__file__).parent / "plotly" / "plotly-basic.min.js"
# of package/plotly-basic.min.js in plotly.js-basic-dist-min 4.1.1
PUBLISHED = "99784e3abfb07b142a15e521a439e6d9addceadb3f79553fd24c72774f0649ba"
HOSTILE = "</script><script>document.title='taken'</script><!-- <b>&amp;"


def page_of(name):
    """A page with one chart, in which every text that a user can give is this one."""
    figure = {"data": [line([0, 1], [1, 2], name, "@blue")], "layout": {"title": name}}
    chart = Chart("one", {(0,): figure}, ((name, [name]),), note=name)
    body = [html.section("a", name, html.card(chart, name, name), html.table([name], [[name]]))]
    return html.page(name, body, [chart])


def test_plotly_is_the_published_file_and_can_stand_inside_of_a_script():
    content = BUNDLE.read_bytes()
    assert hashlib.sha256(content).hexdigest() == PUBLISHED
    assert not re.search(rb"</script|<script|<!--", content, re.IGNORECASE)
    assert (BUNDLE.parent / "LICENSE").read_text().startswith("MIT License")


def test_no_name_ends_the_script_that_holds_the_charts():
    page = page_of(HOSTILE)
    text = page.split('<script id="charts" type="application/json">')[1].split("</script>")[0]
    assert "<" not in text
    assert HOSTILE in json.dumps(json.loads(text), ensure_ascii=False)


def test_numbers_that_lines_share_stand_once_in_the_page():
    """Time is the same for all lines of all outputs: repeated, it fills most of a page."""
    x, y = np.linspace(0.0, 7.0, 60), np.linspace(3.0, 4.0, 60)
    lines = [line(x, y, "a", "@blue"), line(x, -y, "b", "@red")]
    chart = Chart("one", {(d,): {"data": lines, "layout": {}} for d in range(9)})
    page = html.page("shared", [], [chart])
    assert page.count("6.7627,") == page.count(",3.9661,") == page.count("-3.9661,") == 1
    charts, arrays = (
        json.loads(page.split(f'<script id="{key}" type="application/json">')[1].split("<")[0])
        for key in ("charts", "arrays")
    )
    second = charts["one"]["variants"]["8"]["data"][1]
    assert arrays[second["x"]["array"]] == pytest.approx(x, abs=1e-4)
    assert arrays[second["y"]["array"]] == pytest.approx(-y, abs=1e-4)


def test_no_name_is_markup():
    page, own = page_of(HOSTILE), page_of("name")
    assert page.count("<script") == own.count("<script") == 4
    assert page.count("<b>") == own.count("<b>")


@pytest.mark.parametrize("missing", [float("nan"), float("inf")])
def test_what_is_not_finite_is_a_gap(missing):
    assert line([0, 1], [1, missing], "a", "@blue")["y"] == [1.0, None]
