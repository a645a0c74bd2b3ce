"""Isolet: the letters of the alphabet, spoken by 150 people in five groups."""

import io
import string
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fewratio.data.collection import Collection
from fewratio.data.compressed import read_bounded, read_zip_member
from fewratio.data.dataset import Dataset
from fewratio.data.parsed import Arrays, parsed
from fewratio.data.source import Source, wrong_content
from fewratio.data.storage import RawFile, obtain
from fewratio.errors import DataFileError

N_FEATURES = 617
PARTS = ("isolet1+2+3+4.data", "isolet5.data")
PART_ROWS = (6238, 1559)
# The speaker groups are known by row number only: 30 speakers of 52 rows each, three recordings lost.
GROUP_ENDS = (1560, 3120, 4680, 6238, 7797)
# The larger part has 32,445,949 bytes unpacked.
UNPACKED_LIMIT = 2**26
# Of the values, rows sorted within each dataset: the same whatever the packing.
VALUES_SHA256 = "c9651ecc9a701938f79e78ddfae9472f96433d7e46a8d6d66e962e235ab577c5"


def load() -> Collection:
    """Load Isolet: 5 speaker groups x 26 letters, 130 datasets of 58 to 60 instances with 617 features."""
    paths = obtain(SOURCE.choices)
    arrays = parsed("isolet", 1, paths, lambda: read(paths))
    X, letters = arrays["X"], arrays["letters"]
    X = X / 1e4 if X.dtype == np.int16 else X
    groups = speaker_groups(len(X))
    return Collection(
        "isolet",
        [
            Dataset(f"isolet{group + 1}-{letter}", f"isolet{group + 1}", X[(groups == group) & (letters == place)])
            for group in range(len(GROUP_ENDS))
            for place, letter in enumerate(string.ascii_uppercase)
        ],
    )


def speaker_groups(n_rows: int) -> NDArray[np.intp]:
    """Give the number of each row's group of speakers, from 0."""
    return np.searchsorted(GROUP_ENDS, np.arange(n_rows), side="right")


def read(paths: tuple[Path, ...]) -> Arrays:
    """Read both parts, or the archive that holds them, one below the other."""
    if len(paths) == 1:
        texts = [read_zip_member(paths[0], f"{part}.Z", UNPACKED_LIMIT) for part in PARTS]
        paths = paths * 2
    else:
        texts = [read_bounded(path, UNPACKED_LIMIT) for path in paths]
    rows = np.concatenate([_numbers(*part) for part in zip(texts, paths, PART_ROWS, strict=True)])
    letters = rows[:, -1] - 1
    if not np.isin(letters, np.arange(26)).all():
        raise wrong_content(paths[0], "a class is not one of 1 to 26", "the last column must number the letters")
    X = rows[:, :-1]
    # Four decimals fit into two bytes, and dividing gives back the very same numbers.
    packed = np.rint(X * 1e4)
    exact = np.abs(packed).max() <= 1e4 and np.array_equal(packed / 1e4, X)
    return {"X": packed.astype(np.int16) if exact else X, "letters": letters.astype(np.int8)}


def _numbers(text: bytes, path: Path, n_rows: int) -> NDArray[np.float64]:
    try:
        rows = np.loadtxt(io.BytesIO(text), delimiter=",", ndmin=2)
    except ValueError as error:
        raise DataFileError(f"{path} is not a table of numbers ({error}). Put the published file there.") from error
    if rows.shape != (n_rows, N_FEATURES + 1) or not np.isfinite(rows).all():
        found = f"{rows.shape[0]} x {rows.shape[1]} values" + ("" if np.isfinite(rows).all() else ", not all finite")
        raise wrong_content(path, found, f"{n_rows} x {N_FEATURES + 1} numbers are needed")
    return rows


def values_sha256(arrays: Arrays) -> str:
    """Give the sha256 of the values; the order of the rows of a dataset does not matter."""
    X = arrays["X"] if arrays["X"].dtype == np.int16 else np.rint(arrays["X"] * 1e4).astype(np.int16)
    rows = np.column_stack([speaker_groups(len(X)), arrays["letters"], X])
    ordered = rows[np.lexsort(rows.T[::-1])]
    return sha256(ordered.astype("<i2").tobytes()).hexdigest()


def check_archive(path: Path) -> None:
    """Raise `DataFileError` if an archive holds other values than Isolet's."""
    if values_sha256(read((path,))) != VALUES_SHA256:
        raise wrong_content(path, "some values are others", "those of Isolet are needed")


SOURCE = Source(
    name="isolet",
    description="Acoustic features of spoken letters, from -1 to 1. A dataset is a letter spoken by a group of 30 "
    "people, twice each; the group is the group of speakers.",
    licence="CC BY 4.0",
    origin="https://doi.org/10.24432/C51G69",
    n_datasets=130,
    n_features=N_FEATURES,
    sizes=(58, 60),
    values_sha256=VALUES_SHA256,
    load=load,
    choices=(
        tuple(RawFile(f"isolet/{part}") for part in PARTS),
        tuple(RawFile(f"isolet/{part}.gz") for part in PARTS),
        tuple(RawFile(f"isolet/{part}.Z") for part in PARTS),
        (
            RawFile(
                "isolet/isolet.zip",
                url="https://archive.ics.uci.edu/static/public/54/isolet.zip",
                check=check_archive,
            ),
        ),
    ),
)
