"""Compare several groups of rows: whether they differ, which one differs most, which pairs, and in which columns."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fewratio.compare.blocks import number_blocks, warn_of_copies, warn_of_few
from fewratio.compare.columns import Described, describe_column, warn_of_codes
from fewratio.core.draws import row_order
from fewratio.core.kernels import check_squares
from fewratio.core.shapes import Floats
from fewratio.core.wording import join_names, quote_list, write_count, write_divergence, write_limit, write_p
from fewratio.data.columns import Column, ColumnOptions
from fewratio.data.encoding import Encoding
from fewratio.data.raw_table import RawTable, join_tables
from fewratio.errors import ParameterError, name_parameter
from fewratio.estimators import samples as inputs
from fewratio.estimators.base import RatioEstimator
from fewratio.progress import progress_bar
from fewratio.report.reported import Reported, make_plain
from fewratio.testing import LEVEL, PERMUTATIONS
from fewratio.testing.several_samples import (
    SeveralSamplesTest,
    adjust_by_holm,
    several_samples_test,
)

if TYPE_CHECKING:
    from fewratio.charts.chart import Picture
    from fewratio.report.page import Report

# The most columns that the answer names.
_NAMED = 3
REST = "the rest"


class GroupDifference(NamedTuple):
    """How a group differs from all other groups together.

    Attributes
    ----------
    name : str
        Name of the group, such as ``"cyl = 4"``.
    n_rows : int
    divergence, at_least : float or None
        As in `ComparisonResult`; None if the group has a single row, which cannot be held out.
    p_value : float or None
        The chance that any group differs this much if none truly does (adjusted for all groups). None if there was no
        test.
    """

    name: str
    n_rows: int
    divergence: float | None
    at_least: float | None
    p_value: float | None


class PairDifference(NamedTuple):
    """How two groups differ.

    Attributes
    ----------
    first, second : str
        Names of the groups.
    divergence, at_least, p_value
        Results of `compare_datasets` for the rows of these two groups, encoded like all rows; divergences are None if
        a group has a single row.
    adjusted_p_value : float or None
        The p-value adjusted for all pairs (Holm).
    has_few_rows : bool
        Whether there are too few rows for an adjusted p-value up to 0.05 even if no other pair differs.
    """

    first: str
    second: str
    divergence: float | None
    at_least: float | None
    p_value: float | None
    adjusted_p_value: float | None
    has_few_rows: bool


class GroupColumn(NamedTuple):
    """How a column differs between groups.

    Attributes
    ----------
    column : str or int
    kind : str
        As in `ColumnDifference`.
    values : list of str
        Summary of the values in each group: mean and standard deviation, or the share of the category that differs
        most.
    missing : list of float
        The share of missing values in each group.
    means, deviations : list of float or None
        Mean and standard deviation of numbers, booleans, durations and times of day; None for other kinds.
    group : str
        The group that differs most from all others in this column.
    effect : float
        The effect size of this group against all others: Cohen's d of means, h of shares.
    p_value : float or None
        Adjusted for all columns and groups, as `ColumnDifference.p_value` is for all columns.
    """

    column: str | int
    kind: str
    values: list[str]
    missing: list[float]
    means: list[float | None] | None
    deviations: list[float | None] | None
    group: str
    effect: float
    p_value: float | None


@dataclass(frozen=True, eq=False, repr=False)
class GroupComparisonResult(Reported):
    """Result of `compare_datasets` for three or more groups of one table.

    Attributes
    ----------
    by : str
        The column that defines the groups.
    groups : list of GroupDifference
        Each group against all others.
    pairs : list of PairDifference
        All pairs of groups, those that differ most clearly first.
    p_value : float or None
        The chance of differences at least as large if all groups come from one distribution; None if there was no
        test.
    statistic : float or None
        The test statistic: minus the decimal logarithm of the harmonic mean of the tail probabilities of several
        statistics of each group against all others.
    null_distribution : ndarray of shape (n_permutations,)
        The test statistic of each permutation.
    samples : Samples
        The tables of the groups, and how their columns were encoded.
    settings : dict
        The arguments of `compare_datasets`.

    Examples
    --------
    >>> import numpy as np
    >>> from fewratio import compare_datasets
    >>> rng = np.random.default_rng(0)
    >>> table = {"site": np.repeat(["a", "b", "c"], 20), "x": rng.normal(size=60), "y": rng.normal(size=60)}
    >>> table["y"][:20] += 2
    >>> result = compare_datasets(table, by="site")
    >>> result.p_value, result.most_different.name
    (0.001, 'site = a')
    >>> [(pair.first, pair.second) for pair in result.pairs if pair.adjusted_p_value > 0.05]
    [('site = b', 'site = c')]
    """

    by: str
    groups: list[GroupDifference]
    pairs: list[PairDifference]
    p_value: float | None
    statistic: float | None
    null_distribution: Floats
    samples: inputs.Samples
    settings: dict[str, Any]
    _test: SeveralSamplesTest | None = field(repr=False)
    _tables: Mapping[str, RawTable] = field(repr=False)
    _compare: Callable[..., Any] = field(repr=False)

    @property
    def names(self) -> list[str]:
        """The names of the groups."""
        return [group.name for group in self.groups]

    @property
    def n_permutations(self) -> int:
        """How many permutations were used; 0 if there was no test."""
        return len(self.null_distribution)

    @property
    def smallest_p_value(self) -> float | None:
        """The smallest possible p-value, that of groups with nothing in common; None if there was no test."""
        return None if self._test is None else self._test.smallest_p_value

    @property
    def encoding(self) -> Encoding | None:
        """How the columns were encoded."""
        return self.samples.encoding

    def compare(self, first: str, second: str | None = None) -> Any:
        """Compare two groups, or one group with all others.

        Parameters
        ----------
        first, second : str
            Names of groups, such as ``"cyl = 4"``; by default, the second sample contains all other groups.

        Returns
        -------
        ComparisonResult
        """
        for name in (first, *([] if second is None else [second])):
            if name not in self._tables:
                known = quote_list(self.names, len(self.names))
                raise ParameterError(f"there is no group {name!r}; there are {known}. Name one of them.")
        return _compare_two(self._compare, self._tables, first, second)

    @cached_property
    def columns(self) -> list[GroupColumn]:
        """How each column differs, the strongest first."""
        found = []
        for number, (label, (column, place)) in enumerate(self.samples.columns.items()):
            described = self._describe(column, place)
            effects, p_values = np.abs(described.effects), None
            if self._test is not None:
                p_values = self._test.column_p_values[:, number]
            most = int(np.lexsort((-effects, np.zeros(len(effects)) if p_values is None else p_values))[0])
            found.append(
                GroupColumn(
                    label,
                    column.kind,
                    described.words,
                    described.missing,
                    described.means,
                    described.deviations,
                    self.names[most],
                    described.effects[most],
                    None if p_values is None else float(p_values[most]),
                )
            )
        return sorted(found, key=lambda each: (each.p_value or 0, -abs(each.effect)))

    @property
    def most_different(self) -> GroupDifference | None:
        """The group that differs most clearly from the rest: the one with the largest lower limit of the divergence.

        None if the groups do not differ, or no group differs from the rest (p-values above 0.05).
        """
        found = [group for group in self.groups if group.p_value is not None and group.p_value <= LEVEL]
        if self.p_value is None or self.p_value > LEVEL or not found:
            return None
        return min(found, key=lambda group: (-(group.at_least or 0.0), group.p_value, -(group.divergence or 0.0)))

    @property
    def verdict(self) -> str:
        """Whether the groups differ, and which one differs most clearly, in words."""
        if self.p_value is None:
            return "No test was made."
        if self.p_value > LEVEL:
            few = " There are too few rows for the test to find one." * ((self.smallest_p_value or 0) > LEVEL)
            return f"No difference between the groups was found (p = {write_p(self.p_value)}).{few}"
        differ, most = f"The groups differ (p = {write_p(self.p_value)}).", self.most_different
        if most is None:
            return f"{differ} No single group differs clearly from {REST}."
        others = any((group.p_value or 0) <= LEVEL for group in self.groups if group is not most)
        least = f", at least {write_limit(most.at_least)}" if most.at_least else ""
        size = "" if most.divergence is None else f"divergence {write_divergence(most.divergence)}{least}; "
        found = f"{size}p = {write_p(most.p_value)}"
        return (
            f"{differ} {most.name} differs{' most clearly' * others} from {REST} ({found}){self._name_columns(most)}."
        )

    @property
    def largest_divergence(self) -> float:
        """The largest divergence between two groups; 0 if all groups have a single row."""
        return max((pair.divergence or 0.0 for pair in self.pairs), default=0.0)

    def count_pairs(self) -> str:
        """Say how many pairs differ."""
        if self.p_value is None:
            return write_count(len(self.pairs), "pair")
        n_different = sum((pair.adjusted_p_value or 0) <= LEVEL for pair in self.pairs)
        differ = "differs" if n_different == 1 else "differ"
        return f"{n_different} of {len(self.pairs)} {differ} (p at most {LEVEL}, adjusted for all pairs by Holm)"

    def _name_columns(self, group: GroupDifference) -> str:
        """Name the columns in which a group differs from the rest, the clearest first."""
        assert self._test is not None
        place, named = self.names.index(group.name), []
        for number, (label, (column, where)) in enumerate(self.samples.columns.items()):
            p_value = self._test.column_p_values[place, number]
            if p_value <= LEVEL:
                named.append((p_value, -abs(self._describe(column, where).effects[place]), str(label)))
        labels = [label for *_, label in sorted(named)][:_NAMED]
        joined = join_names(labels)
        return f", above all in {joined}" if len(named) > 1 else f", in {joined}" if named else ", in no single column"

    def _describe(self, column: Column, place: slice) -> Described:
        return describe_column(column, [np.asarray(table.numbers[:, place]) for table in self.samples.tables])

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain numbers, strings and lists."""
        test = make_plain(self, "by", "names", "p_value", "statistic", "n_permutations", "smallest_p_value", "verdict")
        most = {"most_different": None if self.most_different is None else self.most_different.name}
        return {**test, **most, **make_plain(self, "groups", "pairs", "columns")}

    def plot(self) -> "Picture":
        """Draw the divergences of all pairs, the test, and the column that differs most.

        Returns
        -------
        Picture
            A chart that notebooks display; ``save(path)`` writes it to a file.
        """
        from fewratio.compare.group_report import draw_groups

        return draw_groups(self)

    def _report(self, command: str | None = None) -> "Report":
        from fewratio.compare.group_report import report_groups

        return report_groups(self, command)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{group.name} ({write_count(group.n_rows, 'row')})" for group in self.groups)
        return f"GroupComparisonResult({sizes}; {self.verdict})"


def compare_groups(
    compare_datasets: Callable[..., Any],
    by: str,
    groups: Mapping[str, RawTable],
    *,
    estimator: RatioEstimator | None,
    n_permutations: int | None,
    blocks: Any,
    paired: Any,
    random_state: int | np.random.Generator | None,
    progress: bool | None,
    columns: ColumnOptions,
) -> GroupComparisonResult:
    """Compare three or more named groups of rows; the arguments are those of `compare_datasets`, which is passed."""
    settings = {"estimator": estimator, "n_permutations": n_permutations, "by": by, "blocks": blocks}
    settings |= {"random_state": random_state, **columns}
    if paired is not None:
        raise ParameterError(
            f"{name_parameter('paired')} is given, but column {by!r} makes {len(groups)} groups; pairs have two rows. "
            f"Use {name_parameter('blocks', paired if isinstance(paired, str) else '')}, which permutes rows within "
            "what they belong to."
        )
    if blocks is not None and not isinstance(blocks, str):
        raise ParameterError(
            f"blocks is an array of labels, but column {by!r} makes {len(groups)} groups; expected the name of a "
            "column. Put the labels into the table."
        )
    # Enough for one pair to differ after the adjustment.
    n_pairs = len(groups) * (len(groups) - 1) // 2
    of_pairs = max(PERMUTATIONS, ceil(n_pairs / LEVEL)) if n_permutations is None else n_permutations
    n_permutations = PERMUTATIONS if n_permutations is None else n_permutations
    inputs.check_count("n_permutations", n_permutations, 0)
    seed = int(inputs.as_rng(random_state).integers(2**63))
    for_reader, rng = np.random.default_rng(seed).spawn(2)
    reader = inputs.copy_seeded(estimator, inputs.default_estimator(), for_reader)
    if blocks is not None:
        groups = {name: table.with_index([blocks]) for name, table in groups.items()}
    numbers, tables = (None, groups) if blocks is None else number_blocks(blocks, groups)
    samples = inputs.read_samples(reader, tables, columns)
    test = _run_test(samples, numbers, n_permutations, rng) if n_permutations else None
    options: dict[str, Any] = dict(columns)
    if samples.encoding is not None and not reader.has_sources:
        # Columns have the same kinds in all comparisons.
        options = {name: value for name, value in columns.items() if name == "keep"} | {"encoding": samples.encoding}

    def compare(first: RawTable, second: RawTable, n_permutations: int = of_pairs) -> Any:
        state = random_state if isinstance(random_state, int) else seed
        with warnings.catch_warnings():
            # All warnings about these rows were given before.
            warnings.simplefilter("ignore")
            return compare_datasets(
                first,
                second,
                estimator=estimator,
                n_permutations=n_permutations,
                blocks=blocks,
                random_state=state,
                progress=False,
                **options,
            )

    names = list(groups)
    with progress_bar(len(names) + n_pairs, "comparisons", progress) as report:
        of_groups = []
        for place, (name, table) in enumerate(groups.items()):
            found = _compare_two(compare, groups, name, None, n_permutations=0)
            p_value = None if test is None else float(test.sample_p_values[place])
            of_groups.append(GroupDifference(name, table.n_rows, *_sizes(found), p_value))
            report(place + 1, None)
        pairs = []
        for place, (first, second) in enumerate(combinations(names, 2)):
            found = _compare_two(compare, groups, first, second)
            has_few_rows = found.is_enumerated and n_pairs * (found.smallest_p_value or 0) > LEVEL
            pairs.append(PairDifference(first, second, *_sizes(found), found.p_value, None, has_few_rows))
            report(len(names) + place + 1, None)
    if test is not None:
        adjusted = adjust_by_holm(np.array([pair.p_value for pair in pairs])).tolist()
        pairs = [pair._replace(adjusted_p_value=p) for pair, p in zip(pairs, adjusted, strict=True)]
    pairs.sort(key=lambda pair: (pair.adjusted_p_value or 0, -(pair.divergence or 0)))
    return GroupComparisonResult(
        by=by,
        groups=of_groups,
        pairs=pairs,
        p_value=None if test is None else test.p_value,
        statistic=None if test is None else test.statistic,
        null_distribution=np.empty(0) if test is None else test.null_distribution,
        samples=samples,
        settings=settings,
        _test=test,
        _tables=groups,
        _compare=compare,
    )


def _compare_two(
    compare: Callable[..., Any],
    tables: Mapping[str, RawTable],
    first: str,
    second: str | None,
    **options: Any,
) -> Any:
    if second is not None:
        return compare(tables[first], tables[second], **options)
    rest = join_tables([table for name, table in tables.items() if name != first])
    return compare(tables[first], replace(rest, name=REST), **options)


def _sizes(found: Any) -> tuple[float | None, float | None]:
    """Return the divergence and its lower limit; None if no rows could be held out."""
    return (found.divergence, found.at_least) if found.is_held_out else (None, None)


def _run_test(
    samples: inputs.Samples, blocks: Any, n_permutations: int, rng: np.random.Generator
) -> SeveralSamplesTest:
    """Run `several_samples_test`; warn if its result may be misleading or cannot be significant."""
    rows = np.concatenate([table.numbers for table in samples.tables], dtype=np.float64)
    sizes = [table.n_rows for table in samples.tables]
    labels, order = np.repeat(np.arange(len(sizes)), sizes), row_order(rows)
    check_squares(rows)
    warn_of_codes(samples)
    columns = [place for _, place in samples.columns.values()]
    if blocks is None:
        largest = int(np.argmax(sizes))
        warn_of_copies(rows, labels == largest, columns, order, (samples.tables[largest].name, REST))
    test = several_samples_test(
        rows,
        labels,
        columns,
        n_permutations,
        rng,
        blocks=blocks,
        **samples.test_options,
        order=order,
    )
    if test.smallest_p_value > max(LEVEL, 1 / (1 + n_permutations)):
        warn_of_few(test.smallest_p_value, samples, blocks)
    return test
