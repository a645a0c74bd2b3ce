"""Uploads that are made to hurt: each is refused or fails by itself, and the server goes on."""

import io
import json
import pickle
import struct
import zipfile
import zlib
from pathlib import Path

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest


def zipped(*members, compress=zipfile.ZIP_DEFLATED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compress) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return buffer.getvalue()


def link(name, target):
    info = zipfile.ZipInfo(name)
    info.external_attr = 0o120777 << 16
    return info, target


def parquet(**columns):
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer)
    return buffer.getvalue()


def workbook(sheet):
    """A workbook whose sheet is this."""
    buffer, place = io.BytesIO(), "xl/worksheets/sheet1.xml"
    openpyxl.Workbook().save(buffer)
    with zipfile.ZipFile(buffer) as whole:
        others = [(name, whole.read(name)) for name in whole.namelist() if name != place]
    return zipped(*others, (place, sheet))


LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10 if n else "lol" * 10}">' for n in range(10))
SHEET = (
    '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>{}</sheetData></worksheet>'
)
CELL = '<row r="{0}"><c r="A{0}" t="inlineStr"><is><t>{1}</t></is></c></row>'
WHOLE = parquet(x=np.arange(1000.0), y=np.arange(1000.0))


class Exploit:
    def __reduce__(self):
        return (Path("/tmp/fewratio-was-exploited").touch, ())


def npy(header):
    text = header.encode().ljust(118) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


# Name of the file, content; of tables.
TABLES = {
    "nothing": ("a.csv", b""),
    "only NUL": ("a.csv", b"\x00" * 100_000),
    "only a header": ("a.csv", b"a,b,c\n"),
    "a huge header": ("a.csv", b"x" * 1_500_000 + b"\n1\n"),
    "a million columns": ("a.csv", b"," * 999_999 + b"\n" + b"," * 999_999 + b"\n"),
    "a million lines of nothing": ("a.csv", b"\n" * 1_000_000),
    "too many columns": ("a.csv", (",".join(f"c{n}" for n in range(501)) + "\n" + ",".join("1" * 501) + "\n").encode()),
    "too many cells": ("a.csv", b"a,b\n" + b"1,2\n" * 60_000),
    "an open quote": ("a.csv", b'a,b\n"1,2\n' + b"3,4\n" * 10_000),
    "bad UTF-8": ("a.csv", b"a,b\n\xff\xfe,\xc0\xaf\n" * 10),
    "half a surrogate": ("a.csv", b"a,b\n\xed\xa0\x80,1\n"),
    "an executable": ("a.csv", b"\x7fELF" + bytes(range(256)) * 50),
    "a page": ("a.csv", b"<script>alert(1)</script>,<img src=x onerror=alert(1)>\n1,2\n2,1\n"),
    "formulas": ("a.csv", b'"=cmd|calc",x\n"=1+1",2\n"@SUM(1)",3\n'),
    "numbers beyond bounds": ("a.csv", b"a\n1e999\n-1e999\nnan\n1e308\n1e-400\n"),
    "deep JSON": ("a.jsonl", b'{"a":' * 50_000 + b"1" + b"}" * 50_000),
    "deep lists": ("a.jsonl", b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n"),
    "JSON with a million keys": ("a.jsonl", ("{" + ",".join(f'"{n}":1' for n in range(100_000)) + "}\n").encode()),
    "a gzip bomb": ("a.csv.gz", zlib.compress(b"1,2\n" * 100_000_000, 9, wbits=31)),
    "gzip of nothing": ("a.csv.gz", b"\x1f\x8b\x08\x00"),
    "a zip bomb as a table": ("a.csv.zip", zipped(("a.csv", b"1,2\n" * 70_000_000))),
    "a zip file of zip files": ("a.csv.zip", zipped(("a.csv", zipped(("a.csv", zipped(("a.csv", b"x\n1\n"))))))),
    "an empty zip file": ("a.csv.zip", zipped()),
    "damaged xz": ("a.csv.xz", b"\xfd7zXZ\x00" + bytes(100)),
    "a Parquet file without its end": ("a.parquet", WHOLE[:-50]),
    "a Parquet file with a hole": ("a.parquet", WHOLE[:100] + bytes(500) + WHOLE[600:]),
    "a Parquet file that promises too much": ("a.parquet", WHOLE[:-8] + struct.pack("<I", 2**31 - 1) + b"PAR1"),
    "Parquet of one value a billion times": ("a.parquet", parquet(x=pa.array(["a" * 1000] * 90_000), y=[0] * 90_000)),
    "Parquet of lists in lists": ("a.parquet", parquet(x=[[[[[[1]]]]]], y=[{"a": {"b": {"c": 1}}}])),
    "a damaged Arrow file": ("a.arrow", b"ARROW1\x00\x00" + b"\xff" * 400 + b"ARROW1"),
    "a workbook of laughs": ("a.xlsx", workbook(f"<!DOCTYPE w [{LAUGHS}]>" + SHEET.format(CELL.format(1, "&l9;")))),
    "a workbook that asks for a file": (
        "a.xlsx",
        workbook('<!DOCTYPE w [<!ENTITY e SYSTEM "file:///etc/passwd">]>' + SHEET.format(CELL.format(1, "&e;"))),
    ),
    "a workbook bomb": ("a.xlsx", workbook(SHEET.format(" " * 300_000_000))),
    "a workbook of far cells": ("a.xlsx", workbook(SHEET.format(CELL.format(1, "x") + CELL.format(1_048_576, "y")))),
    "no workbook": ("a.xlsx", b"PK\x03\x04" + bytes(100)),
    "an array of objects": (
        "a.npy",
        npy("{'descr': '|O', 'fortran_order': False, 'shape': (1, 1), }") + pickle.dumps(Exploit()),
    ),
    "an array that promises too much": (
        "a.npy",
        npy("{'descr': '<f8', 'fortran_order': False, 'shape': (9999999, 99999), }"),
    ),
    "a header that runs": ("a.npy", npy("__import__('os').system('touch /tmp/fewratio-was-exploited')")),
    "an archive of objects": (
        "a.npz",
        zipped(("X.npy", npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }") + pickle.dumps(Exploit()))),
    ),
    "an array bomb": (
        "a.npz",
        zipped(
            ("X.npy", npy("{'descr': '<f8', 'fortran_order': False, 'shape': (40000000, 1), }") + bytes(320_000_000))
        ),
    ),
}
TORCH = zipped(("archive/data.pkl", pickle.dumps(Exploit())), ("archive/version", "3"))
HEADER = json.dumps({"w": {"dtype": "F64", "shape": [2**40], "data_offsets": [0, 2**43]}}).encode()
MODELS = {
    "a pickle": pickle.dumps(Exploit()),
    "a torch file": TORCH,
    "nothing": b"",
    "a header that promises too much": struct.pack("<Q", 2**62) + b"{}",
    "tensors beyond the end": struct.pack("<Q", len(HEADER)) + HEADER,
    "deep JSON": struct.pack("<Q", 200_000) + b"[" * 100_000 + b"]" * 100_000,
    "a table": b"a,b\n1,2\n",
}
ARCHIVES = {
    "a path that leads out": zipped(("../../../../tmp/fewratio-was-exploited", b"x\n1\n")),
    "a path from the root": zipped(("/tmp/fewratio-was-exploited.csv", b"x\n1\n")),
    "a path of Windows": zipped(("..\\..\\a.csv", b"x\n1\n")),
    "a link": zipped(link("a.csv", "/etc/passwd")),
    "a bomb": zipped(("a.csv", b"1,2\n" * 70_000_000)),
    "too many files": zipped(*((f"{n}.csv", b"x\n1\n") for n in range(51))),
    "nothing": zipped(),
    "no tables": zipped(("a.exe", b"MZ"), (".hidden.csv", b"x\n1\n"), ("__MACOSX/a.csv", b"x\n")),
    "the same file twice": zipped(("a.csv", b"x\n1\n"), ("b.csv", b"x\n2\n")).replace(b"b.csv", b"a.csv"),
    "two names that become one": zipped(("a?.csv", b"x\n1\n"), ("a*.csv", b"x\n2\n")),
    "a file in a file": zipped(("a.csv", b"x\n1\n"), ("a.csv/b.csv", b"x\n2\n")),
    "no zip file": b"PK" + bytes(1000),
    "half a zip file": zipped(("a.csv", b"x,y\n" + b"1,2\n" * 1000), compress=zipfile.ZIP_STORED)[:2000],
    "a wrong checksum": zipped(("a.csv", b"x,y\n1,2\n"), compress=zipfile.ZIP_STORED).replace(b"1,2", b"7,7", 1),
    "only an end that promises files": b"PK\x05\x06" + bytes(4) + b"\xff\xff" * 2 + b"\xff" * 8 + bytes(2),
}
ONCE = ("the same file twice", "two names that become one", "a file in a file")
NAMES = [
    *("../../../tmp/a.csv", "/etc/passwd.csv", "a\x00b.csv", "--help.csv", "-a.csv", "..\\a.csv", "a" * 400 + ".csv"),
    *("CON.csv", "a\r\nset-cookie: x=1.csv", "<img src=x>.csv", "$(touch x).csv", "`id`.csv", "a;b.csv", "a|b.csv"),
    *("\u202efdp.csv", "\N{GRINNING FACE}" * 90 + ".csv", "a." + "\N{GRINNING FACE}" * 90 + ".csv"),
]
REFUSED = ["-.csv", "a.exe", "a.html", "a.svg", "a.pkl", "a.pt", "a", "a.csv.exe", ".htaccess", "a.js", "report.html"]
WRONG = [
    ("content-type", dict(headers={"content-type": "multipart/form-data; boundary=x"}, content=b"--x")),
    ("no JSON", dict(content=b"{", headers={"content-type": "application/json"})),
    ("deep JSON", dict(content=b"[" * 200_000, headers={"content-type": "application/json"})),
    ("a list", dict(json=[1, 2])),
    ("large", dict(content=b'{"verb":"' + b"x" * 3_000_000 + b'"}', headers={"content-type": "application/json"})),
    ("pieces without end", dict(content=iter([b"x" * 2**16] * 100), headers={"content-type": "application/json"})),
    ("huge number", dict(json={"verb": "compare", "inputs": {}, "options": {"seed": 10**30}})),
    ("options in values", dict(json={"verb": "compare", "inputs": {"a": "example-grower_1", "b": "--output=/tmp/x"}})),
]  # fmt: skip


@pytest.fixture(autouse=True)
def nothing_was_run(client, app):
    yield
    assert not Path("/tmp/fewratio-was-exploited").exists()
    # The server answers, and nothing runs or was left behind.
    assert client.get("/api/v1/examples").status_code == 200
    assert all(job.is_over for job in app.app.state.runner.store.jobs.values())


def has_no_place(text, app):
    return not any(
        place in text
        for place in (
            str(app.app.state.runner.store.root),
            str(Path(__file__).parents[2]),
            "site-packages",
            "Traceback",
        )
    )


@pytest.mark.slow
@pytest.mark.parametrize("what", TABLES)
def test_hostile_tables(client, app, what):
    name, content = TABLES[what]
    assert len(content) <= 2 * 2**20, "else it is refused as too large, and nothing is tried"
    sent = client.upload(name, content)
    assert sent.status_code == 201
    job = client.run("compare", {"a": sent.json()["id"], "b": sent.json()["id"]}, options={"permutations": 9})
    if job["state"] == "failed":
        assert has_no_place(job["message"], app)
        assert "root:" not in job["message"]
        assert "a bug in fewratio" not in job["message"]
    else:
        assert what in (
            "a page",
            "only NUL",
            "formulas",
            "half a surrogate",
            # Read as Windows-1252, with a warning.
            "bad UTF-8",
            "Parquet of one value a billion times",
            "numbers beyond bounds",
        )


@pytest.mark.parametrize("what", MODELS)
def test_hostile_models(client, app, what):
    answer = client.upload("a.model", MODELS[what])
    message = answer.json().get("detail", "")
    # What does not even begin as a model is refused at once.
    assert (answer.status_code, message.startswith("file 'a.model' is not a model; expected")) in (
        (422, True),
        (201, False),
    )
    if answer.status_code == 201:
        model = answer.json()["id"]
        job = client.run("compare", {"a": "example-sensor_41", "b": "example-sensor_42", "model": model})
        assert job["state"] == "failed"
        message = job["message"]
    assert "a.model" in message
    assert has_no_place(message, app)


@pytest.mark.parametrize("what", ARCHIVES)
def test_hostile_archives(client, app, what):
    before = sorted(app.app.state.runner.store.root.iterdir())
    answer = client.upload("all.zip", ARCHIVES[what], kind="folders")
    assert answer.status_code == 422, answer.text
    assert answer.json()["detail"].startswith("archive 'all.zip' ")
    assert ("; each name must be unique" in answer.text) == (what in ONCE)
    assert has_no_place(answer.text, app)
    assert sorted(app.app.state.runner.store.root.iterdir()) == before


@pytest.mark.parametrize("name", NAMES)
def test_hostile_names(client, app, name):
    sent = client.upload(name, b"x,y\n1,2\n2,3\n3,1\n")
    assert sent.status_code == 201
    kept = app.app.state.runner.store.files[sent.json()["id"]].path
    assert kept.resolve().is_relative_to(app.app.state.runner.store.root.resolve())
    assert client.run("columns", {"tables": sent.json()["id"]})["state"] == "done"
    made = client.upload(name, kind="folders").json()
    answer = client.post(f"/api/v1/folders/{made['id']}/files", params={"name": name}, content=b"x\n1\n")
    assert answer.status_code in (201, 422)


@pytest.mark.parametrize("name", REFUSED)
def test_files_of_other_kinds_are_not_taken(client, name):
    assert client.upload(name, b"x,y\n1,2\n").status_code == 422


@pytest.mark.parametrize(("what", "request_"), WRONG, ids=[what for what, _ in WRONG])
def test_wrong_requests(client, what, request_):
    answer = client.post("/api/v1/jobs", **request_)
    assert answer.status_code in (400, 404, 413, 422)
    assert answer.headers["content-type"] == "application/problem+json"


def test_uploads_are_bounded_while_they_come(client, app):
    before = sorted(app.app.state.runner.store.root.rglob("*.csv"))
    for content in (b"x" * (2 * 2**20 + 1), iter([b"x" * 2**16] * 40)):
        answer = client.upload("large.csv", content)
        assert (answer.status_code, answer.json()["title"]) == (413, "Too large")
    assert sorted(app.app.state.runner.store.root.rglob("*.csv")) == before


def test_many_were_tried():
    assert len(TABLES) + len(MODELS) + len(ARCHIVES) + len(NAMES) + len(REFUSED) + len(WRONG) + 2 >= 90
