"""The report in a real browser: it loads alone, answers the mouse, fits the screen, and prints.

Needs Chromium: `apt-get install chromium`, or a path in GPSSM_CHROMIUM. Without it the tests are
skipped, or fail where GPSSM_NO_SKIP is set, as `.ci/run` does on a build machine.
"""

import os
import re
import shutil
from dataclasses import replace

import pytest
from playwright.sync_api import sync_playwright

from gpssm.report import html
from gpssm.report.findings import caution
from gpssm.report.traces import Chart, axis, band, bars, line, points
from gpssm.report.verdict import Reason, Verdict
from gpssm.workflow.folder import open_folder
from gpssm.workflow.scoring import write_report
from support_tools import NO_SKIP, missing_tool

NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = os.environ.get("GPSSM_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
WANTED = "no Chromium: install it with `apt-get install chromium`, or set GPSSM_CHROMIUM"
# Skipped here, before the run is fitted that the report is about.
pytestmark = pytest.mark.skipif(not CHROMIUM and not NO_SKIP, reason=WANTED)
CHARTS = 11
# A model of a few training steps need not settle after a step.
DRAWN = "[data-chart]:has(.main-svg), [data-chart=frequency]:has(.failed)"
PATIENCE = 60_000  # milliseconds: other tests may keep the machine busy
SIZES = {"laptop": (1280, 900), "phone": (390, 844)}


@pytest.fixture(scope="module")
def browser():
    if not CHROMIUM:
        missing_tool(WANTED)
    with sync_playwright() as playwright:
        # Chromium refuses its sandbox to root, which is who runs the tests in a container.
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def open_page(browser, folder):
    """Opens the report once for each screen; notes what the console and the network saw."""
    pages = {}

    def opened(size="laptop", scheme="light"):
        if (size, scheme) not in pages:
            pages[size, scheme] = load_page(browser, folder / "report.html", size, scheme)
        return pages[size, scheme]

    return opened


def load_page(browser, path, size, scheme):
    width, height = SIZES[size]
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    page.set_default_timeout(PATIENCE)
    page.complaints, page.fetched = [], []
    page.on("console", lambda message: page.complaints.append(message.text))
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.on("request", lambda request: page.fetched.append(request.url))
    page.goto(path.as_uri(), timeout=PATIENCE)
    page.wait_for_selector("html[data-ready=yes]")
    return page


# What logs call their columns, and what an attacker would.
NAMES_OF_CHANNELS = (
    "two  spaces", "line\nbreak", "tab\there", "@ink", "@", "$x^2$ costs 5 $", "%{y} of %{x}",
    "<b>bold</b><br>", '<a href="https://example.org">link</a>', "100 %", "<!-- ",
    "</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "&lt;i&gt;",
    "=cmd|' /C calc'!A0", "a|b", "'\"`\\",
    "constructor", "Größe/°C 温度 🌡", "x" * 500,
)  # fmt: skip


def shown_as(name):
    """How a chart writes a name: what it has no room for is cut."""
    name = re.sub(r"\s", " ", name).strip()
    return name if len(name) <= 48 else f"{name[:47]}…"


def named_chart(i, name):
    """A chart with this name wherever a chart has names."""
    data = [
        *band([0, 1], [0, 0], [1, 2], name, "@band95"),
        line([0, 1], [1, 2], name, "@blue"),
        points([0, 1], [1, 1], name, {"color": "@red"}),
        bars([0, 1], [1, 1], name, ["@red", "@blue"], "%{y}"),
    ]
    layout = {"xaxis": axis(name), "yaxis": axis("y"), "hovermode": "x unified"}
    figures = {(j,): {"data": data, "layout": layout} for j in range(2)}
    return Chart(f"chart-{i}", figures, (("name", ["other", name]),))


@pytest.fixture(scope="module")
def named_page(browser, tmp_path_factory):
    """One chart for every name."""
    charts = [named_chart(i, name) for i, name in enumerate(NAMES_OF_CHANNELS)]
    cards = [html.card(chart, name, name) for chart, name in zip(charts, NAMES_OF_CHANNELS)]  # noqa: B905
    path = tmp_path_factory.mktemp("names") / "names.html"
    path.write_text(html.page("names", cards, charts), encoding="utf-8")
    page = load_page(browser, path, "laptop", "light")
    yield page
    page.close()


@pytest.mark.parametrize("i", range(len(NAMES_OF_CHANNELS)))
def test_a_chart_shows_any_name_as_it_is(named_page, i):
    page, name = named_page, NAMES_OF_CHANNELS[i]
    chart = page.locator(f"[data-chart=chart-{i}]")
    for choice in (0, 1):  # the second option has the name itself
        chart.locator("select").select_option(index=choice)
        page.wait_for_selector(f"[data-chart=chart-{i}] .xtitle")
        assert chart.locator(".xtitle").text_content() == shown_as(name)
    legend = chart.locator(".legendtext").all_text_contents()
    assert legend == [shown_as(name)] * 4
    box = chart.locator(".nsewdrag").first
    box.scroll_into_view_if_needed()
    box.hover()
    page.wait_for_selector(f"[data-chart=chart-{i}] .hoverlayer text")
    assert shown_as(name) in chart.locator(".hoverlayer").text_content()


def test_no_name_is_a_link_or_markup(named_page):
    page = named_page
    assert page.locator("figure a, figure b, figure img").count() == 0
    assert page.locator("script").count() == 4
    assert page.complaints == []
    assert [url[:5] for url in page.fetched] == ["file:"]


def test_a_chart_that_fails_says_so_and_the_others_are_drawn(browser, tmp_path):
    good = named_chart(1, "good")
    broken = Chart("broken", {(): {"data": [{"type": "scatter"}], "layout": None}})
    charts = [broken, good]
    path = tmp_path / "page.html"
    path.write_text(html.page("one fails", [html.card(c, "", "") for c in charts], charts))
    page = load_page(browser, path, "laptop", "light")
    assert "could not be drawn" in page.locator("[data-chart=broken]").inner_text()
    assert page.locator("[data-chart=chart-1] .main-svg").count() > 0
    page.close()


def test_a_sentence_stands_where_there_is_no_chart(browser, tmp_path):
    good = named_chart(1, "good").variants[0,]
    chart = Chart(
        "words", {(0,): {"text": "It <b>diverges</b>."}, (1,): good}, (("of", ["a", "b"]),)
    )
    path = tmp_path / "page.html"
    path.write_text(html.page("a sentence", [html.card(chart, "", "")], [chart]))
    page = load_page(browser, path, "laptop", "light")
    card = page.locator("[data-chart=words]")
    for place, drawn in ((0, False), (1, True), (0, False)):
        card.locator("select").select_option(index=place)
        page.wait_for_function(
            f"() => {str(drawn).lower()} === !!document.querySelector('.plot .main-svg')"
        )
        assert ("It <b>diverges</b>." in card.inner_text()) != drawn
    assert page.complaints == []
    page.close()


@pytest.mark.parametrize("size", SIZES)
def test_a_long_name_widens_no_page(browser, tmp_path, size):
    words = f"Forecasts of {'x' * 500} lie above the measurements."
    reason = Verdict("use with care", (Reason("bias", words),), f"gpssm report {'y' * 500}")
    body = [html.verdict(reason), html.findings([caution("bias", words)])]
    path = tmp_path / "page.html"
    path.write_text(html.page("a long name", body, []), encoding="utf-8")
    page = load_page(browser, path, size, "light")
    assert page.evaluate("document.documentElement.scrollWidth") <= SIZES[size][0]
    page.close()


def test_the_next_command_is_copied_with_its_blanks_and_breaks_between_words(browser, tmp_path):
    command = "gpssm fit --config 'runs/two  blanks/config.toml' --starts 3 --out 'runs/a-b-c'"
    path = tmp_path / "page.html"
    path.write_text(html.page("next", [html.verdict(Verdict("use", (), command))], []))
    page = load_page(browser, path, "phone", "light")
    code = page.locator("#verdict code")
    assert code.inner_text() == command
    tops = code.evaluate("e => [...e.children].map(w => w.getClientRects().length)")
    assert set(tops) == {1}  # no word is broken
    page.close()


def test_a_phone_shows_all_columns_of_the_scores(browser, tmp_path):
    header = ["all outputs, in units of their standard deviation", "cbf-ssm-50, seed 0"]
    table = html.table(
        [*header, "constant mean", "linear ARX"], [["log-likelihood", *["-16927.9"] * 3]]
    )
    path = tmp_path / "page.html"
    path.write_text(html.page("scores", [table], []))
    page = load_page(browser, path, "phone", "light")
    assert page.locator(".scroll").evaluate("e => e.scrollWidth <= e.clientWidth")
    page.close()


def test_a_report_with_odd_names_has_all_of_its_charts(browser, folder, tmp_path):
    """Two spaces or a line break in one name once left the page without any chart."""
    found = open_folder(folder)
    odd = replace(
        found.data, input_names=("@pump  1\n",), output_names=("<a href='x'>%{y}</a>  level",)
    )
    path = write_report(found.runs[0], odd, tmp_path / "page.html", scoring=found.score())
    page = load_page(browser, path, "laptop", "light")
    page.locator("summary", has_text="Training curves").click()
    page.wait_for_selector("[data-chart=training] .main-svg")
    assert page.locator(DRAWN).count() == CHARTS
    assert page.locator("[data-chart] a[href]").count() == 0
    assert page.complaints == []
    page.close()


RANGE = "document.querySelector('[data-chart=forecast] .plot').layout.xaxis.range"


def axis_range(page):
    return page.evaluate(RANGE)


def forecast_box(page):
    """Where the forecast is drawn, after it was scrolled to: a mouse reaches only what is seen."""
    place = page.locator("[data-chart=forecast] .nsewdrag").first
    place.scroll_into_view_if_needed()
    return place.bounding_box()


def test_no_button_sends_the_data_anywhere(open_page):
    titles = open_page().evaluate(
        "[...document.querySelectorAll('.modebar-btn')].map(button => button.dataset.title)"
    )
    assert "Zoom" in titles
    assert not [title for title in titles if "hare" in title or "loud" in title]


def test_the_buttons_are_beside_the_legend_and_not_on_a_phone(open_page):
    script = """() => [...document.querySelectorAll("[data-chart=forecast] .modebar, "
        + "[data-chart=forecast] .legend")].map(each => each.getBoundingClientRect().toJSON())"""
    places = open_page().evaluate(script)
    assert len(places) == 2
    upper, lower = sorted(places, key=lambda place: place["top"])
    assert upper["bottom"] <= lower["top"] or upper["left"] >= lower["right"]
    ground = "getComputedStyle(document.querySelector('.modebar-group')).backgroundColor"
    assert open_page().evaluate(ground) == "rgba(0, 0, 0, 0)"
    assert open_page("phone").locator(".modebar-btn").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_it_loads_alone_and_fits_the_screen(open_page, size, scheme):
    page = open_page(size, scheme)
    assert page.complaints == []
    assert [url[:5] for url in page.fetched] == ["file:"]
    assert page.evaluate("document.documentElement.scrollWidth") <= SIZES[size][0]
    assert page.locator("[data-chart]").count() == CHARTS
    page.locator("summary", has_text="Training curves").click()
    page.wait_for_selector("[data-chart=training] .main-svg")
    assert page.locator(DRAWN).count() == CHARTS
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    brightness = sum(int(n) for n in re.findall(r"\d+", ground)[:3]) / 3
    assert brightness > 200 if scheme == "light" else brightness < 60


def test_names_that_look_like_markup_are_text(open_page):
    page = open_page()
    assert page.locator("h1").inner_text() == "tiny <run>"
    assert page.locator("run").count() == 0


def test_dragging_zooms_and_the_button_goes_back(open_page):
    page = open_page()
    before, box = axis_range(page), forecast_box(page)
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 0.4 * box["width"], middle)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.7 * box["width"], middle, steps=8)
    page.mouse.up()
    page.wait_for_function(f"() => {RANGE}[0] !== {before[0]}")
    wide = before[1] - before[0]
    # Exactly the part that was dragged over, but for the width of a pixel or two.
    wanted = [before[0] + share * wide for share in (0.4, 0.7)]
    assert axis_range(page) == pytest.approx(wanted, abs=0.01 * wide)
    page.locator("[data-chart=forecast] .modebar-btn[data-title='Reset axes']").click()
    page.wait_for_function(f"() => {RANGE}[0] < {wanted[0] - 0.01 * wide}")
    assert axis_range(page) == pytest.approx(before)


def test_the_mouse_reads_values_off_the_forecast(open_page):
    page = open_page()
    box = forecast_box(page)
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 0.5 * box["height"])
    page.wait_for_selector("[data-chart=forecast] .hoverlayer text")
    words = page.locator("[data-chart=forecast] .hoverlayer").text_content()
    for name in ("95% band", "50% band", "forecast", "measured"):
        assert name in words


def test_the_legend_hides_a_line(open_page):
    page = open_page()
    visible = (
        "() => document.querySelector('[data-chart=forecast] .plot')"
        "._fullData.find(trace => trace.name === 'measured').visible"
    )
    assert page.evaluate(visible) is True
    entry = page.locator("[data-chart=forecast] .legend .traces", has_text="measured")
    entry.locator(".legendtoggle").click()
    page.wait_for_function(f"() => ({visible})() === 'legendonly'")


def test_choosing_an_axis_draws_another_slice(open_page):
    page = open_page()
    title = "[data-chart=slices] .xtitle"
    assert page.locator(title).text_content() == "level [cm]"
    page.locator("[data-chart=slices] select").nth(1).select_option("pump [V]")
    page.wait_for_function(
        "() => document.querySelector('[data-chart=slices] .xtitle').textContent === 'pump [V]'"
    )


def test_it_prints_on_white_paper(open_page, tmp_path):
    page = open_page(scheme="dark")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.locator("nav").is_visible()
    page.pdf(path=tmp_path / "report.pdf")
    pages = re.findall(rb"/Type\s*/Page\b", (tmp_path / "report.pdf").read_bytes())
    assert 3 <= len(pages) <= 14


PAPER = 688  # CSS pixels between the margins of A4
RIGHT = "() => Math.max(...[...document.querySelectorAll('{0}')].map(each => each.{1}))"
EDGE = "getBoundingClientRect().right"


@pytest.fixture
def on_paper(browser):
    """A page as it is laid out for A4, with what its script does before printing done."""

    def laid_out(path):
        page = load_page(browser, path, "laptop", "light")
        page.set_viewport_size({"width": PAPER, "height": 1000})
        page.emulate_media(media="print")
        page.evaluate("() => { window.dispatchEvent(new Event('beforeprint')); }")
        page.wait_for_function(f"() => ({RIGHT.format('.main-svg', EDGE)})() <= {PAPER}")
        return page

    return laid_out


def test_nothing_is_cut_off_at_the_right_edge_of_the_paper(folder, on_paper):
    page = on_paper(folder / "report.html")
    for kind in ("table", "pre", "figure", ".main-svg"):
        assert page.evaluate(RIGHT.format(kind, EDGE)) <= PAPER, kind
    assert page.evaluate("() => [...document.querySelectorAll('details')].every(d => d.open)")
    assert page.locator("pre", has_text="dim_x = 2").is_visible()
    page.close()


def test_a_table_too_wide_for_the_paper_breaks_its_words(on_paper, tmp_path):
    """As wide as that of a run with many outputs, or of many compared runs."""
    header = [f"a_long_name_without_blanks_{i}" for i in range(12)]
    text = html.page("wide", [html.table(header, [["-1234.5678"] * 12] * 3)], [])
    path = tmp_path / "wide.html"
    path.write_text(text, encoding="utf-8")
    page = on_paper(path)
    assert page.evaluate(RIGHT.format("td", EDGE)) <= PAPER
    page.close()


def test_a_phone_scrolls_over_charts_in_place_of_zooming(open_page):
    page = open_page("phone")
    script = "() => document.querySelector('[data-chart=forecast] .plot').layout.dragmode"
    assert page.evaluate(script) is False
