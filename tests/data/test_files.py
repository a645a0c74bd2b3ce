"""Files of a user's own: every kind is read, and one that cannot be used is refused in one line that says why."""

import datetime
import gzip
import lzma
import os
import re
import shlex
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import narwhals.stable.v2 as nw
import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fewratio
from fewratio import compare_datasets
from fewratio.data.collection import Collection
from fewratio.data.raw_table import as_raw
from fewratio.data.readers.csv import read_csv
from fewratio.data.readers.files import (
    find_file,
    open_rows,
    read_arrays,
    read_columns,
    read_raw,
    read_table,
)
from fewratio.errors import (
    CollectionError,
    DataFileError,
    DataNotFoundError,
    FewRatioError,
    FewRatioWarning,
    InputError,
    MissingColumnError,
    ParameterError,
)


def write(folder, name, content):
    """Write text, bytes, a table or arrays, as the name's ending says."""
    path = folder / name
    if isinstance(content, pa.Table):
        pq.write_table(content, path)
    elif isinstance(content, np.ndarray):
        np.save(path, content, allow_pickle=True)
    elif isinstance(content, dict):
        np.savez(path, **content)
    else:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def read_frame(file, as_text=()):
    return nw.from_native(read_columns(file, as_text), eager_only=True)


# ---------------------------------------------------------------- what is read

TABLE = [[1.0, 2.5], [3.0, 4.0]]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "p,q\n1,2.5\n3,4\n"),
        ("a.csv", "\ufeffp,q\r\n1,2.5\r\n3,4\r\n"),
        ("a.csv", '"p","q"\n"1","2.5"\n3,"4"\n'),
        ("a.csv", "p,q\n1,2.5\n\n3,4"),
        ("a.csv", "p,q\n1, 2.5\n3, 4\n"),
        ("a.TSV", "p\tq\n1\t2.5\n3\t4\n"),
        ("a.tsv", '\ufeffp\tq\r\n1\t"2.5"\r\n3\t4\r\n'),
        ("a.parquet", pa.table({"p": [1, 3], "q": pa.array([2.5, 4], pa.float32())})),
        ("a.npy", np.array(TABLE)),
        ("a.npy", np.asfortranarray(np.array(TABLE, dtype=">f4"))),
        ("a.npz", {"values": np.array(TABLE)}),
        ("a.npz", {"X": np.array(TABLE)}),
    ],
)
def test_every_kind_of_file_is_read(tmp_path, name, content):
    write(tmp_path, name, content)
    assert Collection.from_folder(tmp_path)["a"].X.tolist() == TABLE


@pytest.mark.parametrize("text", ["\ufeffp,q\r\n1,2.5\r\n3,4\r\n", '"p","q"\n"1","2.5"\n3,"4"\n'])
def test_every_package_knows_marks_line_ends_and_quotes(tmp_path, text):
    write(tmp_path, "a.csv", text)
    collection = Collection.from_folder(tmp_path)
    assert collection["a"].X.tolist() == TABLE
    assert collection.feature_names == ("p", "q")


@pytest.mark.parametrize("text", ["p,q\n1,2\n", 'p,q\n"1",2\n'])
def test_a_name_like_a_pattern_is_only_a_name(tmp_path, text):
    write(tmp_path, "a[1]*.csv", text)
    assert Collection.from_folder(tmp_path)["a[1]*"].X.tolist() == [[1, 2]]


def test_npz_files_may_say_which_rows_are_outliers(tmp_path):
    write(tmp_path, "a.npz", {"X": np.array(TABLE), "is_outlier": np.array([0, 1])})
    write(tmp_path, "b.csv", "p,q,odd\n1,2,1\n")
    collection = Collection.from_folder(tmp_path, outlier="odd")
    assert collection["a"].is_outlier.tolist() == [False, True]
    assert collection["b"].is_outlier.tolist() == [True]
    assert collection.feature_names == ("p", "q")


def test_arrays_and_named_tables_may_lie_together(tmp_path):
    write(tmp_path, "a.npy", np.array(TABLE))
    write(tmp_path, "b.csv", "p,q\n1,2\n")
    assert Collection.from_folder(tmp_path).feature_names == ("p", "q")
    write(tmp_path, "c.npy", np.zeros((2, 3)))
    with pytest.raises(CollectionError, match=r"file 'c\.npy' has 3 columns but file 'b\.csv' has 2"):
        Collection.from_folder(tmp_path)


def numbers_csv(n_rows):
    # Later lines are shorter, so that there are more of them than the first ones lead one to expect.
    return [f"{row + 0.123456789 if row < 20 else row % 7},{-row}" for row in range(n_rows)]


@pytest.mark.parametrize("end", ["\n", ""])
@pytest.mark.parametrize("outlier", [None, "flag"])
def test_a_file_read_in_pieces_keeps_its_rows_in_order(tmp_path, end, outlier):
    lines = [f"{line},{row % 2}" for row, line in enumerate(numbers_csv(500))]
    write(tmp_path, "a.csv", "\n".join(["p,q,flag", *lines]) + end)
    dataset = Collection.from_folder(tmp_path, outlier=outlier, keep="q")["a"]
    expected = np.array([[float(field) for field in line.split(",")] for line in lines])
    np.testing.assert_array_equal(dataset.X, expected if outlier is None else expected[:, :2])
    assert dataset.X.flags.c_contiguous
    assert not dataset.X.flags.writeable
    assert outlier is None or dataset.is_outlier.sum() == 250


@pytest.mark.parametrize(
    ("late", "reason"),
    [
        ("1,2,3", "line 1 has 2 fields but line 402 has 3"),
        ("1", "line 1 has 2 fields but line 402 has 1"),
        ("1,x", "column 'q' of file 'a.csv' holds text, but 800 of its 801 different values are numbers"),
        ("1,x", "the first other value is 'x' at row 400"),
        ("1,inf", "column 'q' of file 'a.csv' has 1 infinite value, the first at row 400"),
        ("é,2".encode() + b"\n1,\xff", "line 403 holds the byte 0xff"),
    ],
)
def test_what_is_wrong_in_a_late_piece_is_named(tmp_path, late, reason):
    lines = [line.encode() for line in numbers_csv(800)]
    lines.insert(400, late.encode() if isinstance(late, str) else late)
    write(tmp_path, "a.csv", b"\n".join([b"p,q", *lines]))
    assert_refused(tmp_path, reason)


@pytest.mark.parametrize("text", ["p,q\n1,2\n\n5,6\n\n\n", "\ufeffp,q\r\n\r\n1,2\r\n5,6\r\n", '"p",q\n1,2\n\n"5",6'])
def test_blank_lines_are_no_rows_to_any_package(tmp_path, text):
    write(tmp_path, "a.csv", text)
    assert Collection.from_folder(tmp_path)["a"].X.tolist() == [[1, 2], [5, 6]]


def test_a_blank_line_inside_quotes_is_part_of_a_value(tmp_path):
    write(tmp_path, "a.csv", 'p\n"x\n\ny"\n\nz\nz\n"x\n\ny"\n')
    assert Collection.from_folder(tmp_path)["a"].X.tolist() == [[1, 0], [0, 1], [0, 1], [1, 0]]


def test_every_package_knows_the_same_marks_of_missing_values(tmp_path):
    marks = ["", "NA", "#N/A", "#NA", "n/a", "NULL", "nan", "-NaN", "1.#IND", "None", "<NA>", "none"]
    rows = "".join(f"{3 if mark != 'NA' else mark},{mark}\n" for mark in marks)
    write(tmp_path, "a.csv", "p,q\n1,x\n1,x\n" + 2 * rows)
    collection = Collection.from_folder(tmp_path)
    assert collection.feature_names == ("p", "p is missing", "q=<NA>", "q=None", "q=none", "q=x", "q is missing")
    assert collection["a"].X[3].tolist() == [3, 1, 0, 0, 0, 0, 1]


@pytest.mark.parametrize("header", ["0,1,2", "1,2,3"])
def test_the_numbers_of_the_columns_may_be_their_names(tmp_path, header):
    write(tmp_path, "a.csv", f"{header}\n1,2.5,0\n3,4,0\n")
    collection = Collection.from_folder(tmp_path)
    assert collection.feature_names == tuple(header.split(","))
    assert len(collection[0]) == 2


@pytest.mark.parametrize(
    ("name", "pack"),
    [("a.csv.gz", gzip.compress), ("a.tsv.xz", lzma.compress), ("a.csv.zip", None), ("a.CSV.GZ", gzip.compress)],
)
def test_compressed_text_is_read(tmp_path, name, pack):
    text = "p,q\n1,2.5\n3,4\n".replace(",", "\t" if ".tsv" in name else ",").encode()
    if pack is None:
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("inner.csv", text)
    else:
        (tmp_path / name).write_bytes(pack(text))
    assert Collection.from_folder(tmp_path)["a"].X.tolist() == TABLE
    (tmp_path / name).write_bytes(b"not compressed")
    assert_refused(tmp_path, f"file '{name}' cannot be read")


def test_an_archive_of_several_files_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.csv.zip", "w") as archive:
        archive.writestr("one.csv", "p\n1\n")
        archive.writestr("two.csv", "p\n1\n")
    assert_refused(tmp_path, "it holds 2 files where one is needed: 'one.csv', 'two.csv'")


@pytest.mark.parametrize("name", ["a.arrow", "a.feather", "a.jsonl", "a.ndjson"])
def test_arrow_files_and_json_lines_are_read(tmp_path, name):
    frame = pl.DataFrame(TABLE, schema=["p", "q"], orient="row")
    (frame.write_ipc if name[2:] in ("arrow", "feather") else frame.write_ndjson)(tmp_path / name)
    collection = Collection.from_folder(tmp_path)
    assert collection["a"].X.tolist() == TABLE
    assert collection.feature_names == ("p", "q")
    (tmp_path / name).write_bytes(b"{broken")
    assert_refused(tmp_path, f"file '{name}' cannot be read")


def test_nested_values_are_read_as_such(tmp_path):
    text = '{"p": 1, "q": [1, 2], "r": {"x": 1}}\n{"p": 2, "q": [], "r": null}\n'
    schema = read_frame(find_file(write(tmp_path, "a.jsonl", text))).schema
    assert [str(kind).partition("(")[0] for kind in schema.values()] == ["Int64", "List", "Struct"]


def test_a_column_of_json_lines_that_changes_its_type_is_refused(tmp_path):
    write(tmp_path, "a.jsonl", '{"p": 1}\n{"p": "x"}\n')
    assert_refused(tmp_path, "file 'a.jsonl' cannot be read", "/p", "number to string")


def test_excel_files_are_read_or_say_what_to_install(tmp_path):
    if find_spec("openpyxl") is None:
        write(tmp_path, "a.xlsx", "anything")
        assert_refused(tmp_path, "file 'a.xlsx' cannot be read", "needs openpyxl", "pip install 'fewratio[excel]'")
        return
    pd.DataFrame(TABLE, columns=["p", "q"]).to_excel(tmp_path / "a.xlsx", index=False)
    assert Collection.from_folder(tmp_path)["a"].X.tolist() == TABLE


@pytest.mark.parametrize("text", ["1,2.5\n3,4\n", "\ufeff1,2.5\n3,4", '"1","2.5"\n3,4\n', "1,2.5\r\n\r\n3,4\r\n"])
def test_a_file_without_a_header_keeps_its_first_row(tmp_path, text):
    write(tmp_path, "a.csv", text)
    collection = Collection.from_folder(tmp_path)
    assert collection["a"].X.tolist() == TABLE
    assert collection.feature_names == ("0", "1")


def test_a_short_first_row_that_counts_is_a_row(tmp_path):
    write(tmp_path, "a.csv", "0\n1\n0\n")
    assert Collection.from_folder(tmp_path)["a"].X.tolist() == [[0], [1], [0]]
    write(tmp_path, "a.csv", "1,2\n3,4\n")
    assert len(Collection.from_folder(tmp_path)["a"]) == 2


def test_semicolons_and_decimal_commas_can_be_read(tmp_path):
    path = write(tmp_path, "a.csv", "p;q\n1,0;2,5\n3;4\n")
    for separator in (";", None):
        file = find_file(path, separator=separator, decimal=",")
        assert read_raw(file).array.tolist() == TABLE
    path = write(tmp_path, "a.csv", "p\tq\n1\t2.5\n3\t4\n")
    assert read_raw(find_file(path, separator="\\t")).array.tolist() == TABLE


@pytest.mark.parametrize("text", ["sep=;\np;q\n1;2.5\n3;4\n", '\ufeff"sep=,"\r\np,q\r\n1,2.5\r\n3,4\r\n'])
def test_the_separator_that_a_first_line_of_excel_names_is_used(tmp_path, text):
    frame = read_frame(find_file(write(tmp_path, "a.csv", text)))
    assert frame.columns == ["p", "q"]
    assert [list(row) for row in frame.rows()] == TABLE


def test_a_stream_is_read(tmp_path):
    program = "import sys; from pathlib import Path; from fewratio.data.readers.files import find_file, read_raw\n"
    program += "print(read_raw(find_file(Path(sys.argv[1]))).array.tolist())"
    command = f"{shlex.quote(sys.executable)} -c {shlex.quote(program)} <(printf 'p,q\\n1,2.5\\n3,4\\n')"
    assert subprocess.run(["bash", "-c", command], check=True, capture_output=True, text=True).stdout == f"{TABLE}\n"


BLOCKS = {
    "integers": (["1", "2"], pa.int64(), [1, 2]),
    "large integers, then decimals": ([str(2**60 + 1), "0.5"], pa.float64(), [2.0**60, 0.5]),
    "gaps, then integers": (["", "7"], pa.int64(), [None, 7]),
    "gaps, then dates": (["NA", "2020-01-02"], pa.date32(), [None, datetime.date(2020, 1, 2)]),
    "numbers, then text": (["01", "x"], pa.string(), ["01", "x"]),
    "text, then numbers": (["x", "01"], pa.string(), ["x", "01"]),
    "numbers, gaps, then text": (["0.50", "nan", "true"], pa.string(), ["0.50", None, "true"]),
    "dates, then times": (["2020-01-02", "2020-01-02 10:00:00"], pa.string(), ["2020-01-02", "2020-01-02 10:00:00"]),
    "gaps only": (["", ""], pa.null(), [None, None]),
}


@pytest.mark.parametrize("case", BLOCKS)
@pytest.mark.parametrize("quote", ["", '"'])
def test_a_column_has_one_type_whatever_its_blocks_hold(tmp_path, case, quote):
    values, kind, expected = BLOCKS[case]
    # A block is 10,000 bytes of about 500 rows.
    rows = [f"{row},{quote}a{quote},{value}" for row, value in enumerate(np.repeat(values, 1500))]
    path = write(tmp_path, "a.csv", "n,s,p\n" + "\n".join(rows))
    table = read_csv(path, ",", block_bytes=10_000)
    assert table["p"].num_chunks > 1
    # Where one column turns out to have decimals, or text, the other integers become floats with it.
    assert table["n"].type in (pa.int64(), pa.float64())
    assert table.schema.types[1:] == [pa.string(), kind]
    assert table["n"].to_pylist() == list(range(len(rows)))
    assert table["p"].to_pylist() == list(np.repeat(np.array(expected, dtype=object), 1500))


@pytest.mark.parametrize("text", ["", 'a literal " quote'])
def test_blocks_end_with_rows_also_where_values_have_several_lines(tmp_path, text):
    rows = [(text, f'{row}\n,"{row}"\r\n' if row % 3 else f'"{row}') for row in range(3000)]
    lines = [f'{first},"{second.replace(chr(34), chr(34) * 2)}"' for first, second in rows]
    path = write(tmp_path, "a.csv", "p,q\n" + "\n".join(lines) + "\n")
    table = read_csv(path, ",", block_bytes=10_000)
    assert table["q"].num_chunks > 3
    assert table["p"].to_pylist() == [first or None for first, _ in rows]
    assert table["q"].to_pylist() == [second for _, second in rows]


def test_lines_may_end_as_on_old_machines(tmp_path):
    path = write(tmp_path, "a.csv", "p,q\r" + "1,2.5\r3,4\r" * 3000)
    assert read_csv(path, ",", block_bytes=10_000)["q"].to_pylist() == [2.5, 4.0] * 3000


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.jsonl", "a.arrow"])
def test_a_frame_has_the_types_of_the_file(tmp_path, name):
    frame = pl.DataFrame(
        {
            "id": [1, 2],
            "x": [0.5, None],
            "colour": ["red", None],
            "ok": [True, False],
            "day": [datetime.date(2020, 1, 2), None],
            "at": [datetime.datetime(2020, 1, 2, 3, 4, 5), None],
        }
    )
    path = tmp_path / name
    kinds = {"csv": frame.write_csv, "parquet": frame.write_parquet, "jsonl": frame.write_ndjson}
    kinds.get(name[2:], frame.write_ipc)(path)
    read = read_frame(find_file(path))
    # JSON has no dates, and what it has as text is taken for a date if it reads as one.
    kept = frame.columns[:4] if name == "a.jsonl" else frame.columns
    assert read.select(kept).rows() == frame.select(kept).rows()
    assert [str(read.schema[label]) for label in frame.columns[:4]] == ["Int64", "Float64", "String", "Boolean"]


def test_text_may_stay_text(tmp_path):
    path = write(tmp_path, "a.csv", "p,q\n01,NA\n2,\n")
    assert read_frame(find_file(path), ["q", "p"]).rows() == [("01", "NA"), ("2", None)]
    assert read_frame(find_file(path), ["q"]).rows() == [("01", "NA"), ("2", None)]


@pytest.mark.parametrize(
    ("cells", "is_text"),
    [
        (["00123", "10115"], True),
        (["10115"] * 500_000 + ["00123", ""], True),
        (["0", "10"], False),
        (["00.5", "10"], False),
        (["-05", "10"], False),
        (["08:30", "10:15"], False),
    ],
    ids=["codes", "a late code", "zero", "decimals", "signs", "times"],
)
def test_a_leading_zero_makes_a_column_of_digits_text(tmp_path, cells, is_text):
    path = write(tmp_path, "a.csv", "\n".join(["x,q", *(f"{cell},1.5" for cell in cells)]))
    table = read_columns(find_file(path))
    assert (table.schema.field("x").type == pa.string()) == is_text
    assert table.schema.field("q").type == pa.float64()
    if is_text:
        assert table["x"].to_pylist()[:1] == cells[:1]


HEADERS = {
    "years": ("2019,2020,2021\n1.5,2.5,3.5\n", True, True),
    "years above years": ("2019,2020\n2020,2021\n", False, False),
    "a year above years": ("2019\n2020\n2021\n", False, False),
    "years beside names": ("country,1952,2007\nChad,1,2\n", True, True),
    "wavelengths": ("400,410,420\n.1,.2,.3\n", True, True),
    "steps within the range": ("10,20,30\n9,19,29\n11,21,31\n", False, False),
    "counted columns": ("1,2,3\n1.5,2.5,3.5\n", True, False),
    "decimals": ("1.5,2,3\n1.5,2.5,3.5\n", False, False),
    "equal numbers": ("2019,2019\n1.5,2.5\n", False, False),
    "whole numbers": ("39,77516,13\n50,83311,13\n38,215646,9\n", False, False),
    "whole numbers unlike all below": ("77,12\n" + "1.5,2.5\n" * 40, False, True),
    "names above numbers": ("p,q\n1,2\n", True, False),
    "names above a gap": ("p,q\n1,\n", True, False),
    "names above texts": ("p,q\na,b\n", True, False),
    "names above dates": ("p,q\na,2024-01-31\na,2024-02-01\n", True, False),
    "categories": ("a,b\nb,a\na,b\n", False, True),
    "a class beside numbers": ("0.49,0.29,cp\n0.07,0.4,cp\n", False, True),
    "a name beside numbers": ("Chad,0.29\nMali,0.4\n", False, True),
    "a gap beside a class": ("5.1,NA,cp\n5,1,cp\n", False, True),
    "a year beside names": ("Chad,1952\nMali,1952\n", False, True),
    "a name above numbers beside a number": ("Chad,5\n3,4\n", True, False),
    "decimal commas": ("1,5;2,5\n3,5;2\n", False, False),
    "one line": ("5,3\n", False, False),
    "no rows": ("p,q\n", True, False),
}


@pytest.mark.parametrize(("text", "is_header", "is_said"), HEADERS.values(), ids=HEADERS)
def test_a_first_line_is_a_header_or_a_row(tmp_path, recwarn, text, is_header, is_said):
    path, separator = write(tmp_path, "a.csv", text), ";" if ";" in text else ","
    table = read_table(path, separator=separator, decimal="," if separator == ";" else ".")
    first = text.partition("\n")[0].split(separator)
    assert (table.column_names == first) == is_header
    assert table.num_rows == text.count("\n") - is_header
    assert [f"header={not is_header} changes that" in str(each.message) for each in recwarn] == [True] * is_said
    for header in (True, False) if len(set(first)) == len(first) else (False,):
        recwarn.clear()
        other = read_table(path, separator=separator, header=header)
        assert (other.column_names == first) == header
        # Of texts, a header that stands there again is left out.
        assert ["repeats" in str(each.message) for each in recwarn] == [True] * (header and text == "a,b\nb,a\na,b\n")


def test_equal_first_lines_are_a_header(tmp_path):
    for name, rows in (("a", "1.5,7\n2,9\n"), ("b", "8,7.5\n9,3\n")):
        write(tmp_path, f"{name}.csv", f"12,1.25\n{rows}")
    with pytest.warns(UserWarning, match="is read as names of columns, as it is the same in all files. header=False"):
        assert Collection.from_folder(tmp_path).feature_names == ("12", "1.25")
    assert Collection.from_folder(tmp_path, header=False).feature_names == ("0", "1")
    # The same file twice.
    write(tmp_path, "b.csv", "12,1.25\n1.5,7\n2,9\n")
    assert Collection.from_folder(tmp_path).feature_names == ("0", "1")
    # A row that occurs again.
    for name, rows in (("a", "1,2\n2,1\n"), ("b", "3,2\n2,1\n")):
        write(tmp_path, f"{name}.csv", f"2,1\n{rows}")
    assert Collection.from_folder(tmp_path).feature_names == ("0", "1")


def test_arrays_have_no_names(tmp_path):
    path = write(tmp_path, "a.npz", {"X": np.array(TABLE), "is_outlier": np.array([0, 1])})
    assert [part.tolist() for part in read_arrays(find_file(path))] == [TABLE, [0, 1]]
    assert not read_raw(find_file(path)).is_named


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["", "p"], ["Unnamed: 0", "p"]),
        (["", ""], ["Unnamed: 0", "Unnamed: 1"]),
        (["", "Unnamed: 0"], ["Unnamed: 0.1", "Unnamed: 0"]),
        (["p", "__index_level_0__"], ["p", "__index_level_0__"]),
    ],
)
def test_columns_without_a_name_get_their_number(tmp_path, name, names, expected):
    table = pa.Table.from_arrays([pa.array([0, 1]), pa.array([2.5, 4])], names)
    path = tmp_path / name
    if name == "a.csv":
        path.write_text(",".join(names) + "\n0,2.5\n1,4\n")
    else:
        pq.write_table(table, path)
    assert read_frame(find_file(path)).to_dict(as_series=False) == dict(zip(expected, ([0, 1], [2.5, 4]), strict=True))


def test_a_header_that_stands_in_a_file_again_is_left_out_and_said(tmp_path, recwarn):
    first = write(tmp_path, "a.csv", "kind,size\nx,1.5\ny,2\nkind,size\nx,3\n")
    second = write(tmp_path, "b.csv", "kind,size\nx,2.5\ny,1\ny,3\n")
    assert read_table(first).to_pydict() == {"kind": ["x", "y", "x"], "size": [1.5, 2, 3]}
    assert "a.csv' repeats its first line (kind, size) further below" in str(recwarn.pop().message)
    assert not recwarn
    result = compare_datasets(first, str(second), n_permutations=19)
    assert "repeats its first line" in str(recwarn.pop().message)
    assert [len(result.ratios_a), len(result.ratios_b)] == [3, 3]
    assert read_table(first, header=False).num_rows == 5


def test_a_header_of_texts_above_texts_is_decided_with_the_other_table(tmp_path, recwarn):
    first = write(tmp_path, "a.csv", "kind,sort\nx,u\ny,v\nkind,sort\nx,v\n")
    second = write(tmp_path, "b.csv", "kind,sort\nx,v\ny,v\ny,u\n")
    result = compare_datasets(first, second, n_permutations=19)
    assert ["repeats its first line" in str(each.message) for each in recwarn][:2] == [True, False]
    assert {each.column for each in result.columns} == {"kind", "sort"}
    assert [len(result.ratios_a), len(result.ratios_b)] == [3, 3]


def test_a_row_of_numbers_that_equals_numbered_names_is_kept(tmp_path):
    assert read_table(write(tmp_path, "a.csv", "0,1,2\n5,3,4\n0,1,2\n")).num_rows == 2


def test_a_text_that_recurs_in_a_single_column_of_numbers_may_be_a_gap(tmp_path):
    with pytest.warns(FewRatioWarning, match="is read as names of columns once. header=False reads all such lines"):
        read_table(write(tmp_path, "a.csv", "unknown\n1\n2\nunknown\n3\n"))


# Of each public function that reads tables, a call with a file that nobody can read without a warning.
READERS = {
    "compare_datasets": lambda path: compare_datasets(path, path, n_permutations=19),
    "importance_weights": lambda path: fewratio.importance_weights(path, path),
    "detect_changes": lambda path: fewratio.detect_changes(path),
    "read_table": lambda path: read_table(path),
    "RuLSIF.fit": lambda path: fewratio.RuLSIF().fit(path, path),
    "InlierOutlierDetector.fit": lambda path: fewratio.InlierOutlierDetector().fit(path),
    "InlierOutlierDetector.predict": lambda path: fewratio.InlierOutlierDetector().fit(read_table(path)).predict(path),
    "Collection.from_arrays": lambda path: Collection.from_arrays({"a": path, "b": path}),
    "Collection.from_folder": lambda path: Collection.from_folder(path.parent),
    "DriftMonitor": lambda path: fewratio.DriftMonitor(path),
}


@pytest.mark.parametrize("call", READERS.values(), ids=READERS)
def test_a_warning_points_at_the_line_of_the_caller(tmp_path, call):
    rows = "".join(f"{n % 7},{n * n % 11},Jos\xe9\n" for n in range(40))
    path = tmp_path / "a.csv"
    path.write_bytes(f"p,q,name\n{rows}p,q,name\n".encode("latin-1"))
    with pytest.warns(FewRatioWarning) as said:
        call(path)
    assert any("Windows-1252" in str(each.message) for each in said)
    assert any("repeats its first line" in str(each.message) for each in said)
    assert {each.filename for each in said} == {__file__}


def test_a_row_index_beside_numbered_columns_is_a_header(tmp_path):
    pd.DataFrame(TABLE).to_csv(tmp_path / "a.csv")
    assert read_frame(find_file(tmp_path / "a.csv")).columns == ["Unnamed: 0", "0", "1"]


@pytest.mark.slow
def test_a_file_of_many_pieces_keeps_its_rows_in_order(tmp_path):
    X = np.random.default_rng(0).normal(size=(60_000, 10))
    frame = pl.DataFrame(X, schema=[f"c{j}" for j in range(10)])
    frame.write_csv(tmp_path / "a.csv")
    frame.write_parquet(tmp_path / "b.parquet")
    for dataset in Collection.from_folder(tmp_path):
        np.testing.assert_array_equal(dataset.X, X)
        assert dataset.X.flags.c_contiguous
        assert not dataset.X.flags.writeable
    frame[55_000, 3] = np.inf
    frame.write_csv(tmp_path / "a.csv")
    with pytest.raises(InputError, match=r"column 'c3' of file 'a\.csv' has 1 .* at row 55000 \(counting"):
        Collection.from_folder(tmp_path)
    with pytest.raises(InputError, match=r"column 'c3' of file '.*a\.csv' has 1 .* at row 55000 \(counting"):
        Collection.from_table(tmp_path / "a.csv", dataset="c0")
    frame = frame.cast({"c3": pl.String})
    frame[56_000, 3] = "seven"
    frame.write_csv(tmp_path / "a.csv")
    with pytest.raises(InputError, match=r"file 'a\.csv' has 1 column .* 'seven' at row 56000 of column 'c3' \("):
        Collection.from_folder(tmp_path, categorical="error")
    with pytest.raises(InputError, match=r"column 'c3' of file 'a\.csv' .* is 'seven' at row 56000 \("):
        Collection.from_folder(tmp_path)


def test_a_wrong_mark_is_named_by_file_row_and_column(tmp_path):
    write(tmp_path, "a.csv", "size,colour,odd\n1,red,0\n2,green,maybe\n")
    with pytest.raises(InputError, match=r"column 'odd' of file 'a\.csv' holds 'maybe'.*, the first at row 1 \("):
        Collection.from_folder(tmp_path, "odd")


# ---------------------------------------------------------------- what is refused

LONG = "p,q\n1,2\n" + "7" * (2**24 + 10) + ",4\n5,6\n"
HOSTILE = {
    "a short line": ("p,q\n1,2\n3\n4,5\n", "line 1 has 2 fields but line 3 has 1"),
    "a long line": ("p,q\n1,2\n3,4,5\n", "line 1 has 2 fields but line 3 has 3"),
    "a ragged line after a quoted one": ('p,q\n"1\n",2\n3\n', "line 4 has 1"),
    "more fields than names": ("p,q\n1,2,3\n", "line 1 has 2 fields but line 2 has 3"),
    "one name twice": ("p,p\n1,2\n", "several columns have the name 'p'"),
    "one name twice beside none": (",p,,p\n1,2,3,4\n", "several columns have the name 'p'"),
    "no line end": (LONG, "a line is longer than 4 MiB"),
    "nothing": ("", "it is empty"),
    "an empty line only": ("\n", "first line is empty"),
    "binary data": (b"p,q\n1,2\n\x00\xff\xfe,3\n", "line 3 holds binary data"),
    "garbage": (bytes(range(1, 256)) * 50, "file 'a.csv' cannot be read"),
    "decimal commas between commas": ("p,q\n1,5,2,5\n0,1,-3,25\n", "line 1 has 2 fields but line 2 has 4"),
    "two encodings": (
        "pé,q\n".encode() + b"1,2\n" * 400_000 + b"\xe9,2\n",
        "line 400002 holds the byte 0xe9, which is not UTF-8; it would be 'é' in Windows-1252",
    ),
    "an unknown encoding": (b"p,q\n\x81,2\n", "line 2 holds the byte 0x81, which is not UTF-8"),
    "a letter cut in two": (b"p,q\n1,\xc3", "line 2 holds the byte 0xc3, which is not UTF-8"),
    "a quote left open": ('p,q\n1,2\n3,"a\n4,b\n5,c\n', "line 3 has a quote that is not closed"),
    "a quote left open in the header": ('p,"q\n1,2\n', "line 1 has a quote that is not closed"),
    "a quote closed by the next": ('p,q\n1,"a\n2,b\n3,"c\n', "line 2 has a quote that is not closed"),
    "a short line after Excel's own": ("sep=;\np;q\n1;2\n3\n", "line 2 has 2 fields but line 4 has 1"),
    "decimal commas in quotes": (
        'p,q\n1,"2,5"\n',
        "column 'q' of file 'a.csv' looks like decimal commas (such as '2,5' at row 0,",
    ),
}


@pytest.mark.parametrize(
    ("text", "rows", "advice"),
    [
        ("p;q\n1,5;2\n", [[1.5, 2]], "divided by semicolons and not by commas; give separator=';' and decimal=',')"),
        ("p;q\n1;2.5\n", [[1, 2.5]], "by semicolons and not by commas; give separator=';')"),
        ("p|q\n1|2\n", [[1, 2]], "by vertical bars and not by commas; give separator='|')"),
        ('"p"\t"q"\n1\t2\n', [[1, 2]], "by tabs and not by commas; give separator='\\t')"),
    ],
)
def test_a_separator_is_found_unless_another_is_given(tmp_path, text, rows, advice):
    path = tmp_path / "a.csv"
    path.write_text(text)
    assert read_columns(find_file(path)).to_pylist() == [dict(zip("pq", row, strict=True)) for row in rows]
    with open_rows(find_file(path)) as table:
        assert next(table.pieces(10)).cells("q") == [row[1] for row in rows]
    with pytest.raises(DataFileError, match=re.escape(advice)):
        read_raw(find_file(path, separator=","))


def test_formulas_without_values_are_said(tmp_path):
    book = openpyxl.Workbook()
    for row in (["p", "q"], [1, "=A2+1"], [None, "=A3+1"], [3, 4]):
        book.active.append(row)
    book.active.title = "Sums"
    book.save(tmp_path / "a.xlsx")
    with pytest.warns(FewRatioWarning, match="In column 'q' of sheet 'Sums' of a.xlsx, 2 cells hold formulas without"):
        assert read_table(tmp_path / "a.xlsx").to_pydict() == {"p": [1, None, 3], "q": [None, None, 4]}


def test_a_cell_of_blanks_is_missing_in_every_container(tmp_path):
    frame = pd.DataFrame({"when": ["8:30", "  ", "14:05"], "size": ["1.5", " ", "2"]})
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_excel(tmp_path / "a.xlsx", index=False)
    for each in (frame, tmp_path / "a.csv", tmp_path / "a.xlsx"):
        raw = as_raw(each)
        np.testing.assert_array_equal(raw.values("when").as_read().numbers, [8.5, np.nan, 14 + 5 / 60])
        np.testing.assert_array_equal(raw.values("size").as_read().numbers, [1.5, np.nan, 2])


@pytest.mark.parametrize("frequency", ["M", "Q", "W", "D"])
@pytest.mark.filterwarnings("ignore:Period")
def test_periods_are_the_dates_on_which_they_begin(tmp_path, frequency):
    frame = pd.DataFrame({"when": pd.period_range("2020-01", periods=3, freq=frequency), "x": 1.0})
    frame.loc[1, "when"] = pd.NaT
    frame.to_parquet(tmp_path / "a.parquet")
    frame.to_feather(tmp_path / "a.feather")
    days = (frame["when"].dt.to_timestamp() - pd.Timestamp(0)) / pd.Timedelta(days=1)
    held = [frame, frame.astype(object), frame.to_dict("list"), tmp_path / "a.parquet", tmp_path / "a.feather"]
    for each in held:
        np.testing.assert_array_equal(as_raw(each).values("when").numbers, days)
    # Before pandas is imported, pyarrow does not know the type.
    program = "import sys; from fewratio.data.raw_table import as_raw; print(as_raw(sys.argv[1]).values('when').kind)"
    run = subprocess.run([sys.executable, "-c", program, tmp_path / "a.parquet"], capture_output=True, text=True)
    assert run.stdout == "date\n", run.stderr


def test_the_same_texts_are_missing_in_text_and_in_excel(tmp_path):
    pytest.importorskip("openpyxl")
    frame = pd.DataFrame({"note": ["ok", "n/a", "NA", "no"], "x": [1.0, 2, 3, 4]})
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_excel(tmp_path / "a.xlsx", index=False)
    cells = [read_raw(find_file(tmp_path / name)).cells("note") for name in ("a.csv", "a.xlsx")]
    assert list(cells[0]) == list(cells[1]) == ["ok", None, None, "no"]


@pytest.mark.parametrize("text", ["p,q", "p,q\n", '"p",q\n\n'])
def test_a_header_without_rows_is_an_empty_table(tmp_path, text):
    write(tmp_path, "a.csv", text)
    assert_refused(tmp_path, "file 'a.csv' is empty (0 rows)")


def test_the_last_line_counts_for_types_though_it_does_not_end(tmp_path):
    path = write(tmp_path, "a.csv", "p,q,r\n1,2,1\n,x,true")
    assert read_csv(path, ",").schema.types == [pa.int64(), pa.string(), pa.bool_()]


@pytest.mark.parametrize("case", HOSTILE)
def test_a_bad_text_file_is_refused_with_its_line(tmp_path, case):
    text, reason = HOSTILE[case]
    write(tmp_path, "a.csv", text)
    assert_refused(tmp_path, "file 'a.csv'", reason)


def test_commas_in_a_file_of_tabs_are_found(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("p,q\n1,2\n")
    assert read_columns(find_file(path)).to_pylist() == [{"p": 1, "q": 2}]


@pytest.mark.parametrize("text", ["height; in m\n1\n", '"height; in m"\n1\n', "a|b,c\n1,2\n"])
def test_a_mark_in_a_name_divides_nothing(tmp_path, text):
    write(tmp_path, "a.csv", text)
    assert Collection.from_folder(tmp_path)["a"].X[0, 0] == 1


def test_decimal_commas_between_tabs(tmp_path):
    for text in ("p\tq\n1,5\t2\n", "p\tq\n\t2\n3\t2\n1,5\t2\n"):
        write(tmp_path, "a.tsv", text)
        assert_refused(
            tmp_path, "column 'p' of file 'a.tsv' looks like decimal commas (such as '1,5' at row ", "decimal=','"
        )


OBJECTS = np.array([[1, "a"], [None, {}]], dtype=object)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.parquet", pa.table({"q": [["u"]]}), "to use: 'q' (nested values)"),
        ("a.parquet", pa.table({"p": [{"x": 1}]}), "to use: 'p' (nested values)"),
        (
            "a.parquet",
            pa.table({"p": pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64()))}),
            "to use: 'p' (nested values)",
        ),
        ("a.parquet", b"PAR1 and nothing else PAR1", "cannot be read"),
        ("a.parquet", b"", "it is empty"),
        ("a.npy", b"", "it is empty"),
        ("a.npy", b"\x80\x04N.", "cannot be read"),
        ("a.npy", b"p,q\n1,2\n", "magic string is not correct"),
        ("a.npy", OBJECTS, "Python objects"),
        ("a.npy", np.zeros(3), "has one axis (shape (3,))"),
        ("a.npy", np.zeros((2, 3), dtype="V0"), "to use: '0' (type binary)"),
        ("a.npy", np.array([["x"], ["y"], ["z"]]), "to use: '0' (id)"),
        ("a.npy", np.array([[1.0, np.inf]]), "column 1 of file 'a.npy' has 1 infinite value, the first at row 0"),
        ("a.npz", b"", "it is empty"),
        ("a.npz", b"garbage", "not a zip file"),
        ("a.npz", {"X": OBJECTS}, "Object arrays cannot be loaded"),
        ("a.npz", {"X": np.zeros((2, 2)), "y": np.zeros(2)}, "it holds 2 arrays: 'X', 'y'"),
        ("a.npz", {}, "it holds 0 arrays"),
        ("a.npz", {"X": np.zeros((2, 2, 2))}, "has 3 axes (shape (2, 2, 2))"),
        ("a.npz", {"X": np.zeros((2, 2)), "is_outlier": np.array([0, 2])}, "is_outlier of file 'a.npz' holds 2"),
    ],
)
def test_a_bad_binary_file_is_refused(tmp_path, name, content, reason):
    write(tmp_path, name, content)
    assert_refused(tmp_path, f"file '{name}'", reason)


@pytest.mark.parametrize("name", ["a.npy", "a.npz"])
def test_an_array_that_promises_more_than_it_has_is_refused(tmp_path, name):
    np.save(tmp_path / "a.npy", np.zeros((2, 16)))
    whole = (tmp_path / "a.npy").read_bytes()
    (tmp_path / "a.npy").unlink()
    liar = whole.replace(b"(2, 16), }" + b" " * 12, b"(2000000000000, 16), }")
    assert len(liar) == len(whole)
    if name == "a.npy":
        (tmp_path / name).write_bytes(liar)
    else:
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("X.npy", liar)
    assert_refused(tmp_path, f"file '{name}' cannot be read")


@pytest.mark.parametrize("shape", [b"(-2, 16)", b"(2, )", b"(2, 1e9)", b"[2, 16]"])
def test_a_damaged_header_of_an_array_is_refused(tmp_path, shape):
    np.save(tmp_path / "a.npy", np.zeros((2, 16)))
    whole = (tmp_path / "a.npy").read_bytes()
    (tmp_path / "a.npy").write_bytes(whole.replace(b"(2, 16), }" + b" " * 10, shape.ljust(8) + b", }" + b" " * 9))
    assert_refused(tmp_path, "file 'a.npy' ")


def test_a_member_of_an_archive_that_is_no_array_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("X.npy", "p,q\n1,2\n")
    assert_refused(tmp_path, "file 'a.npz' is a bytes; expected a table")


@pytest.mark.slow
def test_an_archive_that_would_fill_the_memory_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive, archive.open("X.npy", "w") as file:
        header = {"descr": "<f8", "fortran_order": False, "shape": (2**21, 20)}
        np.lib.format.write_array_header_1_0(file, header)
        for _ in range(320):
            file.write(bytes(2**20))
    assert_refused(tmp_path, "file 'a.npz' cannot be read", "bytes was made of")


@pytest.mark.parametrize(("ending", "compress"), [("gz", gzip.compress), ("xz", lzma.compress)])
def test_a_small_file_that_expands_without_end_is_refused(tmp_path, ending, compress):
    """Compressed parts joined are one compressed file; 257 MiB of text are made of far less."""
    write(tmp_path, f"a.csv.{ending}", compress(b"1,2\n" * 2**18) * 257)
    assert_refused(tmp_path, f"file 'a.csv.{ending}' cannot be read", "bytes was made of")


def test_another_header_is_refused_by_its_columns(tmp_path):
    write(tmp_path, "a.csv", "p,q\n1,2\n")
    write(tmp_path, "b.csv", "p,Q\n1,2\n")
    assert_refused(tmp_path, "file 'b.csv' has other column names than file 'a.csv' (missing: 'q'; unexpected: 'Q')")


def test_an_array_without_flags_is_refused_where_outliers_are_asked_for(tmp_path):
    write(tmp_path, "a.npy", np.array(TABLE))
    with pytest.raises(MissingColumnError, match=r"file 'a\.npy' has no column 'odd'"):
        Collection.from_folder(tmp_path, outlier="odd")


@pytest.mark.parametrize(
    ("name", "content", "owner", "opener"),
    [
        ("a.csv", "p\n1\n", Path, "open"),
        ("a.parquet", pa.table({"p": [1]}), pq, "ParquetFile"),
        ("a.npy", np.ones((1, 1)), np.lib.format, "open_memmap"),
    ],
)
def test_a_file_that_may_not_be_opened_is_named(tmp_path, name, content, owner, opener, monkeypatch):
    path = write(tmp_path, name, content)

    def refuse(*arguments, **options):
        raise PermissionError(13, "Permission denied", str(path))

    # Even the superuser, who may open anything, is refused here.
    monkeypatch.setattr(owner, opener, refuse)
    assert_refused(tmp_path, f"file '{name}' cannot be read", "Permission denied", "Fix the file or export it again.")


def test_columns_of_one_name_in_a_parquet_file_are_refused_in_few_words(tmp_path):
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["p", "p"])
    path = write(tmp_path, "a.parquet", table)
    assert_refused(tmp_path, "file 'a.parquet' cannot be read (several columns have the name 'p'); expected")
    with pytest.raises(DataFileError, match="several columns have the name 'p'"):
        Collection.from_table(path, "site")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_a_name_that_is_not_utf8_is_refused(tmp_path):
    name = os.fsdecode(b"a\xe9.csv")
    write(tmp_path, name, "site,p\nu,1\n")
    for read in (lambda: Collection.from_folder(tmp_path), lambda: Collection.from_table(tmp_path / name, "site")):
        with pytest.raises(ParameterError, match=r"a\\udce9.csv', which this system cannot name a file by"):
            read()


def assert_refused(folder, *words, **options):
    with pytest.raises(FewRatioError) as caught:
        Collection.from_folder(folder, **options)
    message = str(caught.value)
    assert isinstance(caught.value, DataFileError | InputError | CollectionError)
    assert "\n" not in message
    assert len(message) < 1200
    for word in words:
        assert word in message


def test_a_refused_file_leaves_a_program_that_ends_well(tmp_path):
    """pyarrow's threads, given a ragged file, could abort the program at its end."""
    rows = "1.25,2.5\n" * 200_000
    write(tmp_path, "a.csv", "p,q\n" + rows + "1,2,3\n" + rows)
    program = (
        "import sys; from fewratio import Collection, FewRatioError\n"
        "try: Collection.from_folder(sys.argv[1])\n"
        "except FewRatioError as error: sys.exit(3)\n"
    )
    assert subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False).returncode == 3


# ---------------------------------------------------------------- one long file

LONG_TABLE = pl.DataFrame({"site": ["u", "v", "u"], "kind": ["k", None, "k"], "odd": [0, 1, 0], "p": [1.0, 2.0, 3.0]})


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet"])
def test_from_table_equals_from_frame(tmp_path, suffix, monkeypatch):
    path = write_long(LONG_TABLE, tmp_path / f"sites.{suffix}")
    collection = Collection.from_table(path, "site", group="kind", outlier="odd")
    assert repr(collection) == "Collection('sites', 2 datasets of 1 to 2 rows, 1 feature, 1 group)"
    assert collection.groups == ("k", None)
    assert collection["u"].X.tolist() == [[1], [3]]
    assert collection["v"].is_outlier.tolist() == [True]
    assert collection.feature_names == ("p",)


def write_long(frame, path):
    if path.suffix == ".parquet":
        frame.write_parquet(path)
    else:
        frame.write_csv(path, separator="\t" if path.suffix == ".tsv" else ",")
    return path


def test_a_long_table_may_have_other_marks(tmp_path):
    path = write(tmp_path, "t.csv", "site;p\n01;1,5\n01;2\n1;3\n")
    collection = Collection.from_table(path, "site", separator=";", decimal=",")
    assert {dataset.name: dataset.X.tolist() for dataset in collection} == {"01": [[1.5], [2]], "1": [[3]]}


def test_names_in_a_text_file_are_text(tmp_path):
    names = ["01", "1", "001", "1.10", "1.1", "12345678901234567890123", "12345678901234567890124", "NA", "true"]
    rows = "".join(f"{name},{name},{number}\n\n" for number, name in enumerate(names))
    path = write(tmp_path, "t.csv", "site,kind,p\n" + rows)
    collection = Collection.from_table(path, "site", group="kind", keep="p")
    assert collection.names == collection.groups == tuple(names)
    assert [dataset.X.tolist() for dataset in collection] == [[[number]] for number in range(len(names))]


@pytest.mark.parametrize("empty", ["", '""'])
def test_an_empty_name_is_missing(tmp_path, empty):
    path = write(tmp_path, "t.csv", f"site,kind,p\nu,{empty},1\nv,k,2\n")
    assert Collection.from_table(path, "site", group="kind").groups == (None, "k")
    with pytest.raises(InputError, match=r"column 'kind' of file '.*t\.csv' is missing at row 0"):
        Collection.from_table(path, "kind", group="site")


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_from_table_says_what_is_wrong(tmp_path, suffix):
    path = write_long(LONG_TABLE, tmp_path / f"sites.{suffix}")
    with pytest.raises(MissingColumnError, match=rf"sites\.{suffix}' has no column 'place'; its columns are"):
        Collection.from_table(path, "place")
    with pytest.raises(InputError, match=rf"column 'kind' of file '.*sites\.{suffix}' is missing at row 1"):
        Collection.from_table(path, "kind")
    with pytest.raises(InputError, match=r"column 'kind' \(text\)"):
        Collection.from_table(path, "site", categorical="error")
    write_long(LONG_TABLE.clear(), path)
    with pytest.raises(InputError, match=r"empty \(0 rows\)"):
        Collection.from_table(path, "site")


def test_a_missing_value_far_down_a_parquet_file_is_found(tmp_path, monkeypatch):
    path = write_long(pl.DataFrame({"site": ["u"] * 9, "p": [1.0] * 6 + [None] + [1.0] * 2}), tmp_path / "t.parquet")
    assert Collection.from_table(path, "site")["u"].X[:, 1].tolist() == [0] * 6 + [1] + [0] * 2


def test_missing_flags_are_counted_over_a_whole_file(tmp_path, monkeypatch):
    frame = pl.DataFrame({"site": ["u"] * 9, "odd": [0] * 5 + [None] * 3 + [1], "p": [1.0] * 9})
    path = write_long(frame, tmp_path / "t.parquet")
    with pytest.raises(
        InputError, match=r"column 'odd' of file '.*t\.parquet' holds missing values, the first at row 5"
    ):
        Collection.from_table(path, "site", outlier="odd")


def test_from_table_wants_one_table_with_names(tmp_path):
    with pytest.raises(DataNotFoundError, match=r"sites\.csv' does not exist"):
        Collection.from_table(tmp_path / "sites.csv", "site")
    with pytest.raises(DataNotFoundError, match=r"is a folder; expected a table file"):
        Collection.from_table(tmp_path, "site")
    with pytest.raises(DataFileError, match=r"a\.npy' ends in '\.npy'; it must end in one of \.csv"):
        Collection.from_table(write(tmp_path, "a.npy", np.array(TABLE)), "site")
    with pytest.raises(DataFileError, match=r"a\.parquet' cannot be read"):
        Collection.from_table(write(tmp_path, "a.parquet", b"PAR1 nothing PAR1"), "site")
    with pytest.raises(InputError, match=r"no column is left to use: 'q' \(nested values\)"):
        Collection.from_table(write(tmp_path, "n.parquet", pa.table({"site": ["u"], "q": [["v"]]})), "site")


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_windows_text_is_read_with_a_warning(tmp_path, name):
    text = ("Größe,q\n" + "ä,1.5\n" * 300_000 + "–,2\n").encode("cp1252")
    path = write(tmp_path, name, gzip.compress(text) if name.endswith("gz") else text)
    with pytest.warns(UserWarning, match="is not UTF-8; it is read as Windows-1252"):
        table = read_columns(find_file(path))
    assert table.column_names == ["Größe", "q"]
    assert table["Größe"].to_pylist()[-2:] == ["ä", "–"]
    with pytest.warns(UserWarning, match="Windows-1252"), open_rows(find_file(path)) as rows:
        assert rows.labels == ("Größe", "q")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_unicode_text_is_known_by_its_mark(tmp_path, encoding):
    path = write(tmp_path, "a.csv", "Größe,q\nä,1.5\nß,2\n".encode(encoding))
    assert read_columns(find_file(path)).to_pydict() == {"Größe": ["ä", "ß"], "q": [1.5, 2]}


def test_the_sheet_that_is_read_is_named_if_there_are_more(tmp_path):
    path = tmp_path / "a.xlsx"
    with pd.ExcelWriter(path) as book:
        for number, name in enumerate(("May", "June")):
            pd.DataFrame({"x": [number, 2.0]}).to_excel(book, sheet_name=name, index=False)
    with pytest.warns(UserWarning, match="a.xlsx has 2 sheets; the first, 'May', was read"):
        assert read_raw(find_file(path)).cells("x") == [0.0, 2.0]


def test_a_workbook_is_closed_after_it_was_read(tmp_path, monkeypatch):
    pd.DataFrame({"x": [1.5, 2]}).to_excel(tmp_path / "a.xlsx", index=False)
    books, load = [], openpyxl.load_workbook
    monkeypatch.setattr(
        openpyxl, "load_workbook", lambda *args, **options: books.append(load(*args, **options)) or books[0]
    )
    read_raw(find_file(tmp_path / "a.xlsx"))
    assert [book._archive.fp for book in books] == [None]


def test_an_unknown_option_of_a_file_gets_the_name_that_is_meant():
    with pytest.raises(ParameterError, match=r"read_table has no option 'sep'; .* Did you mean separator\?"):
        read_table("a.csv", sep=";")


def test_columns_divided_by_blanks_are_found(tmp_path):
    path = write(tmp_path, "a.csv", "city price day\nBonn 1.5 2024-01-01\nKiel 2.5 2024-01-02\n")
    assert read_frame(find_file(path)).columns == ["city", "price", "day"]
    path = write(tmp_path, "b.csv", "home town\nNew York\nBad Ems\n")
    assert read_frame(find_file(path)).columns == ["home town"]


def test_a_name_that_is_repeated_is_to_be_changed(tmp_path):
    with pytest.raises(DataFileError, match=r"the name 'p'\); expected another name for each column. Rename one"):
        read_columns(find_file(write(tmp_path, "a.csv", "p,p\n1,2\n")))


@pytest.mark.parametrize("dtype", [pl.Categorical, pl.Enum(["a", "b"])])
def test_categories_of_polars_are_read_from_arrow_files(dtype, tmp_path):
    table = pl.DataFrame({"kind": ["a", None, "b", "a"]}, schema={"kind": dtype})
    table.write_ipc(tmp_path / "table.arrow")
    values = as_raw(str(tmp_path / "table.arrow"), "A").values("kind")
    assert (values.kind, values.codes.tolist(), list(values.texts)) == ("category", [0, -1, 1, 0], ["a", "b"])
