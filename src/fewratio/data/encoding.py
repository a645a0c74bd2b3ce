"""Encode the columns of tables as numbers, by rules learned once from all tables together."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewratio.core.wording import quote_list, write_count, write_list
from fewratio.data import windows
from fewratio.data.column_kinds import CATEGORY, DATE, DURATION, MISSING, NUMBER, PLURALS
from fewratio.data.columns import (
    DATED,
    DROPPED,
    ID,
    NAMES_DATASET,
    NO_RULES,
    NOT_IN_ALL,
    OF_DATASET,
    ORDERS,
    Column,
    ColumnRules,
    are_different,
    decide_column,
    learn_directions,
)
from fewratio.data.raw_table import Features, RawTable, all_finite, as_raw, check_features, freeze, open_files
from fewratio.data.table import FileNumbers, Table, as_table
from fewratio.errors import CollectionError, InputError, LeftOutWarning, ParameterError, name_parameter, warn

# The types of the fields of a column in JSON, without kind and categories.
_FIELDS = {"name": str, "left_out": str | None, "pools_others": bool, "median": float | None}
_FIELDS |= {"marks_missing": bool, "zone": str | None}
_LEARNED_FROM = "the tables that its columns must match"
_ALL_LEARNED = (
    "all of these are needed. Add the missing ones, or leave them out everywhere (if a model has them, learn again "
    "without them)."
)
_SAME_OR_COMMON = (
    f"all must have the same columns. Choose {name_parameter('common', 'True')} to use those that all have, or drop "
    "the others."
)


@dataclass(frozen=True)
class Encoding:
    """How the columns of tables become numbers; immutable. It is learned from all tables together.

    Numbers do not change; dates become days since 1970; each category becomes a feature of zeros and ones, and rare
    categories share one. Missing numbers are replaced by the median, and a further feature marks them. See
    `docs/guides/tables.md` for the rules.

    Attributes
    ----------
    columns : tuple of Column
        The encodings of the columns, in the order of the tables.
    is_named : bool
        Whether the columns have names, or only numbers.
    id : str or None
        The column that names the rows.
    window : Window or None
        How series are cut into rows, if the columns are features of windows.
    readings : Encoding or None
        How the columns of these series become numbers.

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
    id: str | None = None
    window: windows.Window | None = None
    readings: Encoding | None = None

    @classmethod
    def learn(
        cls,
        raws: Sequence[RawTable],
        rules: ColumnRules = NO_RULES,
        parts: Sequence[NDArray[np.intp]] | None = None,
    ) -> Encoding:
        """Learn the encoding of all columns from several tables together.

        Parameters
        ----------
        raws : sequence of RawTable
            Tables with the same columns, in any order.
        rules : ColumnRules, optional
            The user's column options.
        parts : sequence of ndarray of int, optional
            The rows of each dataset, if one table contains several.
        """
        raws = [raw.with_index(rules.named) for raw in raws]
        labels = dict.fromkeys(label for raw in raws for label in raw.labels)
        raws[0].check_has([label for label in rules.named if label not in labels])
        chosen = labels if rules.columns is None else {*rules.columns, rules.id}
        used = {label: None for label in labels if label in chosen and label not in rules.drop}
        if not rules.common:
            for raw in raws:
                raw.check_has([label for label in rules.named if label in used])
            _check_same(raws, used)
        shared = {label for label in used if all(label in raw.places for raw in raws)}
        columns = tuple(
            decide_column(label, raws, rules, parts)
            if label in shared
            else Column(label, left_out=NOT_IN_ALL if label in used else DROPPED)
            for label in labels
        )
        ids = [column.name for column in columns if column.left_out == ID]
        dates = [column.name for column in columns if column.kind == DATE and column.left_out is None]
        best = [name for name in (*ids, *dates) if _names_rows(name, raws, parts)] or ids
        encoding = cls(columns, raws[0].is_named, rules.id or next(iter(best), None))
        if not encoding.features:
            why = write_list(f"{column.name!r} ({column.left_out})" for column in columns)
            found = f"{' and '.join(raw.name for raw in raws)}: no column is left to use: {why}"
            advice = "Pass a column of numbers, categories, dates, free text or vectors"
            if usable := [column.name for column in columns if column.left_out in (ID, NAMES_DATASET, OF_DATASET)]:
                keep = name_parameter("keep", usable[0], f"keep={usable[:1]!r}")
                advice = f"{keep} uses such a column all the same"
            raise InputError(f"{found}; at least one is needed. {advice}.")
        return encoding

    @classmethod
    def of_numbers(cls, names: Sequence[str] | None, n_columns: int) -> Encoding:
        """Return the encoding that keeps columns of numbers unchanged, with or without names."""
        return cls(tuple(map(Column, names or map(str, range(n_columns)))), names is not None)

    @classmethod
    def learn_windows(cls, readings: Encoding, series: Sequence[RawTable], length: int, step: int | None) -> Encoding:
        """Return the encoding of windows of series, whose columns are encoded by `readings`."""
        # A window with a missing value is left out.
        kept = tuple(replace(column, marks_missing=False) for column in readings.columns)
        readings = replace(readings, columns=kept)
        times = [windows.read_times(raw, readings._dates) for raw in series]
        window = windows.Window.of(length, step, times)
        channels = readings.features if readings.is_named else [f"value {place}" for place in readings.features]
        names = windows.name_features(channels, window.length)
        return cls(tuple(map(Column, names)), window=window, readings=readings)

    @cached_property
    def used(self) -> tuple[Column, ...]:
        """The columns that are used."""
        return tuple(column for column in self.columns if column.left_out is None)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns that are used."""
        return tuple(column.name for column in self.used)

    @cached_property
    def features(self) -> tuple[str, ...]:
        """Names of the encoded columns."""
        return tuple(name for column in self.columns for name in column.feature_names)

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the encoded columns; None if the tables had no names and did not change."""
        return self.features if self.is_named or not self.is_identity else None

    @property
    def n_features(self) -> int:
        """Number of encoded columns."""
        return len(self.features)

    @cached_property
    def places(self) -> dict[str, slice]:
        """The slice of the features of each used column."""
        ends = np.cumsum([len(column.feature_names) for column in self.used]).tolist()
        return {name: slice(*ends) for name, *ends in zip(self.names, [0, *ends], ends, strict=False)}

    @property
    def guessed(self) -> dict[str, str]:
        """The reasons for columns that are left out automatically."""
        if self.readings is not None:
            return self.readings.guessed
        found = {column.name: column.left_out for column in self.columns if column.left_out is not None}
        return {name: why for name, why in found.items() if why not in (DROPPED, NOT_IN_ALL)}

    @property
    def is_identity(self) -> bool:
        """Whether tables of numbers do not change."""
        return all(column.left_out is None and column.feature_names == (column.name,) for column in self.columns)

    @property
    def summary(self) -> str:
        """The columns in words, such as "9 columns: 7 numbers, 1 date (as days), 1 left out (Name: id)"."""
        if self.readings is not None and self.window is not None:
            return f"{self.readings.summary}; rows are windows of {self.window.length} readings"
        kinds = Counter(column.kind for column in self.used)
        parts = [f"{n} {kind if n == 1 else PLURALS[kind]}{' (as days)' * (kind == DATE)}" for kind, n in kinds.items()]
        out = [f"{column.name}: {column.left_out}" for column in self.columns if column.left_out is not None]
        parts += [f"{len(out)} left out ({write_list(out)})"] if out else []
        if len(self.columns) > 1 and len(parts) == 1:
            return f"{len(self.columns)} columns, all {parts[0].partition(' ')[2]}"
        return f"{write_count(len(self.columns), 'column')}: {', '.join(parts)}"

    def encode(self, X: Any, name: str = "X", reference: str = _LEARNED_FROM, is_lenient: bool = False) -> Table:
        """Validate a table and encode it.

        Parameters
        ----------
        X : array-like of shape (n, len(columns))
            A table with these columns, in any order; columns that are left out may be absent. A table with the encoded
            features is returned unchanged.
        name, reference : str
            Names of the table, and of those that the encoding was learned from, in messages.
        is_lenient : bool
            Whether to leave out unknown columns with a warning instead of refusing them, and to warn of unknown
            categories, for tables much newer than those that the encoding was learned from.
        """
        if isinstance(X, Table):
            return X
        raw = self.cut(self.open(X, name))
        if is_lenient:
            # Unknown columns are reported for the whole table.
            raw = raw.hold_in_memory()
        if self.is_encoded(raw):
            return replace(as_table(raw), feature_names=self.feature_names)
        names = raw.index
        if self.id in raw.places:
            coded = raw.names(self.id).to_categories()
            names = np.array([*coded.texts, ""], dtype=object)[coded.codes]
        raw = self.select_used(raw, reference, is_lenient)
        is_plain = raw.array is not None and self.is_identity and (not self.has_medians or all_finite(raw.array))
        numbers: Any = raw.to_floats() if is_plain else FileNumbers(raw, self)
        if not is_plain and raw.is_held:
            numbers = self.compute_features(raw, reference if is_lenient else None)
        table = Table(numbers, self.feature_names, raw.name, names)
        return table if self.has_medians else table.check_finite()

    def open(self, X: Any, name: str) -> RawTable:
        """Read a table, or a series if rows are windows."""
        return as_raw(X, name) if self.window is None else windows.as_series(X, name)

    def cut(self, raw: RawTable) -> RawTable:
        """Return the windows of a series; return other tables, and tables of windows, unchanged."""
        is_cut = raw.labels == self.features if raw.is_named else len(raw.labels) == self.n_features
        if self.window is None or is_cut:
            return raw
        rows, _, n_gaps = self.cut_series(raw)
        warn_of_gaps(raw.name, n_gaps)
        return rows

    def cut_series(self, raw: RawTable) -> tuple[RawTable, NDArray[np.intp], int]:
        """Return the windows of a series, the numbers of their readings, and how many windows have gaps."""
        assert self.window is not None
        assert self.readings is not None
        table, raw = self.readings.encode(raw, raw.name, is_lenient=True), self.readings._name_columns(raw)
        is_missing = np.zeros(raw.n_rows, dtype=np.bool_)
        for column in self.readings.used:
            values = raw.values(column.name)
            if column.kind == CATEGORY:
                is_missing |= values.to_categories().codes < 0
            else:
                is_missing |= np.isnan(values.to_numbers(column.kind).reshape(raw.n_rows, -1)).any(1)
        places, n_gaps = self.window.find(windows.read_times(raw, self.readings._dates), is_missing, raw.name)
        names = np.arange(raw.n_rows).astype(str) if table.row_names is None else table.row_names
        features = windows.compute_features(np.asarray(table.numbers, dtype=np.float64)[places])
        named = np.array(names, dtype=object)[places[:, 0]]
        return RawTable(raw.name, self.features, True, features, named), places, n_gaps

    @property
    def _dates(self) -> list[str]:
        return [column.name for column in self.columns if column.kind == DATE]

    def compute_features(self, raw: RawTable, reference: str | None = None) -> NDArray[Any]:
        """Return the features of a table of the used columns; with a reference, warn of new categories."""
        result = np.zeros((raw.n_rows, self.n_features), self.find_dtype(raw), order="F")
        for column in self.used:
            # The values are not kept: those of the next column take as much memory.
            values = raw.values(column.name)
            unknown = column.encode(values, result[:, self.places[column.name]])
            if values.kind == MISSING and reference is not None and raw.n_rows > 1:
                warn(f"{values.name} has no value, unlike {reference}: it counts as missing in all rows.")
            if unknown and reference is not None:
                warn(
                    f"{raw.values(column.name).name} has categories that are not in {reference} "
                    f"({quote_list(unknown, 3)}): they count as none of the known ones. "
                    "Correct them if they are mistakes."
                )
        return freeze(result)

    def find_dtype(self, raw: RawTable) -> type[np.floating[Any]]:
        """Return the type of the features of a table."""
        numbers = [column for column in self.used if column.kind in (NUMBER, DATE, DURATION)]
        is_single = bool(numbers) and all(raw.is_single(column.name) for column in numbers)
        return np.float32 if is_single else np.float64

    @property
    def has_medians(self) -> bool:
        """Whether missing numbers are replaced; if not, they are refused."""
        return any(column.median is not None for column in self.columns)

    def is_encoded(self, raw: RawTable) -> bool:
        """Return whether a table has the features already."""
        if self.is_identity or raw.array is None:
            return False
        if raw.is_named:
            return raw.labels == self.features
        return len(raw.labels) == self.n_features != len(self.columns)

    def _name_columns(self, raw: RawTable) -> RawTable:
        """Return a table whose columns, if they have no names, are in their order, with its index if that is used."""
        raw = raw.with_index(self.names)
        if raw.is_named or len(raw.labels) != len(self.columns):
            return raw
        return raw.name_by_position([column.name for column in self.columns])

    def select_used(self, raw: RawTable, reference: str = _LEARNED_FROM, is_lenient: bool = False) -> RawTable:
        """Return the used columns; raise an error if columns are absent or unknown."""
        raw = self._name_columns(raw)
        left_out = {column.name for column in self.columns if column.left_out is not None}
        found = tuple(label for label in raw.labels if label not in left_out)
        unknown = [label for label in found if label not in self.places]
        if is_lenient and raw.is_named and unknown and len(found) - len(unknown) == len(self.names):
            are, columns = ("is", "column") if len(unknown) == 1 else ("are", "columns")
            warn(f"{quote_list(unknown)} {are} left out: {reference} has no such {columns}.")
        elif unknown or len(found) != len(self.names):
            names: Features = self.names if self.is_named else len(self.names)
            need = (_ALL_LEARNED,) if is_lenient else ()
            check_features(raw.name, found if raw.is_named else len(found), reference, names, InputError, *need)
        return raw.select(self.names)

    def drop(self, names: Collection[str], reason: str) -> Encoding:
        """Return an encoding that leaves out further columns for a reason."""
        columns = (replace(each, left_out=reason) if each.name in names else each for each in self.columns)
        return replace(self, columns=tuple(columns))

    def learn_directions(self, raws: Sequence[RawTable]) -> Encoding:
        """Return the encoding with the directions of free text and vectors learned from these tables together."""
        columns = []
        for column in self.columns:
            if column.directions and column.left_out is None and all(column.name in raw.places for raw in raws):
                found = [raw.values(column.name) for raw in raws]
                column = replace(column, directions=learn_directions(column.kind, found))
            columns.append(column)
        return replace(self, columns=tuple(columns))

    def to_dict(self) -> dict[str, Any]:
        """Return the encoding as plain values, for JSON."""
        return json.loads(json.dumps(asdict(self)))

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Encoding:
        """Return the encoding that `to_dict` described; raise ``ValueError`` if the values do not fit together."""
        columns = tuple(map(_read_column, content["columns"]))
        typed = [isinstance(getattr(column, field), kind) for column in columns for field, kind in _FIELDS.items()]
        typed += [isinstance(each["categories"], list) for each in content["columns"]]
        typed += [isinstance(content["is_named"], bool), isinstance(content["id"], str | None)]
        window = windows.Window.of_file(content["window"]) if content.get("window") else None
        readings = cls.from_dict(content["readings"]) if content.get("readings") else None
        n_features = [len(windows.name_features(readings.features, window.length))] if window and readings else []
        typed += [(window is None) == (readings is None), n_features in ([], [len(columns)])]
        names = [tuple(column.name for column in columns), *(column.categories for column in columns)]
        are_names = all(isinstance(name, str) for each in names for name in each)
        known = [each.kind in PLURALS and (each.median is None or math.isfinite(each.median)) for each in columns]
        if not (all(typed) and all(known) and are_names and all(len(set(each)) == len(each) for each in names)):
            raise ValueError("a column has a field of the wrong type, or two columns or categories share a name")
        return cls(columns, content["is_named"], content["id"], window, readings)


def _read_column(content: Mapping[str, Any]) -> Column:
    """Return the column that `Encoding.to_dict` described."""
    directions = tuple(tuple(map(float, each)) for each in content.get("directions", ()))
    if len(set(map(len, directions))) > 1 or not all(map(math.isfinite, sum(directions, ()))):
        raise ValueError("the directions of a column are not finite numbers, or not equally many")
    return Column(**{**content, "categories": tuple(content["categories"]), "directions": directions})


def _check_same(raws: Sequence[RawTable], labels: Collection[str] | None = None) -> None:
    """Raise unless all tables have the same columns, in any order; of `labels` only, if they are given."""
    kept = [tuple(label for label in raw.labels if labels is None or label in labels) for raw in raws]
    for raw, names in zip(raws, kept, strict=True):
        is_named = raw.is_named and raws[0].is_named
        if len(names) != len(kept[0]) or (is_named and set(names) != set(kept[0])):
            needed: Features = kept[0] if is_named else len(kept[0])
            check_features(raw.name, names, raws[0].name, needed, CollectionError, _SAME_OR_COMMON)


def _names_rows(label: str, raws: Sequence[RawTable], parts: Sequence[NDArray[np.intp]] | None) -> bool:
    """Return whether a column has another value in every row of each table, and none is missing."""
    tables = [raw.names(label).to_categories().codes for raw in raws]
    tables = tables if parts is None else [tables[0][rows] for rows in parts]
    return all((codes >= 0).all() and are_different(codes) for codes in tables)


def encode_together(
    tables: Mapping[str, Any], rules: ColumnRules = NO_RULES, parts: Sequence[NDArray[np.intp]] | None = None
) -> tuple[Encoding | None, list[Table]]:
    """Learn an encoding from tables together, and encode each table; arrays of numbers need no encoding.

    Parameters
    ----------
    tables : mapping of str to array-like
        The tables by their names in messages.
    rules, parts
        As in `Encoding.learn`.
    """
    encoded = [X for X in tables.values() if isinstance(X, Table)]
    if len(encoded) == len(tables):
        return None, encoded
    raws = align_names([as_raw(X, name) for name, X in open_files(tables).items()])
    if rules.encoding is not None:
        if not isinstance(rules.encoding, Encoding):
            found = f"encoding is a {type(rules.encoding).__name__}"
            raise ParameterError(f"{found}; an Encoding is needed. Pass another collection's.")
        return rules.encoding, [rules.encoding.encode(raw, is_lenient=True) for raw in raws]
    is_plain = not rules.given and not (rules.finds_ids and raws[0].is_named)
    if is_plain and all(raw.array is not None and all_finite(raw.array) for raw in raws):
        _check_same(raws)
        names = raws[0].labels if raws[0].is_named else None
        chosen = [raw if names is None else raw.select(names) for raw in raws]
        encoded = [Table(raw.to_floats(), names, raw.name, raw.index) for raw in chosen]
        return None if names is None else Encoding.of_numbers(names, len(names)), encoded
    encoding = Encoding.learn(raws, rules, parts)
    warn_of_left_out({name: why for name, why in encoding.guessed.items() if name != rules.id})
    return encoding, [encoding.encode(raw) for raw in raws]


def warn_of_left_out(reasons: Mapping[str, str], learned_from: str | None = None) -> None:
    """Warn of columns that are left out automatically, with the reasons, or as in the tables learned from."""
    if not reasons:
        return
    # Columns of other kinds, such as nested ones, cannot be used at all.
    usable = [name for name, why in reasons.items() if why.startswith((ID, NAMES_DATASET, OF_DATASET, ORDERS, DATED))]
    use = name_parameter("keep", ",".join(usable), f"keep={usable!r}")
    columns = write_list(f"{name!r} ({why})" for name, why in reasons.items())
    advice = (
        f". To use {'it' if len(usable) == 1 else 'them'}, choose {use}." if usable and learned_from is None else "."
    )
    same = f", as in {learned_from}" if learned_from is not None else ""
    warn(f"Left out: {columns}{same}{advice}", LeftOutWarning)


def warn_of_gaps(name: str, n_gaps: int) -> None:
    """Warn of windows that are left out, if any are."""
    if not n_gaps:
        return
    found = f"{write_count(n_gaps, 'window')} of {name} with missing readings {'is' if n_gaps == 1 else 'are'} left out"
    warn(f"{found}. Fill the gaps to use them.")


def align_names(raws: list[RawTable]) -> list[RawTable]:
    """Name the columns of tables without names like those of a table with names, if they have as many."""
    named = next((raw for raw in raws if raw.is_named), raws[0])
    others = [raw for raw in raws if raw.is_named != named.is_named]
    for raw in others:
        _check_same([named, raw])
    return [replace(raw.name_by_position(named.labels), is_named=True) if raw in others else raw for raw in raws]
