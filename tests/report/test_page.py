"""The page: everything in one file, nothing but text from data, and the same text every time."""

import base64
import hashlib
import re
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

from fewratio import compare_datasets
from fewratio.charts.chart import combine
from fewratio.charts.distributions import mirrored_bars, signed_bars
from fewratio.errors import MissingPackageError
from fewratio.report import bundle, page

HOSTILE = "<script>alert(1)</script>"


def small_report(text="text", rows=(("a", 1.0),)):
    chart = mirrored_bars([text, "b"], [0.5, 0.5], [0.2, 0.8], text)
    blocks = [page.Text(text), page.Code(text, text), chart, page.Table(text, [text, "value"], rows, True, text)]
    return page.Report(text, text, {text: text}, [page.Section(text, blocks)])


class Elements(HTMLParser):
    """The elements of a page, with their attributes, and the text of scripts."""

    def __init__(self, text):
        super().__init__()
        self.found, self.scripts, self.inside = [], [], False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))
        self.inside = tag == "script" and "type" not in dict(attributes)

    def handle_endtag(self, tag):
        self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.scripts.append(data)


def test_what_data_say_is_text_and_never_markup():
    text = page.render(small_report(HOSTILE, [(HOSTILE, "<img src=x onerror=alert(1)>")]))
    elements = Elements(text)
    # The data, the charts and the page's own.
    assert [tag for tag, _ in elements.found].count("script") == 3
    assert not [tag for tag, _ in elements.found if tag == "img"]
    assert not [name for _, attributes in elements.found for name in attributes if name.startswith("on")]
    assert HOSTILE not in text
    picture = combine([(signed_bars([HOSTILE], [1.0], [True], [HOSTILE], HOSTILE), HOSTILE, 300)], HOSTILE)
    assert HOSTILE not in page.render_fragment(small_report(HOSTILE, [(HOSTILE, 1.0)]), picture)


def test_scripts_are_allowed_by_their_hashes_alone():
    text = page.render(small_report())
    elements = Elements(text)
    policy = next(each["content"] for tag, each in elements.found if each.get("http-equiv"))
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in elements.scripts]
    assert rules["script-src"].split() == [f"'sha256-{each}'" for each in hashes]


def test_nothing_is_loaded():
    loads = [
        value
        for _, each in Elements(page.render(small_report())).found
        for name, value in each.items()
        if name in ("src", "href")
    ]
    # Without a contents list, which a report of few sections does not have.
    assert loads == ["data:,"]


def test_a_report_without_charts_has_no_chart_script():
    report = page.Report("title", "answer", {}, [page.Section("part", [page.Text("text")])])
    assert len(page.render(report)) < 20_000


def test_the_same_report_gives_the_same_text():
    assert page.render(small_report()) == page.render(small_report())


def test_headings_follow_each_other():
    levels = [int(tag[1]) for tag, _ in Elements(page.render(small_report())).found if re.fullmatch("h[1-6]", tag)]
    assert levels == [1, 2]


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (1.23456, "1.23"),
        (7, "7"),
        (1234567, "1,234,567"),
        (page.Number(0.5, "50 %"), "50\u00a0%"),
        (None, ""),
        (float("nan"), "nan"),
    ],
)
def test_cells_are_written_for_people(cell, text):
    rendered = page.render(page.Report("t", "a", {}, [page.Section("s", [page.Table("c", ["x", "y"], [["r", cell]])])]))
    assert re.search(r"<td[^>]*>([^<]*)</td>", rendered)[1] == text


def test_the_cells_of_a_column_have_the_same_decimals():
    table = page.Table("c", ["x", "y"], [["a", 0.4], ["b", 0.4934]])
    rendered = page.render(page.Report("t", "a", {}, [page.Section("s", [table])]))
    assert re.findall(r"<td[^>]*>([^<]*)</td>", rendered) == ["0.400", "0.493"]


def test_numbers_have_minus_signs_and_all_digits_of_a_column_are_grouped_alike():
    table = page.Table("c", ["x", "y"], [["a-1", -6363.0], ["b-2", -10696.0], ["c-3", 0.0]])
    rendered = page.render(page.Report("t", "p = -1", {}, [page.Section("s", [table])]))
    minus = "\N{MINUS SIGN}"
    assert re.findall(r"<td[^>]*>([^<]*)</td>", rendered) == [f"{minus}6,363", f"{minus}10,696", "0"]
    assert re.findall(r">(\w-\d)</th>", rendered) == ["a-1", "b-2", "c-3"]
    # The command is copied, and scripts sort by the data.
    assert 'data-value="-6363.0"' in rendered


def test_lines_do_not_break_within_a_p_value_a_percentage_or_a_spread_but_code_is_kept():
    blocks = [page.Text("p = 0.01 of 5 %, 1 ± 2, 0 % / 3 %"), page.Code("f(p = 0.01)")]
    rendered = page.render(page.Report("t", "a", {}, [page.Section("s", blocks)]))
    assert "<p>p\u00a0=\u00a00.01 of 5\u00a0%, 1 ±\u00a02, 0\u00a0%\u00a0/\u00a03\u00a0%</p>" in rendered
    assert "<code>f(p = 0.01)</code>" in rendered


def test_nothing_is_aligned_with_numbers_and_a_date_stays_on_its_line():
    rows = [["a", "–", "1975-10-23 20:15", "–"], ["b", 2.5, "–", "long " * 10]]
    rendered = page.render(page.Report("t", "a", {}, [page.Section("s", [page.Table("c", list("wxyz"), rows)])]))
    assert '<th scope="col" class="number">x</th>' in rendered
    assert '<td class="number">–</td><td class="whole">1975-10-23 20:15</td>' in rendered
    assert '<td>–</td><td class="long">long' in rendered


def test_a_long_table_shows_its_first_rows_and_a_folded_one_its_caption():
    rows = [[f"row {i}", i] for i in range(12)]
    table = page.Table("c", ["x", "y"], rows, n_first=10, colours={"y": "#009e73"}, minor=("y",))
    folded = page.Table("more", ["x", "y"], rows, is_folded=True)
    rendered = page.render(page.Report("t", "a", {}, [page.Section("s", [table, folded])]))
    assert rendered.count('<tr class="rest">') == 2
    assert "Show all 12 rows" in rendered
    assert (
        '<th scope="col" class="number minor"><span class="chip" style="background:#009e73"></span>y</th>' in rendered
    )
    assert "<summary>more</summary>" in rendered
    # A caption does not scroll with its table.
    assert re.search(
        r'<p class="caption" id="(.+)">c</p>.*<div class="scroll".*<table aria-labelledby="\1">', rendered, re.S
    )


def test_a_report_of_several_sections_lists_them():
    sections = [page.Section(f"part {i}", [page.Text("text")]) for i in range(3)]
    rendered = page.render(page.Report("t", "a", {}, sections))
    assert '<nav class="contents" aria-label="Contents">' in rendered
    assert [each["href"] for tag, each in Elements(rendered).found if tag == "a"] == ["#part1", "#part2", "#part3"]


@pytest.mark.slow
def test_the_chart_script_is_made_once_and_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    script = bundle.chart_script()
    (kept,) = (tmp_path / "fewratio").iterdir()
    assert kept.read_text("utf-8") == script
    kept.write_text("another")
    assert bundle.chart_script() == "another"


@pytest.mark.slow
def test_a_cache_that_cannot_be_written_is_done_without(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert "vegaEmbed" in bundle.chart_script()


@pytest.mark.slow
def test_without_the_packages_a_report_says_what_to_install_and_a_notebook_shows_the_text():
    program = """
import sys
sys.modules["jinja2"] = sys.modules["vl_convert"] = None
import numpy as np
import fewratio
A = np.arange(20.0).reshape(10, 2)
result = fewratio.compare_datasets(A, A + 1, n_permutations=9, random_state=0)
assert result._repr_html_() is None
try:
    result.to_html()
except fewratio.errors.MissingPackageError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "fewratio[report]" in done.stdout
    assert issubclass(MissingPackageError, ImportError)


def test_a_report_is_written_whole_to_a_path(tmp_path):
    A = np.random.default_rng(0).normal(size=(10, 2))
    result = compare_datasets(A, A + 1, n_permutations=9, random_state=0)
    assert result.to_html(tmp_path / "r.html") is None
    assert (tmp_path / "r.html").read_text("utf-8") == result.to_html()
    assert [path.name for path in tmp_path.iterdir()] == ["r.html"]
