"""The result of a comparison in a sentence: whether two tables differ, by how much, or what could have been found."""

import math
from typing import Any

import numpy as np

from fewratio.core.draws import row_order
from fewratio.core.wording import write_divergence, write_limit, write_list, write_p
from fewratio.data.column_kinds import BOOLEAN
from fewratio.testing import LEVEL

LARGEST = "very large"
# The size of a divergence by its share of the largest possible one. A row explains that share of the variance of its
# label (0 or 1). Up to 14 %, these are Cohen's limits for explained variance (1988, chapter 9); above 50 %, a row
# explains most of it.
_BANDS = {"very small": 0.01, "small": 0.06, "medium": 0.14, "large": 0.5, LARGEST: 1.0}
_WORDS = {
    "very small": ", but by very little",
    "small": " a little",
    "medium": " moderately",
    "large": " strongly",
    LARGEST: " very strongly",
}
# The squared difference of two means, in standard errors, that is found in four cases out of five at the level.
_FOUND = 7.85
# A shift that leaves two normal columns with next to nothing in common, in standard deviations.
_EXTREME = 4
# In standard errors: the 97.5 % quantile of a normal distribution.
_LIMIT = 1.96


def rate_divergence(share: float, n_first: int, n_second: int) -> str | None:
    """Say how large a divergence is; None if there are too few rows to exclude a larger one.

    With few rows, only a large difference can be learned, so a small estimate says little.

    Parameters
    ----------
    share : float
        The divergence as a share of the largest possible one.
    n_first, n_second : int
        The number of rows, or blocks of rows, of each sample.

    Examples
    --------
    >>> rate_divergence(0.005, 1_000, 1_000), rate_divergence(0.3, 1_000, 1_000)
    ('very small', 'large')
    >>> rate_divergence(0.005, 20, 20) is None
    True
    """
    band = next((name for name, limit in _BANDS.items() if share < limit), LARGEST)
    # If the means of a column differ by d deviations, a row explains a share of about d^2 / 4.
    return band if _BANDS[band] >= min(1.0, _FOUND / 4 * (1 / n_first + 1 / n_second)) else None


def shows_more(column: Any, magnitude: str | None, n_first: int, n_second: int) -> bool:
    """Return whether a column (a `ColumnDifference`) differs more than a magnitude says.

    What chance may add is subtracted from the effects of its values and of its missing values.
    """
    if magnitude is None or (column.p_value or 0) > LEVEL:
        return False
    by_chance = _LIMIT * (1 / n_first + 1 / n_second) ** 0.5
    effect = max(0.0, abs(column.effect or 0.0) - by_chance, abs(_compare_gaps(column)) - by_chance)
    # Means that are d deviations apart explain this share.
    return effect**2 / (4 + effect**2) >= _BANDS[magnitude]


def _compare_gaps(column: Any) -> float:
    """Return the effect size of the shares of missing values."""
    return 2 * (math.asin(column.missing_first**0.5) - math.asin(column.missing_second**0.5))


def explain_small_effect(column: Any, n_first: int, n_second: int) -> str:
    """Say what differs in a column (a `ColumnDifference`) if its mean does not; else "".

    The effect compares means; the p-value also looks at spread, shape and missing values.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> column = SimpleNamespace(
    ...     p_value=0.001,
    ...     kind="number",
    ...     effect=0.06,
    ...     missing_first=0,
    ...     missing_second=0,
    ...     deviation_first=21.0,
    ...     deviation_second=18.0,
    ... )
    >>> explain_small_effect(column, 70, 80)
    'similar mean, different shape'
    """
    by_chance = _LIMIT * (1 / n_first + 1 / n_second) ** 0.5
    spreads = column.deviation_first, column.deviation_second
    if column.p_value is None or column.p_value > LEVEL or column.kind == BOOLEAN or None in (*spreads, column.effect):
        return ""
    if abs(column.effect) > by_chance:
        return ""
    # The effect of a few missing values against none looks larger than it is.
    if abs(_compare_gaps(column)) > 2 * by_chance:
        return "similar mean, different share of missing values"
    # The logarithm of a deviation has about half the variance of a mean in deviations.
    is_wider = min(spreads) == 0 or abs(math.log(spreads[0] / spreads[1])) > by_chance / 2**0.5
    return f"similar mean, different {'spread' if is_wider and max(spreads) else 'shape'}"


def write_verdict(result: Any) -> str:
    """Say whether the tables differ, and by how much or what could have been found (`ComparisonResult.verdict`)."""
    rest = result.without_non_overlapping
    more = "" if rest is None else f" Without {result.set_aside}, {_write_found(rest)}"
    return f"{write_headline(result)}{more}"


def write_headline(result: Any) -> str:
    """Write the verdict about all columns."""
    found = _write_found(result)
    return f"{found[0].upper()}{found[1:]}"


def _write_found(result: Any) -> str:
    p_value = "" if result.p_value is None else f"p = {write_p(result.p_value)}"
    least = f", at least {write_limit(result.at_least)}" if result.at_least else ""
    size = f"divergence {write_divergence(result.divergence)}{least}"
    if result.divergence == 0 and result.p_value in (None, 1) and _have_same_rows(result.samples):
        return "both tables have the same rows in the columns that are compared."
    if result.p_value is None:
        return f"no test was made ({size})."
    if result.p_value > LEVEL:
        return f"no difference was found ({p_value}).{_write_power(result)}"
    if result.paired_rows is not None:
        return f"the pairs differ ({p_value}; {size} between the tables)."
    if not math.isfinite(result.max_divergence):
        return f"the tables differ ({size}; {p_value})."
    if result.magnitude is None:
        return f"the tables differ ({size}; {p_value}); they may differ more than the divergence shows."
    return f"the tables differ{_WORDS[result.magnitude]} ({size}; {p_value})."


def _have_same_rows(samples: Any) -> bool:
    """Return whether two tables have the same rows in any order; rare categories are not pooled."""
    numbers = [np.asarray(table.numbers) for table in samples.tables]
    pooled = np.column_stack([np.concatenate(numbers), *samples.category_codes.values()])
    first, second = pooled[: len(numbers[0])], pooled[len(numbers[0]) :]
    return len(first) == len(second) and np.array_equal(first[row_order(first)], second[row_order(second)])


def write_source(result: Any) -> str:
    """Name the column that accounts for nearly all of the divergence, if other columns differ too; else ""."""
    if result.set_aside:
        source = write_source(result.without_non_overlapping)
        return source and f"Without {result.set_aside}, {source}"
    name = result.main_column
    if name is None:
        return ""
    differ = (str(each.column) for each in result.columns if (each.p_value or 0) <= LEVEL)
    others = [each for each in differ if each != name]
    adds = "adds" if len(others) == 1 else "add"
    return f"{name} alone shows nearly all of the difference; {write_list(others, 3)} {adds} little to it."


def _write_power(result: Any) -> str:
    """Say what the test could have found; "" if that is not known."""
    if result.smallest_p_value > LEVEL:
        return " There are too few rows for the test to find one."
    if result.detectable_shift is None:
        return ""
    if result.detectable_shift > _EXTREME:
        return " With so few rows, only an extreme difference would have been found."
    shift = np.format_float_positional(result.detectable_shift, 2, fractional=False, trim="-")
    return f" A shift of one column by {shift} standard deviations would have been found in four of five cases."


def write_far(divergence: float | None) -> str:
    """Write the divergence of two groups; None if no rows could be held out."""
    return "too few rows" if divergence is None else write_divergence(divergence)
