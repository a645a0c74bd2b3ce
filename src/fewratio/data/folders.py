"""Folders of data files, one dataset per file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from fewratio.data.columns import Layout, check_layout
from fewratio.data.dataset import Dataset
from fewratio.data.encoding import Encoding, EncodingChoice
from fewratio.data.files import ARRAYS, COMPRESSED, SUFFIXES, Content, TableFile, pieces, read_file, split_name
from fewratio.data.frames import Frame, in_order, open_frame, take_column
from fewratio.data.table import Table, as_table
from fewratio.errors import CollectionError, DataNotFoundError

_SAME_FILES = "all files of a folder must have the same columns, in any order. Repair the file or move it elsewhere."


def find_table_files(folder: Path) -> list[TableFile]:
    """List the data files below a folder, sorted by their relative path.

    A dataset is named by its file's stem; where one stem occurs in several sub-folders, by the path below the folder.
    """
    if not folder.is_dir():
        problem = "is not a folder" if folder.exists() else "does not exist"
        raise DataNotFoundError(
            f"{str(folder)!r} {problem}; needed is a folder with one data file per dataset. Check the path."
        )
    paths = sorted(path.relative_to(folder) for path in folder.rglob("*") if _is_table_file(path, folder))
    if not paths:
        raise DataNotFoundError(
            f"{str(folder)!r} holds no {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]} files; needed is one data file per "
            "dataset. Check the path, or convert the files."
        )
    stems = [split_name(path)[0] for path in paths]
    count = Counter(stems)
    return [
        TableFile(
            path=folder / path,
            relative=path.as_posix(),
            name=stem if count[stem] == 1 else path.with_name(stem).as_posix(),
            group=path.parent.as_posix() if path.parent.parts else None,
        )
        for path, stem in zip(paths, stems, strict=True)
    ]


def _is_table_file(path: Path, folder: Path) -> bool:
    # What begins with a dot, or lies in such a folder, is a program's own (a notebook's checkpoints, say).
    is_hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
    # Not every archive is a table: a compressed one needs both endings.
    suffix = Path(path.stem).suffix if path.suffix.lower() in COMPRESSED else path.suffix
    return suffix.lower() in SUFFIXES and not is_hidden and path.is_file()


def read_datasets(
    folder: Path, outlier: str | None, choice: EncodingChoice
) -> tuple[list[Dataset], tuple[str, ...] | None, Encoding | None]:
    """Return one dataset per file of a folder, the names of their features, and the encoding if one was asked for.

    No more than one file is held besides the datasets; to learn the categories, all files are read twice.
    """
    files = find_table_files(folder)
    reader = _Reader(outlier, choice)
    encoding = choice.prepare((str(file), row, part) for file in files for row, part in reader.parts(file))
    contents = [reader.read(file, encoding) for file in files]
    names = next((table.feature_names for table, _ in contents if table.feature_names is not None), None)
    if encoding is not None and choice.learns_medians:
        encoding = encoding.with_medians([table.numbers for table, _ in contents])
        for i, (table, flags) in enumerate(contents):
            contents[i] = Content(encoding.filled(table), flags)
    members: Any = zip(files, contents, strict=True)
    datasets = [Dataset(file.name, file.group, table, flags) for file, (table, flags) in members]
    return datasets, names if encoding is None else encoding.feature_names, encoding


class _Reader:
    """Reads files one after the other, each with the columns of the first one, in the first one's order."""

    def __init__(self, outlier: str | None, choice: EncodingChoice) -> None:
        self.outlier, self.choice = outlier, choice
        self._first: Layout | None = None

    def parts(self, file: TableFile) -> Iterator[tuple[int, Any]]:
        """Go through a file without its column of outliers, as it is before any encoding, with first rows' numbers."""
        if file.suffix in ARRAYS:
            yield 0, read_file(file, open_piece=partial(as_table, keep_missing=True)).table
            return
        for first_row, frame in pieces(file):
            if self.outlier is not None:
                take_column(frame, self.outlier, str(file))
                frame = frame.drop(self.outlier)
            yield first_row, self._ordered(frame, file)

    def read(self, file: TableFile, encoding: Encoding | None) -> Content:
        """Read a file, encoded if an encoding was prepared."""

        def open_piece(X: Any, argument: str, first_row: int = 0) -> Table:
            frame = open_frame(X, argument)
            return self.choice.open(X if frame is None else self._ordered(frame, file), argument, encoding, first_row)

        return read_file(file, self.outlier, open_piece)

    def _ordered(self, frame: Frame, file: TableFile) -> Frame:
        found = Layout(str(file), len(frame.columns), tuple(frame.columns))
        if self._first is None:
            self._first = found
        if set(found.names or ()) != set(self._first.names or ()):
            check_layout(found, self._first, CollectionError, _SAME_FILES)
        return in_order(frame, self._first.names)
