"""Two tables that name the same things, such as patients before and after: which column does so, which rows match."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from fewratio.core.shapes import Numbers
from fewratio.core.wording import quote_list, write_count
from fewratio.data.column_kinds import CATEGORY, DATE, NUMBER, TEXT, ColumnValues, find_zone, read_days
from fewratio.data.columns import COUNT_NAME, ID_NAME, INDEX_NAME
from fewratio.data.raw_table import RawTable, align_labels, as_raw
from fewratio.errors import InputError, ParameterError, name_parameter

# Fewer names may agree by chance, as categories do; and at least this share of the rows of the smaller table.
_LEAST_NAMES, _LEAST_SHARE = 8, 0.5


class SharedNames(NamedTuple):
    """A column that names the rows of two tables, and how many names both have."""

    column: str
    n_shared: int


def find_shared_names(first: RawTable, second: RawTable) -> SharedNames | None:
    """Find a column that names the same things in two tables: each value once in either, and most values in both."""
    found = []
    for label in dict.fromkeys([*first.labels, first.index_name]) if first.is_named and second.is_named else ():
        if label is None or any(label not in (*table.labels, table.index_name) for table in (first, second)):
            continue
        values = _unify_dates([table.row_labels(label) for table in (first, second)])
        names = [_read_names(label, each) for each in values]
        n_shared = len(names[0] & names[1])
        if n_shared >= max(_LEAST_NAMES, _LEAST_SHARE * min(map(len, names))):
            found.append(SharedNames(label, n_shared))
    return max(found, key=lambda each: each.n_shared, default=None)


def _read_names(label: str, values: ColumnValues) -> set[str]:
    """Return the values of a column if they name the rows of a table, else none."""
    if values.kind == NUMBER:
        ordered = np.sort(values.numbers)
        if not np.isfinite(ordered).all() or not (ordered == np.floor(ordered)).all():
            return set()
        if (np.diff(ordered) == 1).all():
            # They may count the rows, or be a measurement on a grid.
            counts = ordered[0] in (0, 1) and (COUNT_NAME.fullmatch(label) or INDEX_NAME.fullmatch(label))
            if counts or not ID_NAME.search(label):
                return set()
    elif values.kind not in (TEXT, CATEGORY, DATE):
        return set()
    coded = values.to_categories()
    return set(coded.texts) if len(coded.texts) == len(coded.codes) else set()


def _unify_dates(columns: list[ColumnValues]) -> list[ColumnValues]:
    """Return columns of dates, or of texts that are dates, as dates in UTC; others as they are."""
    for values in columns:
        is_text = values.kind in (TEXT, CATEGORY) and all(read_days(text) is not None for text in values.texts)
        if values.kind != DATE and not is_text:
            return columns
    return [values._replace(kind=DATE, numbers=values.to_numbers(DATE), zone=None) for values in columns]


class Pairs(NamedTuple):
    """Two tables of which each row has a partner in the other.

    Attributes
    ----------
    rows : (ndarray, ndarray) of shape (n_pairs,)
        The numbers of both rows of each pair, in the order of the first table.
    tables : dict of str to RawTable
        These rows, without the column that names them.
    n_unpaired : (int, int)
        How many rows of either table have no partner.
    """

    rows: tuple[Numbers, Numbers]
    tables: dict[str, RawTable]
    n_unpaired: tuple[int, int]


def match_rows(paired: Any, tables: Mapping[str, Any]) -> Pairs:
    """Find the pairs of rows of two tables that have the same name.

    Parameters
    ----------
    paired : str or pair of array-like
        The column of both tables that names the rows, or the names of the rows of either.
    tables : mapping of str to array-like
        The tables by their names in messages.
    """
    raws, labels = read_labels("paired", paired, tables)
    first, second = (_number_names(each, name) for each, name in zip(labels, raws, strict=True))
    shared = [name for name in first if name in second]
    if not shared:
        names = [f"{quote_list(each, 2)} in {name}" for each, name in zip((first, second), raws, strict=True)]
        raise InputError(
            f"the tables have no name in common ({' and '.join(names)}); a pair is a row of each table with the same "
            f"name. Pass another column to {name_parameter('paired', '')}, or compare without it."
        )
    rows = np.array([first[name] for name in shared]), np.array([second[name] for name in shared])
    index = np.array(shared, dtype=object)
    matched = {name: raw.take(rows[place], index) for place, (name, raw) in enumerate(raws.items())}
    return Pairs(rows, matched, (len(first) - len(shared), len(second) - len(shared)))


def _number_names(labels: Any, table: str) -> dict[str, int]:
    """Return the row of each name; raise if a name occurs twice."""
    rows: dict[str, int] = {}
    for row, label in enumerate(map(str, labels)):
        if label in rows:
            raise InputError(
                f"rows {rows[label]} and {row} of {table} (counting from 0) have the name {label!r}; a pair is one row "
                f"of each table. Drop one of them, or use {name_parameter('blocks', '')} for several rows of a name."
            )
        rows[label] = row
    return rows


def read_labels(argument: str, given: Any, tables: Mapping[str, Any]) -> tuple[dict[str, RawTable], list[Any]]:
    """Return two tables without a column of labels, if one is named, and the label of each row.

    Parameters
    ----------
    argument : str
        The parameter, for messages.
    given : str or pair of array-like
        A column of both tables, or the name of their index, or the labels of the rows of either. Dates are the same in
        any form.
    tables : mapping of str to array-like
    """
    raws = {name: as_raw(table, name) for name, table in tables.items()}
    if isinstance(given, str):
        columns = [raw.row_labels(given) for raw in raws.values()]
        unified = _unify_dates(columns)
        if unified[0].kind == DATE:
            find_zone([values.as_read() for values in columns])
        coded = [values.to_categories() for values in unified]
        labels = [np.array([*each.texts, None], dtype=object)[each.codes] for each in coded]
        raws = {name: raw.drop([given]) if given in raw.places else raw for name, raw in raws.items()}
    else:
        pair = given if isinstance(given, tuple | list) and len(given) == len(raws) else [()] * len(raws)
        labels = [
            np.asarray(align_labels(each, table, f"{argument} of {name}", name), dtype=object)
            for each, (name, table) in zip(pair, tables.items(), strict=True)
        ]
        if [each.shape for each in labels] != [(raw.n_rows,) for raw in raws.values()]:
            needed = " and ".join(write_count(raw.n_rows, "label") for raw in raws.values())
            raise ParameterError(
                f"{name_parameter(argument)} does not fit the tables; expected a column of both, or a pair of "
                f"{needed}. Pass one of them."
            )
    for each, name in zip(labels, raws, strict=True):
        missing = [row for row, label in enumerate(each) if label is None or label != label]
        if missing:
            raise InputError(
                f"row {missing[0]} of {name} (counting from 0) has no label for {name_parameter(argument)}; every row "
                "needs one. Drop those rows or give them a label."
            )
    return raws, labels
