"""One long table, cut into datasets by a column that names them."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewratio.core.wording import quote_list, write_count
from fewratio.data.column_kinds import NUMBER, is_number
from fewratio.data.dataset import as_flags
from fewratio.data.raw_table import RawTable, as_raw
from fewratio.errors import InputError, ParameterError, warn

_CONDITION = re.compile(r"\s*(?P<column>.+?)\s*(?P<sign><=|>=|!=|==|=|<|>)\s*(?P<value>.+?)\s*")
SIGNS: dict[str, Callable[[Any, Any], Any]] = {"==": operator.eq, "=": operator.eq, "!=": operator.ne}
SIGNS |= {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def split_by_column(raw: RawTable, by: str) -> dict[str, RawTable]:
    """Divide a table by a column; rows without a value there are left out with a warning."""
    raw = raw.with_index([by])
    raw.check_has([by])
    codes = raw.names(by).to_categories().codes
    missing = int((codes < 0).sum())
    if missing:
        warn(f"{write_count(missing, 'row')} of {raw.name} without {by!r} {'is' if missing == 1 else 'are'} left out.")
        raw = raw.take(np.flatnonzero(codes >= 0))
    features, parts, _ = cut_datasets(raw, by)
    return {name: replace(features.take(rows), name=f"{by} = {name}") for name, _, rows in parts}


def cut_datasets(
    raw: RawTable, dataset: str, group: str | None = None, outlier: str | None = None
) -> tuple[RawTable, list[tuple[str, str | None, NDArray[np.intp]]], NDArray[np.bool_] | None]:
    """Return the features of a long table, its datasets in order of first appearance, and its marks of outliers.

    A dataset is its name, its group and its rows.
    """
    roles = {"dataset": dataset, "group": group, "outlier": outlier}
    given = {role: column for role, column in roles.items() if column is not None}
    raw.check_has([dataset])
    raw.check_has(tuple(given.values()))
    for one, other in combinations(given, 2):
        if given[one] == given[other]:
            found = f"{one} and {other} name the same column {given[one]!r}"
            raise ParameterError(f"{found}; each needs a column of its own. Name another or leave one out.")
    named = raw.names(dataset).to_categories()
    codes, names = named.codes, named.texts
    if (codes < 0).any():
        found = f"{named.name} is missing at row {int((codes < 0).argmax())} (counting from 0)"
        raise InputError(f"{found}; every row must name its dataset. Drop such rows or name their dataset.")
    # One stable sort serves all datasets; a filter for each would read the table once per dataset.
    ends = np.cumsum(np.bincount(codes, minlength=len(names)))
    rows = np.split(np.argsort(codes, kind="stable"), ends[:-1])
    groups: Sequence[str | None] = [None] * len(names)
    if group is not None:
        held = raw.names(group).to_categories()
        texts = np.array([*held.texts, None], dtype=object)[held.codes]
        groups = [texts[part[0]] for part in rows]
        changed = np.flatnonzero(texts != np.array(groups, dtype=object)[codes])
        if len(changed):
            first, place = texts[changed[0]], codes[changed[0]]
            found = f"{held.name} changes within dataset {names[place]!r} ({groups[place]!r} and {first!r})"
            raise InputError(f"{found}; a dataset belongs to one group. Split it, or choose another group column.")
    raw, flags = (raw, None) if outlier is None else split_off_flags(raw, outlier)
    return raw.drop(given.values()), list(zip(names, groups, rows, strict=True)), flags


def split_off_flags(raw: RawTable, outlier: str) -> tuple[RawTable, NDArray[np.bool_]]:
    """Return a table without the column that marks known outliers, and the marks."""
    raw.check_has([outlier])
    cells = np.array(raw.cells(outlier), dtype=object)
    return raw.drop([outlier]), as_flags(cells, f"column {outlier!r} of {raw.name}")


def find_rows(raw: RawTable, condition: str) -> tuple[str, NDArray[np.bool_]]:
    """Return the column of a condition such as ``"status == ok"``, and the rows where it holds.

    Examples
    --------
    >>> from fewratio.data.raw_table import as_raw
    >>> import polars as pl
    >>> find_rows(as_raw(pl.DataFrame({"status": ["ok", "bad"]})), 'status == "ok"')[1].tolist()
    [True, False]
    """
    found = _CONDITION.fullmatch(condition) if isinstance(condition, str) else None
    if found is None:
        needed = f"expected a column, one of {', '.join(SIGNS)}, and a value"
        raise ParameterError(f"the condition {condition!r} cannot be read; {needed}. Write it as in 'status == ok'.")
    column, sign, value = found["column"].strip("\"'`"), found["sign"], found["value"]
    raw.check_has([column])
    values = raw.values(column)
    is_quoted = value[:1] in "\"'" and value[-1:] == value[:1]
    text = value[1:-1] if is_quoted else value
    if not is_quoted and is_number(text) and len(values.numbers):
        return column, SIGNS[sign](values.to_numbers(NUMBER), float(text))
    coded = values.to_categories()
    if sign in ("==", "=", "!=") and text not in coded.texts:
        known = quote_list(sorted(coded.texts))
        raise InputError(f"{values.name} holds {text!r} in no row; its values are {known}. Name one of them.")
    holds = [SIGNS[sign](known, text) for known in coded.texts]
    return column, np.array([*holds, False])[coded.codes]


def split_by_condition(X: Any, condition: str, name: str = "X") -> tuple[RawTable, RawTable, str]:
    """Return the rows of a table where a condition holds, without its column, the others with it, and its name."""
    raw = as_raw(X, name)
    column, holds = find_rows(raw, condition)
    features = raw.drop([column])
    if holds.all() or not holds.any():
        found = f"{condition!r} holds for {'all' if holds.all() else 'no'} rows of {raw.name}"
        raise InputError(f"{found}; rows of both kinds are needed. Write another condition.")
    return features.take(np.flatnonzero(holds)), raw.take(np.flatnonzero(~holds)), column
