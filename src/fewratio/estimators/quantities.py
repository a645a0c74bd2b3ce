"""Quantities of ratio values, for NumPy users."""

from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike

from fewratio.core import divergence, exact, objectives
from fewratio.core.arrays import equal_shares
from fewratio.core.kernels import median_distance
from fewratio.core.shapes import Floats
from fewratio.data.encoding import encode_together
from fewratio.data.table import as_table
from fewratio.errors import InputError, ParameterError
from fewratio.estimators.gaussian_basis import MEDIAN_ROWS, check_squares
from fewratio.estimators.randomness import in_row_order


def relative_pearson_divergence(ratio_nu: ArrayLike, ratio_de: ArrayLike, alpha: float = 0.5) -> float:
    """Relative Pearson divergence from the ratios at the instances of both samples.

    Parameters
    ----------
    ratio_nu : array-like of shape (n_nu,)
        Ratios at the numerator's instances.
    ratio_de : array-like of shape (n_de,)
        Ratios at the denominator's.
    alpha : float
        Relative parameter.

    Examples
    --------
    >>> round(relative_pearson_divergence([2.0, 2.0], [0.0, 0.0, 0.0]), 6)
    0.5
    """
    return float(divergence.relative_pearson_divergence(*_join(ratio_nu, ratio_de), _checked(alpha)))


def relative_squared_error(ratio_nu: ArrayLike, ratio_de: ArrayLike, alpha: float = 0.5) -> float:
    """Squared error to the true relative ratio, less a constant (J of Eq. 8): lower is better.

    Parameters
    ----------
    ratio_nu : array-like of shape (n_nu,)
        Estimated ratios at instances of the numerator's distribution that were not fitted.
    ratio_de : array-like of shape (n_de,)
        The same for the denominator's.
    alpha : float
        Relative parameter.

    Examples
    --------
    >>> round(relative_squared_error([2.0, 2.0], [0.0, 0.0, 0.0]), 6)
    -1.0
    """
    return float(objectives.RelativeSquaredError(_checked(alpha))(*_join(ratio_nu, ratio_de)))


def gaussian_relative_ratio(
    X: ArrayLike, nu_mean: ArrayLike, nu_std: ArrayLike, de_mean: ArrayLike, de_std: ArrayLike, alpha: float = 0.5
) -> Floats:
    """Give the true relative ratio of two Gaussians with independent columns.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Where to evaluate it.
    nu_mean, nu_std, de_mean, de_std : float or array-like of shape (d,)
        Means and standard deviations of the columns.
    alpha : float
        Relative parameter.

    Examples
    --------
    >>> gaussian_relative_ratio([[0.0]], nu_mean=0, nu_std=1, de_mean=0, de_std=1)
    array([1.])
    """
    table = as_table(X, "X")
    nu_mean, nu_std, de_mean, de_std = (np.asarray(value, np.float64) for value in (nu_mean, nu_std, de_mean, de_std))
    for name, std in (("nu_std", nu_std), ("de_std", de_std)):
        if not (std > 0).all():
            raise ParameterError(f"{name} is {std.tolist()}; standard deviations are positive. Pass positive numbers.")
    return exact.gaussian_relative_ratio(table.to_numpy(), nu_mean, nu_std, de_mean, de_std, _checked(alpha))


def mmd2(
    X: ArrayLike,
    Y: ArrayLike,
    sigma: str | float = "median",
    biased: bool = False,
    max_rows: int | None = 10_000,
) -> float:
    """Squared maximum mean discrepancy between two samples, with the kernel exp(-|x - y|^2 / sigma^2).

    Rows are worked on in blocks, so memory stays bounded however many there are.

    Parameters
    ----------
    X : array-like of shape (n, d)
        One sample.
    Y : array-like of shape (m, d)
        The other.
    sigma : "median" or float, default="median"
        Kernel width; "median" is the median distance between the instances of both samples together, or between every
        so many of them where there are more than 1000.
    biased : bool, default=False
        The unbiased estimate has mean zero for equal distributions, may be negative, and needs two rows per sample; the
        biased one counts pairs of a row with itself and is never negative.
    max_rows : int or None, default=10_000
        Of a larger sample every so many rows are used, in an order that depends on their values alone; None for all.
        Time grows with the square of the rows.

    Examples
    --------
    >>> round(mmd2([[0.0], [1.0]], [[2.0], [3.0]], sigma=1.0), 3)
    0.533
    """
    _, (first, second) = encode_together({"X": X, "Y": Y}, leave_out=False)
    for name, table in (("X", first), ("Y", second)):
        if not biased and table.n_rows < 2:
            raise InputError(
                f"{name} has one row; the unbiased estimate needs two or more. Add rows, or set biased=True."
            )
    if max_rows is not None and (not isinstance(max_rows, Integral) or max_rows < 2):
        raise ParameterError(f"max_rows is {max_rows!r}; needed is a whole number of at least 2. Pass one, or None.")
    samples = [np.asarray(table.numbers, dtype=np.float64) for table in (first, second)]
    if max_rows is not None:
        samples = [_thinned(sample, max_rows) for sample in samples]
    rows = np.concatenate(samples)
    check_squares(rows)
    shares = equal_shares(len(samples[0]), len(samples[1]), rows)
    return float(divergence.mmd2(rows, shares, _width(rows, sigma), biased))


def _width(rows: Floats, sigma: str | float) -> float:
    if isinstance(sigma, str) and sigma == "median":
        return float(median_distance(_thinned(rows, MEDIAN_ROWS)))
    if isinstance(sigma, str) or not 0 < sigma < np.inf:
        raise ParameterError(f"sigma is {sigma!r}; a width is a positive number. Pass one, or 'median'.")
    return float(sigma)


def _thinned(rows: Floats, most: int) -> Floats:
    """Return at most so many rows. Not a draw, and not by the order they came in: the same rows give the same."""
    step = -(-len(rows) // most)
    return rows if step == 1 else in_row_order(rows)[::step]


def _checked(alpha: float) -> float:
    if not 0 <= alpha < 1:
        raise ParameterError(f"alpha is {alpha}; it must be at least 0 and less than 1. Choose such a value.")
    return float(alpha)


def _join(ratio_nu: ArrayLike, ratio_de: ArrayLike) -> tuple[Floats, Floats]:
    sides = []
    for name, values in (("ratio_nu", ratio_nu), ("ratio_de", ratio_de)):
        side = np.asarray(values, dtype=np.float64)
        if side.ndim != 1 or not len(side) or not np.isfinite(side).all():
            raise InputError(
                f"{name} has shape {side.shape}; a list of one or more finite ratios is needed. "
                "Pass what predict gives."
            )
        sides.append(side)
    joined = np.concatenate(sides)
    return joined, equal_shares(len(sides[0]), len(sides[1]), joined)
