"""The page in a real browser: Chromium, without a window."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest
from pages import LABELS, NASTY, nasty_table

from cdvm import CDVM

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
if CHROMIUM is None:
    pytest.skip("there is no Chromium to open pages in: install Debian's chromium", allow_module_level=True)
playwright = pytest.importorskip(
    "playwright.sync_api", reason="playwright, which drives the browser, is missing"
)

CHOSEN = [12, 30]


@pytest.fixture(scope="module")
def path(tmp_path_factory) -> Path:
    table = nasty_table()
    pruner = CDVM("logistic", effort="low", n_models=150, inclusion=0.15, n_jobs=1, random_state=0)
    pruner.fit(table.drop(columns="label"), table["label"])
    out = tmp_path_factory.mktemp("page") / "report.html"
    return pruner.report(out, pruner.select(CHOSEN), table=table, groups=table["group"], name=NASTY)


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as running:
        started = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])  # root has none
        yield started
        started.close()


@pytest.fixture
def open_page(browser, path):
    """Opens the page; at the end it must not have complained, asked the network or run what it shows."""
    opened, wrong = [], []

    def call(**options):
        page = browser.new_context(**options).new_page()
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: (wrong.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda asked: wrong.append(asked.url) if asked.url != path.as_uri() else None)
        page.goto(path.as_uri())
        opened.append(page)
        return page

    yield call
    for page in opened:
        page.context.close()
    assert wrong == []


@pytest.fixture
def page(open_page):
    return open_page(viewport={"width": 1280, "height": 900})


def plane_of(page):
    return json.loads(page.locator("#plane").text_content())


def point(page, row: int):
    """Where a row is on the screen."""
    plane = plane_of(page)
    k = plane["row"].index(row)
    page.locator("#map").scroll_into_view_if_needed()
    return page.evaluate(
        "([x, y]) => { const m = document.getElementById('map').getScreenCTM();"
        " const p = new DOMPoint(22 + x * .596, 458 - y * .436).matrixTransform(m); return [p.x, p.y] }",
        [plane["x"][k], plane["y"][k]],
    )


def test_every_chart_is_drawn(page):
    sizes = page.locator("svg.chart").evaluate_all(
        "all => all.map(s => [s.getBBox().width, s.querySelectorAll('circle').length])"
    )
    assert sizes
    assert all(width > 200 and marks == 2 * len(CHOSEN) for width, marks in sizes)  # kept and random
    assert page.locator("#map circle.point").count() == 120
    assert page.locator("#map circle.kept").count() == CHOSEN[0]
    page.get_by_label("25.0% · 30 rows").check()
    assert page.locator("#map circle.kept").count() == CHOSEN[1]
    page.locator("#dropped").uncheck()
    assert page.locator("#map circle.point").count() == CHOSEN[1]
    page.locator("#highlight").select_option(label=LABELS[0])
    faded = page.locator("#map circle.faded").count()
    assert 0 < faded < CHOSEN[1]


def test_markup_in_the_table_is_only_shown(page):
    assert page.locator("h1").inner_text() == f"Which rows of {NASTY} should be kept?"
    assert page.locator("script").count() == 2
    page.mouse.move(*point(page, 0))
    assert NASTY in page.locator("#tip").inner_text()
    page.mouse.click(*point(page, 0))
    assert NASTY in page.locator("#panel").inner_text()
    assert page.locator("#panel script, #tip script, #map-legend b").count() == 0


def test_pointing_shows_a_row_and_a_click_what_it_does(page):
    plane = plane_of(page)
    k = plane["kept"][0][2]
    row = plane["row"][k]
    at = point(page, row)
    assert page.locator("#tip").is_hidden()
    page.mouse.move(*at)
    label = plane["classes"][plane["label"][k]]
    assert page.locator("#tip").inner_text().startswith(f"Row {row} · label {label} · kept")
    page.mouse.click(*at)
    told = page.locator("#panel").inner_text()
    assert f"Row {row}" in told
    assert "Does most for" in told
    helped = plane["effects"][str(k)][2][0]
    assert f"row {helped[0]} (" in told
    assert page.locator("#map line.helps").count() == len(plane["effects"][str(k)][2])
    page.locator("#panel button.go").first.click()
    assert page.locator("#panel h3").inner_text().startswith(f"Row {helped[0]} ·")
    page.mouse.move(2, 2)
    assert page.locator("#tip").is_hidden()


def test_a_chart_tells_its_numbers_where_one_points(page):
    mark = page.locator("svg.chart .ours circle").first
    mark.hover()
    assert page.locator("#tip").inner_text() == mark.get_attribute("data-tip")


def test_the_map_can_be_used_without_a_mouse(page):
    page.locator("#map").focus()
    page.keyboard.press("ArrowRight")
    first = page.locator("#map-row").inner_text()
    assert first.startswith("Row ")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.locator("#panel h3").inner_text() == page.locator("#map-row").inner_text()
    page.keyboard.press("Escape")
    assert page.locator("#panel").inner_text() == ""
    page.locator("#goto").fill("7")
    page.locator("#goto").press("Enter")
    assert page.locator("#panel h3").inner_text().startswith("Row 7 ·")
    page.locator("#goto").fill("5000")
    page.locator("#goto").press("Enter")
    assert page.locator("#panel").inner_text() == "Row 5000 is not drawn."


def column(page, k: int) -> list[str]:
    return page.locator(f"#look tbody tr:not([hidden]) > :nth-child({k + 1})").all_inner_texts()


def test_rows_to_look_at_sort_filter_and_go_along(page, tmp_path):
    everything = column(page, 0)
    head = page.locator("#look thead button", has_text="Row").first
    head.click()
    assert column(page, 0) == sorted(everything, key=int)
    assert page.locator("#look thead th").first.get_attribute("aria-sort") == "ascending"
    head.click()
    assert column(page, 0) == sorted(everything, key=int, reverse=True)
    page.get_by_role("button", name="p-value").click()
    numbers = column(page, 4)
    given = [float(p) for p in numbers if p]
    assert given == sorted(given)
    assert numbers[len(given) :] == [""] * (len(numbers) - len(given))  # those without come last
    page.locator("#look-kind").select_option("duplicate")
    assert set(column(page, 1)) == {"duplicate"}
    assert page.locator("#look-count").inner_text() == f"{len(column(page, 0))} of {len(everything)} rows"
    page.locator("#look-kind").select_option("")
    page.locator("#look-search").fill("OTHER LABEL")
    assert set(column(page, 1)) == {"duplicate, other label"}
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download as CSV").click()
    waiting.value.save_as(tmp_path / "look.csv")
    with (tmp_path / "look.csv").open(newline="", encoding="utf-8") as file:
        lines = list(csv.reader(file))
    assert lines[0][:3] == ["Row", "Finding", "Label"]
    assert [line[0] for line in lines[1:]] == column(page, 0)
    page.locator("#look-search").fill("")
    page.locator("#look button.go").first.click()
    assert page.locator("#panel h3").inner_text().startswith(f"Row {column(page, 0)[0]} ·")


def test_a_phone_shows_it_without_scrolling_sideways(open_page):
    page = open_page(viewport={"width": 360, "height": 700}, has_touch=True, is_mobile=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.locator("#map").scroll_into_view_if_needed()
    page.touchscreen.tap(*point(page, 0))
    assert page.locator("#panel h3").inner_text().startswith("Row ")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark_have_contrast(open_page, scheme):
    page = open_page(color_scheme=scheme)
    colours = "(q, what) => getComputedStyle(document.querySelector(q))[what]"
    ground = page.evaluate(f"({colours})('body', 'backgroundColor')")
    parts = ("body", ".note", ".verdict", "a[href]", "thead th")
    inks = [page.evaluate(f"({colours})('{part}', 'color')") for part in parts]
    assert (luminance(ground) > 0.5) == (scheme == "light")
    for ink in inks:
        light, dark = sorted([luminance(ground), luminance(ink)], reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5  # what WCAG asks of text


def luminance(colour: str) -> float:
    parts = [int(word) / 255 for word in colour.removeprefix("rgb(").removesuffix(")").split(",")]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_printed_it_has_all_numbers_and_no_controls(open_page):
    page = open_page(color_scheme="dark")
    page.emulate_media(media="print")
    assert page.locator("nav").is_hidden()
    assert page.locator("#look-controls").is_hidden()
    assert luminance(page.evaluate("getComputedStyle(document.body).backgroundColor")) == 1.0
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert all(page.locator("details").evaluate_all("all => all.map(d => d.open)"))
    assert page.locator("figure table").first.is_visible()
    assert page.pdf().startswith(b"%PDF")


def test_names_and_landmarks_are_there_for_those_who_listen(page):
    for role in ("banner", "navigation", "main", "contentinfo"):
        assert page.get_by_role(role).count() == 1
    unnamed = page.evaluate(
        "[...document.querySelectorAll('input, select, button, svg[role], [role=region]')].filter(e =>"
        " !(e.labels?.length || e.getAttribute('aria-label') || e.textContent.trim())).length"
    )
    assert unnamed == 0
    assert page.locator("table").count() == page.locator("table > caption").count()
    assert page.locator("th:not([scope])").count() == 0
