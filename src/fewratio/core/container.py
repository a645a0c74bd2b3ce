"""The one file format: arrays with a JSON header, written atomically, read without running code.

Files are in the safetensors format. The header contains the kind of the content (``kind``) and the version of the
format (``format``); a checksum covers the header and all arrays. Objects that can be saved are `Stored`.
"""

import codecs
import hashlib
import json
import os
import secrets
import time
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from fewratio.core.arguments import as_path
from fewratio.errors import DataNotFoundError, ModelFileError, ModelVersionError, ParameterError

FORMAT_VERSION = 1
KEY, CHECKSUM = "fewratio", "sha256"
_ADVICE = {
    "model": "Make the file again, or use another copy.",
    "checkpoint": "Delete it to start afresh, or use another copy.",
    "index": "Build it again, or use another copy.",
    "summary": "Make it again, or use another copy.",
    "map": "Use another copy, or make it with `fewratio map`.",
    "monitor": "Use another copy, or start again from the reference.",
    "reference": "Write it again with `fewratio reference`, or use another copy.",
}
# Bytes to read to see whether a file is text.
_START_BYTES = 64
# A temporary file older than this was left behind by a killed process: no write takes so long.
_LEFTOVER_SECONDS = 3600.0

Arrays = dict[str, NDArray[Any]]
# The types that each field of a header may have.
Fields = Mapping[str, tuple[type, ...]]
# Not `Self`: run-time type checkers know it only in classes that they decorate.
_Stored = TypeVar("_Stored", bound="Stored")


class Stored:
    """Base of objects that can be saved: a subclass converts itself to arrays and a header, and back."""

    _kind: ClassVar[str]
    _fields: ClassVar[Fields]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the object to a safetensors file with a JSON header and a checksum.

        Parameters
        ----------
        path : path
            The file; an existing one is replaced once the new one is complete.
        """
        write_tensors(path, self._kind, *self._payload())

    @classmethod
    def load(cls: type[_Stored], path: str | os.PathLike[str]) -> _Stored:
        """Load an object from a file written by `save`. Nothing in the file is executed.

        Parameters
        ----------
        path : path
            The file.
        """
        return cls._of_file(path, *read_tensors(path, cls._kind, finite=True))

    @classmethod
    def _of_file(
        cls: type[_Stored], path: str | os.PathLike[str], arrays: Arrays, header: dict[str, Any], **changes: Any
    ) -> _Stored:
        """Return the object in a file that was read, with some parameters changed."""
        try:
            check_fields(header, cls._fields)
            return cls._of_payload(arrays, header, **changes)
        except (LookupError, TypeError, ValueError, RuntimeError, AttributeError, OverflowError) as error:
            if isinstance(error, ModelFileError):
                raise
            problem = f"{error} is missing" if isinstance(error, KeyError) else error
            raise ModelFileError(
                f"{path} does not fit together ({problem}): it is damaged, or holds another thing than "
                f"{cls.__name__}. {_ADVICE[cls._kind]}"
            ) from error

    @abstractmethod
    def _payload(self) -> tuple[Arrays, dict[str, Any]]:
        """Return it as arrays and a header."""

    @classmethod
    @abstractmethod
    def _of_payload(cls: type[_Stored], arrays: Arrays, header: dict[str, Any], **changes: Any) -> _Stored:
        """Undo `_payload`, or raise one of the errors that `_of_file` explains."""


def check_fields(header: Mapping[str, Any], fields: Fields) -> None:
    """Raise ``ValueError`` unless a header has these fields, of these types."""
    for name, types in fields.items():
        if type(header[name]) not in types:
            needed = " or ".join("null" if each is type(None) else each.__name__ for each in types)
            raise ValueError(f"its {name} is {header[name]!r:.50}, not {needed}")


def check_arrays(arrays: Arrays, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Raise ``ValueError`` unless these are the arrays, of these shapes and of numbers."""
    for name in sorted({*arrays, *shapes}):
        found = arrays[name].shape if name in arrays and arrays[name].dtype.kind in "fi" else None
        if found != shapes.get(name):
            raise ValueError(f"its array {name} has the shape {found}, not {shapes.get(name)}")


def write_tensors(path: Any, kind: str, tensors: Mapping[str, NDArray[Any]], header: dict[str, Any]) -> None:
    """Write arrays and header to a file with their checksum, atomically.

    Parameters
    ----------
    path : path
        The file; an existing one is replaced only once the new one is complete.
    kind : str
        Kind of the content; `read_tensors` refuses other kinds.
    tensors : dict of str to ndarray
        The arrays.
    header : dict
        Any JSON values, and NumPy numbers.
    """
    from safetensors.numpy import save

    path = new_file(path, kind)
    text = header_text(kind, header)
    # A scalar stays one; `ascontiguousarray` would make it a vector.
    arrays = {name: np.asarray(array, order="C") for name, array in tensors.items()}
    write_atomically(path, save(arrays, {KEY: text, CHECKSUM: _checksum(text, arrays)}))


def header_text(kind: str, header: dict[str, Any]) -> str:
    """Return the JSON text of a header, with the fields that every header has."""
    return json.dumps({**header, "format": FORMAT_VERSION, "kind": kind}, default=np.generic.item)


def new_file(path: Any, kind: str) -> Path:
    """Return the path of a file that can be written, or say why it cannot."""
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
    """Open a file that gets its name, replacing another, once all is written; after an error nothing is left."""
    if path.exists() and not path.is_file():
        # Replacing a device or a pipe would remove it for everybody.
        what = "a folder" if path.is_dir() else "a pipe or a device"
        raise ParameterError(f"{str(path)!r} is {what}; expected the path of a file. Use another one.")
    # Cut short, so that a name as long as the system allows can still be written.
    prefix = f".{path.name[:50]}"
    for leftover in path.parent.glob(f"{escape(prefix)}.{'[0-9a-f]' * 16}.tmp"):
        # Another writer's file may be gone by now.
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
            # The error of a full disk names no file, and the name of the temporary one means nothing to the user.
            raise type(error)(error.errno, error.strerror, str(path)) from None
        raise


def read_tensors(path: Any, kind: str | tuple[str, ...], finite: bool = False) -> tuple[Arrays, dict[str, Any]]:
    """Read what `write_tensors` wrote.

    Parameters
    ----------
    path : path
        The file.
    kind : str or tuple of str
        The kinds of content to accept.
    finite : bool
        Whether all numbers must be finite. (The loss of a training that has diverged is not.)

    Raises
    ------
    DataNotFoundError
        If there is no such file.
    ModelFileError
        If the file is damaged, of another kind, or not a file of fewratio.
    ModelVersionError
        If a newer fewratio wrote it.
    """
    from safetensors import SafetensorError, safe_open

    path = as_path(path)
    kinds = (kind,) if isinstance(kind, str) else kind
    if not path.is_file():
        problem = f"{path} is a folder" if path.is_dir() else f"There is no file {path}"
        raise DataNotFoundError(f"{problem}; {_a(kinds[0])} is needed. Check the path.")
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            tensors: Arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dict
    except (SafetensorError, TypeError, ValueError, AttributeError, OverflowError) as error:
        if _seems_text(path):
            found = f"{path} seems to be text, such as a table"
            raise ModelFileError(f"{found}; {_a(kinds[0])} is needed. Use the right file.") from None
        raise ModelFileError(
            f"{path} cannot be read ({error}): it is truncated, damaged or not a safetensors file. {_ADVICE[kinds[0]]}"
        ) from error
    header = parse_header(path, metadata.get(KEY), kinds)
    advice = _ADVICE[header["kind"]]
    if metadata.get(CHECKSUM) != _checksum(metadata[KEY], tensors):
        raise ModelFileError(f"{path} is damaged: its contents do not match its checksum. {advice}")
    for name, array in tensors.items():
        if finite and array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ModelFileError(f"{path} is damaged: {name} has numbers that are not finite. {advice}")
    return tensors, header


def _seems_text(path: Path) -> bool:
    """Return whether a file starts like text; a safetensors file starts with eight bytes, the length of its header."""
    with open(path, "rb") as file:
        start = file.read(_START_BYTES)
    try:
        # The last character may be cut off.
        text = codecs.getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        return False
    return len(start) > 8 and start[8:9] != b"{" and bool(start.strip()) and "\0" not in text


def _checksum(text: str, arrays: Arrays) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"\n{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def parse_header(path: Path, text: str | bytes | None, kinds: tuple[str, ...]) -> dict[str, Any]:
    """Parse the header of a file that must be of one of these kinds, and of this version."""
    if text is None:
        raise ModelFileError(f"{path} is a safetensors file, but not one of fewratio's. Use a file that save() wrote.")
    try:
        header = json.loads(text)
        check_fields(header, {"format": (int,), "kind": (str,)})
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        raise ModelFileError(f"The header of {path} is damaged ({error}). Use another copy.") from error
    if header["format"] != FORMAT_VERSION:
        raise ModelVersionError(
            f"{path} has format version {header['format']}; this fewratio reads {FORMAT_VERSION}. Upgrade fewratio to "
            "read it."
        )
    if header["kind"] not in kinds:
        raise ModelFileError(f"{path} holds {_a(header['kind'])}, but {_a(kinds[0])} is needed. Use the right file.")
    return header


def _a(kind: str) -> str:
    return f"{'an' if kind[:1] in 'aeiou' else 'a'} {kind}"
