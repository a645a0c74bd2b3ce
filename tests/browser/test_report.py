"""Reports in a browser: they draw, fit a phone, print, and can be read without eyes or a mouse."""

import numpy as np
import pandas as pd
import pytest

from fewratio import InlierOutlierDetector, compare_all, compare_datasets, detect_changes, importance_weights
from tests.browser.waiting import until

HOSTILE = "<script>alert(1)</script>"
A_NOISE = np.random.default_rng(0).normal(0, 1, 50)


def frame(n, seed):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "name": [f"</script>{HOSTILE}{seed} {row}" for row in range(n)],
            HOSTILE: rng.normal(seed, 1, n),
            "a.b['c']": rng.choice(["<img src=x onerror=alert(1)>", "b", None], n),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D"),
            **{f"a long name of a column {number}": rng.normal(0, 1, n) for number in range(12)},
        }
    )


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """Write a report of each kind."""
    folder = tmp_path_factory.mktemp("reports")
    A, B = frame(40, 0), frame(50, 1)
    compare_datasets(A, B, n_permutations=99, random_state=0).to_html(folder / "comparison.html")
    importance_weights(A, B, random_state=0).to_html(folder / "weights.html")
    InlierOutlierDetector().fit(A).detect(B).to_html(folder / "outliers.html")
    series = B.assign(day=pd.date_range("2024-01-01", periods=50), **{HOSTILE: np.repeat([0.0, 9.0], 25) + A_NOISE})
    detect_changes(series, level=0.05, time="day", random_state=0).to_html(folder / "changes.html")
    sites = {f"{HOSTILE}{i}": frame(9, i % 3)[["a long name of a column 1", HOSTILE]] for i in range(30)}
    compare_all(sites, random_state=0).to_html(folder / "all pairs.html")
    return {path.stem: path.as_uri() for path in folder.iterdir()}


KINDS = ("comparison", "weights", "outliers", "changes", "all pairs")


def draw_all(page):
    """Draw the charts that are not in view."""
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    until(page, "[...document.querySelectorAll('[data-chart]')].every((chart) => chart.querySelector('svg'))")


@pytest.mark.parametrize("kind", KINDS)
def test_axe_finds_nothing_serious(visit, findings, reports, kind):
    with visit(reports[kind]) as page:
        draw_all(page)
        assert findings(page) == []
        # Only colours change.
        page.emulate_media(color_scheme="dark")
        assert findings(page, "color-contrast") == []
        # And it would find something.
        page.evaluate("document.body.append(document.createElement('input'))")
        assert [rule for rule, _ in findings(page, "label")] == ["label"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_phone_shows_it_without_sideways_scrolling(visit, reports, kind):
    with visit(reports[kind], width=360) as page:
        draw_all(page)
        assert page.evaluate("document.documentElement.scrollWidth") == 360


def test_a_table_that_is_too_wide_says_that_it_scrolls(visit, reports):
    said = "getComputedStyle(document.querySelector('.table:has(.number)'), '::after').content"
    for width, is_said in ((390, True), (1600, False)):
        with visit(reports["outliers"], width=width) as page:
            until(page, f"{said}.includes('sideways') === {str(is_said).lower()}")


def test_charts_are_drawn_when_they_come_into_view(visit, reports):
    with visit(reports["comparison"]) as page:
        page.locator("[data-chart] svg").first.wait_for()
        charts = page.locator("[data-chart]").count()
        assert page.locator("[data-chart] svg").count() < charts
        descriptions = page.get_by_role("img").evaluate_all("(all) => all.map((each) => each.ariaLabel)")
        draw_all(page)
        assert page.locator("[data-chart] svg").count() == charts
        assert page.get_by_role("img").evaluate_all("(all) => all.map((each) => each.ariaLabel)") == descriptions
        assert all(len(each) > 20 for each in descriptions)


def test_all_charts_are_printed(visit, reports):
    with visit(reports["comparison"]) as page:
        assert page.pdf(format="A4")[:4] == b"%PDF"
        assert page.locator("[data-chart] svg").count() == page.locator("[data-chart]").count()
        page.emulate_media(media="print")
        assert not page.locator(".search").first.is_visible()


def test_sorting_and_searching_by_keyboard(visit, reports):
    with visit(reports["comparison"]) as page:
        table = page.locator(".table[data-searchable]").first
        assert table.locator("tbody th").first.inner_text() == HOSTILE
        table.get_by_role("button", name="effect").focus()
        page.keyboard.press("Enter")
        effects = table.locator("tbody tr td:nth-of-type(1)").evaluate_all(
            "(all) => all.map((each) => each.dataset.value)"
        )
        assert table.locator("thead th[aria-sort=ascending]").inner_text() == "effect"
        assert [float(text) for text in effects] == sorted(float(text) for text in effects)
        page.keyboard.press("Enter")
        assert table.locator("thead th[aria-sort=descending]").count() == 1
        table.get_by_label("Search").focus()
        page.keyboard.type("COLUMN 7")
        assert table.locator("tbody tr:visible th").all_inner_texts() == ["a long name of a column 7"]
        assert table.get_by_role("status").inner_text() == "1 of 15"


def test_ten_columns_are_shown_until_the_reader_asks_for_all(visit, reports):
    for scripts in (True, False):
        with visit(reports["comparison"], java_script_enabled=scripts) as page:
            table = page.locator(".table[data-first]").first
            assert table.locator("tbody tr:visible").count() == 10
            table.get_by_label("Show all 15 rows").check()
            assert table.locator("tbody tr:visible").count() == 15


def test_the_name_of_a_column_opens_its_distribution(visit, reports):
    with visit(reports["comparison"]) as page:
        button = page.locator(".table[data-first] tbody th button").first
        button.click()
        assert button.get_attribute("aria-expanded") == "true"
        page.locator("tr.opened [role=img] svg").wait_for()
        button.click()
        assert page.locator("tr.opened").count() == 0


def test_a_phone_shows_effect_and_p_without_scrolling_the_table(visit, reports):
    with visit(reports["comparison"], width=390) as page:
        table = page.locator(".table[data-first]").first
        headings = table.locator("thead th")
        assert headings.nth(1).inner_text() == "effect"
        assert headings.nth(2).inner_text() == "p"
        box = headings.nth(2).bounding_box()
        assert box["x"] + box["width"] <= 390
        assert all(each.is_visible() for each in table.locator("thead th").all())
        assert not page.locator(".contents").is_visible()


def test_no_tile_is_alone_in_its_row(visit, reports):
    for width in (390, 800, 1280):
        for address in reports.values():
            with visit(address, width=width) as page:
                places = page.locator(".facts > div").evaluate_all("(all) => all.map((each) => each.offsetTop)")
                widths = page.locator(".facts > div").evaluate_all("(all) => all.map((each) => each.offsetWidth)")
                assert places.count(places[-1]) == places.count(places[0]) or widths[-1] > 1.8 * widths[0]


def test_rows_keep_their_height_when_their_charts_are_drawn(visit, reports):
    height = "[...document.querySelectorAll('[data-first] tbody tr')].map((row) => row.offsetHeight)"
    with visit(reports["comparison"]) as page:
        before = page.evaluate(height)
        draw_all(page)
        assert page.evaluate(height) == before


def test_pointing_at_a_row_shows_it_as_text(visit, reports):
    with visit(reports["comparison"]) as page:
        draw_all(page)
        point = page.locator(".chart[aria-label^='Map of'] .mark-symbol.role-mark path").first
        point.hover(force=True)
        tooltip = page.locator("#vg-tooltip-element.visible")
        tooltip.wait_for()
        assert HOSTILE in tooltip.inner_text()
        assert page.locator("#vg-tooltip-element script, #vg-tooltip-element img").count() == 0


def test_without_scripts_the_tables_and_descriptions_are_there(visit, reports):
    with visit(reports["comparison"], java_script_enabled=False) as page:
        assert page.locator("tbody tr").count() > 40
        assert page.get_by_text("Histogram of 99 permutations").is_visible()
        assert not page.locator(".search").first.is_visible()


def test_scripts_of_others_do_not_run(visit, reports):
    with visit(reports["comparison"], may_say="Content Security Policy") as page:
        ran = page.evaluate(
            """() => {
                const script = document.createElement("script");
                script.textContent = "window.ran = true";
                document.body.append(script);
                return window.ran === true;
            }"""
        )
        assert not ran


def test_a_dataset_is_found_by_its_name(visit, reports):
    with visit(reports["all pairs"]) as page:
        table = page.locator(".table").first
        table.get_by_label("Search").fill(f"{HOSTILE}17")
        assert f"{HOSTILE}17" in table.locator("tbody tr:visible th").all_inner_texts()
        cell = page.locator(".chart[aria-label^='Heat map'] .mark-rect.role-mark path").first
        cell.hover(force=True)
        tooltip = page.locator("#vg-tooltip-element.visible")
        tooltip.wait_for()
        assert HOSTILE in tooltip.inner_text()
