"""Sources of data by name: declared, registered, described and loaded."""

import inspect
import operator
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from fewratio.data.collection import Collection
from fewratio.data.sources import digits_r, gaussian
from fewratio.errors import DataNotFoundError, ParameterError


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
class Status:
    """Whether a source can be loaded without a download, the files found, and what else there is to say."""

    available: bool
    found: tuple[Path, ...] = ()
    note: str = ""
    files: tuple[FileInfo, ...] = ()


@dataclass(frozen=True)
class Source:
    """The declaration of a source; `register_source` makes it known to `load_collection`.

    Attributes
    ----------
    name : str
        What `load_collection` takes.
    load : callable
        Gives the collection; its keyword arguments are the source's options.
    description : str
        What an instance, a dataset and a group are.
    licence, origin : str
        As published; the origin is an address.
    n_datasets, n_features : int, optional
        Of the complete source.
    sizes : pair of int, optional
        The fewest and most rows of a dataset.
    image_shape : pair of int, optional
        If an instance is an image, row by row.
    values_sha256 : str, optional
        Of the values themselves, for a source that its publisher packs in several ways.
    status : callable, optional
        For a source that needs files: gives the `Status`, without a download.
    fetch : callable, optional
        For a source that needs files: gives their paths, after a download if need be.
    """

    name: str
    load: Callable[..., Collection]
    description: str = ""
    licence: str = ""
    origin: str = ""
    n_datasets: int | None = None
    n_features: int | None = None
    sizes: tuple[int, int] | None = None
    image_shape: tuple[int, int] | None = None
    values_sha256: str | None = None
    status: Callable[[], Status] = lambda: Status(True, note="needs no file")
    fetch: Callable[[], tuple[Path, ...]] | None = None


SOURCES: dict[str, Source] = {}
"""What is registered, by name."""


def register_source(source: Source) -> None:
    """Make a source known: `load_collection` then takes its name, and ``fewratio data`` lists it in this process.

    A source of the same name is replaced.

    Examples
    --------
    >>> from fewratio.data.registry import Source, register_source
    >>> register_source(Source("two_rows", lambda: Collection.from_arrays([[[0.0]], [[1.0]]])))
    >>> len(load_collection("two_rows"))
    2
    """
    SOURCES[source.name] = source


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
    n_datasets, n_features : int or None
        Of the complete source.
    smallest, largest : int or None
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
    n_datasets: int | None
    n_features: int | None
    smallest: int | None
    largest: int | None
    available: bool
    found: tuple[str, ...]
    note: str
    files: tuple[FileInfo, ...]
    values_sha256: str | None
    options: tuple[OptionInfo, ...]


def load_collection(name: str, **options: Any) -> Collection:
    """Load a known collection of datasets by its name.

    Parameters
    ----------
    name : str
        ``"digits_r"`` or ``"gaussian"``, or what `register_source` was given. ``import fewratio_bench`` registers the
        paper's data: ``"mnist_r"``, ``"isolet"``, ``"landmine"``, ``"school"`` and ``"iot"``.
    **options
        Options of the source, such as ``n_datasets``, ``n_instances`` and ``seed`` (an integer, not negative) for
        ``gaussian``.

    Raises
    ------
    ParameterError
        If there is no such source, or it has no such option, or the option no such value.
    DataNotFoundError
        If files are needed that are not here and cannot be downloaded; says which file to put where.
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
    return source.load(**options)


def _as_seed(seed: Any) -> int:
    # A truth value counts as an integer, but is none that anyone means for a seed.
    if isinstance(seed, bool) or not hasattr(seed, "__index__") or operator.index(seed) < 0:
        raise ParameterError(f"seed is {seed!r}; an integer that is not negative is needed. Pass one, such as 0.")
    return operator.index(seed)


def find_source(name: str) -> Source:
    """Give the declaration of a source."""
    if name not in SOURCES:
        close = get_close_matches(str(name), SOURCES, n=1)
        hint = f"Did you mean {close[0]!r}?" if close else "Pass one of them."
        raise ParameterError(
            f"There is no source {name!r}; known are {', '.join(sorted(SOURCES))}. {hint} (The paper's data are known "
            "after 'import fewratio_bench', your own after 'register_source'.)"
        )
    return SOURCES[name]


def source_info(name: str) -> SourceInfo:
    """Say what a source is and whether it is here; nothing is downloaded or parsed."""
    source = find_source(name)
    status = source.status()
    smallest, largest = source.sizes or (None, None)
    return SourceInfo(
        *(name, source.description, source.licence, source.origin, source.n_datasets, source.n_features),
        *(smallest, largest, status.available, tuple(map(str, status.found)), status.note, status.files),
        *(source.values_sha256, _options(source)),
    )


def fetch_source(name: str) -> tuple[Path, ...]:
    """Make sure that the files of a source are here, by a download if need be, and say where they are.

    Raises
    ------
    DataNotFoundError
        If a file is missing and cannot be downloaded.
    DataFileError
        If a file is not what it should be.
    """
    source = find_source(name)
    if source.fetch is not None:
        return source.fetch()
    status = source.status()
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


register_source(
    Source(
        "digits_r",
        digits_r.load,
        "Handwritten digits, 8 x 8 pixels from 0 to 1, rotated counter-clockwise by 0, 15, ... 75 degrees. "
        "A dataset is a digit in a rotation; the group is the rotation. A small stand-in for Mnist-r.",
        "CC BY 4.0 (UCI, Alpaydin and Kaynak; the copy in scikit-learn)",
        "https://archive.ics.uci.edu/dataset/80/optical+recognition+of+handwritten+digits",
        n_datasets=60,
        n_features=64,
        sizes=(174, 183),
        image_shape=(8, 8),
    )
)
register_source(
    Source(
        "gaussian",
        gaussian.load,
        "The synthetic family: numbers from one-dimensional Gaussians. A dataset is a Gaussian with mean and standard "
        "deviation of its own, drawn by a seed.",
        "made on the spot",
        "https://arxiv.org/abs/2107.00801",
        n_datasets=600,
        n_features=1,
        sizes=(300, 300),
    )
)
