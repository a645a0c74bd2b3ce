"""Isolet: the letters of the alphabet, spoken by 150 people in five groups."""

import string
import subprocess
import zipfile
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fewratio.data.collection import Collection
from fewratio.data.dataset import Dataset
from fewratio.data.registry import Source
from fewratio.errors import DataFileError
from fewratio_bench.sources.storage import RawFile, locate

PARTS = ("isolet1+2+3+4.data", "isolet5.data")
ARCHIVE = RawFile("isolet/isolet.zip", url="https://archive.ics.uci.edu/static/public/54/isolet.zip")
# The speaker groups are known by row number only: 30 speakers of 52 rows each, three recordings lost.
GROUP_ENDS = (1560, 3120, 4680, 6238, 7797)
# Checksum of the values, with rows sorted within each dataset, so that the packing does not matter.
VALUES_SHA256 = "c9651ecc9a701938f79e78ddfae9472f96433d7e46a8d6d66e962e235ab577c5"


def load() -> Collection:
    """Load Isolet: 5 speaker groups x 26 letters, 130 datasets of 58 to 60 instances with 617 features.

    Acoustic features of spoken letters, from -1 to 1. A dataset is a letter spoken by a group of 30 people, twice each;
    the group is the group of speakers.
    """
    rows = read(files())
    groups = speaker_groups(rows)
    return Collection(
        "isolet",
        [
            Dataset(f"isolet{group + 1}-{letter}", f"isolet{group + 1}", rows[(groups == group) & is_letter, :-1])
            for group in range(len(GROUP_ENDS))
            for letter, is_letter in zip(string.ascii_uppercase, rows[:, -1] == np.arange(1, 27)[:, None], strict=True)
        ],
    )


def files(download: bool = True) -> list[Path]:
    """Find both parts, as they are or packed by gzip, or else the archive that holds them, which can be downloaded."""
    found = [path for part in PARTS if (path := locate(f"isolet/{part}", f"isolet/{part}.gz"))]
    return found if len(found) == len(PARTS) else ARCHIVE.files(download)


def speaker_groups(rows: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the number of each row's group of speakers, from 0."""
    return np.searchsorted(GROUP_ENDS, np.arange(len(rows)), side="right")


def read(paths: Sequence[Path]) -> NDArray[np.float64]:
    """Read both parts, or the archive that holds them, one below the other; the last column numbers the letters.

    Raises
    ------
    DataFileError
        If a file is damaged, or its values are not those of Isolet.
    """
    place = " and ".join(map(str, paths))
    try:
        parts = _unpack(paths[0]) if len(paths) == 1 else paths
        rows = np.concatenate([np.loadtxt(part, delimiter=",", ndmin=2) for part in parts])
    except (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile, subprocess.CalledProcessError) as error:
        raise DataFileError(f"{place}: not a table of numbers ({error}). Put the published file there.") from error
    if values_sha256(rows) != VALUES_SHA256:
        raise DataFileError(f"{place}: some values are not those of Isolet. Put the published file there.")
    return rows


def _unpack(path: Path) -> list[list[str]]:
    """Return the lines of both parts in the archive, which Unix compress packed: gzip can read that, Python cannot."""
    with zipfile.ZipFile(path) as archive:
        packed = [archive.read(f"{part}.Z") for part in PARTS]
    unpacked = [subprocess.run(["gzip", "-dc"], input=part, capture_output=True, check=True).stdout for part in packed]
    return [part.decode("ascii").splitlines() for part in unpacked]


def values_sha256(rows: NDArray[np.float64]) -> str:
    """Return the sha256 of the values; the order of the rows of a dataset does not matter."""
    with np.errstate(invalid="ignore"):
        whole = np.rint(rows[:, :-1] * 1e4).astype(np.int16)
        numbered = np.column_stack([speaker_groups(rows), rows[:, -1].astype(np.int16) - 1, whole])
    ordered = numbered[np.lexsort(numbered.T[::-1])]
    return sha256(ordered.astype("<i2").tobytes()).hexdigest()


SOURCE = Source("isolet", load, licence="CC BY 4.0", origin="https://doi.org/10.24432/C51G69", files=files)
