"""Sources of data by name: declared, registered, described and loaded."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from fewratio.data.collection import Collection
from fewratio.data.sources import digits_r, gaussian
from fewratio.errors import DataFileError, DataNotFoundError, ParameterError


@dataclass(frozen=True)
class Source:
    """The declaration of a source; `register_source` makes it known to `load_collection`.

    Attributes
    ----------
    name : str
        The name for `load_collection`.
    load : callable
        Returns the collection; its keyword arguments are the options of the source.
    description : str
        The meaning of rows, datasets and groups; by default the docstring of ``load``.
    licence, origin : str
        The published licence, and the address of the data.
    image_shape : pair of int, optional
        Shape of the image, if each row is one.
    files : callable
        ``files(download)`` returns the paths of the files that the source needs, after a download if necessary and
        allowed, or raises `DataNotFoundError`. By default no files are needed.

    Examples
    --------
    >>> from fewratio import Collection
    >>> from fewratio.data import Source
    >>> def load_sensors(n_rows=3):
    ...     "Sensors of one machine; a row is a reading."
    ...     return Collection.from_arrays([[[0.0]] * n_rows, [[1.0]] * n_rows])
    >>> source = Source("sensors", load_sensors, licence="CC0")
    >>> source.options
    {'n_rows': 3}
    >>> source.describe()["description"]
    'Sensors of one machine; a row is a reading.'
    """

    name: str
    load: Callable[..., Collection]
    description: str = ""
    licence: str = ""
    origin: str = ""
    image_shape: tuple[int, int] | None = None
    files: Callable[[bool], Sequence[Path]] = lambda download: ()

    @property
    def options(self) -> dict[str, Any]:
        """Other arguments of `load_collection` for it, with their defaults."""
        return {each.name: each.default for each in inspect.signature(self.load).parameters.values()}

    def describe(self) -> dict[str, Any]:
        """Describe the source, and whether its files exist, as plain values; nothing is downloaded or read."""
        try:
            found, missing = [str(path) for path in self.files(False)], ""
        except (DataNotFoundError, DataFileError) as error:
            found, missing = [], str(error)
        described = {field: getattr(self, field) for field in ("name", "licence", "origin", "options")}
        described["description"] = self.description or inspect.getdoc(self.load) or ""
        return described | {"available": not missing, "found": found, "missing": missing}


SOURCES: dict[str, Source] = {}
"""What is registered, by name."""


def register_source(source: Source) -> None:
    """Register a source: `load_collection` then accepts its name, and ``fewratio data`` lists it in this process.

    A source of the same name is replaced.

    Examples
    --------
    >>> from fewratio.data.registry import Source, register_source
    >>> register_source(Source("two_rows", lambda: Collection.from_arrays([[[0.0]], [[1.0]]])))
    >>> len(load_collection("two_rows"))
    2
    """
    if not isinstance(source, Source):
        found = f"source is a {type(source).__name__}"
        raise ParameterError(f"{found}; expected a fewratio.data.Source. Pass Source(name, load).")
    SOURCES[source.name] = source


def load_collection(name: str, **options: Any) -> Collection:
    """Load a known collection of datasets by its name.

    Parameters
    ----------
    name : str
        ``"digits_r"``, ``"gaussian"``, or the name of a registered source. ``import fewratio_bench`` registers the data
        of the paper: ``"mnist_r"``, ``"isolet"``, ``"landmine"``, ``"school"`` and ``"iot"``.
    **options
        Options of the source, such as ``n_datasets``, ``n_instances`` and ``seed`` for ``gaussian``.

    Raises
    ------
    ParameterError
        If the source, the option or its value does not exist.
    DataNotFoundError
        If a file is missing and cannot be downloaded; the message says where to put it.
    DataFileError
        If a file differs from the expected one.

    Examples
    --------
    >>> digits = load_collection("digits_r")
    >>> digits
    Collection('digits_r', 60 datasets of 174 to 183 rows, 64 features, 6 groups)
    >>> digits["30deg-7"]
    Dataset('30deg-7', group='30deg', 179 rows, 64 features)
    """
    source = find_source(name)
    for option in options:
        if option not in source.options:
            known = ", ".join(source.options) or "none"
            raise ParameterError(f"{name} got the option {option!r}; its options are: {known}. Leave {option} out.")
    return source.load(**options)


def find_source(name: str) -> Source:
    """Return the declaration of a source."""
    if not isinstance(name, str) or name not in SOURCES:
        close = get_close_matches(str(name), SOURCES, n=1)
        hint = f"Did you mean {close[0]!r}?" if close else "Pass one of them."
        more = "The paper's data are known after 'import fewratio_bench', your own after 'register_source'."
        raise ParameterError(f"There is no source {name!r}; known are {', '.join(sorted(SOURCES))}. {hint} ({more})")
    return SOURCES[name]


register_source(
    Source(
        "digits_r",
        digits_r.load,
        licence="CC BY 4.0 (UCI, Alpaydin and Kaynak; the copy in scikit-learn)",
        origin="https://archive.ics.uci.edu/dataset/80/optical+recognition+of+handwritten+digits",
        image_shape=(8, 8),
    )
)
register_source(
    Source("gaussian", gaussian.load, licence="made on the spot", origin="https://arxiv.org/abs/2107.00801")
)
