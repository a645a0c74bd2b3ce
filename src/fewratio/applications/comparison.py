"""Compare two datasets: how far apart, by chance or not, and where."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fewratio.applications.columns import drops_without_columns
from fewratio.applications.inputs import (
    check_count,
    default_estimator,
    fitted_copy,
    open_table,
    rng_streams,
    seeded_copy,
)
from fewratio.applications.permutation import permute_pairs
from fewratio.data.columns import counted
from fewratio.data.dataset import Dataset
from fewratio.data.table import check_same_features
from fewratio.errors import InputError
from fewratio.estimators.base import RatioEstimator

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class ComparisonResult:
    """What `compare_datasets` found.

    Attributes
    ----------
    names : (str, str)
        What the two samples are called.
    forward, backward : float
        The divergence of the first sample from the second (ratio A/B), and of the second from the first (B/A).
    statistic : float
        What is tested: the mean of both.
    p_value : float or None
        The share of permutations of the rows whose statistic is at least this one, which is counted among them; None
        if no test was asked for.
    null : ndarray of shape (n_permutations,)
        The statistic of the permutations.
    exact : bool
        Whether those are all permutations there are.
    ratios_a, ratios_b : ndarray of shape (n_a,) and (n_b,)
        The ratio A/B at the rows of either sample (the fitted estimator's `ratio_nu_` and `ratio_de_`).
    feature_names : tuple of str or None
        Names of the columns.

    Examples
    --------
    >>> from fewratio import compare_datasets
    >>> result = compare_datasets([[0.0, 5.0], [0.1, 3.0], [0.2, 4.0]], [[2.0, 4.0], [2.1, 5.0], [2.3, 3.0]])
    >>> result.p_value, len(result.null), result.exact
    (0.1, 20, True)
    >>> result.columns
    (0,)
    """

    names: tuple[str, str]
    forward: float
    backward: float
    statistic: float
    p_value: float | None
    null: NDArray[np.float64]
    exact: bool
    ratios_a: NDArray[np.float64]
    ratios_b: NDArray[np.float64]
    feature_names: tuple[str, ...] | None
    _pooled: NDArray[np.float64] = field(repr=False)
    _estimator: RatioEstimator = field(repr=False)

    @property
    def divergence(self) -> float:
        """The divergence of the first sample from the second, `forward`."""
        return self.forward

    @cached_property
    def rows_a(self) -> NDArray[np.intp]:
        """Numbers of the first sample's rows, the most typical of it (of the largest ratio A/B) first."""
        return np.argsort(-self.ratios_a, kind="stable")

    @cached_property
    def rows_b(self) -> NDArray[np.intp]:
        """Numbers of the second sample's rows, the most typical of it (of the smallest ratio A/B) first."""
        return np.argsort(self.ratios_b, kind="stable")

    @cached_property
    def column_scores(self) -> NDArray[np.float64]:
        """How far the statistic falls when all values of a column become their mean; of shape (n_features,).

        A column that only adds noise has a score of zero or less. Of columns that tell the same, each has a small
        score only, for the others still tell it. Computed when first asked for: two divergences per column.
        """
        return drops_without_columns(self._estimator, self._pooled, len(self.ratios_a), self.statistic)

    @property
    def columns(self) -> tuple[str | int, ...]:
        """The columns that drive the difference (of positive score), the strongest first: names, or numbers."""
        order = np.argsort(-self.column_scores, kind="stable").tolist()
        return tuple(self._label(column) for column in order if self.column_scores[column] > 0)

    def _label(self, column: int) -> str | int:
        return column if self.feature_names is None else self.feature_names[column]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, strings and lists."""
        return {
            "names": list(self.names),
            "n_rows": [len(self.ratios_a), len(self.ratios_b)],
            "divergence": self.divergence,
            "forward": self.forward,
            "backward": self.backward,
            "statistic": self.statistic,
            "p_value": self.p_value,
            "n_permutations": len(self.null),
            "exact": self.exact,
            "ratios_a": self.ratios_a.tolist(),
            "ratios_b": self.ratios_b.tolist(),
            "rows_a": self.rows_a.tolist(),
            "rows_b": self.rows_b.tolist(),
            "columns": list(self.columns),
            "column_scores": [
                {"column": self._label(column), "score": score}
                for column, score in enumerate(self.column_scores.tolist())
            ],
        }

    def plot(self) -> "Figure":
        """Draw the ratio at the rows of both samples, the test, and the columns that differ most.

        Returns
        -------
        matplotlib.figure.Figure
        """
        from fewratio.charts.results import draw_comparison

        labels = [str(self._label(column)) for column in range(len(self.column_scores))]
        return draw_comparison(
            self.names,
            (self.ratios_a, self.ratios_b),
            self.statistic,
            self.null,
            self.p_value,
            labels,
            self.column_scores,
        )

    def __repr__(self) -> str:
        a, b = self.names
        sizes = f"{counted(len(self.ratios_a), 'row')} and {counted(len(self.ratios_b), 'row')}"
        parts = [f"divergence {self.forward:.4g} ({a}/{b}) and {self.backward:.4g} ({b}/{a})"]
        if self.p_value is not None:
            parts.append(f"p = {self.p_value:.4g} ({'all ' if self.exact else ''}{len(self.null)} permutations)")
        return f"ComparisonResult({a} and {b}: {sizes}; {'; '.join(parts)})"


def compare_datasets(
    A: Any,
    B: Any,
    estimator: RatioEstimator | None = None,
    n_permutations: int = 999,
    random_state: int | np.random.Generator | None = None,
) -> ComparisonResult:
    """Compare two datasets: how far apart they are, whether that may be chance, and which rows and columns differ.

    The p-value is that of a permutation test: the rows of both are dealt anew to two samples of the same sizes, and the
    mean of the divergences in both directions is computed again. It is valid at any size. An estimator that chooses its
    hyper-parameters from the samples (``RuLSIF(sigma="cv")``) chooses them again for every permutation; the default's
    width comes from the rows of both together, which no permutation changes.

    Parameters
    ----------
    A : array-like of shape (n_a, n_features), or Dataset
        NumPy array, list, pandas / polars / pyarrow table or torch tensor.
    B : array-like of shape (n_b, n_features), or Dataset
        The other one, with the same columns.
    estimator : RatioEstimator, optional
        Default: ``RuLSIF()``. A learned one must be pretrained. It stays as it is.
    n_permutations : int, default=999
        How many permutations to draw; where there are no more than that, each is taken once (3 and 3 rows: 20). 0 for
        no test. The divergence does not depend on it.
    random_state : int, numpy Generator or None
        Draws the permutations, and seeds an estimator that has no seed. The order of the rows has no influence.

    Returns
    -------
    ComparisonResult

    Notes
    -----
    The divergence is the estimator's: the relative Pearson divergence for those of relative ratios.

    Examples
    --------
    >>> import numpy as np
    >>> from fewratio import compare_datasets
    >>> rng = np.random.default_rng(0)
    >>> result = compare_datasets(rng.normal(0, 1, (8, 2)), rng.normal(1.5, 1, (10, 2)), random_state=0)
    >>> result
    ComparisonResult(A and B: 8 rows and 10 rows; divergence ... (A/B) and ... (B/A); p = ... (999 permutations))
    """
    check_count("n_permutations", n_permutations, 0)
    for_estimator, for_permutations = rng_streams(random_state, 2)
    model = seeded_copy(estimator, default_estimator(), for_estimator)
    names, tables = [], []
    for given, letter in ((A, "A"), (B, "B")):
        name, X, argument = (
            (given.name, given.X, f"dataset {given.name!r}") if isinstance(given, Dataset) else (letter, given, letter)
        )
        names.append(name)
        tables.append(open_table(model, X, argument))
    first, second = tables
    check_same_features(second, first.n_features, first.feature_names, reference=first.argument)
    pooled, n_first = np.concatenate([table.numbers for table in tables], dtype=np.float64), first.n_rows
    fitted = fitted_copy(model, pooled[:n_first], pooled[n_first:])
    numbers = np.arange(len(pooled))[None]
    found = permute_pairs(model, pooled, numbers[:, :n_first], numbers[:, n_first:], n_permutations, [for_permutations])
    statistic = float(found.statistic[0])
    if not np.isfinite(statistic):
        raise InputError(
            f"The divergence of {first.argument} and {second.argument} is not finite: their values are too large for "
            "this estimator's arithmetic. Rescale the columns (to about unit size)."
        )
    return ComparisonResult(
        names=(names[0], names[1]),
        forward=float(found.forward[0]),
        backward=float(found.backward[0]),
        statistic=statistic,
        p_value=float(found.p_values[0]) if n_permutations else None,
        null=found.null[0],
        exact=found.exact,
        ratios_a=fitted.ratio_nu_,
        ratios_b=fitted.ratio_de_,
        # Names that only one of the samples has hold for both.
        feature_names=first.feature_names or second.feature_names,
        _pooled=pooled,
        _estimator=model,
    )
