"""Reading compressed files with a bound on what comes out: a small file must not fill the memory."""

import gzip
import zipfile
import zlib
from io import BufferedReader
from pathlib import Path
from typing import Protocol

from fewratio.errors import DataFileError

_BLOCK = 2**20
_CLEAR = 256


def read_bounded(path: Path, limit: int) -> bytes:
    """Read a file whole: plain, ``.gz`` or ``.Z`` by its ending.

    Parameters
    ----------
    path : Path
    limit : int
        The most bytes that may come out of it.
    """
    if path.suffix == ".Z":
        return unpack_lzw(path.read_bytes(), limit, str(path))
    try:
        with open_plain(path) as file:
            return _read_stream(file, limit, str(path))
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise _damaged(str(path), error) from error


def open_plain(path: Path) -> gzip.GzipFile | BufferedReader:
    """Open a file for reading; what ends in ``.gz`` is unpacked on the way."""
    # One that is damaged raises only when it is read.
    return gzip.open(path) if path.suffix == ".gz" else open(path, "rb")


def read_zip_member(path: Path, member: str, limit: int) -> bytes:
    """Read one member of a zip archive whole; ``.Z`` inside it is unpacked, too."""
    place = f"{member} in {path}"
    try:
        with zipfile.ZipFile(path) as archive, archive.open(member) as file:
            content = _read_stream(file, limit, place)
    except KeyError as error:
        raise DataFileError(f"{path} holds no {member}, which is needed. Fetch the archive again.") from error
    # RuntimeError: a member that needs a password; NotImplementedError: an unusual compression.
    except (zipfile.BadZipFile, EOFError, zlib.error, RuntimeError) as error:
        raise _damaged(place, error) from error
    return unpack_lzw(content, limit, place) if member.endswith(".Z") else content


def unpack_lzw(content: bytes, limit: int, place: str) -> bytes:
    """Unpack what Unix ``compress`` wrote (LZW with codes of 9 to 16 bits).

    Parameters
    ----------
    content : bytes
    limit : int
        The most bytes that may come out.
    place : str
        What messages call it.
    """
    if len(content) < 3 or content[:2] != b"\x1f\x9d" or not 9 <= content[2] & 31 <= 16:
        raise DataFileError(f"{place} does not begin like a file of Unix compress. Fetch it again.")
    max_width, has_clear = content[2] & 31, bool(content[2] & 128)
    # The place of the code that empties the table is taken, too.
    start = [bytes([value]) for value in range(256)] + [b""] * has_clear
    table, width, previous = start.copy(), 9, b""
    out: list[bytes] = []
    room, position = limit, 3
    while position < len(content):
        # Codes come in groups of eight, that is as many bytes as a code has bits; a change of width ends a group.
        group = content[position : position + width]
        position += width
        bits, mask = int.from_bytes(group, "little"), (1 << width) - 1
        for _ in range(len(group) * 8 // width):
            code = bits & mask
            bits >>= width
            if code == _CLEAR and has_clear:
                table, width, previous = start.copy(), 9, b""
                break
            if code < len(table):
                entry = table[code]
            elif code == len(table) and previous:
                entry = previous + previous[:1]
            else:
                raise DataFileError(f"{place} is damaged: it holds a code that cannot occur. Fetch it again.")
            # The table's entries are never longer than what has come out, so this bounds them, too.
            room -= len(entry)
            if room < 0:
                raise _too_large(place, limit)
            out.append(entry)
            if previous and len(table) <= (1 << max_width) - 1:
                table.append(previous + entry[:1])
            previous = entry
            if len(table) > mask and width < max_width:
                width += 1
                break
    return b"".join(out)


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


def _read_stream(file: _Readable, limit: int, place: str) -> bytes:
    parts: list[bytes] = []
    room = limit
    while block := file.read(min(_BLOCK, room + 1)):
        room -= len(block)
        if room < 0:
            raise _too_large(place, limit)
        parts.append(block)
    return b"".join(parts)


def _too_large(place: str, limit: int) -> DataFileError:
    return DataFileError(
        f"{place} holds more than {limit:,} bytes, more than the data set it should be. Put the published file there."
    )


def _damaged(place: str, error: BaseException) -> DataFileError:
    return DataFileError(f"{place} is damaged ({error}). Put a whole copy there.")
