"""Rows that are read and written piece by piece: the answers are those of the whole table."""

import csv
import datetime
import weakref
from functools import partial

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from fewratio.app import app
from fewratio.core import blocks
from fewratio.data import table as gate
from fewratio.data.encoding import Encoding
from fewratio.data.readers import csv as csv_files
from fewratio.data.readers import files
from fewratio.outliers import outlier_score as normality
from fewratio.weights import weighting as weights

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
    monkeypatch.setattr(blocks, "BLOCK_VALUES", BLOCK * (blocks.HIDDEN_VALUES + 8))
    monkeypatch.setattr(files, "open_csv", partial(csv_files.open_csv, block_bytes=4000))
    return tmp_path


def run(*arguments, code=0):
    found = CliRunner().invoke(app, ["ratio", "a.csv", "b.csv", *arguments, "--id", "key", "--scale", "none"])
    assert found.exit_code == code, found.output
    return found.output


def piece_blocks(monkeypatch, n_blocks):
    """Let a piece be of so many blocks of rows, which have seven features."""
    monkeypatch.setattr(blocks, "HIDDEN_VALUES", 7 * (n_blocks - 1))
    monkeypatch.setattr(blocks, "BLOCK_VALUES", 7 * n_blocks * BLOCK)


@pytest.mark.slow
@pytest.mark.parametrize("source", ["rows.csv", "rows.tsv", "rows.parquet"])
def test_pieces_give_the_same_bytes_as_the_whole(folder, monkeypatch, source):
    outputs = ["out.csv", "out.tsv", "out.json"]
    piece_blocks(monkeypatch, 1000)
    printed = [run(source, "-o", output) for output in outputs]
    whole = [(folder / output).read_bytes() for output in outputs]
    piece_blocks(monkeypatch, 3)
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
    piece_blocks(monkeypatch, 1)
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
    piece_blocks(monkeypatch, 1)
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
@pytest.mark.slow
def test_every_verb_writes_parquet(folder, arguments):
    for output in ("out.csv", "out.parquet"):
        assert CliRunner().invoke(app, [*arguments, "-o", output]).exit_code == 0
    read = pl.read_parquet("out.parquet")
    with open("out.csv") as file:
        header, *lines = csv.reader(file)
    assert read.columns == header
    assert len(read) == len(lines)


COMMANDS = {
    "weights": "weights rows.{} target.csv",
    "outliers": "outliers target.csv rows.{}",
    "two large files": "outliers target.{} rows.{}",
    "--normal-if": "outliers rows.{} --normal-if colour==red",
    "changes": "changes rows.{}",
    "--time": "changes rows.{} --time day --keep key",
}


@pytest.fixture
def stored(folder, monkeypatch):
    """Tables of which some rows are drawn, read in small pieces; the value says how many values are held."""
    target = table(300, 4, 0.5)
    target.write_csv(folder / "target.csv")
    target.write_csv(folder / "target.tsv", separator="\t")
    target.write_parquet(folder / "target.parquet", row_group_size=90)
    monkeypatch.setattr(weights, "_MAX_ROWS", 100)
    monkeypatch.setattr(normality, "_MAX_ROWS", 200)
    for module in (files, gate, blocks):
        monkeypatch.setattr(module, "PIECE_ROWS", BLOCK)
    return lambda n_values: monkeypatch.setattr(files, "BLOCK_VALUES", n_values)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_table_in_its_file_gives_the_same_bytes_as_one_that_is_held(folder, stored, command, kind):
    outputs, found = ["out.csv", "out.json"], []
    for n_values in (10**9, 0):
        stored(n_values)
        for output in outputs:
            arguments = [*COMMANDS[command].replace("{}", kind).split(), "-o", output]
            done = CliRunner().invoke(app, arguments)
            assert done.exit_code == 0, done.output
            found.append((done.output, (folder / output).read_bytes()))
    assert found[:2] == found[2:]


@pytest.mark.parametrize("command", ["weights", "outliers"])
def test_no_large_table_is_held(stored, monkeypatch, command):
    stored(2000)
    alive, most, pieces, read = set(), [0], files.FileRows.pieces, files.FileRows.read

    def counted(self, n_rows):
        for piece in pieces(self, n_rows):
            alive.add(id(piece))
            weakref.finalize(piece, alive.discard, id(piece))
            most[0] = max(most[0], len(alive) * piece.num_rows)
            yield piece

    def of_one_column(self):
        assert len(self.schema) == 1 or len(self) < N_ROWS
        return read(self)

    def whole(self, dtype=None, copy=None):
        raise AssertionError("the rows are held")

    monkeypatch.setattr(files.FileRows, "pieces", counted)
    monkeypatch.setattr(files.FileRows, "read", of_one_column)
    monkeypatch.setattr(gate.FileNumbers, "__array__", whole)
    arguments = [*COMMANDS[command].replace("{}", "parquet").split(), "-o", "out.parquet"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    assert 0 < most[0] <= 4 * BLOCK
    assert pq.ParquetFile("out.parquet").num_row_groups > 5


def test_rows_of_a_file_are_indexed_as_an_array(stored, folder):
    stored(0)
    with files.open_rows(files.find_file(folder / "rows.parquet"), by_column=True) as raw:
        encoding = Encoding.learn([raw])
        numbers = encoding.encode(raw).numbers
        held = encoding.encode(raw.hold_in_memory()).numbers
        assert isinstance(numbers, gate.FileNumbers)
        assert (numbers.shape, numbers.dtype) == (held.shape, held.dtype)
        rng = np.random.default_rng(0)
        for start, length in rng.integers(N_ROWS, size=(20, 2)):
            np.testing.assert_array_equal(numbers[start : start + length], held[start : start + length])
        rows = rng.permutation(N_ROWS)[:50]
        np.testing.assert_array_equal(numbers[rows], held[rows])
        for column in range(held.shape[1]):
            np.testing.assert_array_equal(numbers[:, column : column + 1], held[:, column : column + 1])
        np.testing.assert_array_equal(np.asarray(numbers), held)
        np.testing.assert_array_equal(raw.take(rows).column("x"), raw.hold_in_memory().take(rows).column("x"))
