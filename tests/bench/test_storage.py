"""Storage: which folder a file is taken from, what a download must be, and what is said when there is none."""

import hashlib
import os
import sys

import pytest

from fewratio.errors import DataFileError, DataNotFoundError
from fewratio_bench.sources import storage
from fewratio_bench.sources.storage import RawFile, cache_folder, data_folders, download, locate, locate_choice, obtain

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
    with pytest.warns(UserWarning, match=r"absent', which does not exist; it must name folders"):
        assert data_folders() == (first, tmp_path / "absent", second)
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


def test_without_variables_there_are_no_data_folders_and_a_cache_of_the_users(monkeypatch):
    monkeypatch.delenv("FEWRATIO_DATA", raising=False)
    monkeypatch.delenv("FEWRATIO_CACHE", raising=False)
    assert data_folders() == ()
    assert "fewratio" in cache_folder().name.lower()


def test_the_first_complete_choice_is_taken(data_folder):
    choices = ((RawFile("a1"), RawFile("a2")), (RawFile("b"),))
    put(data_folder, "a1")
    assert locate_choice(choices) is None
    b = put(data_folder, "b")
    assert obtain(choices) == (b,)
    a2 = put(data_folder, "a2")
    assert obtain(choices) == (data_folder / "a1", a2)


# ---------------------------------------------------------------- downloads


def test_a_download_lands_in_the_cache_once(data_folder, cache, server):
    folder, address = server
    put(folder, "a.csv")
    file = RawFile("x/a.csv", url=f"{address}/a.csv", sha256=SHA256)
    assert obtain(((file,),)) == (cache / "x/a.csv",)
    assert files_below(cache) == ["x/a.csv"]
    (folder / "a.csv").unlink()
    assert obtain(((file,),))[0].read_bytes() == CONTENT


def test_only_what_is_missing_of_a_choice_is_downloaded(data_folder, cache, server):
    folder, address = server
    put(folder, "b")
    here = put(data_folder, "a")
    assert obtain(((RawFile("a"), RawFile("b", url=f"{address}/b")),)) == (here, cache / "b")


def test_a_corrupt_download_is_refused_and_not_kept(data_folder, cache, server):
    folder, address = server
    put(folder, "a.csv", CONTENT[:-1])
    with pytest.raises(DataFileError, match=SHA256) as caught:
        download(RawFile("x/a.csv", url=f"{address}/a.csv", sha256=SHA256))
    assert address in str(caught.value)
    assert f"put a good copy at {data_folder / 'x/a.csv'}" in str(caught.value)
    assert files_below(cache) == []


def test_a_mirror_is_tried_where_another_fails(data_folder, cache, server):
    folder, address = server
    put(folder, "damaged", CONTENT[:-1])
    put(folder, "good")
    absent, damaged, good = (
        (RawFile(name, url=f"{address}/{name}", sha256=SHA256),) for name in ("a", "damaged", "good")
    )
    assert obtain((absent, damaged, good)) == (cache / "good",)
    assert files_below(cache) == ["good"]
    (cache / "good").unlink()
    # If none of them can be had, the best choice is the one that is spoken of.
    with pytest.raises(DataNotFoundError, match=f"Put it at {data_folder / 'a'}"):
        obtain((absent, damaged))
    with pytest.raises(DataFileError, match=SHA256):
        obtain((damaged, absent))


def test_a_download_with_other_values_is_refused_and_not_kept(cache, server):
    folder, address = server
    put(folder, "a.csv")

    def check(path):
        assert path.name == "a.csv"
        raise DataFileError("seven is missing")

    with pytest.raises(DataFileError, match="not kept: seven is missing"):
        download(RawFile("x/a.csv", url=f"{address}/a.csv", check=check))
    assert files_below(cache) == []


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/a.csv", None], ids=["unreachable", "by hand"])
def test_without_a_way_the_message_says_which_file_to_put_where(data_folder, cache, monkeypatch, url):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with pytest.raises(DataNotFoundError) as caught:
        obtain(((RawFile("x/a.csv", url=url),),))
    message = str(caught.value)
    assert f"Put it at {data_folder / 'x/a.csv'}" in message
    assert str(cache) in message
    assert "FEWRATIO_DATA" in message
    assert url is None or url in message
    assert "\n" not in message
    assert not cache.exists() or files_below(cache) == []


def test_a_file_that_the_server_does_not_have_is_said_with_its_reason(data_folder, server):
    with pytest.raises(DataNotFoundError, match="404"):
        download(RawFile("x/a.csv", url=f"{server[1]}/a.csv"))


def test_a_cache_that_cannot_be_written_is_said(data_folder, cache, server):
    put(server[0], "a.csv")
    cache.write_text("a file where the folder should be")
    with pytest.raises(DataNotFoundError, match="Put it at"):
        download(RawFile("x/a.csv", url=f"{server[1]}/a.csv"))


def test_without_pooch_a_download_says_how_to_get_it(data_folder, cache, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    assert cache_folder() == cache
    with pytest.raises(DataNotFoundError, match=r"pip install 'fewratio\[bench\]'.*Put it at"):
        download(RawFile("x/a.csv", url="http://127.0.0.1:9/a.csv"))


def test_sha256_of_a_file(tmp_path):
    assert storage.sha256_of(put(tmp_path, "a", CONTENT * 100_000)) == hashlib.sha256(CONTENT * 100_000).hexdigest()
