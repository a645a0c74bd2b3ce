"""What kernel estimators share: kernel centres, and widths."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions
from torch import Tensor

from fewratio.core.kernels import median_distance
from fewratio.core.pair import Pair
from fewratio.errors import InputError

# More centres cost much and gain little; so do more rows for a median.
MAX_CENTRES = 300
MEDIAN_ROWS = 1000
# Widths to choose from, as multiples of the median distance.
WIDTHS = (0.15, 0.25, 0.4, 0.6, 0.8, 1.0, 1.5)

# What `sigma` (where it cannot be chosen) and `centres` may be, for tables of parameter constraints.
SIGMA: list[Any] = [StrOptions({"median"}), Interval(Real, 0, None, closed="neither")]
CENTRES: list[Any] = [StrOptions({"both", "numerator"}), Interval(Integral, 1, None, closed="left")]


def check_squares(pair: Pair) -> None:
    """Refuse samples whose distances cannot be computed."""
    if not pair.rows.square().sum().isfinite():
        raise InputError(
            "The samples hold values whose squares, and so whose distances, are beyond float64 (about 1e154). "
            "Rescale the columns (to about unit size) before fitting."
        )


def draw_rows(rows: Tensor, at_most: int, rng: np.random.Generator) -> Tensor:
    """Draw some rows where there are more, in their order."""
    if len(rows) <= at_most:
        return rows
    return rows[np.sort(rng.choice(len(rows), at_most, replace=False))]


def draw_centres(pair: Pair, centres: str | int, rng: np.random.Generator) -> Tensor:
    """Give the rows that carry a kernel."""
    candidates = pair.nu if centres == "numerator" else pair.rows
    return draw_rows(candidates, MAX_CENTRES if isinstance(centres, str) else centres, rng)


def median_width(pair: Pair, rng: np.random.Generator) -> float:
    """Give the median distance between the instances of both samples together; where there are many, of some."""
    rows = draw_rows(pair.rows, MEDIAN_ROWS, rng)
    return median_distance(Pair(rows[:1], rows[1:])).item()
