"""What kernel estimators share: kernel centres, and widths."""

from numbers import Integral, Real
from typing import Any

import numpy as np
import torch
from sklearn.utils._param_validation import Interval, StrOptions
from torch import Tensor

from fewratio.core.kernels import median_distance
from fewratio.core.pair import Pair
from fewratio.errors import InputError
from fewratio.nn import Standardiser

# More centres cost much and gain little; so do more rows for a median.
MAX_CENTRES = 300
MEDIAN_ROWS = 1000

# What `sigma` (where it cannot be chosen) and `centres` may be, for tables of parameter constraints.
SIGMA: list[Any] = [StrOptions({"median"}), Interval(Real, 0, None, closed="neither")]
CENTRES: list[Any] = [StrOptions({"both", "numerator"}), Interval(Integral, 1, None, closed="left")]


def check_squares(nu: Tensor, de: Tensor) -> None:
    """Refuse samples whose distances cannot be computed."""
    # The norm overflows where the squares do, without another array of their size.
    if not all(torch.linalg.vector_norm(rows).isfinite() for rows in (nu, de)):
        raise InputError(
            "The samples hold values whose squares, and so whose distances, are beyond float64 (about 1e154). "
            "Rescale the columns (to about unit size) before fitting."
        )


def choose_centres(nu: Tensor, de: Tensor, centres: str | int, rng: np.random.Generator) -> Tensor:
    """Give the instances that carry a kernel: of the numerator, of both samples, or so many of both."""
    at_most = MAX_CENTRES if isinstance(centres, str) else centres
    return some_rows(nu, nu[:0] if centres == "numerator" else de, at_most, rng)


def median_width(nu: Tensor, de: Tensor, rng: np.random.Generator, scaler: Standardiser | None = None) -> float:
    """Give the median distance between the instances of both samples together; where there are many, of some."""
    rows = some_rows(nu, de, MEDIAN_ROWS, rng)
    if scaler is not None:
        rows = scaler(rows)
    return median_distance(Pair(rows[:1], rows[1:])).item()


def some_rows(nu: Tensor, de: Tensor, at_most: int, rng: np.random.Generator) -> Tensor:
    """Give all rows of both samples, or so many drawn from them, in their order."""
    n_rows = len(nu) + len(de)
    if n_rows <= at_most:
        return torch.cat([nu, de])
    drawn = torch.from_numpy(np.sort(rng.choice(n_rows, at_most, replace=False)))
    return torch.cat([nu[drawn[drawn < len(nu)]], de[drawn[drawn >= len(nu)] - len(nu)]])
