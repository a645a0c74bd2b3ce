"""Make file names from users safe."""

import re
from pathlib import Path, PurePosixPath

from fewratio.data.readers.files import COMPRESSED, SUFFIXES
from fewratio.errors import DataFileError

MODELS = (".model", ".safetensors")
_COMPRESSED_TEXT = tuple(f"{kind}{ending}" for kind in (".csv", ".tsv") for ending in COMPRESSED)
# Most bytes of a name, short enough for the longer names of results; and most folders of a path.
_LONGEST, _DEEPEST = 100, 8
# Control characters, characters special to Windows or a shell, and marks that change the writing direction.
_HARMFUL = re.compile(r'[\x00-\x1f\x7f-\x9f<>:"|?*\\/\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]')


def safe_name(name: str) -> str:
    r"""Return the last part of a path as a name that is safe in any folder and on any command line.

    Examples
    --------
    >>> safe_name("../../etc/passwd"), safe_name("-o.csv"), safe_name(r"C:\tables\may 3.csv")
    ('passwd', 'o.csv', 'may 3.csv')
    """
    last = re.split(r"[\\/]", name)[-1]
    kept = _HARMFUL.sub("_", last).lstrip("-.~ ").rstrip(". ") or "table"
    # Keep the ending, which says what a file holds.
    stem, dot, ending = kept.rpartition(".")
    return kept if len(kept.encode()) <= _LONGEST else f"{_cut(stem, _LONGEST - 20)}{dot}{_cut(ending, 19)}"


def _cut(text: str, n_bytes: int) -> str:
    return text.encode()[:n_bytes].decode(errors="ignore")


def safe_path(name: str) -> PurePosixPath | None:
    """Do the same for each part of a relative path; None if it leads outside, or to a hidden file."""
    parts = re.split(r"[\\/]", name)
    is_outside = name.startswith(("/", "\\")) or ".." in parts or ":" in parts[0]
    if is_outside or len(parts) > _DEEPEST or any(part.startswith(".") or part == "__MACOSX" for part in parts):
        return None
    return PurePosixPath(*(safe_name(part) for part in parts if part))


def check_free(folder: Path, place: PurePosixPath, called: str) -> None:
    """Refuse a new file in a folder if its name, or that of one of its folders, is taken."""
    target = folder / place
    files = [each for each in (target, *target.parents) if each.is_file()]
    if files or target.exists():
        found = f"{called} has {str((files or [target])[0].relative_to(folder))!r} already"
        raise DataFileError(f"{found}; each name must be unique. Rename it.")


def check_beginning(path: Path) -> None:
    """Refuse a model or an Excel workbook that does not begin as safetensors or zip files do."""
    name = path.name.lower()
    if name.endswith(MODELS):
        _check_model(path)
    elif name.endswith(".xlsx"):
        with path.open("rb") as file:
            if file.read(2) != b"PK":
                found = f"file {path.name!r} is not an Excel workbook, though its name ends in .xlsx"
                raise DataFileError(f"{found}; expected one that Excel can open. Save it again as .xlsx, or as .csv.")


def _check_model(path: Path) -> None:
    # The length of a header, and the header, in JSON.
    with path.open("rb") as file:
        length, first = int.from_bytes(file.read(8), "little"), file.read(1)
    if first != b"{" or not 2 <= length <= path.stat().st_size - 8:
        found = f"file {path.name!r} is not a model"
        raise DataFileError(f"{found}; expected one that `fewratio train` or the page wrote. Choose another.")


def is_table(name: str) -> bool:
    """Return whether a file's name is that of a table; text may be compressed."""
    return PurePosixPath(name.lower()).suffix in SUFFIXES or name.lower().endswith(_COMPRESSED_TEXT)


def check_ending(name: str) -> None:
    """Refuse a file that is neither a table nor a model."""
    if not is_table(name) and not name.lower().endswith((*COMPRESSED, *MODELS)):
        raise DataFileError(
            f"file {name!r} is of an unknown kind; expected a table ({', '.join(SUFFIXES)}; text also in "
            f"{', '.join(COMPRESSED)}) or a model ({', '.join(MODELS)}). Convert it."
        )
