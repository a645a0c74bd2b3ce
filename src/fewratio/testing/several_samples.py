"""Test several samples, each against all others, with the statistics of the two-sample test."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.special import gammaln

from fewratio.core.blocks import BLOCK_VALUES
from fewratio.core.shapes import Floats, Numbers
from fewratio.testing.row_units import Units
from fewratio.testing.statistics import Statistics
from fewratio.testing.two_sample import Found, rank_statistics, step_down


@dataclass(frozen=True, eq=False)
class SeveralSamplesTest:
    """Result of `several_samples_test`.

    Attributes
    ----------
    statistic : float
        Minus the decimal logarithm of the harmonic mean of the tail probabilities of all samples and statistics.
    null_distribution : ndarray of shape (n_permutations,)
        The test statistic of each permutation.
    p_value : float
        The share of permutations, including the observed one, with at least the observed test statistic.
    sample_p_values : ndarray of shape (n_samples,)
        The share of permutations in which any sample differs as much from all others (adjusted for all samples).
    column_p_values : ndarray of shape (n_samples, n_columns)
        P-values of columns in each sample, adjusted for all columns and samples (`step_down`).
    smallest_p_value : float
        The smallest possible p-value.
    n_tested : int
        Number of rows that were used.
    """

    statistic: float
    null_distribution: Floats
    p_value: float
    sample_p_values: Floats
    column_p_values: Floats
    smallest_p_value: float
    n_tested: int


def several_samples_test(
    rows: Floats,
    labels: Numbers,
    columns: Sequence[slice],
    n_permutations: int,
    rng: np.random.Generator,
    *,
    blocks: Numbers | None = None,
    levels: Mapping[int, Numbers] | None = None,
    terms: Mapping[int, csr_array] | None = None,
    order: Numbers | None = None,
) -> SeveralSamplesTest:
    """Test whether several samples come from one distribution; see `two_sample_test`.

    The labels of all rows are permuted together. In each permutation, every sample is compared with all other rows by
    the statistics of the two-sample test. Observed and permuted labels are treated in the same way, so the test is
    exact for any number of rows.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        All samples.
    labels : int ndarray of shape (n,)
        The sample of each row, from 0 on.
    columns, n_permutations, rng, blocks, levels, terms, order
        As in `two_sample_test`; permutations are always drawn.
    """
    units = Units.of(rows, labels, blocks, rng, order)
    statistics = Statistics.of(rows, columns, levels or {}, terms or {}, units, rng)
    # Samples are numbered by their rows, so that the order of samples does not change what is drawn.
    samples = labels[units.used[units.starts]]
    numbers = [int(samples[units.labels == number][0]) for number in range(units.labels.max() + 1)]
    found = [Found() for _ in numbers]
    step = max(1, BLOCK_VALUES // max(len(units.starts), statistics.n_features))
    for start in range(0, n_permutations, step):
        drawn = units.draw_labels(min(step, n_permutations - start), rng)
        if start == 0:
            drawn = np.concatenate([units.labels[None], drawn])
        for number, each in enumerate(found):
            each.add(*statistics(drawn == number))
    parts = [each.combine(False, statistics.level_columns) for each in found]
    # Return to the user's numbers of samples.
    places = np.argsort(numbers)
    of_samples = np.stack([parts[place][2] for place in places])
    combined = np.log10((10**of_samples).mean(0))
    of_columns = np.concatenate([parts[place][3] for place in places], axis=1)
    # With few permutations, the drawn ones may miss the observed one by chance.
    smallest = _find_smallest_p_value(units, n_permutations)
    return SeveralSamplesTest(
        statistic=float(combined[0]),
        null_distribution=combined[1:],
        p_value=max(smallest, float(rank_statistics(combined, False)[0])),
        sample_p_values=rank_statistics(of_samples.max(0), False, of_samples[:, 0]).clip(smallest),
        column_p_values=step_down(of_columns, False).reshape(len(places), -1).clip(smallest),
        smallest_p_value=smallest,
        n_tested=len(units.used),
    )


def _find_smallest_p_value(units: Units, n_permutations: int) -> float:
    """Return the smallest p-value that permutations of the labels can give."""
    parts = np.split(units.labels, np.cumsum(units.blocks)[:-1])
    ways = sum(gammaln(len(part) + 1) - gammaln(np.bincount(part) + 1).sum() for part in parts)
    # Swapping the names of samples of equal size does not change the statistic.
    alike = gammaln(np.unique(np.bincount(units.labels), return_counts=True)[1] + 1).sum() if len(parts) == 1 else 0.0
    return max(math.exp(alike - ways), 1 / (1 + n_permutations))


def adjust_by_holm(p_values: Floats) -> Floats:
    """Adjust p-values for multiple testing (Holm 1979).

    The chance that any adjusted p-value without a true difference is at most q is at most q.

    Examples
    --------
    >>> adjust_by_holm(np.array([0.01, 0.5, 0.02])).tolist()
    [0.03, 0.5, 0.04]
    """
    order = np.argsort(p_values)
    steps = p_values[order] * np.arange(len(p_values), 0, -1)
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.maximum.accumulate(steps).clip(max=1)
    return adjusted
