"""What the page says and keeps while it is used: reasons, messages, choices, and the time."""

import json
import re
import zipfile

import numpy as np
import pandas as pd


def numbers(n_rows=30, names=("size", "code"), seed=0):
    """Make a table of random numbers."""
    return pd.DataFrame(np.random.default_rng(seed).normal(size=(n_rows, len(names))), columns=list(names))


def give(panel, folder, *frames):
    """Choose tables for the places of a panel."""
    for number, frame in enumerate(frames):
        frame.to_csv(folder / f"{number}.csv", index=False)
        panel.locator("input[type=file]").nth(number).set_input_files(folder / f"{number}.csv")


def test_messages_name_the_fields_of_the_page(page_of, tmp_path):
    table = numbers().assign(day=[f"2024-01-{1 + 7 * row % 30:02}" for row in range(30)])
    with page_of("changes") as (_, panel):
        give(panel, tmp_path, table)
        panel.get_by_role("heading", name="Columns").wait_for()
        panel.locator("button.strong").click()
        panel.get_by_role("heading", name="Result").wait_for()
        assert (
            "If that is wrong, choose “Use as: use anyway”: day to compare it." in panel.locator(".note").inner_text()
        )


def test_a_button_that_cannot_be_pressed_says_why(page_of, tmp_path):
    from playwright.sync_api import expect

    with page_of("outliers") as (_, panel):
        button, reason = panel.locator("button.strong"), panel.locator("button.strong + span")
        assert reason.inner_text() == "Choose “Normal rows” and “Rows to check”."
        give(panel, tmp_path, numbers())
        panel.get_by_text("Choose “Rows to check” too.").wait_for()
        assert button.is_disabled()
        give(panel, tmp_path, numbers(), numbers())
        panel.get_by_role("heading", name="Columns").wait_for()
        # Another event of the first input may still be on its way.
        expect(reason).to_have_text("")
        expect(button).to_be_enabled()


def test_tables_without_a_common_column_are_told_what_each_has(page_of, tmp_path):
    with page_of() as (_, panel):
        give(panel, tmp_path, numbers(names="pq"), numbers(names="rstu"))
        said = panel.get_by_role("alert").get_by_text("share no column")
        said.wait_for()
        assert "0.csv has “p”, “q”; 1.csv has “r”, “s”, “t”…; at least one" in said.inner_text()
        assert "use anyway" not in said.inner_text()
        assert panel.locator("button.strong").is_disabled()


def test_a_zip_file_of_many_tables_is_pointed_to_its_tab(page_of, tmp_path):
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for name in "ab":
            archive.writestr(f"{name}.csv", "x\n1\n")
    with page_of() as (_, panel):
        panel.locator("input[type=file]").first.set_input_files(tmp_path / "all.zip")
        panel.get_by_role("alert").get_by_text("use the tab “Many datasets”").wait_for()


def test_the_last_step_says_what_comes_and_the_time_goes_on_after_a_reload(page_of):
    job = {"id": "x", "state": "running", "seconds": 75, "progress": {"description": "p", "step": 999, "total": 999}}
    kept = json.dumps({"job": "x", "files": {key: {"id": "example-grower_1", "name": "a.csv"} for key in "ab"}})
    with page_of() as (page, panel):
        page.evaluate("(kept) => sessionStorage.setItem('compare', kept)", kept)
        page.route("**/api/v1/jobs/x?*", lambda route: route.fulfill(json=job))
        page.reload()
        panel.get_by_text("Making the report…").wait_for()
        panel.get_by_text(re.compile("^7[5-9] s$")).wait_for()
        page.goto("about:blank")


def test_what_was_chosen_is_there_after_the_page_is_loaded_again(page_of, tmp_path):
    with page_of() as (page, panel):
        give(panel, tmp_path, numbers(), numbers(seed=1))
        panel.get_by_label("Use code as").select_option("do not use")
        panel.get_by_text("Options", exact=True).click()
        panel.get_by_label("Permutations").fill("99")
        panel.locator("button.strong").click()
        panel.get_by_role("heading", name="Result").wait_for()
        page.reload()
        panel.get_by_role("button", name="Change files or options").click()
        panel.get_by_role("heading", name="Columns").wait_for()
        assert panel.get_by_label("Use code as").input_value() == "drop"
        assert panel.get_by_label("Use size as").input_value() == ""
        assert panel.get_by_label("Permutations").input_value() == "99"
