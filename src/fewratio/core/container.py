"""Arrays with a JSON header in one safetensors file: written whole or not at all, read without running code."""

import codecs
import hashlib
import json
import os
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from fewratio.core.arguments import as_path
from fewratio.errors import DataNotFoundError, ModelFileError, ModelVersionError

# 2: a model file may hold several networks. 3: a checksum; settings in groups.
FORMAT_VERSION = 3
_KEY, _CHECKSUM = "fewratio", "sha256"
_ADVICE = {
    "model": "Write it again with save(), or use another copy.",
    "checkpoint": "Delete it to start afresh, or use another copy.",
    "index": "Build it again, or use another copy.",
    "summary": "Make it again, or use another copy.",
}
# How much of a file tells whether it is text.
_START_BYTES = 64
# What a killed process has left behind is older than any write takes.
_LEFTOVER_SECONDS = 3600.0

Arrays = dict[str, NDArray[Any]]


def write_tensors(path: Any, kind: str, tensors: Mapping[str, NDArray[Any]], header: dict[str, Any]) -> None:
    """Write arrays and header to a file with their checksum, atomically.

    Parameters
    ----------
    path : path
        Where to; an existing file is replaced only once the new one is complete.
    kind : str
        What the file holds; `read_tensors` refuses another kind.
    tensors : dict of str to ndarray
        The arrays.
    header : dict
        Anything JSON can say, and NumPy's numbers.
    """
    from safetensors.numpy import save

    path = new_file(path, kind)
    text = json.dumps({"format": FORMAT_VERSION, "kind": kind, **header}, default=np.generic.item)
    # A scalar stays one, which `ascontiguousarray` would make a vector of.
    arrays = {name: np.asarray(array, order="C") for name, array in tensors.items()}
    write_atomically(path, save(arrays, {_KEY: text, _CHECKSUM: _checksum(text, arrays)}))


def new_file(path: Any, kind: str) -> Path:
    """Give the path of a file that can be written, or say why there cannot be one."""
    path = as_path(path)
    if path.is_dir():
        raise ModelFileError(f"{path} is a folder, so no {kind} can be written there. Give the name of a file in it.")
    if not path.parent.is_dir():
        raise DataNotFoundError(
            f"The folder {path.parent} does not exist, so {path.name} cannot be written. Create it."
        )
    return path


def write_atomically(path: Path, payload: bytes) -> None:
    """Write a file whole or not at all; an existing one is replaced once the new one is complete."""
    with atomic_file(path) as file:
        file.write(payload)


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file that takes its name, or another file's place, once all is written; after an error nothing is left."""
    # Cut, so that a name as long as the system allows can still be written.
    prefix = f".{path.name[:50]}"
    for leftover in path.parent.glob(f"{escape(prefix)}.*.tmp"):
        # Another writer's may be gone by now.
        with suppress(FileNotFoundError):
            if time.time() - leftover.stat().st_mtime > _LEFTOVER_SECONDS:
                leftover.unlink()
    temporary = path.with_name(f"{prefix}.{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno and str(error.filename) in (str(None), str(temporary)):
            # A full disk names no file, and the temporary one means nothing to the user.
            raise type(error)(error.errno, error.strerror, str(path)) from None
        raise


def read_tensors(path: Any, kind: str, finite: bool = False) -> tuple[Arrays, dict[str, Any]]:
    """Read what `write_tensors` wrote.

    Parameters
    ----------
    path : path
        The file.
    kind : str
        What it must hold.
    finite : bool
        Whether all numbers must be finite. (The loss of a training that has diverged is not.)

    Raises
    ------
    DataNotFoundError
        If there is no such file.
    ModelFileError
        If it is damaged, foreign or of another kind.
    ModelVersionError
        If a newer fewratio wrote it.
    """
    from safetensors import SafetensorError, safe_open

    path = as_path(path)
    if not path.is_file():
        problem = f"{path} is a folder" if path.is_dir() else f"There is no file {path}"
        raise DataNotFoundError(f"{problem}; {_a(kind)} is needed. Check the path.")
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            tensors: Arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dict
    except (SafetensorError, TypeError, ValueError, AttributeError, OverflowError) as error:
        _refuse_text(path, kind)
        raise ModelFileError(
            f"{path} cannot be read ({error}): it is truncated, damaged or not a safetensors file. " + _ADVICE[kind]
        ) from error
    header = _parse_header(path, metadata.get(_KEY), kind)
    # Files of the first two versions have no checksum; one that has one must agree with it.
    promised = metadata.get(_CHECKSUM)
    if (header["format"] > 2 or promised) and promised != _checksum(metadata[_KEY], tensors):
        raise ModelFileError(f"{path} is damaged: its contents do not match its checksum. " + _ADVICE[kind])
    for name, array in tensors.items():
        if finite and array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ModelFileError(f"{path} is damaged: {name} has numbers that are not finite. " + _ADVICE[kind])
    return tensors, header


def _refuse_text(path: Path, kind: str) -> None:
    """Say of a file that never was a safetensors file what it seems to be."""
    with open(path, "rb") as file:
        start = file.read(_START_BYTES)
    # The header of a safetensors file follows its length, of eight bytes.
    if len(start) > 8 and start[8:9] != b"{" and start.strip() and _is_text(start):
        seems = "JSON, such as a map" if start.lstrip()[:1] == b"{" else "text, such as a table"
        raise ModelFileError(f"{path} seems to be {seems}; {_a(kind)} is needed. Use the right file.")


def _is_text(start: bytes) -> bool:
    try:
        # The last character may be cut off.
        return "\0" not in codecs.getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        return False


def _checksum(text: str, arrays: Arrays) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"\n{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _parse_header(path: Path, text: str | None, kind: str) -> dict[str, Any]:
    if text is None:
        raise ModelFileError(f"{path} is a safetensors file, but not one of fewratio's. Use a file that save() wrote.")
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"The header of {path} is damaged ({error}). Use another copy.") from error
    if not isinstance(header, dict) or not isinstance(header.get("format"), int):
        raise ModelFileError(f"The header of {path} names no format version: it is damaged. Use another copy.")
    if header["format"] > FORMAT_VERSION:
        raise ModelVersionError(
            f"{path} has format version {header['format']}; this fewratio reads up to {FORMAT_VERSION}. "
            "Upgrade fewratio to read it."
        )
    if header.get("kind") != kind:
        found = f"{path} holds {_a(str(header.get('kind')))}"
        raise ModelFileError(f"{found}, but {_a(kind)} is needed. Use the right file.")
    return header


def _a(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"
