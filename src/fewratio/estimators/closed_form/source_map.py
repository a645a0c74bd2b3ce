"""The map that sites share before they summarise their datasets: columns, ranges, units and features, but no rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from operator import index
from typing import Any, ClassVar, Unpack

import numpy as np

from fewratio.core.arguments import as_floats, as_rng, show_value
from fewratio.core.container import Arrays, Fields, Stored, check_arrays
from fewratio.core.shapes import Floats
from fewratio.core.units import ColumnScaling, column_scaling
from fewratio.core.wording import write_count, write_list
from fewratio.data.column_kinds import DATE, DURATION, NUMBER
from fewratio.data.columns import ColumnOptions, ColumnRules
from fewratio.data.encoding import Encoding, encode_together
from fewratio.data.non_overlapping import leave_out_dates
from fewratio.data.raw_table import as_raw
from fewratio.data.table import Table, as_table
from fewratio.errors import InputError, ParameterError, name_parameter, warn
from fewratio.estimators.closed_form.feature_map import FeatureMap
from fewratio.estimators.closed_form.privacy import private_summary
from fewratio.estimators.closed_form.summary import TWO_ROWS, Summary
from fewratio.estimators.source_columns import SourceColumns

# A column without a range has the range of the example, extended by this share of its length on either side.
_MARGIN = 0.5
_MAP = "the map"


@dataclass(frozen=True, eq=False)
class SourceMap(Stored):
    """The settings that all sites must share so that their summaries can be added.

    A map is made from one example table. It contains the names and kinds of columns, their ranges and units, and the
    seed of the features, but no rows. It also contains means, deviations, medians, categories and, unless you pass
    ranges, extremes of the columns of the example, so use public or made-up rows.

    Attributes
    ----------
    features : FeatureMap
        The map from rows to features.

    See Also
    --------
    DiscriminantRatioEstimator : Learns from the summaries.

    Examples
    --------
    >>> from fewratio import DiscriminantRatioEstimator
    >>> from fewratio.estimators import SourceMap
    >>> from fewratio.data.sources.gaussian import gaussian_family
    >>> datasets = [dataset.X for dataset in gaussian_family(20, n_instances=50, random_state=0).collection]
    >>> source_map = SourceMap.from_table([[-3.0], [0.0], [3.0]], ranges={0: (-9, 9)}, n_components=0)
    >>> summaries = [source_map.summarise(X) for X in datasets]
    >>> sum(summaries).n_rows
    1000
    >>> estimator = DiscriminantRatioEstimator().pretrain(summaries)
    """

    _kind = "map"
    _fields: ClassVar[Fields] = {"map": (dict,)}

    features: FeatureMap

    @classmethod
    def from_table(
        cls,
        example: Any,
        ranges: Mapping[Any, tuple[float, float]] | None = None,
        *,
        n_components: int = 512,
        width: float = 0.8,
        scale: str = "columns",
        random_state: int = 0,
        **options: Unpack[ColumnOptions],
    ) -> "SourceMap":
        """Make a map from an example of the tables to come.

        Parameters
        ----------
        example : array-like of shape (n, n_columns)
            A table with the same columns, of at least two rows.
        ranges : mapping of column to (low, high), optional
            Lowest and highest values of columns of numbers, at which values are clipped. By default the range of the
            example (of all columns together if ``scale`` is "none"), extended by half its length on either side.
        n_components : int
            Number of random features; 0 for the columns themselves.
        width : float
            Width of the kernel that the random features approximate, in units of the root mean square distance of the
            rows of the example.
        scale : {"columns", "none"}
            Whether columns are divided by their standard deviations in the example.
        random_state : int
            Seed of the random features.
        **options
            Column options; see `fewratio.ColumnOptions`.
        """
        if not isinstance(scale, str) or scale not in ("columns", "none"):
            found = f"{name_parameter('scale')} is {scale!r}"
            raise ParameterError(f"{found}; it must be 'columns' or 'none'. Choose one of them.")
        rules = ColumnRules.of(options)
        encoding, (table,) = encode_together({"example": example}, rules)
        if encoding is not None and rules.encoding is None:
            encoding, (table,) = leave_out_dates(encoding, [table], rules.keep, all_dates=True)
        rows = np.asarray(table.numbers, dtype=np.float64)
        if len(rows) < 2:
            raise InputError("example has one row, which says nothing of units; at least two are needed. Add some.")
        if ranges is not None and not isinstance(ranges, Mapping):
            found = f"ranges is {show_value(ranges)}"
            raise ParameterError(f"{found}; expected pairs of numbers by column. Pass a dict.")
        bounds = _bounds(rows, encoding, ranges or {}, in_one_unit=scale == "none")
        rows = rows.clip(*bounds)
        mean, unit = column_scaling([rows])
        scaling = ColumnScaling(mean, unit if scale == "columns" else np.ones_like(unit))
        distance = float(np.sqrt(2 * scaling(rows).var(0).sum())) or 1.0
        columns = SourceColumns(rows.shape[1], table.feature_names, encoding)
        try:
            numbers = index(n_components), float(width) * distance, index(random_state)
            return cls(FeatureMap.from_dict(FeatureMap(scaling, *numbers, bounds, columns).to_dict()))
        except (TypeError, ValueError, OverflowError, MemoryError) as error:
            raise ParameterError(f"No map can be made with these arguments ({error}). Change them.") from error

    def summarise(
        self,
        table: Any,
        epsilon: float | None = None,
        delta: float = 1e-5,
        random_state: int | np.random.Generator | None = None,
    ) -> Summary:
        """Summarise one dataset; summaries of several datasets can be added.

        Parameters
        ----------
        table : array-like of shape (n, n_columns)
            All rows of the dataset, with the columns of the map.
        epsilon, delta : float, optional
            Privacy parameters. If passed, noise is added to make the summary differentially private, which needs
            thousands of rows. Each further summary of the same rows uses the same privacy budget again.
        random_state : int or Generator, optional
            Seed of the noise, for tests only: noise with a known seed hides nothing.
        """
        columns = self.features.columns
        assert columns is not None
        assert self.features.ranges is not None
        encoded = self._encode(table, columns)
        rows = np.asarray(encoded.numbers, dtype=np.float64)
        if len(rows) < 2:
            raise InputError(f"{encoded.name} has one row, and its summary would be that row itself; {TWO_ROWS}")
        low, high = self.features.ranges
        outside = ((rows < low) | (rows > high)).sum(0)
        if outside.any():
            names = columns.names or tuple(map(str, range(columns.n_features)))
            where = write_list(f"{names[place]}: {outside[place]}" for place in np.flatnonzero(outside))
            warn(
                f"{write_count(int(outside.sum()), 'value')} outside the map's ranges ({where}): the nearest value "
                "within is taken instead. Make a map with wider ranges if these are no mistakes."
            )
        if epsilon is None:
            return Summary.of_many([rows], self.features)
        return private_summary(rows, self.features, epsilon, delta, as_rng(random_state))

    def _payload(self) -> tuple[Arrays, dict[str, Any]]:
        return {}, {"map": self.features.to_dict()}

    @classmethod
    def _of_payload(cls, arrays: Arrays, header: dict[str, Any], **changes: Any) -> "SourceMap":
        features = FeatureMap.from_dict(header["map"])
        check_arrays(arrays, {})
        if features.columns is None or features.ranges is None:
            raise ValueError("its columns or ranges are missing")
        return cls(features)

    def _encode(self, table: Any, columns: SourceColumns) -> Table:
        if columns.encoding is not None:
            return columns.encoding.encode(table, "table", _MAP, is_lenient=True)
        encoded = table if isinstance(table, Table) else as_table(as_raw(table, "table"))
        encoded.check_features(columns.names or columns.n_features, _MAP)
        return encoded


def _bounds(
    rows: Floats, encoding: Encoding | None, ranges: Mapping[Any, tuple[float, float]], in_one_unit: bool
) -> Floats:
    """Return lowest and highest values of encoded columns: those that are given, or wider ones than the rows have."""
    low, high = rows.min(0), rows.max(0)
    if in_one_unit:
        low, high = np.full_like(low, low.min()), np.full_like(high, high.max())
    margin = _MARGIN * (high - low)
    # An example in which a column is constant says nothing of its range.
    bounds = np.where(high > low, [low - margin, high + margin], [[-np.inf], [np.inf]])
    if encoding is None:
        places: dict[Any, int] = {number: number for number in range(rows.shape[1])}
    else:
        numbers = [column.name for column in encoding.used if column.kind in (NUMBER, DATE, DURATION)]
        places = {name: encoding.places[name].start for name in numbers}
    for column, given in ranges.items():
        if column not in places:
            raise ParameterError(
                f"ranges names {column!r}, but the columns of numbers that are used are "
                f"{write_list(map(str, places))}. Name one of them."
            )
        pair = as_floats(f"The range of {column!r}", given, "are two numbers, the lower one first")
        if pair.shape != (2,) or not pair[0] < pair[1]:
            raise ParameterError(f"The range of {column!r} is {given!r}; expected two numbers, the lower one first.")
        bounds[:, places[column]] = pair
    return bounds
