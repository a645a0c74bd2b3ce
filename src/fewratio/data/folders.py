"""Folders of data files, one dataset a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from fewratio.data.columns import Layout, check_layout
from fewratio.data.csv_numbers import NamedArray
from fewratio.data.dataset import Dataset, dataset_from_table, frozen
from fewratio.data.encoding import Encoding
from fewratio.data.encoding_choice import EncodingChoice
from fewratio.data.files import SUFFIXES, Content, TableFile, read_content
from fewratio.data.frames import is_frame
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


def _is_table_file(path: Path, folder: Path) -> bool:
    # What begins with a dot, or lies in such a folder, is a program's own (a notebook's checkpoints, say).
    is_hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
    return path.suffix.lower() in SUFFIXES and not is_hidden and path.is_file()


def read_datasets(
    folder: Path, outlier: str | None, choice: EncodingChoice
) -> tuple[list[Dataset], tuple[str, ...] | None, Encoding | None]:
    """Return one dataset per file of a folder, the names of their features, and the encoding if one was asked for.

    No more than one file is held besides the datasets; to learn the categories, all files are read twice.
    """
    files = find_table_files(folder)
    encoding = choice.prepare((str(file), content.X) for file, content in _read_files(files, outlier))
    if encoding is not None:
        return _encoded_datasets(files, outlier, choice, encoding)
    datasets: list[Dataset] = []
    feature_names = None
    for file, content in _read_files(files, outlier, as_array=True):
        if isinstance(content.X, NamedArray):
            feature_names = feature_names or content.X.columns
            datasets.append(Dataset(file.name, file.group, frozen(content.X.values)))
            continue
        with choice.advising():
            table = choice.open(content.X, str(file), None)
            feature_names = feature_names or table.feature_names
            datasets.append(dataset_from_table(file.name, file.group, table, content.flags))
    return datasets, feature_names, None


def _encoded_datasets(
    files: list[TableFile], outlier: str | None, choice: EncodingChoice, encoding: Encoding
) -> tuple[list[Dataset], tuple[str, ...] | None, Encoding]:
    arrays, flags = [], []
    for file, content in _read_files(files, outlier):
        with choice.advising():
            table = choice.open(content.X, str(file), encoding)
            table.check_finite(keep_missing=choice.learns_medians)
        arrays.append(table.to_numpy(table.dtype))
        flags.append(content.flags)
    encoding = choice.complete(encoding, arrays)
    datasets = [
        Dataset(file.name, file.group, frozen(array), flag)
        for file, array, flag in zip(files, arrays, flags, strict=True)
    ]
    return datasets, encoding.feature_names, encoding


def _read_files(
    files: list[TableFile], outlier: str | None, as_array: bool = False
) -> Iterator[tuple[TableFile, Content]]:
    """Read files one after the other, each with the columns of the first one, in the first one's order."""
    first: tuple[TableFile, tuple[str, ...]] | None = None
    for file in files:
        content = read_content(file, outlier, as_array)
        if not isinstance(content.X, NamedArray) and not is_frame(content.X):
            yield file, content
            continue
        columns = tuple(content.X.columns)
        if first is None:
            first = file, columns
        reference, expected = first
        if set(columns) != set(expected):
            layout = Layout(str(file), len(columns), columns)
            check_layout(layout, Layout(str(reference), len(expected), expected), CollectionError, _SAME_FILES)
        yield file, content if columns == expected else content._replace(X=content.X.select(*expected))
