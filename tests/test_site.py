"""README, pictures and pages of the site say what is so."""

import doctest
import re
import sys
from operator import attrgetter
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import fewratio
from tests.test_public_names import PACKAGES

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = [page for page in PAGES if not {"generated", "gallery", "_build"} & set(page.parts)]
START = ROOT / "docs" / "start" / "first-answer.md"
FENCES = re.compile(r"^```(?:python|pycon|\{doctest\})\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def examples_of(page):
    return "\n".join(block for block in FENCES.findall(page.read_text("utf-8")) if ">>> " in block)


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if examples_of(page)], ids=lambda page: page.stem)
def test_the_examples_of_a_page_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    test = doctest.DocTestParser().get_doctest(examples_of(page), {}, page.name, str(page), 0)
    printed: list[str] = []
    assert doctest.DocTestRunner(optionflags=options).run(test, out=printed.append).failed == 0, "".join(printed)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_to_files_lead_somewhere(page):
    # Pages and pictures that the build makes are checked there.
    links = re.findall(r"\]\((?!https?:|mailto:|#)([^)#\s]+)", page.read_text("utf-8"))
    links = [
        link for link in links if not {"generated", "gallery", "tutorial"} & set(Path(link).parts) or "examples" in link
    ]
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_reference_has_every_public_name_once():
    listed = re.findall(r"^   ([\w.]+)$", (ROOT / "docs" / "reference" / "python.rst").read_text("utf-8"), re.MULTILINE)
    assert len(listed) == len(set(listed))
    assert sorted(name for name in listed if "." not in name) == sorted(fewratio.__all__)
    shown = {name.rpartition(".")[2] for name in listed}
    missing = {f"{package}.{name}" for package, names in PACKAGES.items() for name in set(names.split()) - shown}
    assert missing == set()
    for name in listed:
        attrgetter(name)(fewratio)


@pytest.fixture
def measured(monkeypatch):
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "_ext"))
    import measured

    return measured


def test_the_readme_is_short_and_its_table_is_of_the_records(measured):
    readme = (ROOT / "README.md").read_text("utf-8")
    assert len(readme.splitlines()) <= 120
    assert measured.table("readme") in readme


def test_the_readme_quotes_the_half_that_nothing_was_chosen_on(measured):
    from records import only

    for half, is_quoted in (("test", True), ("development", False)):
        series = only("halves", half=half, table="annotated means", method="fewratio, segmentation")
        outliers = only("halves", half=half, table="outliers: AUROC", method="fewratio, default", normals="5")
        for figure in (f"{series['f1']:.3f}", f"{outliers['auroc']:.3f}"):
            assert (figure in measured.table("readme")) == is_quoted


def test_both_halves_are_of_one_run_with_the_same_rivals(measured):
    from records import records

    found = records("halves")
    for answer in {each["answer"] for each in found}:
        assert len({(each["commit"], each["seed"], each["quick"]) for each in found if each["answer"] == answer}) == 1
    for table in {each["table"] for each in found} - {"annotated series", "weighting"}:
        names = ("method", "estimator", "normals", "rows", "rows_nu")
        development, test = (
            [[each.get(name) for name in names] for each in found if (each["table"], each["half"]) == (table, half)]
            for half in ("development", "test")
        )
        assert development == test


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "results").glob("*.md")), ids=lambda page: page.stem)
def test_no_number_in_a_table_of_results_is_typed(page):
    rows = [line for line in page.read_text("utf-8").splitlines() if line.lstrip().startswith("|")]
    assert [row for row in rows if re.search(r"\d\.\d", row)] == []


DECISIONS = sorted((ROOT / "docs" / "decisions").glob("0*.md"))


@pytest.mark.parametrize("page", DECISIONS, ids=lambda page: page.stem)
def test_a_decision_has_four_parts_and_no_typed_figure(page):
    text = page.read_text("utf-8")
    parts = re.findall(r"^\*\*(\w+)\.\*\* ", text, re.MULTILINE)
    assert parts == ["Context", "Decision", "Evidence", "Consequences"]
    # Settings and figures of records are in backticks.
    assert re.findall(r"\d\.\d.*", re.sub(r"`[^`]+`", "", text)) == []


def test_decisions_are_numbered_and_short():
    assert [int(page.name[:4]) for page in DECISIONS] == list(range(1, len(DECISIONS) + 1))
    titles = [page.read_text("utf-8").partition(".")[0] for page in DECISIONS]
    assert titles == [f"# {number}" for number in range(1, len(DECISIONS) + 1)]
    assert sum(len(page.read_text("utf-8").split()) for page in DECISIONS) <= 4000


def test_decisions_that_the_code_names_exist():
    names = {page.name for page in DECISIONS}
    for folder in ("src", "tests", "benchmarks", "examples"):
        for file in (ROOT / folder).rglob("*.py"):
            for number, rest in re.findall(r"docs/decisions/(\d{4})([\w.-]*)", file.read_text("utf-8")):
                assert any(name.startswith(number) and rest.rstrip(".") in ("", name[4:]) for name in names), file


DEVELOPERS = [ROOT / "CONTRIBUTING.md", ROOT / "docs" / "extending" / "architecture.md", *DECISIONS]


@pytest.mark.parametrize("page", DEVELOPERS, ids=lambda page: page.stem)
def test_files_that_developers_are_sent_to_exist(page):
    named = re.findall(r"`((?:[\w.-]+/)+[\w*-]+\.\w+)`", page.read_text("utf-8"))
    places = (ROOT, ROOT / "src", ROOT / "src" / "fewratio")
    assert [path for path in named if not any(any(base.glob(path)) for base in places)] == []


MEASURED = [page for page in PAGES if "{measured}" in page.read_text("utf-8")]


@pytest.mark.parametrize("page", MEASURED, ids=lambda page: page.stem)
def test_figures_of_a_page_have_records(page, measured):
    text = page.read_text("utf-8")
    for name in re.findall(r"^ *```\{measured\} (.+)$", text, re.MULTILINE):
        assert measured.table(name).count("\n") >= 2
    for figure in re.findall(r"\{measured\}`(.+?)`", text, re.DOTALL):
        assert re.search(r"\d", measured.figure(figure))


@pytest.mark.slow
def test_paired_tests_are_of_the_tables(measured):
    from records import only, records

    for each in records("paired"):
        for row in (key for key in each if "/" in key):
            method, selection = row.split("/")
            table = {"data": each["data"], "n_support": "avg", "method": method, "selection": selection}
            assert only(each["table"], **table)["mean"] == pytest.approx(each[row], abs=6e-5)


def test_the_first_lines_of_the_readme_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    before = pl.DataFrame({"a": rng.normal(size=20), "b": rng.normal(size=20)})
    block = FENCES.findall((ROOT / "README.md").read_text("utf-8"))[0]
    exec(compile(block, "README.md", "exec"), {"before": before, "after": before.with_columns(pl.col("a") + 2)})
    assert (tmp_path / "difference.html").is_file()


def test_versions_of_the_site_name_each_other(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "_ext"))
    from publish import publish

    built, site = tmp_path / "built", tmp_path / "site"
    (built / "_static").mkdir(parents=True)
    (built / "_static" / "versions.js").write_text("const VERSIONS = [];\n")
    for version in ("0.9.0", "0.10.0", "0.11.0rc1", "0.9.0"):
        (built / "index.html").write_text(version)
        found = publish(built, site, version)
    assert found == ["0.11.0rc1", "0.10.0", "0.9.0"]
    for name in (*found, "stable"):
        listed = (site / name / "_static" / "versions.js").read_text()
        assert listed == 'const VERSIONS = ["0.11.0rc1", "0.10.0", "0.9.0"];\n'
    assert (site / "stable" / "index.html").read_text() == "0.10.0"
    assert "stable/index.html" in (site / "index.html").read_text()


def compare_with_stored(name, made):
    from matplotlib.testing.compare import compare_images

    # A copy: what differs is written beside it.
    stored = made.with_name(f"stored-{name}")
    stored.write_bytes((ROOT / "docs" / "images" / name).read_bytes())
    # The root mean square difference of pixels, of 255: fonts differ a little between versions.
    assert compare_images(str(stored), str(made), tol=8) is None, "run: make pictures"


def test_output_and_pictures_of_the_demo_are_current(tmp_path):
    from typer.testing import CliRunner

    from fewratio.app import app

    done = CliRunner().invoke(app, ["demo", "--output", str(tmp_path)])
    assert done.exit_code == 0, done.output
    (shown,) = re.findall(r"^```text\n(.*?)^```$", START.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert shown in done.stdout
    for name in ("compare.png", "outliers.png"):
        compare_with_stored(name, tmp_path / name)


@pytest.mark.slow
def test_the_picture_of_sources_is_current(tmp_path):
    sys.path.insert(0, str(ROOT / "benchmarks"))
    import sources

    sources.draw(tmp_path / "sources.png")
    compare_with_stored("sources.png", tmp_path / "sources.png")
