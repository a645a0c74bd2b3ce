"""The table of sources: loading one by its name, and saying what it is."""

import inspect
import operator
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from fewratio.data.collection import Collection
from fewratio.data.source import Source
from fewratio.data.sources import digits_r, gaussian, iot, isolet, landmine, mnist_r, school
from fewratio.data.storage import first_folder, locate, obtain, sha256_of, warn_of_no_folders
from fewratio.errors import DataNotFoundError, ParameterError

SOURCES: dict[str, Source] = {
    module.SOURCE.name: module.SOURCE for module in (digits_r, gaussian, iot, isolet, landmine, mnist_r, school)
}


@dataclass(frozen=True)
class FileInfo:
    """One file of a source: as published, and what is here."""

    path: str
    place: str
    """Where it is looked for first, and where to put it."""
    size: int | None
    sha256: str | None
    url: str | None
    found: str | None
    as_published: bool | None
    """Whether the file here has the sha256; None if there is nothing to compare."""
    form: int
    """Files of the same number are needed together; where there are several numbers, those of one are enough."""


@dataclass(frozen=True)
class OptionInfo:
    """An option of a source: its default, and the values it may have, if they are few."""

    name: str
    default: Any
    values: tuple[Any, ...] | None


@dataclass(frozen=True)
class SourceInfo:
    """What a source is and whether it is here.

    Attributes
    ----------
    name, description, licence, origin : str
    n_datasets, n_features : int
        Of the complete source.
    smallest, largest : int
        The fewest and most rows of a dataset.
    available : bool
        Whether it can be loaded without a download.
    found : tuple of str
        The files that would be read.
    note : str
        What is missing, or the like.
    files : tuple of FileInfo
        What it can be read from; where there are several forms, one is enough.
    values_sha256 : str or None
        Of the values, where files of several packings hold the same.
    options : tuple of OptionInfo
        What else `load_collection` takes for it.
    """

    name: str
    description: str
    licence: str
    origin: str
    n_datasets: int
    n_features: int
    smallest: int
    largest: int
    available: bool
    found: tuple[str, ...]
    note: str
    files: tuple[FileInfo, ...]
    values_sha256: str | None
    options: tuple[OptionInfo, ...]


def load_collection(name: str, **options: Any) -> Collection:
    """Load a known collection of datasets by its name.

    Files are looked for in the folders of the environment variable ``FEWRATIO_DATA``, then in the user's cache
    (``FEWRATIO_CACHE``); what is not there is downloaded, where it can be.

    Parameters
    ----------
    name : str
        ``"digits_r"``, ``"gaussian"``, ``"iot"``, ``"isolet"``, ``"landmine"``, ``"mnist_r"`` or ``"school"``.
    **options
        Options of the source: ``encoding`` ("constant" or "observed") for ``school``, ``seed`` (an integer, not
        negative) for ``iot`` and ``gaussian``, ``n_datasets`` and ``n_instances`` for ``gaussian``.

    Raises
    ------
    ParameterError
        If there is no such source, or it has no such option, or the option no such value.
    DataNotFoundError
        If the files are not here and cannot be downloaded; says which file to put where.
    DataFileError
        If a file is not what it should be.

    Examples
    --------
    >>> digits = load_collection("digits_r")
    >>> digits
    Collection('digits_r', 60 datasets of 174 to 183 rows, 64 features, 6 groups)
    >>> digits["30deg-7"]
    Dataset('30deg-7', group='30deg', 179 rows, 64 features)
    """
    source = find_source(name)
    known = [option.name for option in _options(source)]
    for option in options:
        if option not in known:
            has = f"its options are {', '.join(known)}" if known else "it has no options"
            raise ParameterError(f"{name} got the option {option!r}, but {has}. Leave {option} out.")
    if "seed" in options:
        options["seed"] = _as_seed(options["seed"])
    warn_of_no_folders(stacklevel=2)
    return source.load(**options)


def _as_seed(seed: Any) -> int:
    # A truth value counts as an integer, but is none that anyone means for a seed.
    number = None if isinstance(seed, bool) or not hasattr(seed, "__index__") else operator.index(seed)
    if number is None or number < 0:
        raise ParameterError(f"seed is {seed!r}; an integer that is not negative is needed. Pass one, such as 0.")
    return number


def find_source(name: str) -> Source:
    """Give the declaration of a source."""
    if name not in SOURCES:
        close = get_close_matches(str(name), SOURCES, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else " Pass one of them."
        raise ParameterError(f"There is no source {name!r}; known are {', '.join(SOURCES)}.{hint}")
    return SOURCES[name]


def source_info(name: str) -> SourceInfo:
    """Say what a source is and whether it is here; nothing is downloaded or parsed."""
    source = find_source(name)
    warn_of_no_folders(stacklevel=2)
    status = source.look()
    files = []
    for form, file in ((form, file) for form, choice in enumerate(source.choices, start=1) for file in choice):
        here = locate(file.path)
        as_published = sha256_of(here) == file.sha256 if here is not None and file.sha256 else None
        found, place = None if here is None else str(here), str(first_folder() / file.path)
        files.append(FileInfo(file.path, place, file.size, file.sha256, file.url, found, as_published, form))
    return SourceInfo(
        name,
        source.description,
        source.licence,
        source.origin,
        source.n_datasets,
        source.n_features,
        *source.sizes,
        status.available,
        tuple(map(str, status.found)),
        status.note,
        tuple(files),
        source.values_sha256,
        _options(source),
    )


def fetch_source(name: str) -> tuple[Path, ...]:
    """Make sure that the files of a source are here, by a download if need be, and say where they are.

    Raises
    ------
    DataNotFoundError
        If a file is missing and cannot be downloaded.
    DataFileError
        If a download is not what it should be.
    """
    source = find_source(name)
    warn_of_no_folders(stacklevel=2)
    status = source.look()
    if source.choices:
        return obtain(source.choices)
    if not status.available:
        raise DataNotFoundError(status.note)
    return status.found


def _options(source: Source) -> tuple[OptionInfo, ...]:
    return tuple(
        OptionInfo(
            parameter.name,
            parameter.default,
            get_args(parameter.annotation) if get_origin(parameter.annotation) is Literal else None,
        )
        for parameter in inspect.signature(source.load).parameters.values()
    )
