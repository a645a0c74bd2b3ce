"""How answers look on a terminal and elsewhere."""

import os
import sys

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from fewratio.app import app
from fewratio.cli import frame, terminal

LINES = [
    "The tables differ strongly (divergence 0.2; p = 0.001).",
    "apart       amount alone separates all rows, in words that need more than one line of a terminal",
    "  amount  12.1 ± 3.2  18.4 ± 3.1  and more cells than fit in one line of a narrow terminal",
]


@pytest.fixture
def narrow(monkeypatch):
    for module in (terminal, frame):
        monkeypatch.setattr(module, "is_terminal", lambda: True)
    monkeypatch.setattr(terminal.shutil, "get_terminal_size", lambda _: os.terminal_size((60, 24)))
    monkeypatch.delenv("NO_COLOR", raising=False)


def test_lines_are_kept_where_there_is_no_terminal():
    assert list(terminal.lay_out(LINES)) == LINES
    assert terminal.find_width() == 120


def test_the_answer_is_bold_and_lines_are_wrapped_under_their_text(narrow):
    answer, apart, row = terminal.lay_out(LINES)
    assert answer == f"\x1b[1m{LINES[0]}\x1b[0m"
    first, second = apart.split("\n")
    assert first.startswith("apart       amount")
    assert second.startswith(" " * 12 + "more") or second[:12].isspace()
    assert max(map(len, (first, second))) <= 60
    assert row == LINES[2]


def test_no_color_is_honoured(narrow, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    assert next(iter(terminal.lay_out(LINES))) == LINES[0]


def test_help_lists_verbs_by_task_with_whole_sentences():
    shown = CliRunner().invoke(app, ["--help"]).stdout
    assert "..." not in shown.partition("Answers:")[2]
    assert shown.index("Answers:") < shown.index("compare ") < shown.index("Your data:") < shown.index("Try it:")


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
def test_a_real_terminal_gets_the_answer_in_bold_and_no_line_is_too_long(tmp_path):
    import pty
    import subprocess

    rng = np.random.default_rng(0)
    for name, mean in (("a", 0), ("b", 2)):
        table = {f"column_{number}": rng.normal(mean, 1, 30) for number in range(3)}
        pd.DataFrame(table).to_csv(tmp_path / f"{name}.csv", index=False)
    command = "stty cols 70; exec " + " ".join([sys.executable, "-m", "fewratio", "compare", "a.csv", "b.csv"])
    ours, theirs = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS")}
    with subprocess.Popen(
        ["bash", "-c", command], stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL, cwd=tmp_path, env=environment
    ) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                piece = os.read(ours, 4096)
            except OSError:
                break
            if not piece:
                break
            shown += piece
        assert process.wait() == 0
    os.close(ours)
    lines = shown.decode().replace("\r", "").split("\n")
    assert lines[0].startswith("\x1b[1mThe tables differ")
    assert max(len(line) for line in lines if not line.startswith("  ")) <= 78


def test_a_narrow_terminal_shows_whole_names_of_columns(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    names = [f"length_of_the_{part}_mm" for part in ("bill", "body", "wing")]
    for file, mean in (("a", 0), ("b", 2)):
        table = pd.DataFrame({name: rng.normal(mean, 1, 30) for name in names})
        table.iloc[0] = np.nan
        table.to_csv(tmp_path / f"{file}.csv", index=False)
    monkeypatch.chdir(tmp_path)
    for module in (terminal, frame):
        monkeypatch.setattr(module, "is_terminal", lambda: True)
    shown = {}
    for width in (80, 120):
        monkeypatch.setattr(terminal.shutil, "get_terminal_size", lambda _, n=width: os.terminal_size((n, 24)))
        shown[width] = CliRunner().invoke(app, ["compare", "a.csv", "b.csv"]).stdout.partition("differ in")[2]
        assert max(map(len, shown[width].partition("regions")[0].splitlines())) <= width
        assert all(f"  {name} " in shown[width] for name in names)
    assert "3 % / 3 %" in shown[120]
    assert "3 % / 3 %" not in shown[80]


def test_files_that_were_written_are_named(tmp_path, monkeypatch):
    pd.DataFrame({"size": range(30)}).to_csv(tmp_path / "a.csv", index=False)
    monkeypatch.chdir(tmp_path)
    arguments = ["compare", "a.csv", "a.csv", "--permutations", "0", "--output", "rows.csv"]
    shown = CliRunner().invoke(app, arguments).stdout
    assert shown.endswith("written     rows.csv\n")
    assert (tmp_path / "rows.csv").is_file()
    assert "written" not in CliRunner().invoke(app, [*arguments, "--json"]).stdout


def test_texts_at_the_end_of_a_row_go_on_below_where_they_are_whole(narrow):
    rows = [("row", "score", "why"), ("3", "-1.5", "petal length (cm) 4.5 is far above all normal rows (1 to 1.6)")]
    shown = list(frame.align_columns(rows))
    assert max(map(len, shown)) <= 60
    assert not any("…" in line for line in shown)
    start = shown[0].index("why")
    assert " ".join(line[start:] for line in shown[1:]) == rows[1][-1]
    assert list(terminal.lay_out(shown))[1:] == shown[1:]


def test_a_last_column_may_be_empty(narrow):
    assert list(frame.align_columns([("row", ""), ("3", "")])) == ["  row", "    3"]


def test_names_that_share_their_beginning_stay_distinct(narrow):
    names = [f"{part} {of} of the flower (cm)" for part in ("sepal", "petal") for of in ("length", "width")]
    heading, *_ = frame.align_columns([("", *names), ("0", *"1234")])
    assert len(set(heading.split("  "))) >= 5


def test_a_missing_value_is_a_dash_among_numbers():
    assert list(frame.align_columns([("row", "speed"), ("a", None), ("b", 12.5)])) == [
        "  row  speed",
        "  a        -",
        "  b     12.5",
    ]
