"""Parsed data kept for the next time: compact, checked, and rebuilt whenever anything about them is in doubt."""

import json
import os
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewratio.data.storage import cache_folder, sha256_of

Arrays = dict[str, NDArray[Any]]

_HEADER = "__header__"
# What a damaged archive, or one that is not ours, makes numpy and zipfile raise.
_DAMAGED = (OSError, ValueError, KeyError, TypeError, EOFError, MemoryError, zipfile.BadZipFile, zlib.error)


def parsed(key: str, version: int, files: Sequence[Path], parse: Callable[[], Arrays]) -> Arrays:
    """Give what `parse` makes of files, from the cache if they were parsed before.

    Parameters
    ----------
    key : str
        Names the source and whatever else the result depends on; becomes part of a file's name.
    version : int
        Of the parser; a higher one makes what older ones stored useless.
    files : sequence of Path
        What `parse` reads. An unchanged size and modification time, or else an unchanged sha256, makes a file the same.
    parse : callable
        Gives the arrays; no objects in them.
    """
    store = _store_for(key, version, files)
    arrays = _read(store, files)
    if arrays is None:
        arrays = parse()
        _write(store, files, arrays)
    return arrays


def _store_for(key: str, version: int, files: Sequence[Path]) -> Path:
    # By place, not by content: a changed file overwrites what was parsed of it before. What older versions of a parser
    # stored, or was parsed of files since moved, stays until the user empties the folder.
    places = "\n".join(str(path.resolve()) for path in files)
    return cache_folder() / "parsed" / f"{key}-v{version}-{sha256(places.encode()).hexdigest()[:12]}.npz"


def _read(store: Path, files: Sequence[Path]) -> Arrays | None:
    try:
        # Opened here: numpy leaves a file open that turns out to be damaged.
        with open(store, "rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        header = json.loads(str(arrays.pop(_HEADER)))
        if header["checksum"] != _checksum(arrays):
            return None
        same = len(header["files"]) == len(files) and all(map(_unchanged, files, header["files"]))
    except _DAMAGED:
        return None
    return arrays if same else None


def _write(store: Path, files: Sequence[Path], arrays: Arrays) -> None:
    header = {"checksum": _checksum(arrays), "files": [{**_stamp(path), "sha256": sha256_of(path)} for path in files]}
    temporary = store.with_name(f".{store.name}.{os.getpid()}.tmp")
    content: Mapping[str, Any] = {_HEADER: np.array(json.dumps(header)), **arrays}
    try:
        store.parent.mkdir(parents=True, exist_ok=True)
        with open(temporary, "wb") as file:
            np.savez_compressed(file, **content)
        os.replace(temporary, store)
    except OSError:
        # A full disk or a folder that may not be written costs the next call some time, not this one its result.
        _remove(temporary)
    except BaseException:
        _remove(temporary)
        raise


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError:
        return


def _stamp(path: Path) -> dict[str, int]:
    status = path.stat()
    return {"size": status.st_size, "mtime": status.st_mtime_ns}


def _unchanged(path: Path, known: dict[str, Any]) -> bool:
    stamp = _stamp(path)
    if stamp["size"] != known["size"]:
        return False
    return stamp["mtime"] == known["mtime"] or sha256_of(path) == known["sha256"]


def _checksum(arrays: Arrays) -> str:
    digest = sha256()
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()
