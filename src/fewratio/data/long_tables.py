"""Long tables, in which a column names the dataset of each row: held in memory, or read piece by piece."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from fewratio.data import files
from fewratio.data.frames import check_column, take_column
from fewratio.errors import DataFileError, DataNotFoundError

if TYPE_CHECKING:
    from fewratio.data.frames import Frame, Series

# Values in a piece of a file: 8 MB as float64; and rows, for labels become Python objects on the way.
_PIECE_VALUES = 2**20
_PIECE_ROWS = 2**16
_BUFFER_BYTES = 2**16


class Piece(NamedTuple):
    """Some consecutive rows, and what messages call them."""

    start: int
    frame: Frame
    argument: str


class LongTable(Protocol):
    """A table that can be gone through several times."""

    argument: str

    def column(self, name: str) -> Iterator[Series]:
        """Go through one column."""

    def pieces(self, without: Sequence[str]) -> Iterator[Piece]:
        """Go through all columns but some."""


class FrameTable:
    """A data frame, in one piece."""

    def __init__(self, frame: Frame, argument: str) -> None:
        self.frame, self.argument = frame, argument

    def column(self, name: str) -> Iterator[Series]:
        """Go through one column."""
        yield take_column(self.frame, name, self.argument)

    def pieces(self, without: Sequence[str]) -> Iterator[Piece]:
        """Go through all columns but some."""
        yield Piece(0, self.frame.drop(*without), self.argument)


class ParquetTable:
    """A Parquet file, of which a bounded piece is in memory at a time."""

    def __init__(self, file: files.TableFile) -> None:
        self.file, self.argument = file, str(file)
        with files.refusing(file), self._open() as parquet:
            self.names: list[str] = parquet.schema_arrow.names
            files.check_parquet_names(self.names)

    def column(self, name: str) -> Iterator[Series]:
        """Go through one column."""
        check_column(name, self.names, self.argument)
        for frame in self._frames([name]):
            yield frame.get_column(name)

    def pieces(self, without: Sequence[str]) -> Iterator[Piece]:
        """Go through all columns but some."""
        start = 0
        for frame in self._frames([name for name in self.names if name not in without]):
            n_rows = len(frame)
            yield Piece(start, frame, f"the part of {self.argument} with rows {start} to {start + n_rows - 1}")
            start += n_rows

    def _frames(self, names: list[str]) -> Iterator[Frame]:
        import narwhals.stable.v2 as nw
        import pyarrow

        n_rows = min(_PIECE_ROWS, max(1, _PIECE_VALUES // max(1, len(names))))
        with files.refusing(self.file), self._open() as parquet:
            for batch in parquet.iter_batches(n_rows, columns=names, use_threads=False):
                yield nw.from_native(pyarrow.Table.from_batches([batch]), eager_only=True)

    def _open(self) -> Any:
        from pyarrow.parquet import ParquetFile

        # Page by page: a row group, which may be the whole file, would otherwise be held at once.
        return ParquetFile(self.file.path, pre_buffer=False, buffer_size=_BUFFER_BYTES)


def open_file(path: Path, labels: Sequence[str]) -> LongTable:
    """Open one long table in a file, in which some columns hold names of datasets and groups."""
    file = files.TableFile(path, path.name, path.stem)
    if not path.is_file():
        problem = "is a folder" if path.is_dir() else "does not exist"
        raise DataNotFoundError(
            f"{str(path)!r} {problem}; needed is a file with one long table. Check the path, or use "
            "Collection.from_folder for one file per dataset."
        )
    if file.suffix not in files.TABLES:
        raise DataFileError(
            f"{file} ends in {file.suffix!r}; needed is a table with named columns ({', '.join(files.TABLES)}). "
            "Convert it."
        )
    if file.suffix == ".parquet" and files.is_installed("pyarrow"):
        return ParquetTable(file)
    return FrameTable(files.read_frame(file, labels=labels), str(file))
