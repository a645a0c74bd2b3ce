"""Find where in a stream a change began, from one score of the rows."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, gammaln, ndtri

from fewratio.core.shapes import Floats

# The chance that the range contains the start of a sudden change.
COVERED = 0.9


def find_start(likelihood: Floats) -> tuple[int, int, int]:
    """Return the likeliest first row of a change, and the first and last row of a 90 % range.

    Parameters
    ----------
    likelihood : ndarray of shape (n,)
        The log likelihood of each row as the start; all rows are equally likely a priori.
    """
    chance = np.exp(likelihood - likelihood.max())
    likeliest = np.argsort(-chance, kind="stable")
    total = chance[likeliest].cumsum()
    some = likeliest[: int(total.searchsorted(COVERED * total[-1])) + 1]
    return int(likeliest[0]), int(some.min()), int(some.max())


def _sum_from(values: NDArray[np.generic]) -> Floats:
    """Sum the values from each row on."""
    return values[::-1].cumsum(dtype=np.float64)[::-1]


def compare_shares(values: Floats, known: Floats) -> Floats:
    """Return the log likelihood ratio of a changed share of ones, from each row on, against no change.

    The known share is a prior with the weight of one row.
    """
    share = (known.sum() + 0.5) / (len(known) + 1)
    ones, n = _sum_from(values), np.arange(len(values), 0, -1)
    changed = betaln(ones + share, n - ones + 1 - share) - betaln(share, 1 - share)
    return changed - ones * np.log(share) - (n - ones) * np.log1p(-share)


def rank_among(values: Floats, known: Floats, ties: Floats) -> Floats:
    """Rank values among known ones, between 0 and 1; random numbers break ties."""
    known = np.sort(known)
    below, up_to = known.searchsorted(values), known.searchsorted(values, "right")
    return (below + ties * (up_to - below + 1)) / (len(known) + 1)


def compare_normals(ranks: Floats) -> Floats:
    """Return the log likelihood ratio of a changed mean and deviation of normal scores, from each row on.

    The known mean of 0 and deviation of 1 are a prior with the weight of one row.
    """
    scores = ndtri(ranks)
    n, total, square = np.arange(len(ranks), 0, -1), _sum_from(scores), _sum_from(scores**2)
    # With a normal-gamma prior with the weight of one row, the evidence is a Student distribution.
    changed = gammaln(1 + n / 2) - (1 + n / 2) * np.log(1 + (square - total**2 / (n + 1)) / 2) - np.log(n + 1) / 2
    return changed + square / 2
