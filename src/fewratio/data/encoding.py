"""What becomes of each column of a table: decided once from all tables together, then applied to any."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from fewratio.data.columns import (
    BOOLEANS,
    CATEGORIES,
    DATES,
    MISSING,
    NUMBERS,
    TEXT,
    Layout,
    check_layout,
    check_not_almost_numbers,
    check_numbers,
    counted,
    is_number,
    listed,
    quoted,
)
from fewratio.data.frames import Values, days_of_texts, text_of_days, text_values
from fewratio.data.raw import RawTable, as_raw
from fewratio.data.table import Table, as_table, check_finite, frozen, raw_numbers
from fewratio.errors import InputError, ParameterError

# A category has a column of its own if it has two rows and this share of all rows, and is among the most frequent ones.
_RARE_SHARE, _MOST_CATEGORIES = 0.01, 50
# Text is an id where more than this share of its values differ.
_DISTINCT_SHARE = 0.5
# Fewer whole numbers than that count rows by chance.
_LEAST_COUNTED = 5
_ID_NAME = re.compile(r"(?:^|[^A-Za-z])(?:id|index|key|uuid|guid)$|(?<=[a-z])(?:Id|ID|Key|Index)$", re.IGNORECASE)
NUMBER, BOOLEAN, CATEGORY, DATE = "number", "boolean", "category", "date"
_KINDS = {NUMBERS: NUMBER, BOOLEANS: BOOLEAN, DATES: DATE, CATEGORIES: CATEGORY, TEXT: CATEGORY}
_PLURALS = {NUMBER: "numbers", BOOLEAN: "booleans", CATEGORY: "categories", DATE: "dates"}
_NEEDED = "both must have the same columns. Select the same ones in both."
_SAME_OR_COMMON = (
    "both samples must have the same columns. Pass common=True to use those that both have, or drop the others."
)
ID, SEPARATING, EMPTY, DROPPED = "id", "separating", "no values", "dropped"


class ColumnOptions(TypedDict, total=False):
    """What can be said about columns, in the same words wherever tables are taken.

    Attributes
    ----------
    columns : str or sequence of str
        The only columns to use.
    drop : str or sequence of str
        Columns not to use.
    keep : str or sequence of str
        Columns to use although they look like ids or tell the samples apart by themselves.
    id : str
        The column that names the rows.
    categorical : str or sequence of str
        Columns of categories, whatever they look like; ``"error"`` refuses every column that is not numbers.
    numeric : str or sequence of str
        Columns of numbers, whatever they look like.
    common : bool
        Whether columns that not all tables have are left out, instead of refused.
    encoding : Encoding
        What becomes of the columns, decided before from other tables; none of the options above goes with it.
    """

    columns: str | Sequence[str]
    drop: str | Sequence[str]
    keep: str | Sequence[str]
    id: str
    categorical: str | Sequence[str]
    numeric: str | Sequence[str]
    common: bool
    encoding: Encoding | None


@dataclass(frozen=True)
class ColumnRules:
    """The same options, validated."""

    columns: tuple[str, ...] | None = None
    drop: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    id: str | None = None
    categorical: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    common: bool = False
    only_numbers: bool = False
    encoding: Encoding | None = None

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> ColumnRules:
        """Return the rules that a user's options make."""
        unknown = set(options) - set(ColumnOptions.__annotations__)
        if unknown:
            raise TypeError(f"unexpected keyword arguments: {', '.join(sorted(unknown))}")
        given = {name: value for name, value in options.items() if value is not None}
        if "encoding" in given and len(given) > 1:
            raise ParameterError(
                f"encoding is given, and {listed(set(given) - {'encoding'})} besides; an encoding says what becomes of "
                "all columns. Pass only one of the two."
            )
        if not isinstance(given.get("encoding"), Encoding | None):
            raise ParameterError(
                f"encoding is a {type(given['encoding']).__name__}; an Encoding is needed. Pass another collection's."
            )
        if given.get("categorical") == "error":
            del given["categorical"]
            given["only_numbers"] = True
        names = {name: given[name] for name in ("columns", "drop", "keep", "categorical", "numeric") if name in given}
        for name, value in names.items():
            labels = (value,) if isinstance(value, str) else tuple(value)
            if not all(isinstance(label, str) for label in labels):
                raise ParameterError(f"{name} is {value!r}; needed are names of columns. Pass a list of strings.")
            given[name] = labels
        both = set(given.get("categorical", ())) & set(given.get("numeric", ()))
        if both:
            raise ParameterError(
                f"{listed(sorted(both))} is in categorical and in numeric; a column is one or the other. Name it once."
            )
        return cls(**given)

    @property
    def named(self) -> tuple[str, ...]:
        """All columns that are named, each of which must exist."""
        ids = () if self.id is None else (self.id,)
        return (*(self.columns or ()), *self.drop, *self.keep, *ids, *self.categorical, *self.numeric)


@dataclass(frozen=True)
class Column:
    """What becomes of one column.

    Attributes
    ----------
    name : str
    kind : {"number", "boolean", "category", "date"}
    left_out : str or None
        Why the column is not used, if it is not: "id", "separating", "no values", "dropped" or the type of its values.
    categories : tuple of str
        The categories that have a column of their own, sorted.
    pools_others : bool
        Whether all other categories have a column together.
    median : float or None
        What stands for a missing number.
    marks_missing : bool
        Whether a column of zeros and ones says which values are missing.
    """

    name: str
    kind: str = NUMBER
    left_out: str | None = None
    categories: tuple[str, ...] = ()
    pools_others: bool = False
    median: float | None = None
    marks_missing: bool = False

    @cached_property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features that the column becomes."""
        if self.left_out is not None:
            return ()
        names = [f"{self.name}={category}" for category in self.categories] if self.kind == CATEGORY else [self.name]
        others = [f"{self.name}=other"] if self.pools_others else []
        return (*names, *others, *([f"{self.name} is missing"] if self.marks_missing else []))

    def encode(self, values: Values, result: NDArray[Any], argument: str) -> None:
        """Write the features of a table's column into an array of shape (n, n_features) of zeros."""
        if self.kind != CATEGORY:
            numbers = as_numbers(values, self.kind, argument)
            missing = np.isnan(numbers)
            result[:, 0] = numbers if self.median is None else np.where(missing, self.median, numbers)
        else:
            coded = as_categories(values)
            place = {category: number for number, category in enumerate(self.categories)}
            others = len(self.categories) if self.pools_others else -1
            # The last place is that of code -1.
            places = np.array([*(place.get(text, others) for text in coded.texts), -1], dtype=np.intp)[coded.codes]
            rows, missing = np.flatnonzero(places >= 0), coded.codes < 0
            result[rows, places[rows]] = 1
        if self.marks_missing:
            result[:, -1] = missing


@dataclass(frozen=True)
class Encoding:
    """How the columns of tables become numbers; immutable. It is learned from all tables together.

    A column of numbers stays as it is; a date becomes days since 1970; categories become one column of zeros and ones
    each, rare ones together. A missing number becomes the median, and a further column says where that was. See
    `docs/tables.md` for the rules.

    Attributes
    ----------
    columns : tuple of Column
        In the order of the tables.
    is_named : bool
        Whether the columns have names of their own, or only numbers.
    row_names : str or None
        The column that names the rows.

    Examples
    --------
    >>> import polars as pl
    >>> table = pl.DataFrame({"size": [None, 4.0, 2.0, 3.0], "colour": ["red", "blue", "red", "blue"]})
    >>> encoding = Encoding.learn([as_raw(table)])
    >>> encoding.feature_names
    ('size', 'size is missing', 'colour=blue', 'colour=red')
    >>> encoding.encode(table).numbers.tolist()
    [[3.0, 1.0, 0.0, 1.0], [4.0, 0.0, 1.0, 0.0], [2.0, 0.0, 0.0, 1.0], [3.0, 0.0, 1.0, 0.0]]
    >>> encoding.summary
    '2 columns: 1 number, 1 category'
    """

    columns: tuple[Column, ...]
    is_named: bool = True
    row_names: str | None = None

    @classmethod
    def learn(cls, raws: Sequence[RawTable], rules: ColumnRules | None = None, leave_out: bool = True) -> Encoding:
        """Decide from tables together what becomes of each column.

        Parameters
        ----------
        raws : sequence of RawTable
            With the same columns, in any order.
        rules : ColumnRules, optional
            What the user said.
        leave_out : bool
            Whether whole numbers that count the rows are left out as ids. Text that differs from row to row always is.
        """
        rules = rules or ColumnRules()
        labels = _labels(raws, rules)
        columns = []
        for label in labels:
            found = [raw.values(label) for raw in raws]
            columns.append(_decide(label, found, [raw.argument for raw in raws], rules, leave_out and raws[0].is_named))
        ids = [column.name for column in columns if column.left_out == ID]
        ids += [
            column.name
            for column in columns
            if column.kind == DATE and not column.left_out and _are_different(column.name, raws)
        ]
        encoding = cls(tuple(columns), raws[0].is_named, rules.id or (ids[0] if ids else None))
        encoding.check_some_left(" and ".join(raw.argument for raw in raws))
        return encoding

    def check_some_left(self, argument: str) -> None:
        """Raise unless a column is left to be used."""
        if not self.features:
            why = ", ".join(f"{column.name!r} ({column.left_out})" for column in self.columns[:5])
            raise InputError(
                f"{argument}: no column is left to use: {why}; at least one is needed. Name one in keep=, "
                "categorical= or numeric=."
            )

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the columns that are used."""
        return tuple(column.name for column in self.columns if column.left_out is None)

    @cached_property
    def features(self) -> tuple[str, ...]:
        """What the encoded columns are called."""
        return tuple(name for column in self.columns for name in column.feature_names)

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the encoded columns; None if those of the tables had none and stayed as they are."""
        return self.features if self.is_named or not self.is_identity else None

    @property
    def n_features(self) -> int:
        """Number of encoded columns."""
        return len(self.features)

    @cached_property
    def places(self) -> dict[str, slice]:
        """Where the features of each column that is used are."""
        used = [column for column in self.columns if column.left_out is None]
        ends = np.cumsum([len(column.feature_names) for column in used]).tolist()
        return {column.name: slice(start, stop) for column, start, stop in zip(used, [0, *ends], ends, strict=False)}

    @property
    def is_identity(self) -> bool:
        """Whether tables of numbers stay as they are."""
        return all(column.left_out is None and column.feature_names == (column.name,) for column in self.columns)

    @property
    def summary(self) -> str:
        """The columns in words, such as "9 columns: 5 numbers, 2 categories, 1 date (as days), 1 left out (Name: id)"."""
        kinds = Counter(column.kind for column in self.columns if column.left_out is None)
        parts = [
            f"{n} {kind if n == 1 else _PLURALS[kind]}" + " (as days)" * (kind == DATE) for kind, n in kinds.items()
        ]
        out = [f"{column.name}: {column.left_out}" for column in self.columns if column.left_out is not None]
        more = f" and {len(out) - 5} more" if len(out) > 5 else ""
        parts += [f"{len(out)} left out ({', '.join(out[:5])}{more})"] if out else []
        return f"{counted(len(self.columns), 'column')}: {', '.join(parts)}"

    def encode(self, X: Any, argument: str = "X", reference: str = "what the encoding was learned from") -> Table:
        """Validate a table and encode it.

        Parameters
        ----------
        X : array-like of shape (n, len(columns))
            A table with these columns, in any order; those that are left out need not be there. What has the encoded
            features instead is taken as it is.
        argument, reference : str
            What messages call the table, and those that the encoding was learned from.
        """
        if isinstance(X, Table):
            return X
        raw = as_raw(X, argument)
        if self._is_encoded(raw):
            return replace(as_table(raw), feature_names=self.feature_names)
        names = self._row_names(raw)
        raw = self._used(raw, reference)
        if raw.array is not None and self.is_identity:
            numbers = raw_numbers(raw)
            if self.has_medians and not np.isfinite(numbers).all():
                numbers = self._features(raw)
            elif not self.has_medians:
                check_finite(numbers, raw)
        else:
            numbers = self._features(raw)
        return Table(numbers, self.feature_names, raw.argument, names)

    def _features(self, raw: RawTable) -> NDArray[Any]:
        """Return the features of a table of the columns that are used."""
        result = np.zeros((raw.n_rows, self.n_features), order="F")
        for column in self.columns:
            if column.left_out is None:
                what = f"column {column.name!r} of {raw.argument}"
                column.encode(raw.values(column.name), result[:, self.places[column.name]], what)
        return frozen(result)

    @property
    def has_medians(self) -> bool:
        """Whether missing numbers are replaced; if not, they are refused."""
        return any(column.median is not None for column in self.columns)

    def _is_encoded(self, raw: RawTable) -> bool:
        if self.is_identity or raw.array is None:
            return False
        if raw.is_named:
            return raw.labels == self.features
        return len(raw.labels) == self.n_features != len(self.columns)

    def _used(self, raw: RawTable, reference: str) -> RawTable:
        """Return the columns that are used, or say which are not there, or are unknown."""
        if not raw.is_named and len(raw.labels) == len(self.columns):
            # Columns without names are taken in their order.
            raw = replace(raw, labels=tuple(column.name for column in self.columns))
        left_out = {column.name for column in self.columns if column.left_out is not None}
        found = tuple(label for label in raw.labels if label not in left_out)
        if set(found) != set(self.names):
            known = Layout(reference, len(self.names), self.names if self.is_named else None)
            check_layout(Layout(raw.argument, len(found), found if raw.is_named else None), known, InputError, _NEEDED)
        return raw.select(self.names)

    def _row_names(self, raw: RawTable) -> Sequence[str] | None:
        if self.row_names is None or self.row_names not in raw.labels:
            return raw.index
        coded = as_categories(raw.values(self.row_names))
        return np.array([*coded.texts, ""], dtype=object)[coded.codes]

    def without(self, reasons: Mapping[str, str]) -> Encoding:
        """Return an encoding that leaves out further columns, for a reason each."""
        columns = tuple(
            replace(column, left_out=reasons[column.name]) if column.name in reasons else column
            for column in self.columns
        )
        return replace(self, columns=columns)

    def to_dict(self) -> dict[str, Any]:
        """Return the encoding as plain values, for JSON."""
        plain: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return plain

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Encoding:
        """Return the encoding that `to_dict` described; raise ``ValueError`` if the values do not fit together."""
        if "categories" in content:
            return cls._from_first_form(content)
        columns = tuple(
            Column(**{**column, "categories": tuple(_texts(column["categories"]))}) for column in content["columns"]
        )
        for column in columns:
            _check(isinstance(column.name, str) and column.kind in _PLURALS, "a column has no name or no known kind")
            _check(column.left_out is None or isinstance(column.left_out, str), "why a column is left out is no text")
            _check(isinstance(column.pools_others, bool) and isinstance(column.marks_missing, bool), "a flag is none")
            _check(column.median is None or _is_finite(column.median), "a median is no number")
        _check(len({column.name for column in columns}) == len(columns), "several columns share a name")
        _check(isinstance(content["is_named"], bool), "whether columns have names is not said")
        _check(content["row_names"] is None or isinstance(content["row_names"], str), "the column of names is no text")
        return cls(columns, content["is_named"], content["row_names"])

    @classmethod
    def _from_first_form(cls, content: Mapping[str, Any]) -> Encoding:
        """Return the encoding of a model file written before columns were objects."""
        categories, n = content["categories"], len(content["categories"])
        names = [str(j) for j in range(n)] if content["names"] is None else _texts(content["names"])
        medians = content["medians"] or [None] * n
        _check(len(names) == len(medians) == n, "its lists have different lengths")
        columns = tuple(
            Column(name, NUMBER, median=median) if known is None else Column(name, CATEGORY, None, tuple(_texts(known)))
            for name, known, median in zip(names, categories, medians, strict=True)
        )
        _check(all(column.median is None or _is_finite(column.median) for column in columns), "a median is no number")
        return cls(columns, content["names"] is not None)


def _labels(raws: Sequence[RawTable], rules: ColumnRules) -> tuple[str, ...]:
    """Return the columns of all tables, in the first one's order, or say which are not in all."""
    first = raws[0]
    shared = tuple(label for label in first.labels if all(label in raw.places for raw in raws))
    if not rules.common:
        for raw in raws:
            raw.check_has(rules.named)
            if set(raw.labels) != set(first.labels):
                check_layout(raw.layout, first.layout, InputError, _SAME_OR_COMMON)
    if rules.columns is None:
        return shared
    return tuple(label for label in dict.fromkeys((*rules.columns, rules.id)) if label in shared)


def _decide(label: str, found: list[Values], arguments: list[str], rules: ColumnRules, may_count: bool) -> Column:
    """Return what becomes of a column, given its values in all tables."""
    if label in rules.drop:
        return Column(label, left_out=DROPPED)
    if label == rules.id:
        return Column(label, left_out=ID)
    places = [f"column {label!r} of {argument}" for argument in arguments]
    kind = _kind(label, found, places, rules)
    if kind not in _PLURALS:
        return Column(label, left_out=kind)
    kept = label in (*rules.keep, *rules.categorical, *rules.numeric)
    if kind == CATEGORY:
        coded = [as_categories(values) for values in found]
        count = Counter[str]()
        for values in coded:
            numbers = np.bincount(values.codes[values.codes >= 0], minlength=len(values.texts))
            count.update(dict(zip(values.texts, numbers.tolist(), strict=True)))
        is_text = all(values.kind in (TEXT, MISSING) for values in found)
        if is_text and not kept and len(count) > _DISTINCT_SHARE * count.total():
            return Column(label, left_out=ID)
        marks_missing = any((values.codes < 0).any() for values in coded)
        return Column(label, CATEGORY, None, *_frequent(count), marks_missing=marks_missing)
    parts = [as_numbers(values, kind, place) for values, place in zip(found, places, strict=True)]
    if may_count and kind == NUMBER and not kept and _counts_rows(label, parts):
        return Column(label, left_out=ID)
    pooled = np.concatenate(parts)
    present = pooled[~np.isnan(pooled)]
    if not len(present):
        return Column(label, left_out=EMPTY)
    # Halved first: the sum of the middle two may overflow.
    median = 2 * float(np.median(present / 2))
    return Column(label, kind, median=median, marks_missing=len(present) < len(pooled))


def _kind(label: str, found: list[Values], places: list[str], rules: ColumnRules) -> str:
    """Return the kind of a column, or why it cannot be used."""
    if label in rules.categorical:
        return CATEGORY
    if label in rules.numeric:
        return NUMBER
    if rules.only_numbers:
        for values, place in zip(found, places, strict=True):
            check_numbers(place, [(label, values)])
    kinds = {values.kind: place for values, place in zip(found, places, strict=True) if values.kind != MISSING}
    if not kinds:
        return EMPTY
    unknown = [kind for kind in kinds if kind not in _KINDS]
    if unknown:
        return unknown[0]
    if set(kinds) <= {TEXT, DATES} and all(days_of_texts(values.texts) is not None for values in found):
        return DATE
    if set(kinds) == {NUMBERS, BOOLEANS}:
        return NUMBER
    for values, place in zip(found, places, strict=True):
        if values.kind == TEXT:
            check_not_almost_numbers(values, place)
    if len({_KINDS[kind] for kind in kinds}) > 1:
        parts = " but ".join(
            f"{kind} in {place.removeprefix(f'column {label!r} of ')}" for kind, place in kinds.items()
        )
        raise InputError(
            f"column {label!r} holds {parts}; it must hold the same in all tables. Correct it, name it in "
            "categorical=, or drop it."
        )
    return _KINDS[next(iter(kinds))]


def _frequent(count: Counter[str]) -> tuple[tuple[str, ...], bool]:
    """Return the categories that have a column of their own, and whether the others have one together."""
    least = max(2, _RARE_SHARE * count.total())
    ranked = sorted(count, key=lambda text: (-count[text], text))
    kept = [text for text in ranked[:_MOST_CATEGORIES] if count[text] >= least]
    if len(kept) + 1 >= len(ranked):
        # A single rare category needs no pool.
        return tuple(sorted(ranked)), False
    return tuple(sorted(kept)), True


def _counts_rows(label: str, parts: list[NDArray[Any]]) -> bool:
    """Tell whether numbers count the rows of each table, or are all different and called an id."""
    if sum(map(len, parts)) < _LEAST_COUNTED or not all(np.isfinite(part).all() for part in parts):
        return False
    pooled = np.concatenate(parts)
    if not (pooled == np.floor(pooled)).all():
        return False
    if all((np.diff(part) == 1).all() for part in parts) and max(map(len, parts)) >= _LEAST_COUNTED:
        return True
    return _ID_NAME.search(label) is not None and all(len(np.unique(part)) == len(part) for part in parts)


def _are_different(label: str, raws: Sequence[RawTable]) -> bool:
    dates = [as_numbers(raw.values(label), DATE, label) for raw in raws]
    return all(len(np.unique(part)) == len(part) for part in dates)


def as_numbers(values: Values, kind: str, argument: str) -> NDArray[Any]:
    """Return a column of numbers or dates as finite numbers, NaN for what is missing."""
    if values.kind in (TEXT, CATEGORIES):
        parse = _days if kind == DATE else _parsed
        return np.append(parse(values, argument), np.nan)[values.codes]
    if values.kind != MISSING and _KINDS.get(values.kind) not in ((DATE,) if kind == DATE else (NUMBER, BOOLEAN)):
        raise InputError(f"{argument} holds {values.kind}, but {_PLURALS[kind]} are needed. Pass those.")
    infinite = np.isinf(values.numbers)
    if infinite.any():
        raise InputError(
            f"{argument} has {counted(int(infinite.sum()), 'infinite value')}, the first at row "
            f"{int(infinite.argmax())} (counting from 0); every value must be a finite number, or missing. Correct "
            "those rows or drop the column."
        )
    return values.numbers


def _days(values: Values, argument: str) -> NDArray[np.float64]:
    days = days_of_texts(values.texts)
    if days is None:
        raise _not_a(DATE, values, next(text for text in values.texts if days_of_texts([text]) is None), argument)
    return days


def _parsed(values: Values, argument: str) -> NDArray[np.float64]:
    bad = next((text for text in values.texts if not is_number(text)), None)
    if bad is not None:
        raise _not_a(NUMBER, values, bad, argument)
    return np.array([float(text) for text in values.texts])


def _not_a(kind: str, values: Values, text: str, argument: str) -> InputError:
    row = int((values.codes == list(values.texts).index(text)).argmax())
    return InputError(
        f"{argument} holds {quoted(text)} at row {row} (counting from 0), which is no {kind}; all its values must be "
        f"{_PLURALS[kind]}. Correct it or drop the column."
    )


def as_categories(values: Values) -> Values:
    """Return a column of any kind as texts."""
    if values.kind in (TEXT, CATEGORIES):
        return values
    write = {DATES: text_of_days, BOOLEANS: lambda value: str(bool(value))}.get(values.kind, _as_written)
    return text_values([None if value != value else write(value) for value in values.numbers.tolist()], CATEGORIES)


def _as_written(number: float) -> str:
    return str(int(number)) if number == int(number) else repr(number)


def _check(holds: object, problem: str) -> None:
    if not holds:
        raise ValueError(problem)


def _texts(value: object) -> list[str]:
    is_list = isinstance(value, list) and all(isinstance(item, str) for item in value)
    _check(is_list and len(set(value)) == len(value), "names or categories are no list of different texts")
    return list(value)


def _is_finite(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def encode_together(
    tables: Mapping[str, Any], rules: ColumnRules | None = None, leave_out: bool = True
) -> tuple[Encoding, list[Table]]:
    """Decide about the columns of tables together, and encode each.

    Parameters
    ----------
    tables : mapping of str to array-like
        By what messages call them.
    rules, leave_out
        As in `Encoding.learn`.
    """
    encoded = [X for X in tables.values() if isinstance(X, Table)]
    if len(encoded) == len(tables):
        names = encoded[0].feature_names
        labels = names or tuple(map(str, range(encoded[0].n_features)))
        return Encoding(tuple(map(Column, labels)), names is not None), encoded
    raws = _same_names([as_raw(X, argument) for argument, X in tables.items()])
    if rules is not None and rules.encoding is not None:
        return rules.encoding, [rules.encoding.encode(raw) for raw in raws]
    is_plain = rules in (None, ColumnRules()) and not (leave_out and raws[0].is_named)
    if is_plain and all(raw.array is not None and np.isfinite(raw.array).all() for raw in raws):
        labels = _labels(raws, ColumnRules())
        encoding = Encoding(tuple(map(Column, labels)), raws[0].is_named)
        names = labels if raws[0].is_named else None
        return encoding, [Table(raw_numbers(raw.select(labels)), names, raw.argument, raw.index) for raw in raws]
    encoding = Encoding.learn(raws, rules, leave_out)
    return encoding, [encoding.encode(raw) for raw in raws]


def _same_names(raws: list[RawTable]) -> list[RawTable]:
    """Give tables without names the names of one that has some, if they have as many columns."""
    named = next((raw for raw in raws if raw.is_named), None)
    if named is None:
        return raws
    for raw in raws:
        if not raw.is_named and len(raw.labels) != len(named.labels):
            check_layout(raw.layout, named.layout, InputError, _SAME_OR_COMMON)
    return [raw if raw.is_named else replace(raw, labels=named.labels, is_named=True) for raw in raws]
