"""The text of a page: what is inside of it, and that no text of the user becomes markup."""

import hashlib
import json
import re
from pathlib import Path

import numpy as np
import pytest

import gpssm.report
from gpssm.report import html
from gpssm.report.findings import good
from gpssm.report.traces import Chart, line
from gpssm.report.verdict import Reason, Verdict

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


# ---------------------------------------------------------------------- pieces


def test_a_section_a_grid_and_what_is_folded():
    assert html.section("k", "a < b", "1", "2", note="n") == (
        '<section id="k"><h2>a &lt; b</h2><p>n</p>12</section>'
    )
    assert html.section("k", "a", "1") == '<section id="k"><h2>a</h2>1</section>'
    assert html.grid("1", "2") == '<div class="grid">12</div>'
    folded = "<details><summary>a &lt;</summary>12</details>"
    assert html.folded("a <", "1", "2") == folded
    assert html.listing("a <\nb") == "<pre>a &lt;\nb</pre>"
    assert html.links([("k", "a <"), ("l", "b")]) == (
        '<nav><a href="#k">a &lt;</a> <a href="#l">b</a></nav>'
    )
    tiles = '<div class="tile"><b>&lt; 1</b><span>a &lt;</span></div>'
    assert html.tiles([("< 1", "a <")]) == f'<div class="tiles">{tiles}</div>'


def test_a_card_has_a_field_for_every_choice_and_hides_that_of_one():
    chart = Chart("key", {}, (("of <", ["a <", "b"]), ("at", ["c"])), 99, "note <")
    options = "<option value=0>a &lt;</option><option value=1>b</option>"
    fields = f"<label>of &lt; <select>{options}</select></label>"
    fields += "<label hidden>at <select><option value=0>c</option></select></label>"
    plot = '<div class="plot" style="min-height:99px"></div>'
    assert html.card(chart, "t <", "c <", True) == (
        '<figure class="card wide" data-chart="key"><h3>t &lt;</h3>'
        f'<div class="choices">{fields}</div>{plot}'
        "<figcaption>c &lt; note &lt;</figcaption></figure>"
    )
    assert html.card(Chart("key", {}, height=99), "t", "c") == (
        f'<figure class="card" data-chart="key"><h3>t</h3>{plot}<figcaption>c</figcaption></figure>'
    )


def test_the_verdict_has_its_reasons_and_the_next_command_if_there_is_one():
    reasons = Reason("a", "a <"), Reason("b", "b")
    why = "<b>Use with care</b><ul><li>a &lt;</li><li>b</li></ul>"
    start = f'<div class="verdict use-with-care" id="verdict">{why}'
    assert html.verdict(Verdict("use with care", reasons)) == f"{start}</div>"
    command = "<p>Next: <code><span>gpssm</span> <span>&lt;</span></code></p>"
    assert html.verdict(Verdict("use with care", reasons, "gpssm <")) == f"{start}{command}</div>"


def test_findings_have_their_marks():
    assert html.findings([good("data", "a <"), good("data", "b")]) == (
        '<ul class="findings"><li><span class="mark good">good</span><span>a &lt;</span></li>'
        '<li><span class="mark good">good</span><span>b</span></li></ul>'
    )


def test_a_table_has_bold_cells_by_row_and_column():
    found = html.table(["a <", "b"], [["1 <", "2"], ["3", "4"]], {(0, 1)})
    assert found == (
        '<div class="scroll"><table><thead><tr><th>a &lt;</th><th>b</th></tr></thead><tbody>'
        "<tr><td>1 &lt;</td><td class=best>2</td></tr><tr><td>3</td><td>4</td></tr>"
        "</tbody></table></div>"
    )


def inside(page, key):
    """What one of the scripts of a page holds."""
    text = page.split(f'<script id="{key}" type="application/json">')[1].split("</script>")[0]
    assert ": " not in text
    assert ", " not in text
    return json.loads(text)


def test_lists_of_eight_numbers_have_a_place_of_their_own():
    kept = {
        "seven": [*range(7)], "texts": [*"abcdefgh"], "switches": [True] * 8,
        "nested": [[1, 2], [3]], "single": 1.5,
    }  # fmt: skip
    moved = {"eight": (1.5, None, *range(6)), "again": [1.5, None, *range(6)], "other": [*range(8)]}
    page = html.page("a < b", ["<p>1</p>", "<p>2</p>"], [Chart("one", {(): kept | moved})])
    places = {"eight": {"array": 0}, "again": {"array": 0}, "other": {"array": 1}}
    assert inside(page, "charts") == {"one": {"height": 320, "variants": {"": kept | places}}}
    assert inside(page, "arrays") == [[1.5, None, 0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5, 6, 7]]
    assert "<title>a &lt; b</title>" in page
    assert "<p>1</p>\n<p>2</p>" in page
    assert f'content="gpssm {gpssm.__version__}"' in page
    for name in ("page.css", "page.js"):
        assert BUNDLE.parents[1].joinpath(name).read_text(encoding="utf-8") in page


def test_a_number_that_json_has_not_is_refused():
    with pytest.raises(ValueError, match="not JSON compliant"):
        html.page("a", [], [Chart("one", {(): {"x": float("nan")}})])
