"""Folders of data files, one dataset a file."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fewratio.data.columns import Layout, counted, feature_mismatch, listed
from fewratio.data.dataset import Dataset, as_flags, dataset_from_table
from fewratio.data.frames import take_column
from fewratio.data.tables import as_table
from fewratio.errors import CollectionError, DataFileError, DataNotFoundError

if TYPE_CHECKING:
    from fewratio.data.frames import Frame

SUFFIXES = (".csv", ".parquet")
# pyarrow first: polars reads a blank line as missing values and a number after a space as text.
_BACKENDS = ("pyarrow", "polars", "pandas")
# polars alone reads these as text.
_MISSING_MARKS = ["", "NA", "N/A", "n/a", "nan", "NaN", "null", "NULL"]


@dataclass(frozen=True)
class TableFile:
    """One data file: where it is, and the dataset that it holds."""

    path: Path
    relative: str
    name: str
    group: str | None

    def __str__(self) -> str:
        return f"file {self.relative!r}"


def find_table_files(folder: Path) -> list[TableFile]:
    """List the data files below a folder, sorted by their relative path.

    A dataset is named by its file's stem; where one stem occurs in several sub-folders, by the path below the folder.
    """
    if not folder.is_dir():
        problem = "is not a folder" if folder.exists() else "does not exist"
        raise DataNotFoundError(
            f"{str(folder)!r} {problem}; needed is a folder with one data file per dataset. Check the path."
        )
    paths = sorted(path.relative_to(folder) for path in folder.rglob("*") if _is_table_file(path))
    if not paths:
        raise DataNotFoundError(
            f"{str(folder)!r} holds no {' or '.join(SUFFIXES)} files; needed is one data file per dataset. "
            "Check the path, or convert the files."
        )
    stems = Counter(path.stem for path in paths)
    return [
        TableFile(
            path=folder / path,
            relative=path.as_posix(),
            name=path.stem if stems[path.stem] == 1 else path.with_suffix("").as_posix(),
            group=path.parent.as_posix() if path.parent.parts else None,
        )
        for path in paths
    ]


def _is_table_file(path: Path) -> bool:
    return path.suffix.lower() in SUFFIXES and not path.name.startswith(".") and path.is_file()


def read_datasets(folder: Path, outlier: str | None) -> tuple[list[Dataset], tuple[str, ...] | None]:
    """Return one dataset per file of a folder, and the names of their features."""
    datasets: list[Dataset] = []
    feature_names = None
    for file, frame in _read_files(find_table_files(folder)):
        flags = None
        if outlier is not None:
            column = take_column(frame, outlier, str(file))
            flags = as_flags(column.to_numpy(), f"column {outlier!r} of {file}")
            frame = frame.drop(outlier)
        table = as_table(frame, str(file))
        feature_names = table.feature_names
        datasets.append(dataset_from_table(file.name, file.group, table, flags))
    return datasets, feature_names


def _read_files(files: list[TableFile]) -> Iterator[tuple[TableFile, Frame]]:
    """Read files one after the other, each with the columns of the first one, in the first one's order."""
    backend = _installed_backend()
    first: tuple[TableFile, tuple[str, ...]] | None = None
    for file in files:
        frame = _read(file, backend)
        columns = tuple(frame.columns)
        if first is None:
            first = file, columns
        reference, expected = first
        if set(columns) != set(expected):
            layout = Layout(str(file), len(columns), columns)
            raise CollectionError(feature_mismatch(layout, Layout(str(reference), len(expected), expected)))
        yield file, frame if columns == expected else frame.select(*expected)


def _installed_backend() -> str:
    backend = next((name for name in _BACKENDS if find_spec(name) is not None), None)
    if backend is None or find_spec("narwhals") is None:
        raise DataFileError(
            f"no package that reads data files is installed; needed are narwhals and one of {listed(_BACKENDS)}. "
            "Run pip install 'fewratio[tables]'."
        )
    return backend


def _read(file: TableFile, backend: str) -> Frame:
    try:
        return _read_parquet(file.path, backend) if _is_parquet(file.path) else _read_csv(file.path, backend)
    except _reading_errors(backend) as error:
        raise DataFileError(
            f"{file} cannot be read ({' '.join(str(error).split())}); needed is a UTF-8 CSV file with a header line "
            "or a Parquet file. Repair it or remove it from the folder."
        ) from error


def _is_parquet(path: Path) -> bool:
    return path.suffix.lower() == ".parquet"


def _reading_errors(backend: str) -> tuple[type[BaseException], ...]:
    """Return what a library raises on a file that it cannot parse (most errors of pyarrow are ValueErrors)."""
    plain = (OSError, ValueError, TypeError, NotImplementedError, ImportError, csv.Error)
    return (*plain, import_module("polars.exceptions").PolarsError) if backend == "polars" else plain


def _read_parquet(path: Path, backend: Any) -> Frame:
    import narwhals.stable.v2 as nw

    return nw.read_parquet(str(path), backend=backend)


def _read_csv(path: Path, backend: Any) -> Frame:
    import narwhals.stable.v2 as nw

    _check_header(path)
    # Every library guesses the column types from the first rows unless told to look at all of them.
    options: dict[str, Any] = {"infer_schema_length": None, "null_values": _MISSING_MARKS}
    if backend == "pyarrow":
        block_size = min(path.stat().st_size + 1, 2**31 - 1)
        options = {"read_options": import_module("pyarrow.csv").ReadOptions(block_size=block_size)}
    elif backend == "pandas":
        options = {"low_memory": False}
    return nw.read_csv(str(path), backend=backend, **options)


def _check_header(path: Path) -> None:
    """Raise where a library would repair a header without a word.

    polars and pandas rename the second of two equal columns, and where the lines have one field more than the header
    pandas takes the first field for row labels.
    """
    with path.open(encoding="utf-8-sig", newline="") as file:
        lines = csv.reader(file)
        names, first = next(lines, []), next(lines, [])
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise ValueError(f"several columns have the name {listed(repeated)}")
    if len(first) > len(names):
        raise ValueError(f"the header has {counted(len(names), 'field')} but the line below it has {len(first)}")
