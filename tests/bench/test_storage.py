"""Storage: which folder a file is taken from, what a download must be, and what is said when there is none."""

import hashlib
import os
import sys

import pytest

from fewratio.errors import DataFileError, DataNotFoundError
from fewratio_bench.sources.storage import RawFile, data_folders, locate

CONTENT = b"one,two\n1,2\n"
SHA256 = hashlib.sha256(CONTENT).hexdigest()


def put(folder, path, content=CONTENT):
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_bytes(content)
    return folder / path


def files_below(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


# ---------------------------------------------------------------- folders


def test_data_folders_are_searched_in_order_then_the_cache(tmp_path, monkeypatch):
    first, second, cache = (tmp_path / name for name in ("first", "second", "cache"))
    monkeypatch.setenv("FEWRATIO_DATA", os.pathsep.join(map(str, [first, tmp_path / "absent", second])))
    monkeypatch.setenv("FEWRATIO_CACHE", str(cache))
    first.mkdir()
    second.mkdir()
    assert data_folders() == [first, tmp_path / "absent", second, cache]
    assert locate("x/a.csv") is None
    in_cache = put(cache, "x/a.csv")
    assert locate("x/a.csv") == in_cache
    in_second = put(second, "x/a.csv")
    assert locate("x/a.csv") == in_second
    in_first = put(first, "x/a.csv")
    assert locate("x/a.csv") == in_first


def test_a_folder_of_the_right_name_is_not_a_file(data_folder):
    (data_folder / "a.csv").mkdir()
    assert locate("a.csv") is None


def test_without_variables_there_is_a_cache_of_the_users(monkeypatch):
    monkeypatch.delenv("FEWRATIO_DATA", raising=False)
    monkeypatch.delenv("FEWRATIO_CACHE", raising=False)
    (folder,) = data_folders()
    assert folder.name == "fewratio"


# ---------------------------------------------------------------- downloads


def test_a_download_lands_in_the_cache_once(data_folder, cache, server):
    folder, address = server
    put(folder, "a.csv")
    file = RawFile("x/a.csv", url=f"{address}/a.csv", sha256=SHA256)
    with pytest.raises(DataNotFoundError, match="not downloaded yet"):
        file.files(download=False)
    assert file.files() == [cache / "x/a.csv"]
    assert files_below(cache) == ["x/a.csv"]
    (folder / "a.csv").unlink()
    assert file.files(download=False)[0].read_bytes() == CONTENT


def test_a_corrupt_download_is_refused_and_not_kept(data_folder, cache, server):
    folder, address = server
    put(folder, "a.csv", CONTENT[:-1])
    with pytest.raises(DataFileError, match=SHA256) as caught:
        RawFile("x/a.csv", url=f"{address}/a.csv", sha256=SHA256).files()
    assert address in str(caught.value)
    assert f"good copy at {data_folder / 'x/a.csv'}" in str(caught.value)
    assert files_below(cache) == []


def test_without_a_way_the_message_says_which_file_to_put_where(data_folder, cache, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with pytest.raises(DataNotFoundError) as caught:
        RawFile("x/a.csv", url="http://127.0.0.1:9/a.csv").files()
    message = str(caught.value)
    assert f"Put it at {data_folder / 'x/a.csv'}" in message
    assert str(cache) in message
    assert "FEWRATIO_DATA" in message
    assert "http://127.0.0.1:9/a.csv" in message
    assert "\n" not in message
    assert not cache.exists() or files_below(cache) == []


def test_a_file_that_the_server_does_not_have_is_said_with_its_reason(data_folder, server):
    with pytest.raises(DataNotFoundError, match="404"):
        RawFile("x/a.csv", url=f"{server[1]}/a.csv").files()


def test_a_cache_that_cannot_be_written_is_said(data_folder, cache, server):
    put(server[0], "a.csv")
    cache.write_text("a file where the folder should be")
    with pytest.raises(DataNotFoundError, match="Put it at"):
        RawFile("x/a.csv", url=f"{server[1]}/a.csv").files()


def test_without_pooch_a_download_says_how_to_get_it(data_folder, cache, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(DataNotFoundError, match=r"pip install 'fewratio\[bench\]'.*Put it at"):
        RawFile("x/a.csv", url="http://127.0.0.1:9/a.csv").files()
