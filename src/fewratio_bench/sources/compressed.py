"""Reading compressed files with a bound on what comes out: a small file must not fill the memory."""

import gzip
import zipfile
import zlib
from pathlib import Path

from fewratio.errors import DataFileError

_CLEAR = 256


def read_bounded(path: Path, limit: int, member: str = "") -> bytes:
    """Read a file, or a member of a zip archive, whole; what ends in ``.gz`` or ``.Z`` is unpacked.

    Parameters
    ----------
    path : Path
    limit : int
        The most bytes that may come out of it.
    member : str
        Name in the archive, if the file is one.
    """
    place = f"{member} in {path}" if member else str(path)
    try:
        if member:
            with zipfile.ZipFile(path) as archive, archive.open(member) as file:
                content = file.read(limit + 1)
        else:
            with gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as plain:
                content = plain.read(limit + 1)
    # KeyError: no such member; RuntimeError: one that needs a password, or of an unusual compression.
    except (gzip.BadGzipFile, zipfile.BadZipFile, zlib.error, EOFError, KeyError, RuntimeError) as error:
        raise DataFileError(f"{place} is damaged ({error}). Put a whole copy there.") from error
    if len(content) > limit:
        raise _too_large(place, limit)
    return unpack_lzw(content, limit, place) if (member or path.name).endswith(".Z") else content


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


def _too_large(place: str, limit: int) -> DataFileError:
    return DataFileError(
        f"{place} holds more than {limit:,} bytes, more than the data set it should be. Put the published file there."
    )
