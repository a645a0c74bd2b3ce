"""Column options, and the encoding of single columns as numbers."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from fewratio.core.arguments import advise_names, as_names, show_value
from fewratio.core.wording import group_alike, quote_list, write_apart, write_fixed, write_number
from fewratio.data.column_kinds import (
    BOOLEAN,
    CATEGORY,
    DATE,
    DAY_SECONDS,
    DURATION,
    FREE,
    MISSING,
    NUMBER,
    PLURALS,
    TEXT,
    TIME,
    VECTOR,
    WRITERS,
    ColumnValues,
    are_codes,
    check_exact,
    check_numbers,
    check_texts,
    find_zone,
    shift_wide,
    unify_booleans,
    warn_of_booleans,
    warn_of_kinds,
    warn_of_numbers,
    warn_of_times,
    write_days,
    write_duration,
)
from fewratio.data.free_text import Directions, encode_texts, encode_vectors, is_free_text, learn_text, learn_vectors
from fewratio.data.raw_table import RawTable
from fewratio.errors import CollectionError, InputError, ParameterError, name_parameter

ID, NAMES_DATASET, EMPTY, DROPPED, NOT_IN_ALL = "id", "names the dataset", "no values", "dropped", "not in all tables"
OF_DATASET = "each value is in one dataset only"
# Reasons to leave out dates: they show that one table came after the other, or when a row was recorded.
ORDERS, DATED = "shows which table came first", "date of a row"
# A category has its own feature if it has two rows and this share of all rows, and is among the most frequent ones.
_RARE_SHARE, _MOST_CATEGORIES = 0.01, 50
# Numbers with more decimals, and larger numbers, are written with an exponent.
_MOST_DECIMALS, _LARGE = 6, 1e15
# The angle of an hour of the day.
_HOUR = 2 * math.pi / 24
# Categories separate the datasets if rows split at random would be separated as well with at most this chance.
_BY_CHANCE = 1e-3
# With fewer rows, all texts may differ by chance.
_LEAST_DIFFERENT = 8
# A column named like an id is one if at least this share of the rows have a whole number of their own. Rows that were
# entered twice repeat it; references to another table, such as the product of an order, repeat more.
_OWN_ID = 0.9
# Names of whole numbers that may name rows, of an index that a program saved (of which rows may be gone), and of those
# that may only count rows.
ID_NAME = re.compile(r"(?:^|[^A-Za-z])(?i:id|key|uuid|guid)$|(?<=[a-z])(?:Id|ID|Key)$")
INDEX_NAME = re.compile(r"(?i)unnamed: [\d.]+|index|__index_level_\d+__|level_\d+|row[ _.]?names?|\.\.\.\d+")
COUNT_NAME = re.compile(
    r"(?i)(?:row|obs|observation|case|record|line|seq|sequence)?[ _.]?(?:index|number|num|no|nr|id|key)?\.?"
    r"|#|i|n|t|step|time"
)
# A reason to leave out a column.
_COUNTS_ON = "counts rows from one dataset to the next, so it alone separates them"


class ColumnOptions(TypedDict, total=False):
    """Column options, the same for all functions that accept tables.

    Attributes
    ----------
    columns : str or sequence of str
        Use only these columns.
    drop : str or sequence of str
        Do not use these columns.
    keep : str or sequence of str
        Use these columns although they look like ids, or are dates that would be left out.
    id : str
        The column that names the rows.
    categorical : str or sequence of str
        Treat these columns as categories; ``"error"`` refuses all columns that are not numeric.
    numeric : str or sequence of str
        Treat these columns as numbers.
    common : bool
        Whether to leave out columns that some tables lack, instead of refusing them.
    encoding : Encoding
        A known encoding, learned from other tables; it can only be combined with `keep`.

    Examples
    --------
    >>> import polars as pl
    >>> from fewratio import Collection, ColumnOptions
    >>> options: ColumnOptions = {"id": "bottle", "categorical": "year"}
    >>> table = pl.DataFrame({"bottle": ["a", "b", "c"], "year": [2001, 2001, 2004], "size": [1.0, 2.5, 2.0]})
    >>> Collection.from_arrays({"monday": table}, **options).encoding.summary
    '3 columns: 1 category, 1 number, 1 left out (bottle: id)'
    """

    columns: str | Sequence[str]
    drop: str | Sequence[str]
    keep: str | Sequence[str]
    id: str
    categorical: str | Sequence[str]
    numeric: str | Sequence[str]
    common: bool
    # Naming the type would be a circular import.
    encoding: Any


# Other arguments of the public functions with these options.
ARGUMENTS = (
    *("arrays", "attributes", "blocks", "by", "checkpoint", "clip", "encoder", "estimator", "level", "model", "n_jobs"),
    *("n_permutations", "n_rows", "names", "new", "normalise", "outliers", "paired", "progress", "random_state"),
    *("step", "swings", "threshold", "time", "trend", "window", "y"),
)


@dataclass(frozen=True)
class ColumnRules:
    """Validated column options, and how columns are read.

    Attributes
    ----------
    only_numbers : bool
        Whether columns that are not numeric are refused.
    finds_ids : bool
        Whether whole numbers that count the rows are left out as ids. Text that differs in all rows always is.
    """

    columns: tuple[str, ...] | None = None
    drop: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    id: str | None = None
    categorical: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    common: bool = False
    encoding: Any = None
    only_numbers: bool = False
    finds_ids: bool = True

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> ColumnRules:
        """Return the rules from a user's options."""
        given = {name: value for name, value in options.items() if value is not None}
        unknown = sorted(set(given) - ColumnOptions.__annotations__.keys())
        if unknown:
            known = list(ColumnOptions.__annotations__)
            of_files = [f"{name}={given[name]!r}" for name in ("separator", "decimal", "header") if name in unknown]
            advice = advise_names(unknown, [*known, *ARGUMENTS])
            advice = f"Pass read_table(path, {', '.join(of_files)}) as the table." if of_files else advice
            raise ParameterError(
                f"{quote_list(unknown)} is not an option for columns; those are {', '.join(known)}. {advice}"
            )
        # An encoding does not say whether dates that order two tables are kept.
        besides = sorted(set(given) - {"encoding", "keep"})
        if "encoding" in given and besides:
            found = f"encoding is given, and {quote_list(besides)} besides"
            raise ParameterError(f"{found}; an encoding says what becomes of all columns. Pass only one of the two.")
        if isinstance(given.get("categorical"), str) and given["categorical"] == "error":
            given |= {"categorical": (), "only_numbers": True}
        for name in given.keys() & {"columns", "drop", "keep", "categorical", "numeric"}:
            given[name] = as_names(name, given[name])
        for name, kind in {"id": str, "common": bool | np.bool_}.items():
            if name in given and not isinstance(given[name], kind):
                needed = "the name of a column" if kind is str else "True or False"
                raise ParameterError(f"{name} is {show_value(given[name])}; expected {needed}. Pass that.")
        rules = cls(**given)
        if both := sorted(set(rules.categorical) & set(rules.numeric)):
            found = (
                f"{quote_list(both)} is in {name_parameter('categorical', '')} and in {name_parameter('numeric', '')}"
            )
            raise ParameterError(f"{found}; a column is one or the other. Name it once.")
        return rules

    @property
    def given(self) -> list[str]:
        """Names of the options that the user passed."""
        said = {name: value for name, value in vars(self).items() if name != "finds_ids"}
        return [name for name, value in said.items() if value != getattr(ColumnRules, name)]

    @property
    def named(self) -> tuple[str, ...]:
        """All columns named in options; each must exist."""
        ids = () if self.id is None else (self.id,)
        return (*(self.columns or ()), *self.drop, *self.keep, *ids, *self.categorical, *self.numeric)


NO_RULES = ColumnRules()
# Rules that use every column of numbers, even if it looks like an id.
AS_GIVEN = ColumnRules(finds_ids=False)


@dataclass(frozen=True)
class Column:
    """The encoding of one column.

    Attributes
    ----------
    name : str
    kind : {"number", "boolean", "category", "date", "duration", "time of day", "free text", "vector"}
    left_out : str or None
        The reason if the column is not used: "id", "names the dataset", "each value is in one dataset only", "shows
        which table came first", "date of a row", "no values", "dropped", "not in all tables" or the type of its values.
    categories : tuple of str
        The categories with their own feature, sorted.
    pools_others : bool
        Whether all other categories share a feature.
    median : float or None
        The number that replaces missing numbers.
    marks_missing : bool
        Whether a feature of zeros and ones marks missing values.
    zone : str or None
        The time zone in which dates are written.
    directions : tuple of tuple of float
        For free text and vectors, the directions in which they vary most, each with the overall mean as last number.
    """

    name: str
    kind: str = NUMBER
    left_out: str | None = None
    categories: tuple[str, ...] = ()
    pools_others: bool = False
    median: float | None = None
    marks_missing: bool = False
    zone: str | None = None
    directions: Directions = ()

    @cached_property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features of the column."""
        forms = {"category": "{}={}", "value": "{} ({})", "missing": "{} is {}"}
        return tuple(
            self.name if (kind, text) == ("value", "") else forms[kind].format(self.name, text)
            for kind, text in self.features
        )

    @property
    def features(self) -> tuple[tuple[str, str], ...]:
        """Kind and text of each feature: a category, a value (such as its sine), or whether it is missing."""
        if self.left_out is not None:
            return ()
        texts = list(self.categories) if self.kind == CATEGORY else [""]
        texts = ["sine", "cosine"] if self.kind == TIME else texts
        if self.kind in (FREE, VECTOR):
            numbered = [f"direction {place}" for place in range(1, len(self.directions) + 1)]
            texts = ["words"] * (self.kind == FREE) + numbered
        what = "category" if self.kind == CATEGORY else "value"
        others = [("category", "other")] * self.pools_others
        return (*((what, text) for text in texts), *others, *([("missing", "missing")] * self.marks_missing))

    def encode(self, values: ColumnValues, result: NDArray[Any]) -> list[str]:
        """Write the features of a table's column into an array of shape (n, n_features) of zeros.

        Returns
        -------
        list of str
            The new categories, if all known ones have their own feature.
        """
        unknown: list[str] = []
        if self.kind != CATEGORY:
            numbers = values.to_numbers(self.kind)
            missing = np.isnan(numbers.reshape(len(numbers), -1)).any(1)
            held = np.flatnonzero(~missing)
            if self.kind == VECTOR:
                if len(held):
                    self._check_length(values)
                    result[held, : len(self.directions)] = encode_vectors(numbers[held], self.directions)
                numbers = result[:, 0]
            numbers = numbers if self.median is None else np.where(missing, self.median, numbers)
            result[:, 0] = numbers
            if self.kind == FREE and self.directions and len(held):
                codes, which = np.unique(values.codes[held], return_inverse=True)
                encoded = encode_texts([values.texts[code] for code in codes], self.directions)
                result[held, 1 : encoded.shape[1] + 1] = encoded[which]
            if self.kind == TIME:
                result[:, 0], result[:, 1] = np.sin(numbers * _HOUR), np.cos(numbers * _HOUR)
        else:
            read = values.as_read()
            if read.kind == BOOLEAN and not {"True", "False"} & set(self.categories):
                values = read._replace(kind=NUMBER)
            coded = values.to_levels()
            place = {category: number for number, category in enumerate(self.categories)}
            others = len(self.categories) if self.pools_others else -1
            # The last place is that of code -1.
            places = np.array([*(place.get(text, others) for text in coded.texts), -1], dtype=np.intp)[coded.codes]
            rows, missing = np.flatnonzero(places >= 0), coded.codes < 0
            result[rows, places[rows]] = 1
            if not self.pools_others:
                unknown = [coded.texts[code] for code in np.unique(coded.codes[(places < 0) & ~missing])]
        if self.marks_missing:
            result[:, -1] = missing
        return unknown

    def _check_length(self, values: ColumnValues) -> None:
        n_found, n_needed = values.numbers.shape[1], len(self.directions[0]) - 1
        if n_found != n_needed:
            found = f"{values.name} has vectors of {n_found} numbers, but those before had {n_needed}"
            raise InputError(f"{found}; all must have the same length. Make them with one model, or drop the column.")

    def decode(self, features: NDArray[Any]) -> NDArray[Any]:
        """Return the values of a column that is not categorical from encoded rows, without missing values.

        For free text, they are the numbers of words; for vectors, the first direction.
        """
        held = features[features[:, -1] == 0] if self.marks_missing else features
        return np.arctan2(held[:, 0], held[:, 1]) / _HOUR % 24 if self.kind == TIME else held[:, 0]

    def write(self, value: float, digits: int = 4) -> str:
        """Write a number, boolean, date, duration or time for users; with few digits, a date has no time."""
        if self.kind in WRITERS:
            return WRITERS[self.kind](value, digits)
        if self.kind == DATE:
            text = write_days(value, self.zone)
            return text.partition(" ")[0] if digits == 4 else text
        if self.kind == BOOLEAN:
            return str(bool(value))
        text = write_number(value, digits)
        return f"{text} words" if self.kind == FREE else text

    def write_means(self, means: Sequence[float], deviations: Sequence[float]) -> list[str]:
        """Write means with standard deviations; numbers have as many decimals as two digits of the smallest one need.

        Examples
        --------
        >>> Column("p").write_means([13.7234, 12.02], [0.4911, 1.381])
        ['13.72 ± 0.49', '12.02 ± 1.38']
        """
        smallest = min((each for each in deviations if each), default=0.0)
        least = max(1 - math.floor(math.log10(smallest)), 0) if smallest else math.inf
        if self.kind in (NUMBER, FREE, VECTOR) and least <= _MOST_DECIMALS and max(map(abs, means)) < _LARGE:
            # Up to two more where they say that the means differ.
            texts = {
                n: [write_fixed(round(mean, n) + 0.0, n) for mean in means] for n in range(int(least), int(least) + 3)
            }
            n = next((n for n, written in texts.items() if len(set(written)) > 1), int(least))
            unit = " words" * (self.kind == FREE)
            numbers = group_alike([*texts[n], *(write_fixed(each, n) for each in deviations)])
            half = len(means)
            return [f"{mean} ± {each}{unit}" for mean, each in zip(numbers[:half], numbers[half:], strict=True)]
        # A mean that days pass around is not known to the second.
        is_day = self.kind == DATE and max(deviations) >= 1
        words = list(map(self.write, means)) if is_day else write_apart(*means, write=self.write)
        unit = " h" if self.kind == TIME else ""
        in_seconds = {DATE: DAY_SECONDS, DURATION: 1}.get(self.kind)
        spreads = [
            write_duration(each * in_seconds, 3) if in_seconds else f"{write_number(each, 3)}{unit}"
            for each in deviations
        ]
        return [f"{word} ± {spread}" for word, spread in zip(words, spreads, strict=True)]


def decide_column(
    label: str, raws: Sequence[RawTable], rules: ColumnRules, parts: Sequence[NDArray[np.intp]] | None = None
) -> Column:
    """Decide how to encode a column.

    Parameters
    ----------
    label : str
        Name of the column in all tables.
    raws : sequence of RawTable
    rules : ColumnRules
        The user's column options.
    parts : sequence of ndarray of int, optional
        The rows of each dataset, if one table contains several.
    """
    if label == rules.id:
        return Column(label, left_out=ID)
    found = [raw.values(label) for raw in raws]
    warn_of_booleans(found)
    found = unify_booleans(found)
    kind = _find_kind(label, found, rules)
    if kind not in PLURALS:
        return Column(label, left_out=kind)
    may_be_id = label not in (*rules.keep, *rules.categorical, *rules.numeric)
    if kind == CATEGORY:
        is_text = CATEGORY not in {values.kind for values in found}
        return _decide_category(label, [values.to_levels() for values in found], may_be_id and is_text, parts)
    directions = learn_directions(kind, found)
    if kind == VECTOR:
        marks_missing = any(np.isnan(values.numbers).any() for values in found)
        return Column(label, VECTOR, marks_missing=marks_missing, directions=directions)
    found = [values.as_read() for values in found]
    numbers = [values.to_numbers(kind) for values in found]
    may_be_id &= rules.finds_ids and raws[0].is_named and kind == NUMBER
    if may_be_id:
        exact = shift_wide(found) if TEXT not in {values.kind for values in found} else numbers
        tables = exact if parts is None else [exact[0][rows] for rows in parts]
        if _count_rows(label, tables):
            return Column(label, left_out=ID)
        reason = _describe_count(label, tables)
        if reason == _COUNTS_ON and len(tables) > 2:
            # Measurements do not count rows in three datasets.
            return Column(label, left_out=ID)
        if reason:
            use = name_parameter("drop", label, f"drop={[label]!r}")
            warn_of_kinds(label, reason, "it is read as a measurement", f"{use} leaves it out")
    check_exact(found)
    present = np.concatenate([each[~np.isnan(each)] for each in numbers])
    if not len(present):
        return Column(label, left_out=EMPTY)
    marks_missing = len(present) < sum(map(len, numbers))
    if kind == TIME:
        middle = float(np.angle(np.exp(1j * _HOUR * present).mean()) / _HOUR % 24)
        return Column(label, kind, median=middle, marks_missing=marks_missing)
    # Halved first: the sum of the middle two may overflow. In place: there may be many.
    present = np.divide(present, 2, out=present if present.dtype.kind == "f" else None)
    median = 2 * float(np.median(present, overwrite_input=True))
    zone = find_zone(found) if kind == DATE else None
    return Column(label, kind, median=median, marks_missing=marks_missing, zone=zone, directions=directions)


def _find_kind(label: str, found: Sequence[ColumnValues], rules: ColumnRules) -> str:
    """Return the kind of a column, or why it cannot be used."""
    if label in rules.categorical:
        return CATEGORY
    if label in rules.numeric:
        return NUMBER
    if rules.only_numbers:
        for values in found:
            check_numbers([values])
    read = [values.as_read() for values in found]
    held = {values.kind: values for values in read if values.kind != MISSING}
    unknown = [kind for kind in held if kind not in (*PLURALS, TEXT)]
    if not held or unknown:
        return unknown[0] if unknown else EMPTY
    texts = [values for values in found if values.kind == TEXT]
    if are_codes(read) or (CATEGORY in held and len(texts) == sum(values.kind != CATEGORY for values in found)):
        return CATEGORY
    if TEXT in held:
        check_texts([values for values in read if values.kind == TEXT])
    elif texts and held.keys() == {NUMBER}:
        warn_of_numbers(texts)
    elif texts and held.keys() == {TIME}:
        warn_of_times(texts)
    if len(held) > 1:
        parts = [f"{PLURALS.get(kind, kind)} in {values.table}" for kind, values in held.items()]
        cell = f" (the first text is {held[TEXT].find_text()}, counting from 0)" if TEXT in held else ""
        what = f"column {label!r} holds {' but '.join(parts)}{cell}"
        named = name_parameter("categorical", "")
        raise CollectionError(f"{what}; all must hold the same. Correct it, name it in {named}, or drop it.")
    if TEXT not in held:
        return next(iter(held))
    return FREE if is_free_text(_count_texts(texts)) else CATEGORY


def learn_directions(kind: str, found: Sequence[ColumnValues]) -> Directions:
    """Return the directions in which free text or vectors of all tables vary most; none for other kinds."""
    if kind == FREE:
        return learn_text([text for values in found for text in values.texts])
    if kind != VECTOR:
        return ()
    held = [values for values in found if values.kind == VECTOR]
    lengths = {values.numbers.shape[1]: values.table for values in held}
    if len(lengths) > 1:
        parts = " but ".join(f"vectors of {n} numbers in {table}" for n, table in lengths.items())
        advice = "Make them with one model, or drop the column."
        raise CollectionError(f"column {held[0].label!r} holds {parts}; all must have the same length. {advice}")
    numbers = np.concatenate([values.to_numbers(VECTOR) for values in held])
    return learn_vectors(numbers[~np.isnan(numbers[:, 0])])


def _count_texts(columns: Sequence[ColumnValues]) -> Counter[str]:
    """Return how many rows of all tables have each text."""
    count = Counter[str]()
    for values in columns:
        numbers = np.bincount(values.codes[values.codes >= 0], minlength=len(values.texts))
        count.update(dict(zip(values.texts, numbers.tolist(), strict=True)))
    return count


def _decide_category(
    label: str, coded: Sequence[ColumnValues], may_be_id: bool, parts: Sequence[NDArray[np.intp]] | None
) -> Column:
    """Decide how to encode a categorical column: which categories have a feature, and whether the others share one."""
    count = _count_texts(coded)
    if not count:
        return Column(label, left_out=EMPTY)
    # The same names may be in several tables, as of patients before and after.
    tables = [values.codes for values in coded] if parts is None else [coded[0].codes[rows] for rows in parts]
    are_names = max(map(len, tables)) >= _LEAST_DIFFERENT and all(map(are_different, tables))
    # One row, or one of each of two tables, may well differ.
    if may_be_id and (are_names or len(count) == count.total() > 2):
        return Column(label, left_out=ID)
    # With two datasets, a column that names them cannot be distinguished from a measured one.
    if may_be_id and len(tables) > 2:
        texts = [values.texts for values in coded] if parts is None else [coded[0].texts] * len(tables)
        counts = [
            Counter(dict(zip(np.array(each, dtype=object)[found], n, strict=True)))
            for codes, each in zip(tables, texts, strict=True)
            for found, n in [np.unique(codes[codes >= 0], return_counts=True)]
        ]
        if len(count) == len(tables) and all((codes == codes[0]).all() for codes in tables):
            return Column(label, left_out=NAMES_DATASET)
        if _divide(counts):
            return Column(label, left_out=OF_DATASET)
    ranked = sorted(count, key=lambda text: (-count[text], text))
    least = max(2, _RARE_SHARE * count.total())
    kept = [text for text in ranked[:_MOST_CATEGORIES] if count[text] >= least]
    # A single rare category needs no pool.
    pools_others = len(kept) + 1 < len(ranked)
    marks_missing = any((values.codes < 0).any() for values in coded)
    categories = tuple(sorted(kept if pools_others else ranked))
    return Column(label, CATEGORY, None, categories, pools_others, marks_missing=marks_missing)


def _divide(counts: Sequence[Counter[str]]) -> bool:
    """Return whether each category is in one dataset only, by more than chance.

    For example, countries in datasets of continents name parts of a dataset, and do not describe its rows.
    """
    if sum(map(len, counts)) > len(set().union(*counts)):
        return False
    n_rows = sum(count.total() for count in counts)
    # The chance that the rows of a category all come to the same dataset.
    chances = [(n, sum((other.total() / n_rows) ** n for other in counts)) for count in counts for n in count.values()]
    return sum(math.log(chance) for n, chance in chances if n > 1) <= math.log(_BY_CHANCE)


def are_different(codes: NDArray[Any]) -> bool:
    """Return whether all rows of a table have different texts or numbers."""
    return len(np.unique(codes)) == len(codes)


def _count_again(numbers: NDArray[np.float64]) -> bool:
    """Return whether whole numbers count the rows of several tables that were joined, each from its first row on."""
    values, counts = np.unique(numbers, return_counts=True)
    return len(values) >= _LEAST_DIFFERENT and bool((np.diff(values) == 1).all() and (np.diff(counts) <= 0).all())


def _count_rows(label: str, tables: Sequence[NDArray[np.float64]]) -> bool:
    """Return whether name and values show that whole numbers name the rows, or count those of each or all tables."""
    pooled = np.concatenate(tables)
    # A gap is not equal to itself.
    if not (pooled == np.floor(pooled)).all():
        return False
    if ID_NAME.search(label) or INDEX_NAME.fullmatch(label):
        # A few rows may have been entered twice.
        have_own = all(len(np.unique(each)) >= _OWN_ID * len(each) for each in tables)
        return have_own or bool(INDEX_NAME.fullmatch(label) and all(map(_count_again, tables)))
    if COUNT_NAME.fullmatch(label) is None:
        return False
    return any(all(map(_have_no_gap, each)) for each in (tables, [pooled]))


def _describe_count(label: str, tables: Sequence[NDArray[np.float64]]) -> str:
    """Say why a column may be no measurement although it does not name the rows; "" if it looks like one."""
    if INDEX_NAME.fullmatch(label):
        return "is named like an index that a program saved, but does not count rows"
    is_long = len(tables) > 1 and sum(map(len, tables)) >= _LEAST_DIFFERENT
    if is_long and tables[0][0] % 1 == 0 and all(map(_have_no_gap, [*tables, np.concatenate(tables)])):
        return _COUNTS_ON
    return ""


def _have_no_gap(numbers: NDArray[np.float64]) -> bool:
    """Return whether numbers are n, n + 1, n + 2 and so on, in any order."""
    return bool((np.diff(np.sort(numbers)) == 1).all())
