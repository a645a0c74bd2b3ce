"""The matrices of all pairs while they are being filled, and the file that keeps them."""

import math
import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fewratio.core.tensorfile import read_tensors, write_tensors
from fewratio.errors import ModelFileError

_KIND = "checkpoint"


class Unfinished:
    """Divergences and p-values of all pairs, as far as they are known.

    Parameters
    ----------
    n_datasets : int
    with_p_values : bool
    path : path or None
        Where they are kept.

    Attributes
    ----------
    divergences : ndarray of shape (n, n)
        A row a numerator; 0 on the diagonal.
    p_values : ndarray of shape (n, n) or None
        1 on the diagonal.
    n_done : int
        How many blocks are done.
    """

    def __init__(self, n_datasets: int, with_p_values: bool, path: str | os.PathLike[str] | None) -> None:
        self.divergences: NDArray[np.float64] = np.zeros((n_datasets, n_datasets))
        self.p_values: NDArray[np.float64] | None = np.ones((n_datasets, n_datasets)) if with_p_values else None
        self.n_done = 0
        self._path = None if path is None else Path(path)
        self._header: dict[str, object] = {}
        self._n_saved = -1

    def resume(self, fingerprint: str, probe: float) -> None:
        """Read the file if it is there; if not, write it, which shows before the work that it can be written.

        Parameters
        ----------
        fingerprint : str
            Of data and settings; a file with another one belongs to another comparison.
        probe : float
            The divergence of two of the datasets: parameters do not tell one learned model from another.
        """
        self._header = {"compare_all": fingerprint, "probe": probe}
        if self._path is None:
            return
        if not self._path.exists():
            self.save()
            return
        tensors, header = read_tensors(self._path, _KIND)
        same = header.get("compare_all") == fingerprint
        if not same or not math.isclose(header["probe"], probe, rel_tol=1e-4, abs_tol=1e-6):
            raise ModelFileError(
                f"{self._path} was written for another comparison (other data, estimator or settings); needed is one "
                "of this comparison. Delete it to start afresh, or give another name."
            )
        self.divergences = tensors["divergences"]
        self.p_values = tensors["p_values"] if self.p_values is not None else None
        self.n_done = self._n_saved = int(header["n_done"])

    def save(self) -> None:
        """Write the file, unless there is nothing new."""
        if self._path is None or self._n_saved == self.n_done:
            return
        tensors = {"divergences": self.divergences}
        if self.p_values is not None:
            tensors["p_values"] = self.p_values
        write_tensors(self._path, _KIND, tensors, {**self._header, "n_done": self.n_done})
        self._n_saved = self.n_done
