"""One data file of any kind that is known, read into a table; a file that cannot be used is refused by name."""

from __future__ import annotations

import csv
import re
import sys
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewratio.data import csv_files, csv_numbers
from fewratio.data.columns import counted, listed
from fewratio.data.dataset import as_flags
from fewratio.data.frames import column_kind, take_column
from fewratio.errors import DataFileError, InputError, MissingColumnError

if TYPE_CHECKING:
    from fewratio.data.frames import Frame

TABLES = (*csv_files.SEPARATORS, ".parquet")
SUFFIXES = (*TABLES, ".npy", ".npz")
# pyarrow first: polars reads a number after a space as text.
_BACKENDS = ("pyarrow", "polars", "pandas")
_PANDAS_INDEX = re.compile(r"__index_level_\d+__")
_NEEDED = {
    ".csv": "a UTF-8 CSV file with a header line and as many fields, divided by commas, in every line",
    ".tsv": "a UTF-8 file with a header line and as many fields, divided by tabs, in every line",
    ".parquet": "a Parquet file of plain columns",
    ".npy": "one array of numbers with two axes, as numpy.save writes it",
    ".npz": "one array of numbers with two axes, or X and is_outlier, as numpy.savez writes them",
}


@dataclass(frozen=True)
class TableFile:
    """One data file: where it is, and what messages and the dataset in it are called."""

    path: Path
    relative: str
    name: str
    group: str | None = None

    def __post_init__(self) -> None:
        try:
            str(self.path).encode()
        except UnicodeEncodeError as error:
            raise DataFileError(
                f"the path {str(self.path)!r} is not UTF-8; the libraries that read data files need a path of UTF-8 "
                "text. Rename the file or folder."
            ) from error

    def __str__(self) -> str:
        return f"file {self.relative!r}"

    @property
    def suffix(self) -> str:
        """Ending of the name, in lower case."""
        return self.path.suffix.lower()


class Content(NamedTuple):
    """What a file holds: rows (a data frame, or an array with or without names), and which are known outliers."""

    X: Any
    flags: NDArray[np.bool_] | None


def read_content(file: TableFile, outlier: str | None, as_array: bool = False) -> Content:
    """Read a file and set the column of known outliers apart.

    With `as_array`, a text file of numbers alone may become a `NamedArray`, which is faster than a data frame.
    """
    if file.suffix in TABLES:
        in_vain = False
        if as_array and outlier is None:
            array = _read_array(file)
            if array is not None:
                return Content(array, None)
            in_vain = file.suffix in csv_files.SEPARATORS
        frame = read_frame(file, all_numbers=not in_vain)
        if outlier is None:
            return Content(frame, None)
        column = take_column(frame, outlier, str(file))
        return Content(frame.drop(outlier), as_flags(column.to_numpy(), f"column {outlier!r} of {file}"))
    with refusing(file):
        _check_not_empty(file.path)
        X, flags = _read_npy(file.path) if file.suffix == ".npy" else _read_npz(file.path)
    if outlier is not None and flags is None:
        raise MissingColumnError(
            f"{file} has no column {outlier!r}, for its columns have no names; needed is an array is_outlier beside X. "
            "Write both with numpy.savez(path, X=X, is_outlier=flags)."
        )
    return Content(X, None if flags is None else as_flags(flags, f"is_outlier of {file}"))


def read_frame(file: TableFile, all_numbers: bool = False, labels: Sequence[str] = ()) -> Frame:
    """Read a file with named columns; if all are expected to be numbers, the fastest way is tried first.

    The columns `labels` of a text file are read as text.
    """
    backend = installed_backend()
    with refusing(file):
        _check_not_empty(file.path)
        if file.suffix == ".parquet":
            return _read_parquet(file.path, backend)
        frame = None
        if all_numbers and is_installed("polars"):
            frame = csv_numbers.read_frame(file.path)
        if frame is None:
            frame = csv_files.read_csv(file.path, backend, labels)
    _check_commas(frame, file)
    return frame


def _read_array(file: TableFile) -> csv_numbers.NamedArray | None:
    """Read a text file of nothing but numbers; None if it holds anything else."""
    # For its message, where there is none.
    installed_backend()
    if file.suffix not in csv_files.SEPARATORS or not is_installed("polars"):
        return None
    with refusing(file):
        _check_not_empty(file.path)
        return csv_numbers.read_array(file.path)


def is_installed(package: str) -> bool:
    """Tell whether a package can be imported, without importing it."""
    return find_spec(package) is not None


def installed_backend() -> str:
    """Return the name of the package that reads files, or say what to install."""
    backend = next(filter(is_installed, _BACKENDS), None)
    if backend is None or not is_installed("narwhals"):
        raise DataFileError(
            f"no package that reads data files is installed; needed are narwhals and one of {listed(_BACKENDS)}. "
            "Run pip install 'fewratio[tables]'."
        )
    return backend


def refusal(file: TableFile, reason: Exception) -> DataFileError:
    """Return the error for a file that cannot be read, in one line."""
    words = " ".join(str(reason).split())
    # Where the system refuses the file, it does so again.
    can_open = file.suffix in csv_files.SEPARATORS and not isinstance(reason, OSError)
    if can_open and csv_files.decimal_commas(file.path):
        words += "; the numbers look like decimal commas, write points instead"
    return DataFileError(
        f"{file} cannot be read ({words[:500]}); needed is {_NEEDED[file.suffix]}. Repair it or write it anew."
    )


@contextmanager
def refusing(file: TableFile) -> Iterator[None]:
    """Turn what a library raises on a file that it cannot parse into the error that names the file."""
    try:
        yield
    except _parsing_errors() as error:
        raise refusal(file, error) from error


def _parsing_errors() -> tuple[type[Exception], ...]:
    # Most errors of pyarrow are ValueErrors. What polars raises can come up only once it is imported.
    polars = sys.modules.get("polars")
    return (
        *(OSError, ValueError, TypeError, NotImplementedError, ImportError, EOFError),
        *(csv.Error, zipfile.BadZipFile, MemoryError),
        *([] if polars is None else [polars.exceptions.PolarsError]),
    )


def check_parquet_names(names: Sequence[str]) -> None:
    """Raise ``ValueError`` if columns share a name, or one is the row index of a filtered or shuffled pandas frame."""
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise ValueError(f"several columns have the name {listed(repeated)}")
    index = next(filter(_PANDAS_INDEX.fullmatch, names), None)
    if index is not None:
        raise ValueError(f"column {index!r} is a row index saved by pandas; write it with index=False")


def _check_not_empty(path: Path) -> None:
    if path.stat().st_size == 0:
        raise ValueError("it is empty")


def _read_parquet(path: Path, backend: Any) -> Frame:
    import narwhals.stable.v2 as nw

    # Before it is read: each library has long words of its own for columns that share a name.
    check_parquet_names(_parquet_names(path, backend))
    frame = nw.read_parquet(str(path), backend=backend)
    check_parquet_names(frame.columns)
    # pandas itself makes such a column the index again, and a named one too, which would then be lost without a word.
    index = nw.maybe_get_index(frame)
    if index is not None and type(index).__name__ != "RangeIndex":
        raise ValueError(f"it holds a row index saved by pandas ({index.name!r}); write it with index=False")
    return frame


def _parquet_names(path: Path, backend: str) -> list[str]:
    """Return the names of the columns, as far as they can be known before the file is read."""
    if backend != "pyarrow":
        return []
    from pyarrow.parquet import read_schema

    names: list[str] = read_schema(path).names
    return names


def _check_commas(frame: Frame, file: TableFile) -> None:
    """Raise if a column would be taken for text only because its numbers have decimal commas."""
    for label in frame.columns:
        column = frame.get_column(label)
        comma = None
        if column_kind(column) == "categories":
            comma = csv_files.first_decimal_comma(column.head(100).to_list())
        if comma is not None:
            raise InputError(
                f"column {label!r} of {file} looks like decimal commas (such as {comma!r}); "
                "numbers must be written with points. Convert the file."
            )


def _read_npy(path: Path) -> tuple[NDArray[Any], None]:
    with path.open("rb") as file:
        # Before anything else: numpy.load takes whatever has no such beginning for a pickle, and says so.
        np.lib.format.read_magic(file)
    # Mapped: it is read once, when the dataset is made, and a header cannot promise more than the file has.
    return _two_axes(np.load(path, mmap_mode="r", allow_pickle=False), "its array"), None


def _read_npz(path: Path) -> tuple[NDArray[Any], NDArray[Any] | None]:
    if not zipfile.is_zipfile(path):
        raise ValueError("it is no archive of arrays")
    with np.load(path, allow_pickle=False) as arrays:
        names = arrays.files
        if "X" in names and set(names) <= {"X", "is_outlier"}:
            return _two_axes(arrays["X"], "X"), arrays["is_outlier"] if "is_outlier" in names else None
        if len(names) != 1:
            raise ValueError(f"it holds {counted(len(names), 'array')}{': ' * bool(names)}{listed(names)}")
        return _two_axes(arrays[names[0]], f"array {names[0]!r}"), None


def _two_axes(array: NDArray[Any], what: str) -> NDArray[Any]:
    if array.ndim != 2:
        raise ValueError(f"the shape of {what} is {array.shape}")
    return array
