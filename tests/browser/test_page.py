"""The page of ``fewratio serve`` in a browser, as somebody uses it who does not program."""

import json
import re
import shutil

import numpy as np
import pandas as pd
import pytest

from fewratio.demo.examples import write_examples
from tests.browser.waiting import until

TABS = ("compare", "outliers", "changes", "monitor", "weights", "many", "train")
SAVED = {"report.html", "rows.csv", "result.json"}


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Tables of several kinds of files, and a folder and a zip file of sensors."""
    folder = tmp_path_factory.mktemp("tables")
    write_examples(folder)
    first, second, delivery = (
        pd.read_csv(folder / "wines" / f"{name}.csv") for name in ("grower_1", "grower_2", "delivery")
    )
    first.to_csv(folder / "first.csv", index=False)
    with pd.ExcelWriter(folder / "second.xlsx") as book:
        for number, frame in enumerate((second, first)):
            frame.to_excel(book, sheet_name=f"sheet {number}", index=False)
    delivery.to_parquet(folder / "delivery.parquet")
    pd.read_csv(folder / "machine.csv").to_csv(folder / "machine.tsv", index=False, sep="\t")
    shutil.make_archive(str(folder / "zipped"), "zip", folder / "sensors")
    return folder


def give(panel, *paths):
    """Choose files for the places of a panel, and wait until its columns are known."""
    for number, path in enumerate(paths):
        panel.locator("input[type=file]").nth(number).set_input_files(path)
    panel.get_by_role("heading", name="Columns").wait_for()


def run(panel):
    """Press the button, and wait for the result."""
    panel.locator("button.strong").first.click()
    panel.get_by_role("heading", name="Result").wait_for()


@pytest.mark.parametrize("tab", TABS)
def test_three_clicks_lead_to_the_answer_on_the_examples(page_of, tab):
    with page_of() as (page, _):
        page.evaluate("clicks = 0; addEventListener('click', () => clicks++, true)")
        if tab != "compare":
            page.get_by_role("tab", name=re.compile(tab, re.IGNORECASE)).click()
        panel = page.locator(f"#panel-{tab}")
        panel.get_by_role("button", name="Use the example").first.click()
        run(panel)
        answer = panel.frame_locator("iframe").locator(".answer").inner_text()
        assert page.evaluate("clicks") == (2 if tab == "compare" else 3)
        assert len(answer) > 20
        assert tab != "outliers" or answer.startswith("5 of 43 rows are outliers.")
        if tab == "train":
            # What was learned from judges a new one.
            assert answer.startswith("Nothing shows that sensor_41 is unlike the 40 other datasets (p\xa0=\xa00.")


@pytest.mark.parametrize("tab", TABS)
def test_every_tab_from_own_files_to_what_is_saved(page_of, findings, tables, tmp_path, tab):
    given = {
        "compare": ("first.csv", "second.xlsx"),
        "outliers": ("first.csv", "delivery.parquet"),
        "changes": ("machine.tsv",),
        "monitor": ("line/reference.csv", "line/tuesday.csv"),
        "weights": ("delivery.parquet", "first.csv"),
        "many": ("sensors",),
        "train": (),
    }[tab]
    with page_of(tab, width=390) as (page, panel):
        if tab == "train":
            assert findings(page) == []
            panel.locator("input[accept='.zip']").set_input_files(tables / "zipped.zip")
            panel.get_by_role("heading", name="Columns").wait_for()
        else:
            give(
                panel,
                *([tables / each for each in name] if isinstance(name, list) else tables / name for name in given),
            )
        if tab == "compare":
            panel.get_by_text("second.xlsx has 2 sheets; the first, 'sheet 0', was read.").wait_for()
            panel.get_by_text("not used: shows which table came first").wait_for()
        run(panel)
        assert findings(page) == []
        page.emulate_media(color_scheme="dark")
        assert findings(page, "color-contrast") == []
        # A phone need not be moved sideways.
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        saved = {}
        for link in panel.get_by_role("list", name="Save").get_by_role("link").all():
            if link.get_attribute("download"):
                with page.expect_download() as download:
                    link.click()
                download.value.save_as(tmp_path / download.value.suggested_filename)
                saved[download.value.suggested_filename] = tmp_path / download.value.suggested_filename
        more = {"state.fewratio"} if tab == "monitor" else set()
        assert set(saved) == ({"answer.txt", "zipped.safetensors"} if tab == "train" else SAVED | more)
        if tab != "train":
            json.loads(saved["result.json"].read_text())
            assert len(pd.read_csv(saved["rows.csv"])) > (0 if tab == "monitor" else 10)
            assert panel.frame_locator("iframe").locator(".answer").inner_text() in saved["report.html"].read_text()
        panel.get_by_text("The same on the command line").click()
        assert panel.get_by_label("Shell").inner_text().startswith("fewratio ")
        assert "import fewratio" in panel.get_by_label("Python").inner_text()


def test_a_monitor_goes_on_from_its_state(page_of, tables, tmp_path):
    with page_of("monitor") as (page, panel):
        line = tables / "line"
        give(panel, line / "reference.csv", [line / "tuesday.csv", line / "monday.csv"])
        # The order is shown, and can be changed.
        panel.get_by_text("✓ 2 files, in this order:").wait_for()
        first, second = panel.locator(".order li").all_inner_texts()
        assert {first.strip(" ↑"), second.strip(" ↑")} == {"tuesday.csv", "monday.csv"}
        if not first.startswith("monday"):
            panel.get_by_role("button", name="Move monday.csv up").click()
            panel.get_by_text("✓ 2 files, in this order:").wait_for()
        run(panel)
        assert "reference.csv monday.csv tuesday.csv --state" in panel.get_by_label("Shell").text_content()
        with page.expect_download() as download:
            panel.get_by_role("link", name="State, for the next rows").click()
        download.value.save_as(tmp_path / "line.fewratio")
        panel.locator("input[type=file]").nth(1).set_input_files(line / "wednesday.csv")
        panel.get_by_role("heading", name="Columns").wait_for()
        panel.locator("input[accept='.fewratio']").set_input_files(tmp_path / "line.fewratio")
        panel.get_by_text("✓ line.fewratio").wait_for()
        panel.locator("button.strong").first.click()
        panel.frame_locator("iframe").get_by_text("No alarm after 240 rows").or_(
            panel.frame_locator("iframe").locator(".answer", has_text="Alarm at row")
        ).first.wait_for()
        assert "--state line.fewratio" in panel.get_by_label("Shell").text_content()
        assert "240 rows" in panel.frame_locator("iframe").locator("body").inner_text()


def test_pairs_are_compared_at_one_click(page_of, tmp_path):
    level = 9 * np.random.default_rng(0).normal(size=20)
    for name, shift in (("before", 0), ("after", 1)):
        table = {"country": [f"c{i}" for i in range(20)], "x": level + shift + np.sin(np.arange(20) * (1 + shift))}
        pd.DataFrame(table).to_csv(tmp_path / f"{name}.csv", index=False)
    with page_of("compare") as (_, panel):
        give(panel, tmp_path / "before.csv", tmp_path / "after.csv")
        panel.get_by_text("20 values of “country” name a row of both tables.").wait_for()
        panel.get_by_role("button", name="Compare the pairs").click()
        panel.get_by_role("heading", name="Result").wait_for()
        assert "pairs by country" in panel.frame_locator("iframe").locator("body").inner_text()
        panel.get_by_text("The same on the command line").click()
        assert "--paired country" in panel.get_by_label("Shell").inner_text()


def test_groups_of_one_table_are_compared_without_a_second(page_of, tables, tmp_path):
    rows = [pd.read_csv(tables / "wines" / f"grower_{number}.csv").assign(grower=number) for number in (1, 2)]
    pd.concat(rows).to_csv(tmp_path / "both.csv", index=False)
    with page_of() as (_, panel):
        give(panel, tmp_path / "both.csv")
        assert panel.locator("button.strong").first.is_disabled()
        panel.get_by_label("Or compare the groups of the first table by").select_option("grower")
        run(panel)
        assert "very strongly" in panel.frame_locator("iframe").locator(".answer").inner_text()
        # A second table takes the place of the groups.
        panel.get_by_role("button", name="Change files or options").click()
        give(panel, tables / "wines" / "grower_1.csv", tables / "wines" / "grower_2.csv")
        run(panel)
        assert panel.get_by_label("Or compare the groups of the first table by").is_disabled()
        assert "grower_1.csv grower_2.csv" in panel.get_by_label("Shell").text_content()


def test_a_model_is_learned_saved_sent_and_judges_new_sensors(page_of, tables, tmp_path):
    (tmp_path / "odd.csv").write_text(re.sub("(?m)^([0-9]+),", r"\1,1", (tables / "new" / "sensor_41.csv").read_text()))
    (tmp_path / "wrong.model").write_text("no model")
    with page_of("train", may_say="422") as (page, panel):
        later = panel.get_by_text("you choose the new table here")
        assert later.is_visible()
        panel.locator("input[accept='.zip']").set_input_files(tables / "zipped.zip")
        run(panel)
        learned = "Learned from 40 datasets, 800 rows. 4 columns: 3 numbers, 1 left out (row: id)."
        panel.get_by_text(learned).wait_for()
        assert later.count() == 0
        with page.expect_download() as download:
            panel.get_by_role("link", name="Model (zipped.safetensors)").click()
        download.value.save_as(tmp_path / "mine.model")
        judge, pair = panel.locator(".stage").nth(0), panel.locator(".stage").nth(1)
        judge.locator("input[type=file]").set_input_files(tmp_path / "odd.csv")
        run(judge)
        answer = judge.frame_locator("iframe").locator(".answer").inner_text()
        assert answer.startswith("odd is unlike all 40 other datasets (p\xa0=\xa00.024)")
        pair.get_by_role("button", name="Use the example").click()
        run(pair)
        first = pair.frame_locator("iframe").locator(".answer").inner_text()
        panel.get_by_text("I have a model file already").click()
        field = panel.get_by_label("Model:")
        for name, said in (
            (tables / "first.csv", "first.csv is not a model"),
            (tmp_path / "wrong.model", "is not a model"),
        ):
            field.set_input_files(name)
            panel.get_by_role("alert").get_by_text(said).wait_for()
        field.set_input_files(tmp_path / "mine.model")
        # Without the datasets nothing can be judged by them.
        stage = panel.locator(".stage")
        panel.get_by_text("Model: mine.model").wait_for()
        for number, name in enumerate(("sensor_41", "sensor_42")):
            stage.locator("input[type=file]").nth(number).set_input_files(tables / "new" / f"{name}.csv")
        run(stage)
        assert stage.frame_locator("iframe").locator(".answer").inner_text() == first


def test_the_example_is_offered_when_it_is_there(page_of):
    with page_of() as (page, panel):
        held = []
        page.route("**/api/v1/examples", lambda route: held.append(route))
        with page.expect_request("**/api/v1/examples"):
            page.reload(wait_until="commit")
        button = panel.get_by_role("button", name="Use the example")
        button.wait_for()
        assert button.is_disabled()
        held[0].continue_()
        button.click()
        panel.get_by_role("heading", name="Columns").wait_for()


def test_a_folder_is_sent_without_what_is_no_table(page_of, tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}.csv").write_text("x,y\n" + "".join(f"{row},{row * number}\n" for row in range(9)))
    (folder / "notes.gz").write_bytes(b"")
    (folder / "read me.txt").write_bytes(b"")
    with page_of("many") as (_, panel):
        give(panel, folder)
        panel.get_by_text("mine (3 files)").wait_for()


def test_columns_are_shown_as_they_are_and_can_be_changed(page_of, tmp_path):
    rng = np.random.default_rng(0)
    hostile = "<img src=x onerror=alert(1)>"
    for number in range(2):
        frame = pd.DataFrame(
            {hostile: rng.normal(number, 1, 30), "size": rng.normal(0, 1, 30), "code": rng.integers(1, 4, 30)}
        )
        frame.to_csv(tmp_path / f"{number}.csv", index=False)
    with page_of() as (page, panel):
        give(panel, tmp_path / "0.csv", tmp_path / "1.csv")
        assert panel.get_by_role("rowheader", name=hostile).inner_text() == hostile
        panel.get_by_label("Use size as").select_option("do not use")
        panel.get_by_label("Use code as").select_option("category")
        run(panel)
        panel.get_by_text("The same on the command line").click()
        shell = panel.get_by_label("Shell").inner_text()
        assert "--drop size --categorical code" in shell
        assert page.locator("img[src=x]").count() == 0


def test_the_keyboard_is_enough(page_of):
    with page_of() as (page, _):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        for _ in range(3):
            page.keyboard.press("Tab")
            assert page.evaluate("document.activeElement.className") == "card"
        page.keyboard.press("Tab")
        for key in ("ArrowRight", "ArrowRight", "ArrowLeft"):
            page.keyboard.press(key)
        assert page.evaluate("document.activeElement.id") == "tab-outliers"
        panel = page.locator("#panel-outliers")

        def walk_to(text):
            for _ in range(40):
                page.keyboard.press("Tab")
                if text in page.evaluate("document.activeElement.textContent"):
                    return
            raise AssertionError(f"{text} is never reached")

        walk_to("Use the example")
        page.keyboard.press("Enter")
        panel.get_by_role("heading", name="Columns").wait_for()
        walk_to("Find outliers")
        page.keyboard.press("Enter")
        panel.get_by_role("heading", name="Result").wait_for()
        assert page.evaluate("document.activeElement.textContent").startswith("Result")


def test_long_work_tells_how_far_it_is_and_can_be_cancelled(page_of, tmp_path):
    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(1500, 4)), columns=list("pqrs"))
    rows.to_csv(tmp_path / "long.csv", index=False)
    with page_of(may_say="ERR_FAILED") as (page, panel):
        give(panel, tmp_path / "long.csv", tmp_path / "long.csv")
        panel.get_by_text("Options", exact=True).click()
        panel.get_by_label("Permutations").fill("100000")
        panel.locator("button.strong").click()
        panel.get_by_text(re.compile(r"permutations: \d+ of 100000, about \d+ (s|min) left")).wait_for()
        panel.get_by_text(re.compile(r"^[1-9]\d* s$")).wait_for()
        page.route("**/jobs/*", lambda route: (route.abort if route.request.method == "DELETE" else route.continue_)())
        panel.get_by_role("button", name="Cancel").click()
        panel.get_by_role("alert").get_by_text("The server does not answer").wait_for()
        page.unroute("**/jobs/*")
        panel.get_by_role("button", name="Cancel").click()
        panel.get_by_role("alert").get_by_text("cancelled").wait_for()
        panel.get_by_label("Permutations").fill("99")
        run(panel)


def test_a_file_that_is_refused_is_said_in_its_place_until_another_is_chosen(page_of, tables, tmp_path):
    wrong = {
        "virus.exe": (b"MZ", "file 'virus.exe' is of an unknown kind; expected a table"),
        "<b>.csv": (b"", "file '_b_.csv' cannot be read (it is empty)"),
        "Größe.csv": ("Größe\n1\n".encode() + b"\xe4\n", "Save it again as UTF-8: in Excel as 'CSV UTF-8'"),
        "torn.csv": (b"a,b\n1,2\n3\n", "file 'torn.csv' cannot be read (line 1 has 2 fields but line 3 has 1"),
    }
    with page_of(may_say="422") as (_, panel):
        first, second = panel.locator(".drop").nth(0), panel.locator(".drop").nth(1)
        for name, (content, said) in wrong.items():
            (tmp_path / name).write_bytes(content)
            first.locator("input").set_input_files(tmp_path / name)
            first.get_by_role("alert").get_by_text(said).wait_for()
        second.locator("input").set_input_files(tables / "first.csv")
        second.get_by_text("✓ first.csv").wait_for()
        assert "torn.csv" in first.get_by_role("alert").inner_text()
        assert "✓" not in first.inner_text()
        assert panel.locator("button.strong").is_disabled()
        # Both at once: only one is to blame.
        second.locator("input").set_input_files(tmp_path / "torn.csv")
        first.locator("input").set_input_files(tables / "first.csv")
        second.get_by_role("alert").get_by_text("torn.csv").wait_for()
        first.get_by_text("✓ first.csv").wait_for()
        assert not first.get_by_role("alert").is_visible()
        second.locator("input").set_input_files(tables / "second.xlsx")
        panel.get_by_role("heading", name="Columns").wait_for()
        run(panel)


def test_columns_are_read_again_with_other_marks_and_messages_name_what_is_on_the_page(page_of, tmp_path):
    for name, shift in (("a", 0), ("b", 3)):
        rows = "".join(f"{n + 10}.01.2024;{n % 7 + shift},5\n" for n in range(20))
        (tmp_path / f"{name}.csv").write_text(f"day;size\n{rows}")
    with page_of() as (_, panel):
        give(panel, tmp_path / "a.csv", tmp_path / "b.csv")
        reason = panel.get_by_text("cannot be used as it is: column 'day'")
        assert "name the column in “Use as: category”" in reason.inner_text()
        panel.get_by_text("Options", exact=True).click()
        panel.get_by_label("Separator of columns").fill("|")
        panel.get_by_label("Separator of columns").blur()
        problem = panel.locator(".drop").first.get_by_role("alert")
        problem.get_by_text("“Separator of columns”: ; and “Decimal mark”: ,").wait_for()
        panel.get_by_label("Separator of columns").fill("")
        panel.get_by_label("Separator of columns").blur()
        reason.wait_for()
        assert not problem.is_visible()
        assert "--" not in panel.inner_text()
        run(panel)


def test_files_are_dropped_and_the_result_comes_when_a_lost_connection_is_back(page_of, tables):
    with page_of(may_say="ERR_FAILED") as (page, panel):
        for number, name in enumerate(("grower_1.csv", "grower_2.csv")):
            transfer = page.evaluate_handle(
                "([name, text]) => { const d = new DataTransfer(); d.items.add(new File([text], name)); return d; }",
                [name, (tables / "wines" / name).read_text()],
            )
            panel.locator(".drop").nth(number).dispatch_event("drop", {"dataTransfer": transfer})
        panel.get_by_role("heading", name="Columns").wait_for()
        is_lost = True
        page.route("**/api/v1/jobs/**", lambda route: route.abort() if is_lost else route.continue_())
        panel.locator("button.strong").click()
        panel.get_by_text("The connection is lost; trying again").wait_for()
        is_lost = False
        panel.get_by_role("heading", name="Result").wait_for()
        panel.get_by_role("button", name="Change files or options").click()
        page.route("**/api/v1/**", lambda route: route.abort())
        panel.locator("button.strong").click()
        panel.get_by_role("alert").get_by_text("The server does not answer").wait_for()


def test_a_card_leads_to_the_answer_in_one_click_and_earlier_results_stay(page_of, findings):
    with page_of() as (page, panel):
        cards = page.get_by_role("list", name="Examples")
        cards.get_by_role("button").first.click()
        panel.get_by_role("heading", name="Result").wait_for()
        assert not cards.is_visible()
        panel.get_by_role("button", name="Change files or options").click()
        run(panel)
        panel.get_by_text("Earlier results").click()
        (link,) = panel.locator(".earlier a").all()
        assert "grower_1.csv, grower_2.csv" in link.inner_text()
        assert findings(page) == []


def test_two_browsers_at_once_do_not_see_each_other(page_of, address):
    with page_of() as (first, panel), page_of("outliers", may_say="404") as (second, other):
        for each in (panel, other):
            each.get_by_role("button", name="Use the example").click()
        for each in (panel, other):
            each.locator("button.strong").click()
        for each in (panel, other):
            each.get_by_role("heading", name="Result").wait_for()
        report = panel.locator("iframe").get_attribute("src")
        assert first.request.get(f"{address}{report}").status == 200
        answer = second.goto(f"{address}{report}")
        assert (answer.status, answer.headers["content-type"]) == (404, "application/problem+json")


def test_a_report_is_shown_whole_apart_from_the_page_and_again_after_loading(page_of):
    with page_of("outliers", may_say="Content Security Policy") as (page, panel):
        panel.get_by_role("button", name="Use the example").click()
        run(panel)
        answer = panel.frame_locator("iframe").locator(".answer").inner_text()
        until(page, "document.querySelector('iframe').offsetHeight > 1500")
        (frame,) = [each for each in page.frames if "/api/v1/files/" in each.url]
        until(frame, "document.documentElement.scrollHeight <= innerHeight")
        # What others send is not believed.
        height = page.evaluate("document.querySelector('iframe').offsetHeight")
        page.evaluate("postMessage({ height: 7 }, '*'); new Promise((resolve) => setTimeout(resolve, 100))")
        assert page.evaluate("document.querySelector('iframe').offsetHeight") == height
        assert frame.evaluate("origin") == "null"
        tried = frame.evaluate("fetch('/api/v1/examples').then(() => 'answered', () => 'refused')")
        assert tried == "refused"
        reached = "(() => { try { return parent.document.title } catch { return 'refused' } })()"
        assert frame.evaluate(reached) == "refused"
        page.reload()
        assert panel.frame_locator("iframe").locator(".answer").inner_text() == answer
        # The tables have been read again. Beside a result the form takes one line.
        assert not panel.locator("form").is_visible()
        panel.get_by_role("button", name="Change files or options").click()
        panel.get_by_role("heading", name="Columns").wait_for()
        assert panel.locator(".chosen").all_inner_texts() == ["✓ grower_1.csv", "✓ delivery.csv"]
        # Another table makes another result.
        panel.get_by_role("button", name="Use the example").click()
        panel.locator("iframe").wait_for(state="hidden")


def test_the_description_of_the_api(visit, findings, address):
    with visit(f"{address}docs.html", allowed=address, width=390) as page:
        page.wait_for_selector("body[data-ready]")
        assert page.get_by_role("heading", name="POST /api/v1/jobs").count() == 1
        assert findings(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
