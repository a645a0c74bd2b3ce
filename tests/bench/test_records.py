"""Files of records: what several processes add, what a killed one leaves, and packing."""

import multiprocessing
import os
import pathlib

import pytest

from fewratio.errors import DataFileError
from fewratio_bench import cli
from fewratio_bench.records import RecordFile
from tests.bench.conftest import a_record


@pytest.fixture
def file(tmp_path):
    return RecordFile(tmp_path / "a" / "records.jsonl")


def splits(file):
    return [record.split for record in file.read()]


def append_one_by_one(path, method, n_records):
    for split in range(n_records):
        RecordFile(path).append([a_record(method=method, split=split)])


@pytest.mark.slow
def test_processes_that_append_at_the_same_time_lose_nothing(file):
    start = multiprocessing.get_context("spawn").Process
    processes = [start(target=append_one_by_one, args=(file.path, method, 200)) for method in ("A", "B")]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    found = [(record.method, record.split) for record in file.read()]
    assert len(found) == 400
    for method in ("A", "B"):
        assert [split for name, split in found if name == method] == list(range(200))


@pytest.mark.skipif(not os.path.exists("/proc/self/io"), reason="nothing counts the bytes here")
def test_appending_reads_and_writes_in_proportion_to_what_is_added(file):
    def bytes_moved():
        with open("/proc/self/io") as counts:
            return sum(int(line.split()[1]) for line in counts if line.startswith(("rchar", "wchar")))

    file.append([a_record(split=-1)])
    one = file.path.stat().st_size
    before = bytes_moved()
    append_one_by_one(file.path, "A", 500)
    # Twice the records, and what the counting itself reads; a file written anew every time would be 250 times as much.
    assert bytes_moved() - before < 2 * 500 * one + 10_000


@pytest.mark.parametrize("n_bytes", [1, 20, 150])
def test_a_line_that_a_kill_cut_off_takes_no_other_with_it(file, n_bytes):
    file.append([a_record(split=0), a_record(split=1)])
    whole = file.path.read_bytes()
    file.path.write_bytes(whole + whole[:n_bytes])
    assert splits(file) == [0, 1]
    file.append([a_record(split=2)])
    assert splits(file) == [0, 1, 2]
    assert file.path.read_bytes().startswith(whole)
    assert file.path.read_text().count("\n") == 3


def test_a_last_line_without_its_line_break_counts(file):
    file.append([a_record(split=0)])
    file.path.write_text(file.path.read_text().rstrip())
    assert splits(file) == [0]
    file.append([a_record(split=1)])
    assert splits(file) == [0, 1]


@pytest.mark.parametrize("line", ['{"experiment": "synth\n', '{"other": 1}'])
def test_a_damaged_line_is_named(file, line):
    file.append([a_record()])
    file.path.write_text(file.path.read_text() + line)
    with pytest.raises(DataFileError, match=r"Line 2 of .*records.jsonl"):
        file.read()


def test_duplicates_are_ignored(file):
    file.append([a_record(split=0), a_record(split=1)])
    file.append([a_record(split=0), a_record(split=2)])
    assert splits(file) == [0, 1, 2]


def test_packed_records_come_first_and_packing_is_repeatable(file, tmp_path):
    file.append([a_record(split=1)])
    file.pack()
    once = file.packed.read_bytes()
    file.append([a_record(split=0)])
    assert splits(file) == [1, 0]
    file.pack()
    assert splits(file) == [1, 0]
    assert not file.path.exists()
    again = RecordFile(tmp_path / "other.jsonl")
    again.append([a_record(split=1)])
    again.pack()
    assert again.packed.read_bytes() == once


def test_an_interrupted_pack_neither_doubles_nor_loses_records(file, monkeypatch):
    """Cut off when the compressed file is there and the other one, too; then once more before the first is."""
    file.append([a_record(split=0), a_record(split=1)])
    for place, name in ((pathlib.Path, "unlink"), (os, "replace")):
        with monkeypatch.context() as patch:
            patch.setattr(place, name, interrupt)
            with pytest.raises(KeyboardInterrupt):
                file.pack()
        assert splits(file) == [0, 1]
    file.pack()
    assert splits(file) == [0, 1]
    assert not file.path.exists()


def interrupt(*_, **__):
    raise KeyboardInterrupt


def test_joining_twice_adds_nothing(tmp_path, capsys):
    other = RecordFile(tmp_path / "other" / "a" / "records.jsonl")
    other.append([a_record(split=0), a_record(split=1)])
    arguments = ["pack", "--results", str(tmp_path / "mine"), "--join", str(tmp_path / "other")]
    for _ in range(2):
        assert cli.main(arguments) == 0
        assert capsys.readouterr().out.count("2 records") == 1
    assert RecordFile(tmp_path / "mine" / "a" / "records.jsonl").read() == other.read()


def test_a_damaged_packed_file_is_named(file):
    file.append([a_record()])
    file.pack()
    file.packed.write_bytes(file.packed.read_bytes()[:-9])
    with pytest.raises(DataFileError, match=r"records.jsonl.gz cannot be unpacked"):
        file.read()
