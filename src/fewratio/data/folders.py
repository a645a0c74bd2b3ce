"""Folders of data files, one dataset per file."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from fewratio.data.files import COMPRESSED, SUFFIXES, TableFile, split_name
from fewratio.errors import DataNotFoundError


def find_table_files(folder: Path) -> list[TableFile]:
    """List the data files below a folder, sorted by their relative path.

    A dataset is named by its file's stem; where one stem occurs in several sub-folders, by the path below the folder.
    """
    if not folder.is_dir():
        found = f"{str(folder)!r} {'is not a folder' if folder.exists() else 'does not exist'}"
        raise DataNotFoundError(f"{found}; needed is a folder with one data file per dataset. Check the path.")
    paths = sorted(path.relative_to(folder) for path in folder.rglob("*") if _is_table_file(path, folder))
    if not paths:
        found = f"{str(folder)!r} holds no {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]} files"
        raise DataNotFoundError(f"{found}; needed is one per dataset. Check the path, or convert the files.")
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
