"""How columns differ between two samples."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fewratio.core.effects import means_apart, shares_apart
from fewratio.core.shapes import Floats
from fewratio.core.wording import write_list, write_p, write_share
from fewratio.data.column_kinds import BOOLEAN, CATEGORY, DATE, FREE, NUMBER, TIME, VECTOR
from fewratio.data.columns import Column
from fewratio.data.non_overlapping import Levels
from fewratio.data.spelling import differ_in_a_letter, find_misprints
from fewratio.errors import warn
from fewratio.estimators.samples import Samples
from fewratio.testing import LEVEL

# A value far from all others may mean "missing" if it occurs this often and there are this many distinct others.
_N_CODES, _N_OTHERS = 3, 10
# Label of the pooled categories; the share of rows above which they describe the column.
_OTHER, _MOST = "other ", 0.5
WORDS_NAMED = "Each word is named once, alone or in the phrase that differs most."


def warn_of_codes(samples: Samples) -> None:
    """Warn if a number is frequent and so far from the rest of its column that it may mean "missing"."""
    for label, (column, place) in samples.columns.items():
        if column.kind != NUMBER:
            continue
        values = np.concatenate([column.decode(np.asarray(table.numbers[:, place])) for table in samples.tables])
        for code in {values.max(initial=0), values.min(initial=0)} - {0}:
            others = values[values != code]
            n_rows, low, high = len(values) - len(others), others.min(initial=np.inf), others.max(initial=-np.inf)
            is_far = min(abs(low - code), abs(high - code)) > high - low
            # Zeros are common.
            if n_rows >= _N_CODES and is_far and len(np.unique(others)) >= _N_OTHERS:
                warn(
                    f"{n_rows} rows have {code:g} in {label}, where all others have {column.write(low)} to "
                    f"{column.write(high)}. If it stands for a missing value, leave these cells empty (NaN in "
                    "Python)."
                )


def warn_of_spellings(samples: Samples) -> None:
    """Warn of categories that differ from a category of the other table only in case, blanks or one letter."""
    n_first, found = samples.tables[0].n_rows, dict[Any, str]()
    for label, (codes, texts) in samples.levels.items():
        sides = [{texts[code] for code in np.unique(each) if code >= 0} for each in (codes[:n_first], codes[n_first:])]
        for table, own, other in zip(samples.tables, sides, sides[::-1], strict=True):
            for text, meant in find_misprints(sorted(own - other), sorted(other)).items():
                if differ_in_a_letter(text, meant):
                    said = f"{text!r} in {label} of {table.name} (did you mean {meant!r}?)"
                    found.setdefault((label, frozenset((text, meant))), said)
    if found:
        warn(f"Only one table has {write_list(found.values(), 3)}. Where they are the same, write them alike.")


class ColumnDifference(NamedTuple):
    """How a column differs between two samples.

    Attributes
    ----------
    column : str or int
        Name of the column, or its number if columns have no names.
    kind : {"number", "boolean", "category", "date", "duration", "time of day", "free text", "vector"}
    first, second : str
        Summary of the values in each sample, as text: mean and standard deviation, or the share of the category or word
        that differs most; for free text in which no word differs, the number of words; for vectors, the direction that
        differs most.
    effect : float or None
        For numbers, dates and times, Cohen's d: the difference of the means in units of the deviation within samples,
        positive if the first is larger (for times of day, the shorter way round the clock). Its size is at most 100,
        the value if neither sample varies. For categories and words, Cohen's h, the difference of the arcsines of two
        shares. None if most rows have rare categories, or if a sample has no values.
    missing_first, missing_second : float
        The share of missing values in each sample.
    mean_first, mean_second, deviation_first, deviation_second : float or None
        Mean and standard deviation of numbers, booleans (0 and 1), durations (seconds) and times of day (hours);
        None for other kinds.
    p_value : float or None
        The p-value of the column, adjusted for the number of columns (Westfall and Young, step-down): the chance that
        any column without a difference has a p-value up to a level is at most that level. None if there was no test.
    alone, without : float or None
        The held-out divergence of this column alone, and of all other columns; 0 if the model finds none. None for all
        but the first eight columns, if no difference was found, or if an estimator was given.
    """

    column: str | int
    kind: str
    first: str
    second: str
    effect: float | None
    missing_first: float
    missing_second: float
    mean_first: float | None
    mean_second: float | None
    deviation_first: float | None
    deviation_second: float | None
    p_value: float | None
    alone: float | None
    without: float | None


class WordDifference(NamedTuple):
    """A word, or a phrase of two words, that one sample has in more of its rows.

    Attributes
    ----------
    column : str or int
    text : str
        The word or phrase in lower case.
    first, second : float
        The share of rows of each sample that contain it.
    p_value : float
        The chance that any word or phrase differs as much if the samples come from one distribution, from the
        permutations of the test; adjusted for all words and phrases of all columns.
    """

    column: str | int
    text: str
    first: float
    second: float
    p_value: float

    def write(self, names: Sequence[str]) -> str:
        """Say how many rows of each sample contain the text, given the names of the samples."""
        shares = " and ".join(f"{write_share(share)} of {name}" for share, name in zip(self[2:4], names, strict=True))
        return f"{self.text!r} is in {shares} ({self.column}, p = {write_p(self.p_value)})"


def describe_words(samples: Samples, p_values: Floats, level: float) -> list[WordDifference]:
    """Describe words and phrases that differ between two samples, the strongest first.

    Each word is named once: alone, or in the phrase that differs most (the longest of several that differ equally).

    Parameters
    ----------
    samples : Samples
    p_values : ndarray of shape (n_terms,)
        The p-values of all words and phrases, column by column.
    level : float
        The largest p-value to describe.
    """
    n_first, found, start = samples.tables[0].n_rows, [], 0
    for label, terms in samples.terms.items():
        of_column = p_values[start : start + len(terms.texts)]
        start += len(terms.texts)
        first, second = (np.asarray(side.mean(0)).ravel() for side in (terms.rows[:n_first], terms.rows[n_first:]))
        share = np.asarray(terms.rows.mean(0)).ravel()
        strength = np.abs(first - second) / np.sqrt(share * (1 - share))
        words: set[str] = set()
        for place in sorted(range(len(share)), key=lambda place: (-strength[place].round(9), -len(terms.texts[place]))):
            text = terms.texts[place]
            if of_column[place] <= level and words.isdisjoint(text.split()):
                words.update(text.split())
                said = WordDifference(label, text, float(first[place]), float(second[place]), float(of_column[place]))
                found.append((float(strength[place]), said))
    return [each for _, each in sorted(found, key=lambda pair: (pair[1].p_value, -pair[0]))]


def describe_columns(
    samples: Samples, p_values: Sequence[float | None], words: Sequence[WordDifference] = ()
) -> list[ColumnDifference]:
    """Describe how each column differs between two encoded samples, the strongest first.

    Columns whose values do not overlap come first, then the others by p-value, and by effect if p-values are equal.
    `p_values`, one per column, and `words`, the strongest first, come from the test.
    """
    apart, (first, second) = samples.non_overlapping, (table.numbers for table in samples.tables)
    found = [
        ColumnDifference._make(
            (label, column.kind, *_describe_two(column, first[:, place], second[:, place]), p_value, None, None)
        )
        for (label, (column, place)), p_value in zip(samples.columns.items(), p_values, strict=True)
    ]
    order = {each.column: place for place, each in enumerate(apart)}
    strongest = {word.column: word for word in reversed(words)}
    for place, each in enumerate(found):
        if each.column in strongest:
            word = strongest[each.column]
            shares = [f"{word.text} {write_share(share)}" for share in (word.first, word.second)]
            effect = float(shares_apart(np.array(word.first), np.array(word.second)))
            found[place] = each._replace(first=shares[0], second=shares[1], effect=effect)
        elif each.column in order and each.kind == CATEGORY:
            # Its categories may all be rare, and pooled into one.
            held = apart[order[each.column]]
            effect = float(shares_apart(np.array(held.share), np.array(1 - held.share)))
            found[place] = each._replace(first=held.first, second=held.second, effect=effect)
        elif each.kind == CATEGORY and samples.columns[each.column][0].pools_others:
            # The share of all rare values together does not show how they differ.
            found[place] = each._replace(**_describe_levels(samples.levels[each.column], len(first), each))
    return sorted(
        found, key=lambda each: (order.get(each.column, len(order)), each.p_value or 0, -abs(each.effect or 0))
    )


def explain_effects(columns: Sequence[ColumnDifference], name: str) -> str:
    """Explain the effect sizes of columns, given the name of the first sample."""
    scale = f"Cohen's d of means, h of shares, above 0 if more in {name}"
    has_times = any(each.kind == TIME for each in columns)
    return f"{scale}; times of day by the shorter way round the clock" if has_times else scale


def explain_parts(
    result: Any, columns: Sequence[ColumnDifference], parts: Sequence[str] = ("alone", "without")
) -> list[str]:
    """Explain the divergences in a table of columns, and the star at columns that differ only jointly."""
    said = []
    if parts and any(each.alone is not None for each in columns):
        but = f"; for columns that overlap, also without {result.set_aside}" if result.set_aside else ""
        meanings = {"alone": "this column alone", "without": f"all other columns{but}"}
        said.append("; ".join(f"{part}: the divergence of {meanings[part]}" for part in parts))
    joint = result.joint_columns
    star = f"* its own p is above {LEVEL}, but half of the divergence or more is lost without it"
    return said + [star] * any(each in joint for each in columns)


def explain_small_effects(result: Any, columns: Sequence[ColumnDifference]) -> list[str]:
    """Name the columns that differ in something else than their means, and say in what."""
    found: dict[str, list[str]] = {}
    for each in columns:
        if said := result.explain_small_effect(each):
            found.setdefault(said, []).append(str(each.column))
    return [f"{said}: {', '.join(names)}" for said, names in found.items()]


def _describe_levels(levels: Levels, n_first: int, described: ColumnDifference) -> dict[str, Any]:
    """Name the category that differs most before rare ones are pooled, if chance does not explain it.

    Otherwise, if most rows have rare categories, count the categories of each sample, and those that only it has.
    """
    parts, n_levels = (levels.codes[:n_first], levels.codes[n_first:]), len(levels.texts)
    counts = np.stack([np.bincount(part[part >= 0], minlength=n_levels) for part in parts])
    sizes = np.array([[len(part)] for part in parts])
    first, second = counts / sizes
    share = counts.sum(0) / sizes.sum()
    scores = np.abs(first - second) / np.sqrt(np.maximum(share * (1 - share), 1e-300) * (1 / sizes).sum())
    best = int(scores.argmax())
    # The expected maximum of many normal variables.
    if scores[best] > np.sqrt(2 * np.log(2 * n_levels)):
        words = [f"{levels.texts[best]} {write_share(each[best])}" for each in (first, second)]
        return {"first": words[0], "second": words[1], "effect": float(shares_apart(first, second)[best])}
    if not described.first.startswith(_OTHER):
        return {}
    is_there = counts > 0
    n_own, n_only = is_there.sum(1), (is_there & ~is_there[::-1]).sum(1)
    words = [f"{own} values, {only} only here" for own, only in zip(n_own, n_only, strict=True)]
    return {"first": words[0], "second": words[1], "effect": None}


class Described(NamedTuple):
    """A column in several samples.

    Attributes
    ----------
    words : list of str
        Summary of the values in each sample.
    effects : list of float
        The effect size of each sample against all others.
    missing : list of float
        The share of missing values in each sample.
    means, deviations : list of float, or None
        Mean and standard deviation in each sample, None for samples without values; None for other kinds.
    """

    words: list[str]
    effects: list[float]
    missing: list[float]
    means: list[float | None] | None = None
    deviations: list[float | None] | None = None


def describe_column(column: Column, sides: Sequence[Floats]) -> Described:
    """Describe a column in several samples, given its features in each."""
    gaps = [float(side[:, -1].mean()) if column.marks_missing else 0.0 for side in sides]
    if column.kind == CATEGORY:
        held = [side[:, : side.shape[1] - column.marks_missing] for side in sides]
        shares = np.stack([side.mean(0) for side in held])
        effects = shares_apart(shares, np.stack([rest.mean(0) for rest in _join_others(held)]))
        # In standard errors, so that a small group does not decide.
        sizes = np.array([[len(side)] for side in sides])
        largest = int((np.abs(effects) * np.sqrt(sizes * (sizes.sum() - sizes))).max(0).argmax())
        if column.pools_others and shares[:, -1].max() > _MOST:
            largest = shares.shape[1] - 1
        _, what = column.features[largest]
        return Described(
            [f"{what} {write_share(share)}" for share in shares[:, largest]], effects[:, largest].tolist(), gaps
        )
    values = [column.decode(side) for side in sides]
    known = [place for place, side in enumerate(values) if len(side)]
    if len(known) < 2:
        return Described(["some values" if len(side) else "no values" for side in values], [0.0] * len(sides), gaps)
    kept, label = [values[place] for place in known], ""
    kept = _unwind(kept) if column.kind == TIME else kept
    if column.kind == VECTOR:
        rows = [sides[place] for place in known]
        rows = [side[side[:, -1] == 0] if column.marks_missing else side for side in rows]
        by_direction = [[side[:, k] for side in rows] for k in range(len(column.directions))]
        direction = int(np.argmax([np.abs(_measure_effects(each)).max() for each in by_direction]))
        kept, label = by_direction[direction], f"direction {direction + 1}: "
    means, deviations = [float(side.mean()) for side in kept], [float(side.std()) for side in kept]
    words = (
        [f"True {write_share(mean)}" for mean in means]
        if column.kind == BOOLEAN
        else column.write_means(means, deviations)
    )
    words = [f"{label}{text}" for text in words]

    def fill(found: Sequence[Any], nothing: Any) -> list[Any]:
        by_place = dict(zip(known, found, strict=True))
        return [by_place.get(place, nothing) for place in range(len(sides))]

    numbers = () if column.kind in (DATE, FREE, VECTOR) else (fill(means, None), fill(deviations, None))
    return Described(fill(words, "no values"), fill(_measure_effects(kept), 0.0), gaps, *numbers)


def _measure_effects(sides: Sequence[Floats]) -> list[float]:
    """Return Cohen's d of each sample against all others."""
    return [float(means_apart(*each)) for each in zip(sides, _join_others(sides), strict=True)]


def _join_others(sides: Sequence[Floats]) -> list[Floats]:
    """Return, for each sample, the rows of all others."""
    return [np.concatenate([*sides[:place], *sides[place + 1 :]]) for place in range(len(sides))]


def _describe_two(column: Column, first: Floats, second: Floats) -> tuple[Any, ...]:
    """Return a column's summary in two samples, its effect size, its shares missing, its means and deviations."""
    found = describe_column(column, (first, second))
    return (
        *found.words,
        # A sample without values has no mean to compare.
        None if 1 in found.missing else found.effects[0],
        *found.missing,
        *(found.means or [None] * 2),
        *(found.deviations or [None] * 2),
    )


def _unwind(sides: Sequence[Floats]) -> list[Floats]:
    """Return times of day as hours around their mean on the circle, so that 23:30 and 0:30 are an hour apart."""
    angles = [np.exp(2j * np.pi * side / 24).mean() for side in sides]
    centre = float(np.angle(sum(angles))) * 12 / np.pi
    return [(side - centre + 12) % 24 - 12 + centre for side in sides]
