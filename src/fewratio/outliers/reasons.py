"""Describe the cells of a batch to check."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewratio.core.shapes import Floats
from fewratio.data.column_kinds import CATEGORY, TIME, VECTOR
from fewratio.data.columns import Column
from fewratio.data.non_overlapping import Levels
from fewratio.data.spelling import find_misprints
from fewratio.outliers.outlier_score import Units
from fewratio.outliers.strange_cells import StrangeCells, rate_gaps, rate_new_categories

# A cell of a flagged row is a reason if it is this many deviations outside all normals, and farther than any normal is
# outside the others.
_STRANGE = 2.0
# A cell of an unflagged row is listed in at most this share of batches without errors.
_LEVEL = 0.1


class CellReason(NamedTuple):
    """A cell to check, and why.

    Attributes
    ----------
    row : int
        The number of the row in the batch.
    column : str or int
    value : float or str
        The value; empty if it is missing.
    kind : {"outside", "relation", "category"}
        Outside the range of all normals, far from what the other columns predict, or a category that no normal has
        (including a missing one).
    deviations : float
        How far the value is outside the range of the normals, in standard deviations of the column over normals and
        batch (with outliers clipped). For a relation, this refers to the part of the column that the other columns do
        not predict. For a category, how rare it is, in standard deviations of zeros and ones.
    text : str
        The reason in words.
    """

    row: int
    column: str | int
    value: float | str
    kind: str
    deviations: float
    text: str


def find_errors(
    normals: Floats,
    rows: Floats,
    columns: Mapping[Any, tuple[Column, slice]],
    levels: Mapping[Any, Levels],
    is_outlier: NDArray[np.bool_],
) -> list[CellReason]:
    """List the cells of a batch that are unlike those of all normals, the strangest first.

    A cell of an unflagged row is listed if its p-value, adjusted for the number of columns, is at most 0.1
    (`rate_gaps`): a batch without errors contains one in one case out of ten. If all values of a column are positive,
    their logarithms are checked too.

    Parameters
    ----------
    normals, rows : ndarray of shape (n, d)
        The encoded normals and the encoded batch.
    columns : mapping
        The encoding of each column, and the slice of its features.
    levels : mapping
        For each categorical column, the categories of normals and batch.
    is_outlier : ndarray of bool
        Which rows of the batch are flagged.
    """
    found = _new_categories(len(normals), levels, is_outlier)
    known = {reason.row for reason in found}
    # It is not known what a new category predicts for other columns.
    odd = _odd_numbers(normals, rows, columns, is_outlier)
    found += [reason for reason in odd if reason.kind == "outside" or reason.row not in known]
    return sorted(found, key=lambda reason: -reason.deviations)


def _new_categories(n_normals: int, levels: Mapping[Any, Levels], is_outlier: NDArray[np.bool_]) -> list[CellReason]:
    found = []
    for label, (codes, texts) in levels.items():
        rated = rate_new_categories([codes], n_normals)[n_normals:, 0]
        seen = [texts[code] for code in np.unique(codes[:n_normals]) if code >= 0]
        # The share of normals whose category is unique estimates how often a new row has a new category.
        share = (1 + (np.unique(codes[:n_normals], return_counts=True)[1] == 1).sum()) / (n_normals + 1)
        is_rare = share * len(is_outlier) * len(levels) <= _LEVEL
        new = sorted({*np.unique(codes[n_normals:]).tolist()} - {*np.unique(codes[:n_normals]).tolist()} - {-1})
        misprints = find_misprints([texts[code] for code in new], seen)
        for row in np.flatnonzero(rated > 0).tolist():
            code = codes[n_normals + row]
            text = texts[code] if code >= 0 else ""
            meant = misprints.get(text)
            if meant or (rated[row] > _STRANGE and (is_rare or is_outlier[row])):
                question = f" (did you mean {meant}?)" if meant else ""
                words = f"{_call(label)} {text} was never seen{question}"
                if code < 0:
                    words = f"{_call(label).removesuffix(':')} is missing; all normal rows have it"
                found.append(CellReason(row, label, text, "category", float(rated[row]), words))
    return found


def _odd_numbers(
    normals: Floats, rows: Floats, columns: Mapping[Any, tuple[Column, slice]], is_outlier: NDArray[np.bool_]
) -> list[CellReason]:
    pooled, n = np.concatenate([normals, np.asarray(rows)]).astype(np.float64), len(normals)
    units = Units(pooled)
    scaled = units(pooled)
    cells = StrangeCells(scaled, n, np.lexsort(scaled.T) if scaled.shape[1] else np.arange(len(pooled)))
    outside, of_normals = cells(scaled[n:]), cells(scaled[:n], are_normals=True)
    places = np.flatnonzero(units.varies)
    p_values = cells.p_values(scaled, n)
    # A thousandth of a positive value is near the other values, but its logarithm is not.
    positive = np.flatnonzero((pooled[:, places] > 0).all(0))
    for k in positive.tolist():
        logs = np.log(pooled[:, places[k]])
        p_values[:, k] = np.minimum(p_values[:, k], rate_gaps(logs[:n], logs[n:]))
    is_gross = (outside > _STRANGE) & (outside > of_normals.max(0, initial=0)) & is_outlier[: len(rows), None]
    is_gross |= p_values * (outside.shape[1] + len(positive)) <= _LEVEL
    labels = {
        place.start: (label, column)
        for label, (column, place) in columns.items()
        if column.kind not in (CATEGORY, TIME, VECTOR)
    }
    owner = {feature: label for label, (_, place) in columns.items() for feature in range(place.start, place.stop)}
    found = []
    for row in np.flatnonzero(is_gross.any(1)).tolist():
        by_itself = [k for k in np.flatnonzero(is_gross[row, : len(places)]).tolist() if places[k] in labels]
        for k in by_itself:
            label, column = labels[places[k]]
            value, of_column = float(rows[row, places[k]]), normals[:, places[k]]
            low, high = of_column.min(), of_column.max()
            side = "below" if value < low else "above"
            known = f"all normal rows ({f'{column.write(low)} to ' if low < high else ''}{column.write(high)})"
            words = f"{_call(label)} {column.write(value)} is far {side} {known}"
            found.append(CellReason(row, label, value, "outside", float(outside[row, k]), words))
        given_others = [k for k in range(outside.shape[1] - len(places)) if places[k] in labels]
        if by_itself or not given_others:
            continue
        k = given_others[int(outside[row, [len(places) + each for each in given_others]].argmax())]
        if is_gross[row, len(places) + k]:
            label, column = labels[places[k]]
            side = "above" if scaled[n + row] @ cells.weights[:, k] > 0 else "below"
            others = np.where(np.arange(len(places)) == k, 0, np.abs(cells.weights[:, k]))
            other, value = owner[int(places[others.argmax()])], float(rows[row, places[k]])
            predicted = f"what {_call(other).removesuffix(':')} and other columns predict"
            words = f"{_call(label)} {column.write(value)} is far {side} {predicted}"
            found.append(CellReason(row, label, value, "relation", float(outside[row, len(places) + k]), words))
    return found


def _call(label: str | int) -> str:
    return f"column {label}:" if isinstance(label, int) else label
