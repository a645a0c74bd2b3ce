"""Batches of a stream as features: what comes otherwise than the reference is missing, new or left out, and said so."""

import warnings
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewratio.core.shapes import Floats
from fewratio.core.wording import quote_list
from fewratio.data.column_kinds import BOOLEAN, CATEGORY, MISSING, NUMBER, TIME, ColumnValues
from fewratio.data.encoding import Encoding
from fewratio.data.raw_table import RawTable, check_features
from fewratio.errors import FewRatioWarning, InputError

# A category has a feature of its own if it has two rows of the part of the reference that is learned from, and 1 %.
_LEAST_ROWS, _LEAST_SHARE = 2, 0.01


class Feature(NamedTuple):
    """What a feature says of a column.

    Attributes
    ----------
    column : str
    kind : {"value", "category", "missing"}
    text : str
        What is more or less often so, if it is not a value.
    missing : int
        The feature that says where the column is missing.
    """

    column: str
    kind: str
    text: str
    missing: int


def complete(encoding: Encoding, raw: RawTable, learned_from: NDArray[np.intp], has_sources: bool) -> Encoding:
    """Let every column have a feature for missing values, and those of categories one for all that are not known.

    Parameters
    ----------
    encoding : Encoding
        What is decided about the columns.
    raw : RawTable
        The reference.
    learned_from : ndarray of int
        Its rows that say which categories there are. (If all said so, no row of the reference could have another one.)
    has_sources : bool
        Whether the categories are those of a model.
    """
    columns = []
    for column in encoding.columns:
        if column.left_out is None and column.kind == CATEGORY:
            categories = column.categories
            if not has_sources:
                values = raw.values(column.name).to_categories()
                codes = values.codes[learned_from]
                counts = np.bincount(codes[codes >= 0], minlength=len(values.texts))
                often = counts >= max(_LEAST_ROWS, _LEAST_SHARE * len(codes))
                categories = tuple(sorted(values.texts[place] for place in np.flatnonzero(often).tolist()))
            column = replace(column, categories=categories, pools_others=True, marks_missing=True)
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
            found = [("category", each) for each in (*column.categories, "new or rare categories")]
        elif column.kind == BOOLEAN:
            found = [("category", "true")]
        else:
            found = [("value", "")] * (2 if column.kind == TIME else 1)
        features += [Feature(column.name, *each, missing) for each in (*found, ("missing", "missing"))]
    return features


def read_features(encoding: Encoding, raw: RawTable) -> Floats:
    """Encode a batch. A column that is not there, or holds what it cannot hold, is missing in all rows."""
    if not raw.is_named or not encoding.is_named:
        check_features(raw.name, len(raw.labels), "the reference", len(encoding.columns))
        raw = raw.name_by_position([column.name for column in encoding.columns])
    known = {column.name for column in encoding.columns}
    if new := [label for label in raw.labels if label not in known]:
        _warn(f"{raw.name} has columns that the reference has not ({quote_list(new)}): they are left out.")
    result = np.zeros((raw.n_rows, encoding.n_features))
    columns = encoding.used
    if raw.array is not None and not np.isinf(raw.array).any():
        # All numbers at once, which is what single rows need.
        numeric = [column for column in columns if column.kind == NUMBER and column.name in raw.places]
        columns = tuple(column for column in columns if column.kind != NUMBER or column.name not in raw.places)
        values = raw.array[:, [raw.places[column.name] for column in numeric]]
        missing, ends = np.isnan(values), [encoding.places[column.name].stop for column in numeric]
        result[:, np.subtract(ends, 2)] = np.where(missing, [column.median for column in numeric], values)
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
            _warn(f"{error} It counts as missing in all rows.")
            place[:] = 0
            column.encode(nothing, place)
    return result


def find_units(raw: RawTable, groups: str | None) -> NDArray[np.intp] | None:
    """Give the number of each row's group, in the order in which they first appear; None if rows are not grouped."""
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
    """Give the means of whole groups of rows, or the rows themselves."""
    if units is None:
        return rows
    means = np.zeros((units.max() + 1, rows.shape[1]))
    np.add.at(means, units, rows)
    return means / np.bincount(units)[:, None]


def _warn(message: str) -> None:
    warnings.warn(FewRatioWarning(message), stacklevel=4)
