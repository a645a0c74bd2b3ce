"""What the page says and keeps while it is used: reasons, messages, choices, and the time."""

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


def test_messages_name_the_fields_of_the_page(page_of):
    said = ["To sort them, pass --time order_date.", "Pass --common to use those that all have.", "Name it in --keep."]
    read = "Promise.all([import('/words.js'), import('/tasks.js')])"
    with page_of("changes") as (page, _):
        texts = page.evaluate(
            f"(said) => {read}.then(([words, tasks]) => said.map(words.wordsOf(tasks.TASKS.changes)))", said
        )
    assert texts == [
        "To sort them, set “Column to sort by” to order_date.",
        "Tick “Use only the columns that all tables have” to use those that all have.",
        "Use it as “use anyway”.",
    ]


def test_what_was_chosen_is_there_after_the_page_is_loaded_again(page_of, tmp_path):
    with page_of() as (page, panel):
        give(panel, tmp_path, numbers(), numbers(seed=1))
        panel.get_by_label("Use code as").select_option("do not use")
        panel.get_by_text("Options", exact=True).click()
        panel.get_by_label("Permutations").fill("99")
        panel.locator("button.strong").click()
        panel.get_by_role("heading", name="Result").wait_for()
        page.reload()
        panel.get_by_role("heading", name="Columns").wait_for()
        assert panel.get_by_label("Use code as").input_value() == "drop"
        assert panel.get_by_label("Use size as").input_value() == ""
        assert panel.get_by_label("Permutations").input_value() == "99"
