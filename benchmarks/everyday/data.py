"""Tables with classes, and where the everyday data are: a half to develop on, and one that is only reported on."""

import os
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fewratio.data.column_kinds import is_number

LEAST_ROWS = 20
# Where each half is. Constants were chosen on the first; nothing was chosen on the second.
HALVES = {"development": "", "test": "test"}


def folder(name: str, half: str) -> Path:
    """A folder of `FEWRATIO_DATA`/everyday."""
    found = Path(os.environ.get("FEWRATIO_DATA", "")) / "everyday" / HALVES[half] / name
    if not found.is_dir():
        raise SystemExit(f"{found} is not there; the everyday data are needed. Set FEWRATIO_DATA to the folder above.")
    return found


@cache
def classes(half: str) -> dict[str, list[NDArray[np.float64]]]:
    """The rows of each class of each table, columns of numbers only; classes of few rows are left out."""
    found = {}
    for path in sorted(folder("tables", half).iterdir()):
        lines = [line.strip().rstrip(",") for line in path.read_text().splitlines()]
        cells = [line.split(",") for line in lines if line and line[0] not in "%@"]
        labels = np.array([row[-1].strip() for row in cells])
        columns = [column for column in zip(*(row[:-1] for row in cells), strict=True) if all(map(is_number, column))]
        X = np.array(columns, dtype=np.float64).T
        parts = [X[labels == label] for label in np.unique(labels)]
        found[path.stem] = [part for part in parts if len(part) >= LEAST_ROWS]
    return found
