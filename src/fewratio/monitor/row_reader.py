"""Encode batches of a stream; values that do not match the reference are missing, new or left out, with a warning."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewratio.core.shapes import Floats
from fewratio.core.wording import quote_list
from fewratio.data.column_kinds import BOOLEAN, CATEGORY, MISSING, NUMBER, VECTOR, ColumnValues
from fewratio.data.encoding import Encoding
from fewratio.data.raw_table import RawTable, check_features
from fewratio.errors import InputError, warn

# A category has a separate feature if it has at least this many rows, and this share, in the rows learned from.
_LEAST_ROWS, _LEAST_SHARE = 2, 0.01


class Feature(NamedTuple):
    """A feature, and the column it describes.

    Attributes
    ----------
    column : str
    kind : {"value", "category", "new", "missing"}
    text : str
        The value that may become more or less frequent, unless the feature is a number.
    missing : int
        The number of the feature that marks missing values of the column.
    """

    column: str
    kind: str
    text: str
    missing: int


def complete(encoding: Encoding, raw: RawTable, learned_from: NDArray[np.intp], has_sources: bool) -> Encoding:
    """Add a feature for missing values to every column, and one for unknown categories to every categorical column.

    Parameters
    ----------
    encoding : Encoding
        The encoding of the columns.
    raw : RawTable
        The reference.
    learned_from : ndarray of int
        The rows that define the categories (with all rows, no row of the reference could have an unknown category).
    has_sources : bool
        Whether a model defines the categories.
    """
    columns = []
    if not has_sources:
        encoding = encoding.learn_directions([raw.take(learned_from)])
    for column in encoding.columns:
        if column.left_out is None and column.kind == CATEGORY:
            categories = column.categories
            if not has_sources:
                values = raw.values(column.name).to_levels()
                codes = values.codes[learned_from]
                counts = np.bincount(codes[codes >= 0], minlength=len(values.texts))
                often = counts >= max(_LEAST_ROWS, _LEAST_SHARE * len(codes))
                categories = tuple(sorted(values.texts[place] for place in np.flatnonzero(often).tolist()))
            column = replace(column, categories=categories, pools_others=True, marks_missing=True)
        elif column.kind == VECTOR:
            column = replace(column, marks_missing=True)
        elif column.left_out is None:
            median = column.median
            if not has_sources or median is None:
                present = raw.values(column.name).to_numbers(column.kind)[learned_from]
                present = present[~np.isnan(present)]
                median = float(np.median(present)) if len(present) else 0.0
            column = replace(column, median=median, marks_missing=True)
        columns.append(column)
    return replace(encoding, columns=tuple(columns))


def list_features(encoding: Encoding) -> list[Feature]:
    """List the features of an encoding."""
    features: list[Feature] = []
    for column in encoding.used:
        missing = encoding.places[column.name].stop - 1
        if column.kind == CATEGORY:
            found = [*(("category", each) for each in column.categories), ("new", "new or rare categories")]
        elif column.kind == BOOLEAN:
            found = [("category", "true")]
        else:
            # For free text and vectors, the number of the direction.
            found = [(what, text if column.directions else "") for what, text in column.features[:-1]]
        features += [Feature(column.name, *each, missing) for each in (*found, ("missing", "missing"))]
    return features


def match_columns(encoding: Encoding, raw: RawTable) -> RawTable:
    """Name the columns of a batch like those of the reference, and warn of new ones."""
    if not raw.is_named or not encoding.is_named:
        check_features(raw.name, len(raw.labels), "the reference", len(encoding.columns))
        raw = raw.name_by_position([column.name for column in encoding.columns])
    known = dict.fromkeys(column.name for column in encoding.columns)
    if not known.keys() & set(raw.labels):
        raise InputError(
            f"{raw.name} has none of the reference's columns: it has {quote_list(raw.labels, 5)}; expected "
            f"{quote_list(list(known), 5)}. Check that it is the right table."
        )
    if new := [label for label in raw.labels if label not in known]:
        columns = "a column" if len(new) == 1 else "columns"
        _warn(f"{raw.name} has {columns} that the reference does not have ({quote_list(new)}): left out.")
    return raw


def read_features(encoding: Encoding, raw: RawTable) -> Floats:
    """Encode a batch. Values of the wrong kind, and absent columns, count as missing."""
    result = np.zeros((raw.n_rows, encoding.n_features))
    columns = encoding.used
    if raw.array is not None and not np.isinf(raw.array).any():
        # Read all columns of numbers at once, which is fast for single rows.
        numeric = [column for column in columns if column.kind == NUMBER and column.name in raw.places]
        columns = tuple(column for column in columns if column.kind != NUMBER or column.name not in raw.places)
        medians: list[Any] = [column.median for column in numeric]
        values = raw.array[:, [raw.places[column.name] for column in numeric]]
        missing, ends = np.isnan(values), [encoding.places[column.name].stop for column in numeric]
        result[:, np.subtract(ends, 2)] = np.where(missing, medians, values)
        result[:, np.subtract(ends, 1)] = missing
    for column in columns:
        place = result[:, encoding.places[column.name]]
        nothing = ColumnValues(raw.name, column.name, MISSING, np.full(raw.n_rows, np.nan))
        if column.name not in raw.places:
            _warn(f"{raw.name} has no column {column.name!r}: it counts as missing in all rows.")
            column.encode(nothing, place)
            continue
        try:
            column.encode(raw.values(column.name), place)
        except InputError as error:
            # Keep the other cells of the column, so that a batch gives the same as its rows one by one.
            kept = raw.values(column.name).keep_readable(column.kind)
            what = "The column counts as missing in all rows" if kept.kind == MISSING else "Such cells count as missing"
            _warn(f"{error} {what}.")
            place[:] = 0
            column.encode(kept, place)
    return result


def find_units(raw: RawTable, groups: str | None) -> NDArray[np.intp] | None:
    """Return the group number of each row, in order of first appearance; None if rows are not grouped."""
    if groups is None:
        return None
    raw.check_has([groups])
    codes = raw.values(groups).to_categories().codes
    if (codes < 0).any():
        found = f"{raw.name} has rows without a group in column {groups!r}"
        raise InputError(f"{found}; every row must belong to one. Fill them in, or drop those rows.")
    _, first, places = np.unique(codes, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[places]


def average(rows: Floats, units: NDArray[np.intp] | None) -> Floats:
    """Return the means of groups of rows, or the rows themselves."""
    if units is None:
        return rows
    means = np.zeros((units.max() + 1, rows.shape[1]))
    np.add.at(means, units, rows)
    return means / np.bincount(units)[:, None]


def _warn(message: str) -> None:
    warn(message)
