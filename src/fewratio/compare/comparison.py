"""Compare two datasets: how far apart they are, whether that may be chance, and where they differ."""

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack, cast, overload

import numpy as np
from numpy.typing import NDArray

from fewratio.compare.blocks import number_blocks, offer_pairs, warn_of_copies, warn_of_few, warn_of_names
from fewratio.compare.columns import (
    ColumnDifference,
    WordDifference,
    describe_columns,
    describe_words,
    warn_of_codes,
    warn_of_spellings,
)
from fewratio.compare.divergence import EstimatorModel, Held, LogisticModel, Model, cross_fit, measure_parts
from fewratio.compare.regions import Region, bin_columns, find_regions
from fewratio.compare.relations import Relation, describe_relations
from fewratio.compare.verdict import LARGEST, explain_small_effect, rate_divergence, shows_more, write_verdict
from fewratio.core.arguments import as_names
from fewratio.core.draws import row_order
from fewratio.core.kernels import check_squares
from fewratio.core.shapes import Floats, Numbers
from fewratio.core.wording import join_names, write_count, write_divergence, write_limit, write_list, write_p
from fewratio.data.column_kinds import DATE, DURATION, NUMBER
from fewratio.data.columns import ColumnOptions
from fewratio.data.dataset import Dataset
from fewratio.data.encoding import Encoding
from fewratio.data.non_overlapping import NonOverlapping
from fewratio.data.pairs import Pairs, match_rows
from fewratio.data.raw_table import RawTable, as_raw, open_files
from fewratio.data.split_table import split_by_column
from fewratio.data.vectors import encode_cells
from fewratio.errors import InputError, ParameterError, name_parameter
from fewratio.estimators import samples as inputs
from fewratio.estimators.base import RatioEstimator, check_finite_result
from fewratio.progress import progress_bar
from fewratio.report.reported import Reported, make_plain
from fewratio.testing import LEVEL, PERMUTATIONS
from fewratio.testing.row_units import make_exchange, select_rows
from fewratio.testing.two_sample import TwoSampleTest, two_sample_test

if TYPE_CHECKING:
    from fewratio.charts.chart import Picture
    from fewratio.compare.groups import GroupComparisonResult
    from fewratio.report.page import Report

# With more groups, use `compare_all`: each pair takes a third of a second.
MOST_GROUPS = 20
# A column that does not differ alone is named if the divergence without it is at most this share of the whole.
_LEFT = 0.5
# The most names in a sentence.
_NAMED = 3
# A column accounts for nearly all of a divergence if it has this share alone. Samples have almost nothing in common if
# their divergence exceeds this share of the largest possible one.
_NEARLY_ALL = 0.9
# The divergences of the strongest columns are measured, at most this many.
_MEASURED = 8
# Kinds of columns with a standard deviation to shift by.
_SHIFTABLE = NUMBER, DATE, DURATION


@dataclass(frozen=True, eq=False, repr=False)
class ComparisonResult(Reported):
    """Result of `compare_datasets`.

    Attributes
    ----------
    names : (str, str)
        Names of the two samples.
    divergence : float
        The relative Pearson divergence of `ratios_a` and `ratios_b`. On average it does not exceed the true one. It is
        0 if ratios of 1 fit as well. At alpha = 0.5, the default, swapping the samples changes it no more than another
        seed would.
    at_least : float
        An approximate 95 % lower limit for the true divergence. There is no upper limit: a difference that the model
        misses may have any size.
    max_divergence : float
        The largest possible divergence, (1 - alpha) / (2 alpha); infinite for plain ratios.
    p_value : float or None
        The chance of a difference at least as large if both samples come from one distribution; None if there was no
        test.
    statistic : float or None
        The test statistic: minus the decimal logarithm of the weighted harmonic mean of several tail probabilities.
    null_distribution : ndarray of shape (n_permutations,)
        The test statistic of each permutation.
    is_enumerated : bool
        Whether all possible permutations were used.
    p_values : dict of str to float
        The p-value of each single statistic. Do not use the smallest of them as the p-value of the comparison.
    n_tested, n_in_kernels : (int, int)
        How many rows of each sample the test used. Means (of values, ranks, products and categories) use all rows, or
        nearly all; kernels (energy distance, density ratio, spread) use fewer rows of large samples.
    ratios_a, ratios_b : ndarray of shape (n_a,) and (n_b,)
        The ratio A/B at the rows of each sample. If `is_held_out`, it is estimated from other rows.
    is_held_out : bool
        Whether rows were held out, which needs at least two rows, or two blocks, per sample.
    paired_rows : (ndarray, ndarray) of shape (n_pairs,) or None
        With `paired`, the row numbers of each pair in both tables. All other results refer to these rows, in this
        order.
    n_unpaired : (int, int)
        With `paired`, how many rows of each table have no partner and were left out.
    samples : Samples
        The two tables, and how their columns were encoded.
    settings : dict
        The arguments of `compare_datasets`.

    Examples
    --------
    >>> import numpy as np
    >>> from fewratio import compare_datasets
    >>> rng = np.random.default_rng(0)
    >>> A, B = rng.normal(size=(20, 3)), rng.normal(size=(30, 3))
    >>> B[:, 1] += 2
    >>> result = compare_datasets(A, B, random_state=0)
    >>> result.p_value, result.is_enumerated
    (0.001, False)
    >>> [column.column for column in result.columns if column.p_value <= 0.05]
    [1]
    """

    names: tuple[str, str]
    divergence: float
    at_least: float
    max_divergence: float
    p_value: float | None
    statistic: float | None
    null_distribution: Floats
    is_enumerated: bool
    p_values: dict[str, float]
    n_tested: tuple[int, int]
    n_in_kernels: tuple[int, int]
    ratios_a: Floats
    ratios_b: Floats
    is_held_out: bool
    paired_rows: tuple[Numbers, Numbers] | None
    n_unpaired: tuple[int, int]
    samples: inputs.Samples
    settings: dict[str, Any]
    _test: TwoSampleTest | None = field(repr=False)
    _variant: tuple[int, float] | None = field(repr=False)
    _request: "_Request" = field(repr=False)

    @cached_property
    def rows_a(self) -> Numbers:
        """Row numbers of the first sample, its most typical rows (largest ratio A/B) first."""
        return np.argsort(-self.ratios_a, kind="stable")

    @cached_property
    def rows_b(self) -> Numbers:
        """Row numbers of the second sample, its most typical rows (smallest ratio A/B) first."""
        return np.argsort(self.ratios_b, kind="stable")

    @property
    def n_permutations(self) -> int:
        """How many permutations were used; 0 if there was no test."""
        return len(self.null_distribution)

    @property
    def smallest_p_value(self) -> float | None:
        """The smallest possible p-value, that of samples with nothing in common; None if there was no test."""
        return None if self._test is None else self._test.smallest_p_value

    @property
    def verdict(self) -> str:
        """The answer in a few sentences: whether the tables differ, and by how much or what could have been found.

        If the values of a column do not overlap, the last sentences describe the comparison without it.
        """
        return write_verdict(self)

    @cached_property
    def magnitude(self) -> str | None:
        """How large the divergence is: "very small", "small", "medium", "large" or "very large".

        docs/guides/compare.md explains these. None if no difference was found, if the true divergence may be much
        larger (`caution` says why), or if `max_divergence` is infinite.
        """
        if not (self._is_different and self.is_held_out and math.isfinite(self.max_divergence)):
            return None
        is_missed = self.divergence == 0 or self._differ_in_rare or self._differ_more
        return self._rated if self._rated == LARGEST or not is_missed else None

    @property
    def _rated(self) -> str | None:
        """The size of the estimated divergence in words; None if there are too few rows."""
        return rate_divergence(self.divergence / self.max_divergence, *self._n_units)

    @property
    def _n_units(self) -> tuple[int, int]:
        """The number of rows, or of blocks of rows, of each sample."""
        blocks, n_first = self._request.blocks, len(self.ratios_a)
        if blocks is None:
            return n_first, len(self.ratios_b)
        return len(np.unique(blocks[:n_first])), len(np.unique(blocks[n_first:]))

    @property
    def detectable_shift(self) -> float | None:
        """If no difference was found, the shift of one column that the test finds in four cases out of five.

        The unit is the standard deviation within samples. The shift is simulated: both samples are drawn from all rows
        so that one column of numbers or dates differs, with the columns related to it, and the test is repeated. None
        if a difference was found, if there was no test, with an estimator, or without a column of numbers or dates.
        """
        return None if self._test is None else self._test.detectable_shift

    @property
    def rows_used(self) -> str | None:
        """How many rows the test used, in a sentence; None if all."""
        sizes = len(self.ratios_a), len(self.ratios_b)
        if self._test is None or self.n_in_kernels == sizes:
            return None
        tested, in_kernels = (
            " and ".join(
                f"all rows of {name}" if n == size else f"{n:,} random rows of {name} (of {size:,})"
                for n, size, name in zip(used, sizes, self.names, strict=True)
            )
            for used in (self.n_tested, self.n_in_kernels)
        )
        tested = "all rows" if self.n_tested == sizes else tested
        kernels = "" if self.n_in_kernels == self.n_tested else f"; its distances and kernels use {in_kernels}"
        return f"The test uses {tested}{kernels}."

    @property
    def caution(self) -> str | None:
        """A warning that rows were not held out, or that divergence and p-value disagree; None if there is none."""
        sides = zip(self.names, (self.ratios_a, self.ratios_b), strict=True)
        names = [name for name, ratios in sides if len(ratios) == 1]
        has = "has only one row" if len(names) == 1 else "have only one row each"
        said = [f"{' and '.join(names)} {has}; a single row says little about its distribution."] if names else []
        if not self.is_held_out:
            said.append("No rows could be held out: ratios and divergence are those of the fit, too large on average.")
        elif self._is_different and self.magnitude is None and math.isfinite(self.max_divergence):
            rare, more = self._differ_in_rare, self._differ_more
            if self.has_sources and not self.divergence:
                said.append(
                    "The model sees none of this: it looks for what differs between the datasets it was trained on."
                )
            elif rare:
                said.append(f"The model pools rare values of {write_list(rare)}, and so misses how these differ.")
            elif self._rated is None:
                said.append("From so few rows the model can learn only large differences: the true one may be larger.")
            elif more:
                shows = "shows" if len(more) == 1 else "each show"
                said.append(f"{write_list(more, 3)} alone {shows} a larger difference than the model of all columns.")
            else:
                said.append("The model finds nothing that holds at other rows; the difference may be in few rows.")
        elif self.p_value is not None and self.p_value > LEVEL and self.at_least > 0:
            said.append(
                "The model separates rows that it was not fitted to, but the test finds no difference: its statistics "
                "do not look for one of this kind, or it is chance."
            )
        if self.p_value is not None and self.p_value > LEVEL:
            alone = [str(each.column) for each in self._described_columns if (each.p_value or 0) <= LEVEL]
            if alone and len(self._described_columns) == 1:
                said.append(
                    f"The p-value of column {alone[0]} is smaller because it looks at fewer kinds of differences than "
                    "the test of the tables, whose p-value is the one that counts."
                )
            elif alone:
                said.append(
                    f"{write_list(alone)} would count as different alone, but the test of all kinds of differences "
                    "together finds none: take it as a hint."
                )
        return " ".join(said) or None

    @property
    def model_used(self) -> str | None:
        """What a model trained on related datasets estimates here, in words; None without such a model."""
        if not self.has_sources:
            return None
        test = ", and the test combines it with its own statistics" * (self.p_value is not None)
        return f"trained on related datasets; it estimates the divergence and the ratios of the rows{test}"

    @property
    def encoding(self) -> Encoding | None:
        """How the columns were encoded."""
        return self.samples.encoding

    @property
    def non_overlapping(self) -> list[NonOverlapping]:
        """The columns whose values do not overlap between the samples, those that separate most rows first."""
        return self.samples.non_overlapping

    @cached_property
    def without_non_overlapping(self) -> "ComparisonResult | None":
        """The comparison without the `non_overlapping` columns, computed on demand.

        None if there are no such columns, or no others. An estimator trained on related datasets still needs these
        columns; it gets the mean of all rows in their place.
        """
        labels = [each.column for each in self.non_overlapping]
        if not labels or len(labels) == len(self.samples.columns):
            return None
        samples, request = self.samples.drop(labels), self._request._replace(names=self.names)
        if self._request.estimator is not None and self._request.estimator.has_sources:
            kept = np.concatenate([np.r_[self.samples.columns[label][1]] for label in samples.columns])
            held = Held.of(self._request.estimator, _pool(self.samples)[0], kept)
            request = request._replace(estimator=held)
        with warnings.catch_warnings():
            # All warnings about these rows were given before.
            warnings.simplefilter("ignore")
            return _compare_samples(samples, request)

    @property
    def has_sources(self) -> bool:
        """Whether the estimator was trained on related datasets."""
        return self._request.estimator is not None and self._request.estimator.has_sources

    @property
    def set_aside(self) -> str:
        """The names of the `non_overlapping` columns if there are others to compare, else ""."""
        names = [] if self.without_non_overlapping is None else [each.name for each in self.non_overlapping]
        return write_list(names, _NAMED) if len(names) > _NAMED else join_names(names)

    @property
    def may_be_chance(self) -> bool:
        """Whether the divergence is above 0 although neither the test nor its lower limit shows a difference."""
        return bool(self.p_value is not None and self.p_value > LEVEL and self.divergence and not self.at_least)

    @property
    def has_typical_rows(self) -> bool:
        """Whether some rows are more typical of their sample than others.

        They are not if the divergence is 0 (all ratios are 1), or if only a non-overlapping column separates them.
        """
        separates = bool(self.set_aside) and self.divergence > _NEARLY_ALL * self.max_divergence
        return self.divergence > 0 and not (separates and self.for_typical_rows is self)

    @property
    def for_typical_rows(self) -> "ComparisonResult":
        """The comparison that ranks rows by how typical they are.

        It leaves out non-overlapping columns if all rows differ in them, since all rows would be equally typical.
        """
        rest = self.without_non_overlapping
        if rest is None or not rest.divergence or (rest.p_value or 0) > LEVEL:
            return self
        return rest if self.divergence > _NEARLY_ALL * self.max_divergence else self

    @cached_property
    def columns(self) -> list[ColumnDifference]:
        """How each column differs, the smallest p-value first; ``pandas.DataFrame(result.columns)`` makes a table.

        Of columns with equal p-values, those that differ more alone come first.
        """
        parts, nothing = self._parts[1], (None, None)
        found = [
            each._replace(alone=alone, without=without)
            for each in self._described_columns
            for alone, without in [parts.get(each.column, nothing)]
        ]
        if self._test is None:
            return found
        n_apart = len(self.non_overlapping)
        return [*found[:n_apart], *sorted(found[n_apart:], key=lambda each: (each.p_value, -(each.alone or 0.0)))]

    @cached_property
    def _parts(self) -> tuple[float, dict[str | int, tuple[float, float]]]:
        """The divergence of all overlapping columns; and for the strongest columns, of each alone and of all others."""
        if self._variant is None or not self.is_held_out or (self.p_value is not None and not self._is_different):
            return 0.0, {}
        *_, rng, for_parts = np.random.default_rng(self._request.seed).spawn(6)
        (pooled, is_first), blocks = _pool(self.samples), self._request.blocks
        used = select_rows(pooled, is_first, rng, None if self._request.pairs is None else blocks)
        rest = self.without_non_overlapping
        labels = [each.column for each in (self._described_columns if rest is None else self.non_overlapping)]
        places = [self.samples.columns[label][1] for label in labels[:_MEASURED]]
        numbers = None if blocks is None else blocks[used]
        seed = int(for_parts.integers(2**63))
        total, measured = measure_parts(pooled[used], is_first[used], numbers, places, self._variant, seed)
        parts = dict(zip(labels, measured, strict=False))
        if rest is None:
            return total, parts
        if len(labels) == 1:
            # Report the same number as `without_non_overlapping`.
            parts[labels[0]] = parts[labels[0]][0], rest.divergence
        total, others = rest._parts
        return total, parts | others

    @cached_property
    def _described_columns(self) -> list[ColumnDifference]:
        """The columns without their divergences, which are slow to compute."""
        n_columns = len(self.samples.columns)
        p_values = [None] * n_columns if self._test is None else self._test.column_p_values.tolist()
        return describe_columns(self.samples, p_values, self.words)

    @property
    def _is_different(self) -> bool:
        return self.p_value is not None and self.p_value <= LEVEL

    @property
    def _differ_in_rare(self) -> list[str]:
        """The columns that differ and whose rare values the model pools."""
        differ = {each.column for each in self._described_columns if (each.p_value or 0) <= LEVEL}
        return [
            str(label) for label, (column, _) in self.samples.columns.items() if column.pools_others and label in differ
        ]

    @property
    def _differ_more(self) -> list[str]:
        """The columns that differ more, each alone, than the divergence of all columns shows."""
        return [str(each.column) for each in self._described_columns if shows_more(each, self._rated, *self._n_units)]

    @cached_property
    def words(self) -> list[WordDifference]:
        """The words and phrases of free text with p-values up to 0.05, the most different first."""
        return [] if self._test is None else describe_words(self.samples, self._test.term_p_values, LEVEL)

    @cached_property
    def relations(self) -> list[Relation]:
        """The pairs of columns whose relation differs with a p-value up to 0.05, the most different first."""
        if self._test is None or self._test.p_value > LEVEL:
            return []
        return describe_relations(self.samples, self._test.pairs, self._test.pair_p_values, LEVEL)

    @property
    def regions(self) -> list[Region]:
        """Where the samples differ, as rules of up to three conditions, the strongest first; computed on demand.

        There are at most five, with p-values up to 0.05, whatever the test of the whole samples finds; none if there
        was no test. Each is the strongest among the rows outside earlier regions. Non-overlapping columns are left
        out.
        """
        return self._regions[0]

    def rows(self, region: Region) -> tuple[Numbers, Numbers]:
        """Return the row numbers of a region in the first and in the second sample."""
        regions, numbers = self._regions
        if region not in regions:
            raise ParameterError("region is not part of this result. Pass one of result.regions.")
        is_inside, n_first = numbers == regions.index(region), len(self.ratios_a)
        return np.flatnonzero(is_inside[:n_first]), np.flatnonzero(is_inside[n_first:])

    @cached_property
    def _regions(self) -> tuple[list[Region], Numbers]:
        """The regions, and the region number of each row; -1 if it is in none."""
        if self.without_non_overlapping is not None:
            return self.without_non_overlapping._regions
        pooled, is_first = _pool(self.samples)
        numbers, rng = self._request.blocks, np.random.default_rng(self._request.seed).spawn(4)[0]
        used = select_rows(pooled, is_first, rng, None if self._request.pairs is None else numbers)
        columns = bin_columns(self.samples.columns, pooled[used])
        if self._test is None or not columns:
            return [], np.full(len(pooled), -1)
        return find_regions(columns, pooled, is_first, used, numbers, rng)

    @property
    def main_column(self) -> str | None:
        """The column that accounts for nearly all of the divergence, if other columns differ too; else None."""
        alone = {str(each.column): each.alone or 0.0 for each in self.columns if (each.p_value or 0) <= LEVEL}
        if self.magnitude is None or self.non_overlapping or len(alone) < 2:
            return None
        name = max(alone, key=lambda each: alone[each])
        return name if alone[name] >= _NEARLY_ALL * max(self._parts[0], self.divergence) else None

    @property
    def joint_columns(self) -> list[ColumnDifference]:
        """The columns that do not differ alone, but without which at least half of the divergence is lost.

        Only the eight strongest overlapping columns are measured.
        """
        most = _LEFT * self._parts[0]
        return [
            each
            for each in self.columns
            if (each.p_value or 0) > LEVEL and each.without is not None and each.without < most
        ]

    def explain_small_effect(self, column: ColumnDifference) -> str:
        """Say what differs in a column of `columns` if its mean does not; "" if it does, or with `blocks`."""
        return "" if self._request.blocks is not None else explain_small_effect(column, *self._n_units)

    def describe_divergence(self) -> str:
        """Write the divergence with its limits."""
        most = f" of at most {write_divergence(self.max_divergence)}" if math.isfinite(self.max_divergence) else ""
        least = f"; the true one is at least {write_limit(self.at_least)} (95 %, approximate)" if self.at_least else ""
        if self.may_be_chance:
            a, b = self._n_units
            units = "rows" if self._request.blocks is None else "blocks"
            least = f", which {a} and {b} {units} may show by chance: the true one may be 0"
        return f"{write_divergence(self.divergence)}{most}{least}"

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain numbers, strings and lists."""
        counts = {"n_rows": [len(self.ratios_a), len(self.ratios_b)], "n_permutations": self.n_permutations}
        divergences = make_plain(self, "names", "verdict", "divergence", "at_least", "max_divergence", "magnitude")
        test = make_plain(
            self, "p_value", "detectable_shift", "statistic", "p_values", "n_tested", "n_in_kernels", "is_enumerated"
        )
        test |= make_plain(self, "paired_rows", "n_unpaired") if self.paired_rows is not None else {}
        rows = make_plain(self, "ratios_a", "ratios_b", "is_held_out", "rows_a", "rows_b")
        row_names = [make_plain(table, "row_names")["row_names"] for table in self.samples.tables]
        columns = make_plain(self, "non_overlapping", "columns", "words", "relations", "regions")
        rest = self.without_non_overlapping
        columns["without_non_overlapping"] = None if rest is None else make_plain(rest, "p_value", "divergence")
        return {**divergences, **test, **counts, "caution": self.caution, **rows, "row_names": row_names, **columns}

    def plot(self) -> "Picture":
        """Draw the ratio at the rows of both samples, the test, and the columns that differ most.

        Returns
        -------
        Picture
            A chart that notebooks display; ``save(path)`` writes it to a file.
        """
        from fewratio.compare.report import draw_comparison

        return draw_comparison(self)

    def _report(self, command: str | None = None) -> "Report":
        from fewratio.compare.report import report_comparison

        return report_comparison(self, command)

    def __repr__(self) -> str:
        a, b = self.names
        sizes = f"{write_count(len(self.ratios_a), 'row')} and {write_count(len(self.ratios_b), 'row')}"
        parts = [f"divergence {self.describe_divergence()}"]
        if self.p_value is not None:
            every = "all " if self.is_enumerated else ""
            parts.append(f"p = {write_p(self.p_value)} ({every}{self.n_permutations} permutations)")
        if self.non_overlapping:
            parts.insert(0, write_list(column.separates for column in self.non_overlapping))
        return f"ComparisonResult({a} and {b}: {sizes}; {'; '.join(parts)})"


class _Request(NamedTuple):
    """The arguments of a comparison, kept to repeat it with fewer columns.

    Attributes
    ----------
    names : (str, str)
        Names of the samples.
    settings : dict
        The user's arguments.
    estimator : RatioEstimator or None
        A seeded copy of the user's estimator, if there is one.
    blocks : ndarray of int or None
        The block number of each row.
    pairs : Pairs or None
    n_permutations : int
        Number of permutations; 0 for no test.
    seed : int
        Seeds everything random in the comparison.
    progress : bool or None
        Whether to show a progress bar.
    """

    names: tuple[str, str]
    settings: dict[str, Any]
    estimator: RatioEstimator | None
    blocks: Numbers | None
    pairs: Pairs | None
    n_permutations: int
    seed: int
    progress: bool | None


@overload
def compare_datasets(
    A: Any,
    B: Any,
    *,
    estimator: RatioEstimator | None = ...,
    n_permutations: int | None = ...,
    by: None = None,
    blocks: Any = ...,
    paired: Any = ...,
    encoder: Mapping[str, Callable[[list[Any]], Any]] | None = ...,
    random_state: int | np.random.Generator | None = ...,
    progress: bool | None = ...,
    **columns: Unpack[ColumnOptions],
) -> ComparisonResult: ...


@overload
def compare_datasets(
    A: Any,
    B: Any = ...,
    *,
    estimator: RatioEstimator | None = ...,
    n_permutations: int | None = ...,
    by: str,
    blocks: Any = ...,
    paired: Any = ...,
    encoder: Mapping[str, Callable[[list[Any]], Any]] | None = ...,
    random_state: int | np.random.Generator | None = ...,
    progress: bool | None = ...,
    **columns: Unpack[ColumnOptions],
) -> "ComparisonResult | GroupComparisonResult": ...


def compare_datasets(
    A: Any,
    B: Any = None,
    *,
    estimator: RatioEstimator | None = None,
    n_permutations: int | None = None,
    by: str | None = None,
    blocks: Any = None,
    paired: Any = None,
    encoder: Mapping[str, Callable[[list[Any]], Any]] | None = None,
    random_state: int | np.random.Generator | None = 0,
    progress: bool | None = None,
    **columns: Unpack[ColumnOptions],
) -> "ComparisonResult | GroupComparisonResult":
    """Compare two datasets: how far apart they are, whether that may be chance, and which rows and columns differ.

    The p-value comes from a permutation test, which is exact for any number of rows: the rows are split at random into
    two samples of the same sizes, and all statistics are computed again. The statistics are the energy distance, the
    difference of the means of all columns, the divergence of a least-squares density ratio, the largest difference of a
    single column (in mean, ranks or spread), the spread of all columns together, a linear discriminant, products of two
    columns (their relation), the shape of a single column, chi-square for categories, the largest difference of a word
    for free text, and the divergence of your estimator if you pass one. Each statistic is turned into a probability
    by its moments over the other permutations; the weighted harmonic mean of these probabilities is ranked among the
    permutations.

    Parameters
    ----------
    A : array-like of shape (n_a, n_features), or Dataset
        NumPy array, list, dict of columns, series, path of a file, pandas / polars / pyarrow table or torch tensor. A
        table may contain numbers, categories, dates, free text and vectors, with missing values.
    B : array-like of shape (n_b, n_features), or Dataset
        The other sample, with the same columns. Leave it out if you pass `by`.
    estimator : RatioEstimator, optional
        The estimator of the row ratios, and so of the divergence; by default logistic regressions (see Notes). An
        estimator that learns from related datasets must be pretrained. It is not changed. Its divergence also becomes
        a statistic of the test, which makes the test slower; the test also uses what an `AutoRatioEstimator` learned
        from sources.
    n_permutations : int, optional
        How many permutations to draw, by default 999. If fewer exist (there are only 20 for 3 + 3 rows), each is used
        once. 0 for no test. The divergence stays the same.
    by : str, optional
        The column that splits the rows of A into samples. If it has 3 to 20 values, these groups are compared: all
        together, each with the rest, and all pairs.
    blocks : str or pair of array-like, optional
        Rows that belong together, such as those of a patient or a day: the name of a column of both tables, or the
        labels of the rows of A and of B. Rows are permuted only within their block; if each block lies in one sample,
        whole blocks are permuted. Ratios are estimated from the rows of other blocks.
    paired : str or pair of array-like, optional
        Compare pairs, such as countries in two years: the column that names the rows in both tables, or the names of
        the rows of A and of B. Only the two rows of a pair are swapped, so the test finds a change within pairs
        however much the pairs differ from each other. Rows without a partner are left out and counted.
    encoder : dict of str to callable, optional
        Functions by column name that turn values (paths of images or sounds, texts for a language model) into vectors.
        Each gets a list of at most 64 values and returns as many vectors of one length.
    random_state : int, numpy Generator or None, default=0
        Draws permutations, folds, and the rows to test with if there are many; seeds an estimator that has no seed.
        The order of the rows does not matter.
    progress : bool, optional
        Show a progress bar. Default: only on a terminal, and only if an estimator or an encoder is given.
    **columns
        What to do with columns: `columns`, `drop`, `keep`, `id`, `categorical`, `numeric`, `common`
        (`fewratio.ColumnOptions`). Row names, and dates that show which sample came first, are left out unless `keep`
        names them. All other columns are compared; `ComparisonResult.non_overlapping` lists those whose values do not
        overlap.

    Returns
    -------
    ComparisonResult, or fewratio.compare.GroupComparisonResult for three groups or more

    Notes
    -----
    For three groups or more, the labels of all rows are permuted together, and each group is compared with the rest by
    the same statistics, except for the divergence of your estimator. `blocks` must then be a column name.

    The divergence is the relative Pearson divergence: 0 for equal distributions, at most (1 - alpha) / (2 alpha). The
    ratio of each row is cross-fitted (five folds). So are the choice among logistic regressions (on ranks, on whitened
    columns, with Gaussian kernels and several penalties) and the shrinkage of the ratio towards 1. Divergence and
    `at_least` follow from these ratios; docs/guides/uncertainty.md reports how often the limit held.

    If both samples have 2,000 rows or more, the test permutes random groups of rows, about 1,000 groups in the smaller
    sample, and so uses nearly all rows (`n_tested`). Kernel statistics use at most 10,000 rows (`n_in_kernels`). The
    ratio model is fitted to at most 10,000 rows and evaluated at all of them.

    Examples
    --------
    >>> import numpy as np
    >>> from fewratio import compare_datasets
    >>> rng = np.random.default_rng(0)
    >>> A, B = rng.normal(0, 1, (8, 2)), rng.normal(1.5, 1, (10, 2))
    >>> result = compare_datasets(A, B, random_state=0)
    >>> result.p_value <= 0.05, round(result.divergence, 1), result.max_divergence
    (True, 0.3, 0.5)
    """
    if by is not None and B is not None:
        raise ParameterError("B and by are both given; the column splits one table. Leave one of them out.")
    if encoder is not None:
        given = open_files({name: table for name, table in (("A", A), ("B", B)) if table is not None})
        A, B = (encode_cells(given[name], name, encoder, progress) if name in given else None for name in "AB")
    groups = {} if by is None else split_groups(as_raw(A, "A"), by, estimator)
    if by is not None and len(groups) > 2:
        from fewratio.compare.groups import compare_groups

        found = compare_groups(
            compare_datasets,
            by,
            groups,
            estimator=estimator,
            n_permutations=n_permutations,
            blocks=blocks,
            paired=paired,
            random_state=random_state,
            progress=progress,
            columns=columns,
        )
        return found if encoder is None else replace(found, settings=found.settings | {"encoder": encoder})
    settings = {"estimator": estimator, "n_permutations": n_permutations, "by": by, "blocks": blocks}
    settings |= {} if encoder is None else {"encoder": encoder}
    settings |= {"paired": paired, "random_state": random_state, **columns}
    n_permutations = PERMUTATIONS if n_permutations is None else n_permutations
    inputs.check_count("n_permutations", n_permutations, 0)
    seed = int(inputs.as_rng(random_state).integers(2**63))
    # Without an estimator, tables are read as for any estimator that has not learned from sources.
    reader = inputs.copy_seeded(estimator, inputs.default_estimator(), np.random.default_rng(seed).spawn(1)[0])
    names, tables = (cast("tuple[str, str]", tuple(groups)), dict(groups)) if groups else _read_two(A, B)
    numbers, pairs = None, None
    if paired is not None:
        if blocks is not None:
            raise ParameterError("paired and blocks are both given; a pair is a block. Leave one of them out.")
        pairs = match_rows(paired, tables)
        tables, numbers = pairs.tables, np.tile(np.arange(len(pairs.rows[0])), 2)
    elif blocks is not None:
        numbers, tables = number_blocks(blocks, tables)
    else:
        tables = {name: as_raw(table, name) for name, table in tables.items()}
        offer_pairs(tables, as_names("drop", columns.get("drop", ())))
    known = columns.get("encoding")
    if isinstance(known, Encoding) and not reader.has_sources:
        # Directions that were learned from one of the tables would fit its rows better.
        columns["encoding"] = known.learn_directions([as_raw(table, name) for name, table in tables.items()])
    used = None if estimator is None else reader
    request = _Request(names, settings, used, numbers, pairs, n_permutations, seed, progress)
    samples = inputs.read_samples(reader, tables, columns)
    warn_of_spellings(samples)
    return _compare_samples(samples, request)


def _compare_samples(samples: inputs.Samples, request: "_Request") -> ComparisonResult:
    """Compare two encoded samples."""
    names, settings, estimator, numbers, pairs, n_permutations, seed, progress = request
    # The first generator is reserved for `regions`.
    _, for_rows, for_folds, for_permutations = np.random.default_rng(seed).spawn(4)
    pooled, is_first = _pool(samples)
    order = row_order(pooled)
    used = select_rows(pooled, is_first, for_rows, None if pairs is None else numbers, order)
    rows, marks = pooled[used], is_first[used]
    check_squares(rows)
    model: Model
    if estimator is None:
        tested, alpha, model = None, 0.5, LogisticModel(rows, marks, for_folds)
    else:
        estimator = inputs.in_common_units(estimator, rows)
        tested, alpha = estimator._for_many_pairs(), float(estimator.get_params().get("alpha", 0.0))
        model = EstimatorModel(estimator, rows, marks, alpha)
    test = None
    if n_permutations:
        test = _run_test(samples, pooled, is_first, order, numbers, n_permutations, for_permutations, tested, progress)
    found = cross_fit(model, pooled, is_first, used, numbers, alpha, for_folds)
    called = " and ".join(table.name for table in samples.tables)
    check_finite_result(f"The divergence of {called}", found.divergence)
    return ComparisonResult(
        names=names,
        divergence=found.divergence,
        at_least=found.at_least,
        max_divergence=(1 - alpha) / (2 * alpha) if alpha else math.inf,
        p_value=None if test is None else test.p_value,
        statistic=None if test is None else test.statistic,
        null_distribution=np.empty(0) if test is None else test.null_distribution,
        is_enumerated=test is not None and test.is_enumerated,
        p_values={} if test is None else test.p_values,
        n_tested=(0, 0) if test is None else test.n_tested,
        n_in_kernels=(0, 0) if test is None else test.n_in_kernels,
        ratios_a=found.ratios[is_first],
        ratios_b=found.ratios[~is_first],
        is_held_out=found.is_held_out,
        paired_rows=None if pairs is None else pairs.rows,
        n_unpaired=(0, 0) if pairs is None else pairs.n_unpaired,
        samples=samples,
        settings=settings,
        _test=test,
        _variant=model.variants[found.variant] if isinstance(model, LogisticModel) else None,
        _request=request,
    )


def _pool(samples: inputs.Samples) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the rows of both samples, and a mask of those in the first."""
    pooled = np.concatenate([table.numbers for table in samples.tables], dtype=np.float64)
    return pooled, np.arange(len(pooled)) < samples.tables[0].n_rows


def _run_test(
    samples: inputs.Samples,
    rows: Floats,
    marks: NDArray[np.bool_],
    order: Numbers,
    blocks: Numbers | None,
    n_permutations: int,
    rng: np.random.Generator,
    estimator: RatioEstimator | None,
    progress: bool | None,
) -> TwoSampleTest:
    """Run `two_sample_test`; warn if its result may be misleading or cannot be significant."""
    warn_of_codes(samples)
    columns = [place for _, place in samples.columns.values()]
    if blocks is None:
        warn_of_copies(rows, marks, columns, order, (samples.tables[0].name, samples.tables[1].name))
        warn_of_names(samples.category_codes, marks, [each.column for each in samples.non_overlapping])
    exchange, _ = make_exchange(marks, blocks)
    smallest = exchange.smallest_p_value(n_permutations)
    if smallest > LEVEL and exchange.is_enumerated(n_permutations):
        warn_of_few(smallest, samples, blocks)
    show = False if estimator is None and progress is None else progress
    with progress_bar(exchange.count_used(n_permutations), "permutations", show) as report:
        return two_sample_test(
            rows,
            marks,
            columns,
            n_permutations,
            rng,
            blocks=blocks,
            order=order,
            shiftable=[place.start for column, place in samples.columns.values() if column.kind in _SHIFTABLE],
            **samples.test_options,
            estimator=estimator,
            report=report,
        )


def split_groups(raw: RawTable, by: str, estimator: RatioEstimator | None) -> dict[str, RawTable]:
    """Split a table by a column; two groups are ordered by their first rows, three or more by name."""
    groups = split_by_column(raw, by)
    if len(groups) == 1:
        raise InputError(
            f"column {by!r} of {raw.name} has one value, {next(iter(groups))!r}; two or more are needed to compare. "
            f"Name another column in {name_parameter('by')}."
        )
    if len(groups) > MOST_GROUPS:
        raise InputError(
            f"column {by!r} of {raw.name} has {len(groups)} values; at most {MOST_GROUPS} groups can be compared. Name "
            f"another column in {name_parameter('by')}, keep the rows of fewer groups, or compare all pairs: `fewratio "
            "compare-all` with --by, in Python compare_all(Collection.from_frame(A, by))."
        )
    ordered = list(groups)
    if len(groups) > 2:
        try:
            ordered.sort(key=float)
        except ValueError:
            ordered.sort()
    # A model of windows cuts each series separately.
    encoding = None if estimator is None else estimator.encoding_
    return {groups[name].name: groups[name] if encoding is None else encoding.cut(groups[name]) for name in ordered}


def _read_two(A: Any, B: Any) -> tuple[tuple[str, str], dict[str, Any]]:
    """Return the names of two samples, and a dict of the samples by their names in messages."""
    names, tables = [], {}
    for given, letter in ((A, "A"), (B, "B")):
        if given is None:
            raise InputError(f"{letter} is missing; two samples are needed. Pass both, or one table and by=.")
        is_dataset = isinstance(given, Dataset)
        names.append(given.name if is_dataset else letter)
        argument = given.name if isinstance(given, RawTable) else letter
        argument = f"dataset {given.name!r}" if is_dataset else argument
        tables[argument if argument not in tables else f"{argument} (B)"] = given.X if is_dataset else given
    return (names[0], names[1]), open_files(tables)
