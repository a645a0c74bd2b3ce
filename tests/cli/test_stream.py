"""`fewratio ratio` on rows that are read and written piece by piece: the answers are those of the whole table."""

import csv
import datetime
from functools import partial

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from fewratio.cli import app, exchange
from fewratio.cli import ratio as verb
from fewratio.data import csv_files, files
from fewratio.estimators import base

N_ROWS, BLOCK = 700, 64


def table(n, seed, shift=0.0):
    rng = np.random.default_rng(seed)
    days = [datetime.date(2024, 1, 1) + datetime.timedelta(int(day)) for day in rng.integers(90, size=n)]
    return pl.DataFrame(
        {
            "key": [f"k{row}" for row in range(n)],
            "x": rng.normal(shift, 1, n),
            "n": rng.integers(9, size=n),
            "colour": rng.choice(["red", "blue", None], n),
            "day": days,
        }
    ).with_columns(pl.when(pl.col("n") < 1).then(None).otherwise(pl.col("x")).alias("x"))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name, each in {"a": table(30, 0, 1.0), "b": table(40, 1), "rows": table(N_ROWS, 2)}.items():
        each.write_csv(tmp_path / f"{name}.csv")
        each.write_csv(tmp_path / f"{name}.tsv", separator="\t")
        # Row groups end elsewhere than pieces.
        each.write_parquet(tmp_path / f"{name}.parquet", row_group_size=90)
    monkeypatch.chdir(tmp_path)
    # Blocks of 64 rows or so, and pieces of three of them.
    monkeypatch.setattr(base, "BLOCK_VALUES", BLOCK * (base.HIDDEN_VALUES + 8))
    monkeypatch.setattr(files, "open_csv", partial(csv_files.open_csv, block_bytes=4000))
    return tmp_path


def run(*arguments, code=0):
    found = CliRunner().invoke(app, ["ratio", "a.csv", "b.csv", *arguments, "--id", "key", "--scale", "none"])
    assert found.exit_code == code, found.output
    return found.output


def piece_values(monkeypatch, value):
    monkeypatch.setattr(verb, "_PIECE_VALUES", value)


@pytest.mark.parametrize("source", ["rows.csv", "rows.tsv", "rows.parquet"])
def test_pieces_give_the_same_bytes_as_the_whole(folder, monkeypatch, source):
    outputs = ["out.csv", "out.tsv", "out.json"]
    piece_values(monkeypatch, 10**9)
    printed = [run(source, "-o", output) for output in outputs]
    whole = [(folder / output).read_bytes() for output in outputs]
    piece_values(monkeypatch, 3 * BLOCK * 8)
    assert [run(source, "-o", output) for output in outputs] == printed
    assert [(folder / output).read_bytes() for output in outputs] == whole
    with open("out.csv") as file:
        lines = list(csv.DictReader(file))
    assert [line["name"] for line in lines] == [f"k{row}" for row in range(N_ROWS)]
    assert [int(line["row"]) for line in lines] == list(range(N_ROWS))
    run(source, "-o", "out.parquet")
    written = pq.ParquetFile("out.parquet")
    assert written.num_row_groups > 2
    rows = pl.read_parquet("out.parquet")
    assert rows["ratio"].to_list() == [float(line["ratio"]) for line in lines]
    assert rows.columns == ["key", "x", "n", "colour", "day", "row", "name", "ratio"]
    assert rows["x"].null_count() == table(N_ROWS, 2)["x"].null_count() > 0
    assert rows["day"].dtype == pl.Date


def test_a_value_that_fits_no_piece_before_it_counts_for_all(folder, monkeypatch):
    piece_values(monkeypatch, BLOCK * 8)
    rows = table(N_ROWS, 2).with_columns(n=pl.col("n").cast(pl.String)).to_dicts()
    rows[-1]["n"] = "2.5"  # integers up to the last line
    pl.DataFrame(rows).write_csv("rows.csv")
    run("rows.csv", "-o", "out.parquet")
    assert pl.read_parquet("out.parquet")["n"].dtype == pl.Float64
    rows[-1]["n"] = "many"
    pl.DataFrame(rows).write_csv("rows.csv")
    (folder / "out.parquet").unlink()
    message = run("rows.csv", "-o", "out.parquet", code=2)
    assert "'many' at row 699 (counting from 0)" in message
    assert "(rows 6" in message
    assert not list(folder.glob("*out.parquet*")) + list(folder.glob(".*"))


def test_an_interrupt_leaves_nothing_and_an_input_is_never_replaced(folder, monkeypatch):
    piece_values(monkeypatch, BLOCK * 8)
    before = (folder / "rows.parquet").read_bytes()
    assert "same file" in run("rows.parquet", "-o", "rows.parquet", code=2)
    pieces = files.FileRows.pieces

    def interrupted(self, n_rows):
        for number, piece in enumerate(pieces(self, n_rows)):
            if number == 3:
                raise KeyboardInterrupt
            yield piece

    monkeypatch.setattr(files.FileRows, "pieces", interrupted)
    names = sorted(path.name for path in folder.iterdir())
    for output in ("out.parquet", "out.csv"):
        run("rows.parquet", "-o", output, code=130)
    assert sorted(path.name for path in folder.iterdir()) == names
    assert (folder / "rows.parquet").read_bytes() == before


@pytest.mark.parametrize(
    "arguments",
    [["weights", "a.csv", "b.csv"], ["compare", "a.csv", "b.parquet"], ["changes", "a.csv", "--window", "9"]],
)
def test_every_verb_writes_parquet(folder, arguments):
    assert ".parquet" in exchange._OUTPUT
    for output in ("out.csv", "out.parquet"):
        assert CliRunner().invoke(app, [*arguments, "-o", output]).exit_code == 0
    read = pl.read_parquet("out.parquet")
    with open("out.csv") as file:
        header, *lines = csv.reader(file)
    assert read.columns == header
    assert len(read) == len(lines)
