"""Where data files are: the folders of ``FEWRATIO_DATA``, then the user's cache, then a download into that cache."""

import os
import tempfile
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from fewratio.data.registry import FileInfo, Status
from fewratio.errors import DataFileError, DataNotFoundError

DATA_VARIABLE = "FEWRATIO_DATA"
CACHE_VARIABLE = "FEWRATIO_CACHE"


@dataclass(frozen=True)
class RawFile:
    """A file as its publisher gives it.

    Attributes
    ----------
    path : str
        Where it lies below a data folder or the cache, with forward slashes.
    url : str or None
        Where it can be had; None if it has to be fetched by hand.
    size : int or None
        In bytes, where known.
    sha256 : str or None
        Of the whole file, where known; a file that differs is refused.
    check : callable or None
        Raises `DataFileError` if a download holds other values than it should. For files whose publisher may pack the
        same values anew, so that a checksum of the bytes would refuse a good file.
    """

    path: str
    url: str | None = None
    size: int | None = None
    sha256: str | None = None
    check: Callable[[Path], object] | None = None


Choice = tuple[RawFile, ...]
"""Files that are needed together."""


def read_from(choices: Sequence[Choice]) -> dict[str, Any]:
    """Give ``status`` and ``fetch`` of a `Source` that is read from files.

    Parameters
    ----------
    choices : sequence of Choice
        Files that will do, best first; one choice is enough.
    """
    return {"status": partial(find_files, choices), "fetch": partial(obtain, choices)}


def find_files(choices: Sequence[Choice]) -> Status:
    """Find which files are here, without a download."""
    found = locate_choice(choices)
    files = []
    for form, file in ((form, file) for form, choice in enumerate(choices, start=1) for file in choice):
        here, place = locate(file.path), first_folder() / file.path
        as_published = sha256_of(here) == file.sha256 if here is not None and file.sha256 else None
        seen = None if here is None else str(here)
        files.append(FileInfo(file.path, str(place), file.size, file.sha256, file.url, seen, as_published, form))
    return Status(found is not None, tuple((found or {}).values()), files=tuple(files))


def data_folders() -> tuple[Path, ...]:
    """Give the folders named by ``FEWRATIO_DATA``, in order; warn once of those that are not there."""
    return _folders(os.environ.get(DATA_VARIABLE, ""))


@cache
def _folders(named: str) -> tuple[Path, ...]:
    folders = tuple(Path(part).expanduser() for part in named.split(os.pathsep) if part)
    for folder in folders:
        if not folder.is_dir():
            problem = "is a file" if folder.exists() else "does not exist"
            warnings.warn(
                f"{DATA_VARIABLE} names {str(folder)!r}, which {problem}; it must name folders. Correct it, or make "
                "that folder.",
                stacklevel=3,
            )
    return folders


def cache_folder() -> Path:
    """Give the folder for downloads: ``FEWRATIO_CACHE``, or the user's own; it need not exist."""
    named = os.environ.get(CACHE_VARIABLE)
    if named:
        return Path(named).expanduser()
    try:
        import pooch
    except ImportError:
        return Path.home() / ".cache" / "fewratio"
    return Path(pooch.os_cache("fewratio"))


def first_folder() -> Path:
    """Give the folder in which files are looked for first, and where a user is told to put them."""
    return next(iter(data_folders()), None) or cache_folder()


def locate(path: str) -> Path | None:
    """Find a file in the data folders and the cache, or give None.

    Parameters
    ----------
    path : str
        Below a data folder, with forward slashes.
    """
    return next((folder / path for folder in (*data_folders(), cache_folder()) if (folder / path).is_file()), None)


def locate_choice(choices: Sequence[Choice]) -> dict[RawFile, Path] | None:
    """Find the files of the first choice that is complete here, or give None."""
    for choice in choices:
        found = {file: path for file in choice if (path := locate(file.path))}
        if len(found) == len(choice):
            return found
    return None


def obtain(choices: Sequence[Choice]) -> tuple[Path, ...]:
    """Find the files of a complete choice, or download the first choice that can be had.

    Raises
    ------
    DataNotFoundError
        If nothing is here and nothing can be downloaded; says which file to put where.
    DataFileError
        If a file is not the one it should be. A download of that kind is not kept.
    """
    found = locate_choice(choices)
    if found is None:
        possible = [choice for choice in choices if all(file.url or locate(file.path) for file in choice)]
        if not possible:
            raise missing_file(choices[0][0], "it cannot be downloaded automatically")
        return _download_one_of(possible)
    for file, path in found.items():
        if file.sha256 is not None and (digest := sha256_of(path)) != file.sha256:
            address = "" if file.url is None else f" ({file.url})"
            raise DataFileError(
                f"{path} has sha256 {digest}, but the published file has {file.sha256}: it is damaged or another one. "
                f"Put the published file{address} there."
            )
    return tuple(found.values())


def _download_one_of(choices: Sequence[Choice]) -> tuple[Path, ...]:
    """Download what is missing of the first choice that can be had; if there is none, raise the first one's error."""
    try:
        return tuple(locate(file.path) or download(file) for file in choices[0])
    except (DataFileError, DataNotFoundError):
        with suppress(DataFileError, DataNotFoundError):
            if len(choices) > 1:
                return _download_one_of(choices[1:])
        raise


def download(file: RawFile) -> Path:
    """Download a file into the cache and give its place there.

    Raises
    ------
    DataNotFoundError
        If there is no way to it.
    DataFileError
        If it is not what it should be.
    """
    if file.url is None:
        raise missing_file(file, "it cannot be downloaded automatically")
    try:
        import pooch
    except ImportError as error:
        raise missing_file(file, "a download needs pooch (pip install 'fewratio[bench]')") from error
    target = cache_folder() / file.path
    known_hash = None if file.sha256 is None else f"sha256:{file.sha256}"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        # A folder of its own, in the same file system: the file appears under its name only once it is verified.
        with tempfile.TemporaryDirectory(prefix=".download-", dir=target.parent) as folder:
            part = Path(pooch.retrieve(file.url, known_hash, target.name, folder))
            if file.check is not None:
                file.check(part)
            os.replace(part, target)
    except (ValueError, DataFileError) as error:  # pooch's word for another checksum, and the check's own
        raise DataFileError(
            f"The download of {file.url} is not what it should be, and was not kept: {error} Try again, or put a good "
            f"copy at {first_folder() / file.path}."
        ) from error
    except OSError as error:  # requests' errors are OSErrors, too
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise missing_file(file, f"the download failed ({reason})") from error
    return target


def missing_file(file: RawFile, reason: str) -> DataNotFoundError:
    """Make the error that says which file to put where."""
    searched = ", ".join(map(str, (*data_folders(), cache_folder())))
    address = "" if file.url is None else f" It is published at {file.url}."
    return DataNotFoundError(
        f"{file.path} is not in {searched}, and {reason}.{address} Put it at {first_folder() / file.path}, or set "
        f"{DATA_VARIABLE} to a folder in which it is {file.path}."
    )


def sha256_of(path: Path) -> str:
    """Give the sha256 of a file as hexadecimal digits."""
    return sha256(path.read_bytes()).hexdigest()
