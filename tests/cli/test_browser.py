"""The report in a real browser: it loads alone, answers the mouse, fits the screen, and prints.

Needs Chromium: `apt-get install chromium`, or a path in GPSSM_CHROMIUM. Without it the tests are
skipped, or fail where GPSSM_NO_SKIP is set, as `.ci/run` does on a build machine.
"""

import os
import re
import shutil

import pytest
from playwright.sync_api import sync_playwright

from gpssm.report import html
from support_tools import NO_SKIP, missing_tool

NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = os.environ.get("GPSSM_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
WANTED = "no Chromium: install it with `apt-get install chromium`, or set GPSSM_CHROMIUM"
# Skipped here, before the run is fitted that the report is about.
pytestmark = pytest.mark.skipif(not CHROMIUM and not NO_SKIP, reason=WANTED)
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


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_it_loads_alone_and_fits_the_screen(open_page, size, scheme):
    page = open_page(size, scheme)
    assert page.complaints == []
    assert [url[:5] for url in page.fetched] == ["file:"]
    assert page.evaluate("document.documentElement.scrollWidth") <= SIZES[size][0]
    charts = page.locator("[data-chart]").count()
    assert charts == 9
    assert page.locator("[data-chart] .main-svg").count() >= charts
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
