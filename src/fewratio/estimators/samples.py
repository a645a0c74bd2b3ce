"""Validate the arguments of tasks: numbers, tables, and the estimator, which is copied and seeded."""

from collections.abc import Collection, Mapping, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewratio.core.arguments import as_rng as as_rng
from fewratio.core.arguments import check_count as check_count
from fewratio.core.arguments import check_number as check_number
from fewratio.core.arguments import check_switch as check_switch
from fewratio.core.draws import set_seed
from fewratio.core.shapes import Floats
from fewratio.core.units import ColumnScaling
from fewratio.core.wording import quote_list
from fewratio.data.column_kinds import CATEGORY, FREE
from fewratio.data.columns import DROPPED, Column, ColumnOptions, ColumnRules
from fewratio.data.encoding import Encoding, align_names
from fewratio.data.free_text import Terms, find_terms
from fewratio.data.non_overlapping import (
    Levels,
    NonOverlapping,
    decode_levels,
    find_non_overlapping,
    leave_out_columns,
    leave_out_dates,
    pool_levels,
)
from fewratio.data.raw_table import RawTable, as_raw, open_files
from fewratio.data.table import Table
from fewratio.errors import CollectionError, ParameterError, name_parameter
from fewratio.estimators.base import RatioEstimator
from fewratio.estimators.kernel.least_squares import RuLSIF


def default_estimator() -> RatioEstimator:
    """Return the default estimator of `compare_all`, `DatasetIndex` and windows of changes.

    With the universal network, tests would be slower and have hardly more power
    (docs/decisions/0008-default-without-sources.md).
    """
    return RuLSIF(scale="columns")


def check_compares(estimator: RatioEstimator) -> None:
    """Refuse an estimator that has learned to find outliers, and nothing about how datasets differ."""
    if estimator.only_finds_outliers:
        raise ParameterError(
            f"{name_parameter('estimator')} has learned from marked outliers; it finds outliers, but cannot compare "
            "datasets. Use it for outliers, or learn one from pairs (in a shell --episodes pairs)."
        )


def copy_seeded(estimator: Any, default: RatioEstimator, rng: np.random.Generator) -> RatioEstimator:
    """Copy the user's estimator, or the default if it is None, and seed its parts that have no fixed seed.

    scikit-learn's clone would forget what was learned from related datasets. Every random state in the copy is an
    integer, so that the same samples give the same result, however many were fitted before.

    Parameters
    ----------
    estimator : RatioEstimator or None
        The user's estimator.
    default : RatioEstimator
        The estimator to use instead of None.
    rng : numpy Generator
        Draws the seeds.
    """
    if estimator is not None and not isinstance(estimator, RatioEstimator):
        found = f"the class {estimator.__name__}" if isinstance(estimator, type) else repr(estimator)
        raise ParameterError(
            f"estimator is {found}; expected a ratio estimator. Pass an instance of one, such as RuLSIF(), or None "
            "for the default."
        )
    if estimator is not None and estimator is not default:
        check_compares(estimator)
    copied = deepcopy(default if estimator is None else estimator)
    copied._check_parameters()
    generators = {k: v for k, v in copied.get_params().items() if isinstance(v, np.random.Generator)}
    copied.set_params(**{name: int(generator.integers(2**31)) for name, generator in generators.items()})
    return set_seed(copied, rng)


def in_common_units(estimator: RatioEstimator, rows: Floats) -> RatioEstimator:
    """Return an estimator with the units of all rows, if it would scale each pair of samples separately.

    All pairs then have the same units. For pairs that consist of all rows, as in a permutation test, nothing changes.
    """
    allowed = estimator._parameter_constraints.get("scale", ())
    if ColumnScaling not in allowed or estimator.get_params()["scale"] in ("none", "auto"):
        return estimator
    return copy(estimator).set_params(scale=ColumnScaling.of([rows], "columns"))


def fit_copy(estimator: RatioEstimator, X_nu: Floats, X_de: Floats) -> RatioEstimator:
    """Fit a copy to two valid samples; the estimator itself does not change, so threads may share it."""
    fitted = copy(estimator)
    fitted._fit(X_nu, X_de)
    return fitted


def check_named(argument: str, tables: Any, known: Sequence[str], where: str) -> None:
    """Refuse anything but a mapping of new names to tables.

    Parameters
    ----------
    argument : str
        Name of the argument in messages.
    tables : object
        The user's argument.
    known : sequence of str
        Names that are already in use.
    where : str
        Where these names are used, for messages.
    """
    if not isinstance(tables, Mapping):
        found = f"{argument} is a {type(tables).__name__}"
        raise ParameterError(f"{found}; expected tables by their names. Pass a dict such as {{'name': table}}.")
    taken = sorted(set(map(str, tables)) & set(known))
    if taken:
        raise CollectionError(f"{where} has {quote_list(taken)} already; each needs a name of its own. Rename them.")


@dataclass(frozen=True, eq=False)
class Samples:
    """Tables that were read together.

    Attributes
    ----------
    encoding : Encoding or None
        The encoding of the columns; None if a model that was trained on numbers uses them unchanged.
    tables : list of Table
        The encoded tables.
    given : tuple
        The user's tables, not copied.
    """

    encoding: Encoding | None
    tables: list[Table]
    given: tuple[Any, ...] = ()

    @property
    def columns(self) -> dict[str | int, tuple[Column, slice]]:
        """The encoding of each column that is used, and the slice of its features."""
        encoding = self._encoding
        labels = encoding.names if encoding.is_named else map(int, encoding.names)
        return dict(zip(labels, zip(encoding.used, encoding.places.values(), strict=True), strict=True))

    @property
    def category_codes(self) -> dict[str | int, NDArray[np.intp]]:
        """For each categorical column, the category numbers of all rows before pooling; -1 if missing."""
        return {label: levels.codes for label, levels in self.levels.items()}

    @property
    def test_options(self) -> dict[str, Any]:
        """Arguments of tests that describe categories and free text, by the numbers of the columns."""
        codes, terms = self.category_codes, self.terms
        return {
            "levels": {n: codes[label] for n, label in enumerate(self.columns) if label in codes},
            "terms": {n: terms[label].rows for n, label in enumerate(self.columns) if label in terms},
        }

    @cached_property
    def non_overlapping(self) -> list[NonOverlapping]:
        """The columns whose values do not overlap between two tables, those that separate most rows first."""
        return find_non_overlapping(self.columns, self.tables, self.levels) if len(self.tables) == 2 else []

    def drop(self, labels: Collection[str | int]) -> "Samples":
        """Return the tables without some of their columns, or with all columns if none would be left."""
        names = [column.name for label, (column, _) in self.columns.items() if label in labels]
        return Samples(*leave_out_columns(self._encoding, self.tables, names, DROPPED), self.given)

    @property
    def _encoding(self) -> Encoding:
        table = self.tables[0]
        return self.encoding or Encoding.of_numbers(table.feature_names, table.n_features)

    @cached_property
    def levels(self) -> dict[str | int, Levels]:
        """For each categorical column, the category numbers of all rows before pooling, and the texts."""
        columns = {label: each for label, each in self.columns.items() if each[0].kind == CATEGORY}
        if not columns:
            return {}
        raws = self._raws
        return {
            label: pool_levels(column.name, raws)
            if raws and all(column.name in raw.places for raw in raws)
            else decode_levels(column, np.concatenate([table.numbers[:, place] for table in self.tables]))
            for label, (column, place) in columns.items()
        }

    @cached_property
    def terms(self) -> dict[str | int, Terms]:
        """The words and phrases of all rows in each column of free text; empty if the user's tables were encoded."""
        raws, names = self._raws, {label: each.name for label, (each, _) in self.columns.items() if each.kind == FREE}
        return {
            label: find_terms(*pool_levels(name, raws))
            for label, name in names.items()
            if raws and all(name in raw.places for raw in raws)
        }

    @property
    def _raws(self) -> list[RawTable]:
        """The tables before encoding; empty if the user's tables were encoded."""
        are_raw = len(self.given) == len(self.tables) and not any(isinstance(X, Table) for X in self.given)
        return align_names([as_raw(X) for X in self.given]) if are_raw else []


def read_samples(
    estimator: RatioEstimator, tables: Mapping[str, Any], options: ColumnOptions, uses_dates: bool = True
) -> Samples:
    """Validate tables and encode them together; dates that show which of two tables came first are left out.

    Parameters
    ----------
    estimator : RatioEstimator
        The estimator that will use the tables; one that has learned from sources encodes them like the sources.
    tables : mapping of str to array-like
        The tables by their names in messages.
    options : ColumnOptions
        The user's column options.
    uses_dates : bool
        Whether other dates are used.
    """
    rules, tables = ColumnRules.of(options), open_files(tables)
    samples = Samples(*estimator._read(tables, rules), tuple(tables.values()))
    if samples.encoding is not None and samples.encoding.window is not None:
        samples = replace(samples, given=tuple(samples.tables))
    if samples.encoding is None or estimator.has_sources:
        return samples
    return Samples(*leave_out_dates(samples.encoding, samples.tables, rules.keep, not uses_dates), samples.given)


def rng_streams(random_state: int | np.random.Generator | None, n: int) -> list[np.random.Generator]:
    """Return independent random generators."""
    seed = int(as_rng(random_state).integers(2**63))
    return np.random.default_rng(seed).spawn(n)
