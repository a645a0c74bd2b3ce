"""Compressed files: two roads to the same bytes, and a bound on how many come out."""

import gzip
import shutil
import subprocess
import zipfile
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fewratio.errors import DataFileError
from fewratio_bench.sources.compressed import read_bounded, unpack_lzw


def pack_lzw(content, max_width=16, clear_every=None):
    """Write what Unix compress writes. Groups of eight codes are padded where the width changes."""
    out = bytearray([0x1F, 0x9D, 0x80 | max_width])
    group: list[int] = []
    width = 9

    def flush(padded):
        bits = sum(code << (place * width) for place, code in enumerate(group))
        size = width if padded and group else (len(group) * width + 7) // 8
        out.extend(bits.to_bytes(size, "little"))
        group.clear()

    def put(code):
        group.append(code)
        if len(group) == 8:
            flush(padded=True)

    table = {bytes([value]): value for value in range(256)}
    free, decoder_free, word, n_codes = 257, 257, b"", 0
    started = False
    for value in content:
        longer = word + bytes([value])
        if longer in table:
            word = longer
            continue
        put(table[word])
        n_codes += 1
        # The reader's table is one entry behind the writer's: widths follow the reader's.
        if started and decoder_free < 1 << max_width:
            decoder_free += 1
        started = True
        if decoder_free > (1 << width) - 1 and width < max_width:
            flush(padded=True)
            width += 1
        if free < 1 << max_width:
            table[longer] = free
            free += 1
        word = bytes([value])
        if clear_every and n_codes % clear_every == 0:
            put(256)
            flush(padded=True)
            table = {bytes([value]): value for value in range(256)}
            free, decoder_free, started, width = 257, 257, False, 9
    if word:
        put(table[word])
    flush(padded=False)
    return bytes(out)


TEXT = b"".join(b"%d, -0.%04d\n" % (i % 7, i * i % 9973) for i in range(20_000))


@settings(max_examples=150, deadline=None)
@given(
    st.one_of(st.binary(max_size=3000), st.text("ab", max_size=3000).map(str.encode)),
    st.sampled_from([9, 10, 12, 16]),
    st.sampled_from([None, 40, 700]),
)
def test_what_was_packed_comes_back(content, max_width, clear_every):
    assert unpack_lzw(pack_lzw(content, max_width, clear_every), len(content), "x.Z") == content


@pytest.mark.skipif(shutil.which("gzip") is None, reason="gzip is not installed")
@pytest.mark.parametrize(("max_width", "clear_every"), [(16, None), (12, None), (16, 5000)])
def test_gzip_reads_the_same(tmp_path, max_width, clear_every):
    path = tmp_path / "x.Z"
    path.write_bytes(pack_lzw(TEXT, max_width, clear_every))
    assert subprocess.run(["gzip", "-dc", str(path)], capture_output=True, check=True).stdout == TEXT
    assert read_bounded(path, len(TEXT)) == TEXT


@pytest.mark.parametrize("content", [b"", b"\x1f\x9d", b"\x1f\x8b\x90ab", b"\x1f\x9d\x9fab"])
def test_another_beginning_is_refused(content):
    with pytest.raises(DataFileError, match=r"x\.Z does not begin"):
        unpack_lzw(content, 100, "x.Z")


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused_within_the_bound(content):
    with suppress(DataFileError):
        assert len(unpack_lzw(b"\x1f\x9d\x90" + content, 1000, "x.Z")) <= 1000


def packed_with(suffix, content, folder):
    path = folder / f"x{suffix}"
    path.write_bytes({"": bytes, ".gz": gzip.compress, ".Z": pack_lzw}[suffix](content))
    return path


@pytest.mark.parametrize("suffix", ["", ".gz", ".Z"])
def test_a_bomb_is_refused(tmp_path, suffix):
    path = packed_with(suffix, bytes(200_000), tmp_path)
    assert read_bounded(path, 200_000) == bytes(200_000)
    with pytest.raises(DataFileError, match="more than 199,999 bytes") as caught:
        read_bounded(path, 199_999)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    "content",
    [b"plain text", gzip.compress(TEXT)[:-500], b"\x1f\x8b" + bytes(40)],
    ids=["text", "cut short", "beginning only"],
)
def test_a_damaged_gzip_file_is_refused_by_name(tmp_path, content):
    path = tmp_path / "x.gz"
    path.write_bytes(content)
    with pytest.raises(DataFileError, match=r"x\.gz is damaged"):
        read_bounded(path, 10**6)


def test_members_of_a_zip_archive(tmp_path):
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.Z", pack_lzw(TEXT))
        archive.writestr("b", bytes(100_000))
    assert read_bounded(path, len(TEXT), "a.Z") == TEXT
    with pytest.raises(DataFileError, match=r"b in .*x\.zip holds more"):
        read_bounded(path, 99_999, "b")
    with pytest.raises(DataFileError, match="no item named 'c'"):
        read_bounded(path, 10, "c")
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(DataFileError, match="is damaged"):
        read_bounded(path, 100_000, "b")
