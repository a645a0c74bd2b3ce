"""Isolet: the letters of the alphabet, spoken by 150 people in five groups."""

import io
import string
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fewratio.data.collection import Collection
from fewratio.data.dataset import Dataset
from fewratio.data.registry import Source
from fewratio.errors import DataFileError
from fewratio_bench.sources.compressed import read_bounded
from fewratio_bench.sources.storage import RawFile, obtain, read_from

N_FEATURES = 617
PARTS = ("isolet1+2+3+4.data", "isolet5.data")
# The speaker groups are known by row number only: 30 speakers of 52 rows each, three recordings lost.
GROUP_ENDS = (1560, 3120, 4680, 6238, 7797)
# The larger part has 32,445,949 bytes unpacked.
UNPACKED_LIMIT = 2**26
# Of the values, rows sorted within each dataset: the same whatever the packing.
VALUES_SHA256 = "c9651ecc9a701938f79e78ddfae9472f96433d7e46a8d6d66e962e235ab577c5"


def load() -> Collection:
    """Load Isolet: 5 speaker groups x 26 letters, 130 datasets of 58 to 60 instances with 617 features."""
    rows = read(obtain(CHOICES))
    groups = speaker_groups(rows)
    return Collection(
        "isolet",
        [
            Dataset(f"isolet{group + 1}-{letter}", f"isolet{group + 1}", rows[(groups == group) & is_letter, :-1])
            for group in range(len(GROUP_ENDS))
            for letter, is_letter in zip(string.ascii_uppercase, rows[:, -1] == np.arange(1, 27)[:, None], strict=True)
        ],
    )


def speaker_groups(rows: NDArray[np.float64]) -> NDArray[np.intp]:
    """Give the number of each row's group of speakers, from 0."""
    return np.searchsorted(GROUP_ENDS, np.arange(len(rows)), side="right")


def read(paths: Sequence[Path]) -> NDArray[np.float64]:
    """Read both parts, or the archive that holds them, one below the other; the last column numbers the letters.

    Raises
    ------
    DataFileError
        If a file is damaged, or its values are not those of Isolet.
    """
    if len(paths) == 1:
        texts = [read_bounded(paths[0], UNPACKED_LIMIT, f"{part}.Z") for part in PARTS]
    else:
        texts = [read_bounded(path, UNPACKED_LIMIT) for path in paths]
    place = " and ".join(map(str, paths))
    try:
        rows = np.concatenate([np.loadtxt(io.BytesIO(text), delimiter=",", ndmin=2) for text in texts])
    except ValueError as error:
        raise DataFileError(f"{place}: not a table of numbers ({error}). Put the published file there.") from error
    if values_sha256(rows) != VALUES_SHA256:
        raise DataFileError(f"{place}: some values are not those of Isolet. Put the published file there.")
    return rows


def values_sha256(rows: NDArray[np.float64]) -> str:
    """Give the sha256 of the values; the order of the rows of a dataset does not matter."""
    with np.errstate(invalid="ignore"):
        whole = np.rint(rows[:, :-1] * 1e4).astype(np.int16)
        numbered = np.column_stack([speaker_groups(rows), rows[:, -1].astype(np.int16) - 1, whole])
    ordered = numbered[np.lexsort(numbered.T[::-1])]
    return sha256(ordered.astype("<i2").tobytes()).hexdigest()


CHOICES = (
    *(tuple(RawFile(f"isolet/{part}{packing}") for part in PARTS) for packing in ("", ".gz", ".Z")),
    (
        RawFile(
            "isolet/isolet.zip",
            url="https://archive.ics.uci.edu/static/public/54/isolet.zip",
            check=lambda path: read((path,)),
        ),
    ),
)
SOURCE = Source(
    name="isolet",
    load=load,
    description="Acoustic features of spoken letters, from -1 to 1. A dataset is a letter spoken by a group of 30 "
    "people, twice each; the group is the group of speakers.",
    licence="CC BY 4.0",
    origin="https://doi.org/10.24432/C51G69",
    n_datasets=130,
    n_features=N_FEATURES,
    sizes=(58, 60),
    values_sha256=VALUES_SHA256,
    **read_from(CHOICES),
)
