"""Where data files are: the folders of ``FEWRATIO_DATA``, then the user's cache, then a download into that cache."""

import logging
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

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
        Of the whole file, where known; a download that differs is refused.
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


def data_folders() -> list[Path]:
    """Give the folders named by ``FEWRATIO_DATA``, in order; they need not exist."""
    return [Path(part).expanduser() for part in os.environ.get(DATA_VARIABLE, "").split(os.pathsep) if part]


def warn_of_no_folders(stacklevel: int) -> None:
    """Warn of what ``FEWRATIO_DATA`` names that is no folder: nothing will be found there."""
    for folder in data_folders():
        if not folder.is_dir():
            problem = "is a file" if folder.exists() else "does not exist"
            warnings.warn(
                f"{DATA_VARIABLE} names {str(folder)!r}, which {problem}; it must name folders. Correct it, or make "
                "that folder.",
                stacklevel=stacklevel + 1,
            )


def cache_folder() -> Path:
    """Give the folder for downloads and parsed data: ``FEWRATIO_CACHE``, or the user's own; it need not exist."""
    named = os.environ.get(CACHE_VARIABLE)
    if named:
        return Path(named).expanduser()
    # Imported here: whoever names all folders needs no pooch.
    import pooch

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
    for folder in data_folders():
        if (folder / path).is_file():
            return folder / path
    cached = cache_folder() / path
    return cached if cached.is_file() else None


def locate_choice(choices: Sequence[Choice]) -> tuple[Path, ...] | None:
    """Find the files of the first choice that is complete here, or give None."""
    for choice in choices:
        found = [locate(file.path) for file in choice]
        if all(found):
            return tuple(path for path in found if path is not None)
    return None


def obtain(choices: Sequence[Choice]) -> tuple[Path, ...]:
    """Find the files of a complete choice, or download the first choice that can be had.

    Raises
    ------
    DataNotFoundError
        If nothing is here and nothing can be downloaded; says which file to put where.
    DataFileError
        If a download is not the file it should be, and no other choice can be had. It is not kept.
    """
    found = locate_choice(choices)
    if found is not None:
        return found
    complete = [choice for choice in choices if all(file.url or locate(file.path) for file in choice)]
    if not complete:
        raise missing_file(choices[0][0], "it cannot be downloaded automatically")
    return _download_one_of(complete)


def _download_one_of(choices: Sequence[Choice]) -> tuple[Path, ...]:
    """Download what is missing of the first choice that can be had; if there is none, raise the first one's error."""
    try:
        return tuple(locate(file.path) or download(file) for file in choices[0])
    except (DataFileError, DataNotFoundError):
        with suppress(DataFileError, DataNotFoundError):
            if len(choices) > 1:
                return _download_one_of(choices[1:])
        raise


def as_published(path: Path, choices: Sequence[Choice]) -> Path:
    """Give a path back, or raise `DataFileError` if another sha256 is declared for the file that it should be."""
    file = next((file for choice in choices for file in choice if path.as_posix().endswith(f"/{file.path}")), None)
    if file is not None and file.sha256 is not None and (found := sha256_of(path)) != file.sha256:
        source = "" if file.url is None else f" ({file.url})"
        raise DataFileError(
            f"{path} has sha256 {found}, but the published file has {file.sha256}: it is damaged or another one. Put "
            f"the published file{source} there."
        )
    return path


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
    target = cache_folder() / file.path
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        # A folder of its own, in the same file system: the file appears under its name only once it is verified.
        with tempfile.TemporaryDirectory(prefix=".download-", dir=target.parent) as folder:
            part = _retrieve(file.url, Path(folder) / target.name)
            _verify(file, part)
            os.replace(part, target)
    except DataFileError:
        raise
    except OSError as error:  # requests' errors are OSErrors, too
        raise missing_file(file, f"the download failed ({_first_line(error)})") from error
    return target


def missing_file(file: RawFile, reason: str) -> DataNotFoundError:
    """Make the error that says which file to put where."""
    looked = ", ".join(str(folder) for folder in (*data_folders(), cache_folder()))
    source = "" if file.url is None else f" It is published at {file.url}."
    return DataNotFoundError(
        f"{file.path} is not in {looked}, and {reason}.{source} Put it at {first_folder() / file.path}, or set "
        f"{DATA_VARIABLE} to a folder in which it is {file.path}."
    )


def sha256_of(path: Path) -> str:
    """Give the sha256 of a file as hexadecimal digits."""
    digest = sha256()
    with open(path, "rb") as file:
        while block := file.read(2**20):
            digest.update(block)
    return digest.hexdigest()


def _retrieve(url: str, part: Path) -> Path:
    import pooch

    with _progress(part.name) as bar, _quiet(pooch.get_logger()):
        downloader = pooch.HTTPDownloader(progressbar=bar, chunk_size=2**16)
        return Path(pooch.retrieve(url, known_hash=None, fname=part.name, path=part.parent, downloader=downloader))


def _verify(file: RawFile, part: Path) -> None:
    if file.sha256 is not None and (found := sha256_of(part)) != file.sha256:
        raise DataFileError(
            f"The download of {file.url} has sha256 {found}, but {file.path} must have {file.sha256}: it is damaged or "
            f"has been changed there. It was not kept. Try again, or put a good copy at {first_folder() / file.path}."
        )
    if file.check is not None:
        try:
            file.check(part)
        except DataFileError as error:
            raise DataFileError(
                f"The download of {file.url} is not what it should be, and was not kept: {error}"
            ) from error


@contextmanager
def _quiet(logger: logging.Logger) -> Iterator[None]:
    """Keep pooch from writing what it does: a library prints nothing."""
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)


class _Bar:
    """What pooch asks of a progress bar, said to rich's."""

    def __init__(self, progress: Any, name: str) -> None:
        self._progress = progress
        self._task = progress.add_task(name, total=None)
        self.total = 0

    def update(self, n_bytes: int) -> None:
        self._progress.update(self._task, advance=n_bytes, total=self.total or None)

    def reset(self) -> None:
        self._progress.reset(self._task)

    def close(self) -> None:
        self._progress.refresh()


@contextmanager
def _progress(name: str) -> Iterator[_Bar | bool]:
    """Show a bar on standard error where that is a terminal."""
    if not sys.stderr.isatty():
        yield False
        return
    try:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn
    except ImportError:
        yield False
        return
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        yield _Bar(progress, name)


def _first_line(error: BaseException) -> str:
    lines = str(error).splitlines()
    return lines[0] if lines else type(error).__name__
