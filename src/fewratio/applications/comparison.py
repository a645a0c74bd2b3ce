"""Compare two datasets: how far apart, by chance or not, and where."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from fewratio.applications import inputs
from fewratio.applications.columns import ColumnDifference, column_differences, drops_without_columns
from fewratio.applications.permutation import permute_pairs
from fewratio.core.shapes import Floats, Numbers
from fewratio.data.columns import counted, listed
from fewratio.data.dataset import Dataset
from fewratio.data.encoding import ColumnOptions, Encoding
from fewratio.data.partition import groups_of
from fewratio.data.raw import as_raw
from fewratio.data.separating import Separating
from fewratio.errors import InputError, ParameterError
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
    samples : Samples
        The two tables, what became of their columns, and which columns tell them apart by themselves.

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
    null: Floats
    exact: bool
    ratios_a: Floats
    ratios_b: Floats
    samples: inputs.Samples
    _pooled: Floats = field(repr=False)
    _estimator: RatioEstimator = field(repr=False)

    @property
    def divergence(self) -> float:
        """The divergence of the first sample from the second, `forward`."""
        return self.forward

    @cached_property
    def rows_a(self) -> Numbers:
        """Numbers of the first sample's rows, the most typical of it (of the largest ratio A/B) first."""
        return np.argsort(-self.ratios_a, kind="stable")

    @cached_property
    def rows_b(self) -> Numbers:
        """Numbers of the second sample's rows, the most typical of it (of the smallest ratio A/B) first."""
        return np.argsort(self.ratios_b, kind="stable")

    @property
    def encoding(self) -> Encoding | None:
        """What became of the columns."""
        return self.samples.encoding

    @property
    def separating(self) -> list[Separating]:
        """The columns that tell the samples apart by themselves, left out unless they were to be kept."""
        return self.samples.separating

    @cached_property
    def differences(self) -> list[ColumnDifference]:
        """How each column differs by itself, the largest effect first; empty for columns without names."""
        first, second = (table.numbers for table in self.samples.tables)
        return [] if self.encoding is None else column_differences(self.encoding, first, second)

    @cached_property
    def column_scores(self) -> Floats:
        """How far the statistic falls when all values of a column become their mean; of shape (n_columns,).

        A column that only adds noise has a score of zero or less. Of columns that tell the same, each has a small
        score only, for the others still tell it. Computed when first asked for: two divergences per column.
        """
        places = list(self._places.values())
        return drops_without_columns(self._estimator, self._pooled, len(self.ratios_a), self.statistic, places)

    @property
    def columns(self) -> tuple[str | int, ...]:
        """The columns that drive the difference (of positive score), the strongest first: names, or numbers."""
        order, labels = np.argsort(-self.column_scores, kind="stable").tolist(), list(self._places)
        return tuple(labels[column] for column in order if self.column_scores[column] > 0)

    @property
    def _places(self) -> dict[str | int, slice]:
        """Where the features of each column are."""
        names, encoding = self.samples.tables[0].feature_names, self.encoding
        if names is not None and encoding is not None:
            return dict[str | int, slice](encoding.places.items())
        labels: Sequence[str | int] = names or range(self._pooled.shape[1])
        return {label: slice(place, place + 1) for place, label in enumerate(labels)}

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, strings and lists."""
        scores = zip(self._places, self.column_scores.tolist(), strict=True)
        return {
            **inputs.plain(self, "names"),
            "n_rows": [len(self.ratios_a), len(self.ratios_b)],
            **inputs.plain(self, "divergence", "forward", "backward", "statistic", "p_value"),
            "n_permutations": len(self.null),
            **inputs.plain(self, "exact", "ratios_a", "ratios_b", "rows_a", "rows_b"),
            "row_names": [None if table.row_names is None else list(table.row_names) for table in self.samples.tables],
            **inputs.plain(self, "separating", "differences", "columns"),
            "column_scores": [{"column": label, "score": score} for label, score in scores],
        }

    def plot(self) -> "Figure":
        """Draw the ratio at the rows of both samples, the test, and the columns that differ most.

        Returns
        -------
        matplotlib.figure.Figure
        """
        from fewratio.charts.results import draw_comparison

        ratios, test = (self.ratios_a, self.ratios_b), (self.statistic, self.null, self.p_value)
        return draw_comparison(self.names, ratios, *test, [str(label) for label in self._places], self.column_scores)

    def __repr__(self) -> str:
        a, b = self.names
        sizes = f"{counted(len(self.ratios_a), 'row')} and {counted(len(self.ratios_b), 'row')}"
        parts = [f"divergence {self.forward:.4g} ({a}/{b}) and {self.backward:.4g} ({b}/{a})"]
        if self.p_value is not None:
            parts.append(f"p = {self.p_value:.4g} ({'all ' if self.exact else ''}{len(self.null)} permutations)")
        apart = [f"told apart by {listed(column.column for column in self.separating)}"] if self.separating else []
        return f"ComparisonResult({a} and {b}: {sizes}; {'; '.join([*apart, *parts])})"


def compare_datasets(
    A: Any,
    B: Any = None,
    estimator: RatioEstimator | None = None,
    n_permutations: int = 999,
    random_state: int | np.random.Generator | None = None,
    *,
    by: str | None = None,
    **columns: Unpack[ColumnOptions],
) -> ComparisonResult:
    """Compare two datasets: how far apart they are, whether that may be chance, and which rows and columns differ.

    The p-value is that of a permutation test: the rows of both are dealt anew to two samples of the same sizes, and the
    mean of the divergences in both directions is computed again. It is valid at any size. An estimator that chooses its
    hyper-parameters from the samples (``RuLSIF(sigma="cv")``) chooses them again for every permutation; the default's
    width comes from the rows of both together, which no permutation changes.

    Parameters
    ----------
    A : array-like of shape (n_a, n_features), or Dataset
        NumPy array, list, pandas / polars / pyarrow table or torch tensor. A table may have columns of any kind:
        numbers, categories, dates, with missing values.
    B : array-like of shape (n_b, n_features), or Dataset
        The other one, with the same columns. Not needed with `by`.
    estimator : RatioEstimator, optional
        Default: ``RuLSIF(scale="columns")``. A learned one must be pretrained. It stays as it is.
    n_permutations : int, default=999
        How many permutations to draw; where there are no more than that, each is taken once (3 and 3 rows: 20). 0 for
        no test. The divergence does not depend on it.
    random_state : int, numpy Generator or None
        Draws the permutations, and seeds an estimator that has no seed. The order of the rows has no influence.
    by : str, optional
        The column that divides the rows of A into the two samples; it must have two values.
    **columns
        What to do with columns: `columns`, `drop`, `keep`, `id`, `categorical`, `numeric`, `common`
        (`fewratio.ColumnOptions`). Columns of a table that tell the samples apart by themselves are left out unless
        `keep` names them.

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
    inputs.check_count("n_permutations", n_permutations, 0)
    for_estimator, for_permutations = inputs.rng_streams(random_state, 2)
    model = inputs.seeded_copy(estimator, inputs.default_estimator(), for_estimator)
    names, tables = _two_samples(A, B, by)
    samples = inputs.read_samples(model, tables, columns)
    first, second = samples.tables
    pooled, n_first = np.concatenate([first.numbers, second.numbers], dtype=np.float64), first.n_rows
    model = inputs.in_common_units(model, pooled)
    fitted = inputs.fitted_copy(model, pooled[:n_first], pooled[n_first:])
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
        samples=samples,
        _pooled=pooled,
        _estimator=model,
    )


def _two_samples(A: Any, B: Any, by: str | None) -> tuple[list[str], dict[str, Any]]:
    """Return what two samples are called, and the samples by what messages call them."""
    if by is not None:
        if B is not None:
            raise ParameterError("B is given, and by besides; the column divides one table. Leave one of them out.")
        groups = groups_of(as_raw(A, "A"), by)
        if len(groups) != 2:
            raise InputError(
                f"column {by!r} of A has {counted(len(groups), 'value')}: {listed(groups)}; two are needed. Use "
                "compare_all(Collection.from_frame(A, by)) for all pairs of several."
            )
        return list(groups), {group.argument: group for group in groups.values()}
    names, tables = [], {}
    for given, letter in ((A, "A"), (B, "B")):
        if given is None:
            raise InputError(f"{letter} is missing; two samples are needed. Pass both, or one table and by=.")
        is_dataset = isinstance(given, Dataset)
        names.append(given.name if is_dataset else letter)
        argument = f"dataset {given.name!r}" if is_dataset else letter
        tables[argument if argument not in tables else f"{argument} (B)"] = given.X if is_dataset else given
    return names, tables
