"""A zip file of tables, unpacked with bounds; run in a worker."""

import lzma
import re
import stat
import zipfile
import zlib
from pathlib import Path

from fewratio.data.readers.files import SUFFIXES
from fewratio.errors import DataFileError
from fewratio_web.names import check_free, is_table, safe_path

_BLOCK = 2**20
_DAMAGED = (zipfile.BadZipFile, zlib.error, lzma.LZMAError)


def unpack(archive: Path, folder: Path, members: int, unpacked: int) -> None:
    """Unpack the tables of a zip file into a new folder; ignore anything else.

    Parameters
    ----------
    archive : Path
    folder : Path
        It must not exist.
    members, unpacked : int
        Most files, and most bytes in all.

    Raises
    ------
    DataFileError
        If it is not a zip file, or holds links, paths that lead outside, or more than the limits.
    """
    try:
        with zipfile.ZipFile(archive) as source:
            _unpack(source, folder, members, unpacked)
    except DataFileError:
        raise
    except (*_DAMAGED, OSError, EOFError, RuntimeError, ValueError, IndexError) as error:
        # RuntimeError: it is encrypted, or compressed by an unknown method.
        found = f"archive {archive.name!r} cannot be read ({type(error).__name__})"
        raise DataFileError(f"{found}; expected a whole zip file without a password. Create it again.") from error


def _unpack(source: zipfile.ZipFile, folder: Path, members: int, unpacked: int) -> None:
    name = Path(str(source.filename)).name
    files = [info for info in source.infolist() if not info.is_dir()]
    if len(files) > members:
        raise DataFileError(
            f"archive {name!r} holds {len(files):,} files; at most {members:,} are allowed. Put fewer in it."
        )
    left = unpacked
    for info in files:
        is_link = stat.S_ISLNK(info.external_attr >> 16)
        if is_link or info.filename.startswith(("/", "\\")) or ".." in re.split(r"[\\/]", info.filename):
            found = f"archive {name!r} holds a link or a path that leads out of it"
            raise DataFileError(f"{found}; expected plain files. Create it again without them.")
        place = safe_path(info.filename)
        if place is None or not is_table(place.name):
            continue
        check_free(folder, place, f"archive {name!r}")
        target = folder / place
        target.parent.mkdir(parents=True, exist_ok=True)
        # The sizes that the archive states are not trusted.
        with source.open(info) as packed, target.open("xb") as file:
            while block := packed.read(_BLOCK):
                left -= len(block)
                if left < 0:
                    found = f"archive {name!r} unpacks to more than {unpacked / 2**20:,.0f} MB"
                    needed = "that is all the room there is now"
                    raise DataFileError(f"{found}; {needed}. Put fewer or smaller tables in it, or try later.")
                file.write(block)
    if not folder.is_dir():
        found = f"archive {name!r} holds no table"
        raise DataFileError(f"{found}; expected files that end in {', '.join(SUFFIXES)}. Put some in it.")
