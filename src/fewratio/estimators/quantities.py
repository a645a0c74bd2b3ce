"""Divergences and errors from ratio values."""

import numpy as np
from numpy.typing import ArrayLike

from fewratio.core import divergence, objectives
from fewratio.core import true_ratio as exact
from fewratio.core.arguments import as_floats, check_count, check_finite_result, check_number, check_switch, show_value
from fewratio.core.arrays import equal_shares
from fewratio.core.draws import in_row_order
from fewratio.core.kernels import MEDIAN_ROWS, check_squares, median_distance
from fewratio.core.shapes import Floats
from fewratio.data.columns import AS_GIVEN
from fewratio.data.encoding import encode_together
from fewratio.data.table import as_table
from fewratio.errors import InputError, ParameterError


def relative_pearson_divergence(ratio_nu: ArrayLike, ratio_de: ArrayLike, alpha: float = 0.5) -> float:
    """Compute the relative Pearson divergence from the ratios at the rows of both samples.

    Parameters
    ----------
    ratio_nu : array-like of shape (n_nu,)
        Ratios at the rows of the numerator.
    ratio_de : array-like of shape (n_de,)
        Ratios at the rows of the denominator.
    alpha : float
        Relative parameter.

    Examples
    --------
    >>> round(relative_pearson_divergence([2.0, 2.0], [0.0, 0.0, 0.0]), 6)
    0.5
    """
    return float(divergence.relative_pearson_divergence(*_join(ratio_nu, ratio_de), _check_alpha(alpha)))


def relative_squared_error(ratio_nu: ArrayLike, ratio_de: ArrayLike, alpha: float = 0.5) -> float:
    """Compute the squared error of the relative ratio, up to a constant (J of Eq. 8); lower is better.

    Parameters
    ----------
    ratio_nu : array-like of shape (n_nu,)
        Estimated ratios at rows of the numerator that were not fitted.
    ratio_de : array-like of shape (n_de,)
        Estimated ratios at rows of the denominator that were not fitted.
    alpha : float
        Relative parameter.

    Examples
    --------
    >>> round(relative_squared_error([2.0, 2.0], [0.0, 0.0, 0.0]), 6)
    -1.0
    """
    return float(objectives.RelativeSquaredError(_check_alpha(alpha))(*_join(ratio_nu, ratio_de)))


def gaussian_relative_ratio(
    X: ArrayLike, nu_mean: ArrayLike, nu_std: ArrayLike, de_mean: ArrayLike, de_std: ArrayLike, alpha: float = 0.5
) -> Floats:
    """Return the true relative ratio of two Gaussians with independent columns.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Rows at which to evaluate the ratio.
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
    given = {"nu_mean": nu_mean, "nu_std": nu_std, "de_mean": de_mean, "de_std": de_std}
    of_columns: dict[str, Floats] = {}
    for name, values in given.items():
        array = as_floats(name, values, "is a number, or one per column")
        if array.shape not in ((), (1,), (table.n_features,)) or (name.endswith("std") and not (array > 0).all()):
            found = f"{name} is {show_value(values)}; expected a number, or one per column"
            raise ParameterError(f"{found} ({table.n_features}); standard deviations are positive. Pass such numbers.")
        of_columns[name] = array
    with np.errstate(over="ignore", invalid="ignore"):
        ratio: Floats = exact.gaussian_relative_ratio(table.to_numpy(), **of_columns, alpha=_check_alpha(alpha))
    check_finite_result("The ratio of some rows of X", ratio)
    return ratio


def mmd2(
    X: ArrayLike, Y: ArrayLike, sigma: str | float = "median", biased: bool = False, max_rows: int | None = 10_000
) -> float:
    """Compute the squared maximum mean discrepancy of two samples, with the kernel ``exp(-|x - y|^2 / sigma^2)``.

    Rows are processed in blocks, so memory is bounded.

    Parameters
    ----------
    X : array-like of shape (n, d)
        The first sample.
    Y : array-like of shape (m, d)
        The second sample.
    sigma : "median" or float, default="median"
        Kernel width; "median" is the median distance between rows of both samples together (between evenly spaced rows
        if there are more than 1000).
    biased : bool, default=False
        The unbiased estimate has mean zero for equal distributions, may be negative, and needs two rows per sample; the
        biased one includes pairs of a row with itself and is never negative.
    max_rows : int or None, default=10_000
        The most rows to use per sample, evenly spaced in an order that depends only on their values; None for all rows.
        Time grows with the square of the number of rows.

    Examples
    --------
    >>> round(mmd2([[0.0], [1.0]], [[2.0], [3.0]], sigma=1.0), 3)
    0.533
    """
    check_switch("biased", biased)
    _, (first, second) = encode_together({"X": X, "Y": Y}, AS_GIVEN)
    for name, table in (("X", first), ("Y", second)):
        if not biased and table.n_rows < 2:
            raise InputError(
                f"{name} has one row; the unbiased estimate needs two or more. Add rows, or set biased=True."
            )
    samples = [np.asarray(table.numbers, dtype=np.float64) for table in (first, second)]
    if max_rows is not None:
        check_count("max_rows", max_rows, 2)
        samples = [_thin(sample, max_rows) for sample in samples]
    rows = np.concatenate(samples)
    check_squares(rows)
    shares = equal_shares(len(samples[0]), len(samples[1]), rows)
    return float(divergence.mmd2(rows, shares, _width(rows, sigma), biased))


def _width(rows: Floats, sigma: str | float) -> float:
    if isinstance(sigma, str) and sigma == "median":
        return float(median_distance(_thin(rows, MEDIAN_ROWS)))
    return check_number("sigma", sigma, 1e-150, 1e150, "'median' or a width, a positive number (1e-150 to 1e150)")


def _thin(rows: Floats, most: int) -> Floats:
    """Return at most `most` rows, without random numbers and whatever their order."""
    step = -(-len(rows) // most)
    return rows if step == 1 else in_row_order(rows)[::step]


def _check_alpha(alpha: float) -> float:
    # The lower bound is exclusive, so use the largest float below 0 to allow 0.
    return check_number("alpha", alpha, -5e-324, 1, "a number of at least 0 and less than 1")


def _join(ratio_nu: ArrayLike, ratio_de: ArrayLike) -> tuple[Floats, Floats]:
    sides = []
    for name, values in (("ratio_nu", ratio_nu), ("ratio_de", ratio_de)):
        side = as_floats(name, values, "is a list of one or more ratios")
        if side.ndim != 1 or not len(side):
            raise InputError(
                f"{name} has shape {side.shape}; a list of one or more finite ratios is needed. "
                "Pass what predict gives."
            )
        sides.append(side)
    joined = np.concatenate(sides)
    return joined, equal_shares(len(sides[0]), len(sides[1]), joined)
