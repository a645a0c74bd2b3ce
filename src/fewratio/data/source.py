"""What a source of data declares, and the little that sources share."""

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewratio.data.collection import Collection
from fewratio.data.storage import Choice, locate_choice
from fewratio.errors import DataFileError


@dataclass(frozen=True)
class Status:
    """Whether a source can be loaded without a download, the files found, and what else there is to say."""

    available: bool
    found: tuple[Path, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Source:
    """The declaration of a source: what it holds, where it comes from, and how it is loaded.

    Attributes
    ----------
    name : str
        What `load_collection` takes.
    description : str
        What an instance, a dataset and a group are.
    licence, origin : str
        As published; the origin is an address.
    n_datasets, n_features : int
        Of the complete source.
    sizes : pair of int
        The fewest and most rows of a dataset.
    load : callable
        Gives the collection; its keyword arguments are the source's options.
    choices : tuple of Choice
        Files that will do, best first; one choice is enough. Empty if no file is needed.
    image_shape : pair of int, optional
        If an instance is an image, row by row.
    values_sha256 : str, optional
        Of the values themselves, for a source that its publisher packs in several ways.
    status : callable, optional
        For a source whose files are more than `choices` can say.
    """

    name: str
    description: str
    licence: str
    origin: str
    n_datasets: int
    n_features: int
    sizes: tuple[int, int]
    load: Callable[..., Collection]
    choices: tuple[Choice, ...] = ()
    image_shape: tuple[int, int] | None = None
    values_sha256: str | None = None
    status: Callable[[], Status] | None = None

    def look(self) -> Status:
        """Look whether the files are here, without a download."""
        if self.status is not None:
            return self.status()
        if not self.choices:
            return Status(True, note="needs no file")
        found = locate_choice(self.choices)
        return Status(found is not None, found or ())


def unit_rows(X: NDArray[Any]) -> NDArray[np.float64]:
    """Divide each row by its l2 norm, in float64; a row of zeros stays as it is."""
    rows = np.asarray(X, dtype=np.float64)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(norms > 0, norms, 1.0)


def read_mat(path: Path, names: tuple[str, ...]) -> Mapping[str, NDArray[Any]]:
    """Read some variables of a MATLAB 5 file."""
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    try:
        content = loadmat(path, variable_names=names)
    # What loadmat raises at a file that is cut short, damaged or of another kind; NotImplementedError at MATLAB 7.3's.
    except (
        *(MatReadError, ValueError, TypeError, KeyError, IndexError, OSError, NotImplementedError),
        *(ArithmeticError, zlib.error),
    ) as error:
        raise DataFileError(
            f"{path} cannot be read as a MATLAB 5 file ({error}). Put the published file there."
        ) from error
    missing = [name for name in names if name not in content]
    if missing:
        raise DataFileError(f"{path} has no variable {', '.join(missing)}. Put the published file there.")
    return {name: np.asarray(content[name]) for name in names}


def wrong_content(path: Path, found: str, needed: str) -> DataFileError:
    """Make the error for a readable file that is not the data set it should be."""
    return DataFileError(f"{path}: {found}, but {needed}. Put the published file there.")
