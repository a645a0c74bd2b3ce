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

# A value far from all others may mean "missing" if it occurs this often, beside this many distinct others.
_N_CODES, _N_OTHERS = 3, 10
# Label of the pooled categories; and the share of rows from which on they are what matters.
_OTHER, _MOST = "other ", 0.5
WORDS_NAMED = "Each word is named once, alone or in the phrase that differs most."


def warn_of_codes(samples: Samples) -> None:
    """Warn if a number is so far from all others of its column, and so frequent, that it may mean "missing"."""
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
    """Warn of categories of one table that differ from one of the other's in case, blanks or one letter only."""
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
        Its name, or its number if columns have no names.
    kind : {"number", "boolean", "category", "date", "duration", "time of day", "free text", "vector"}
    first, second : str
        Summary of its values in each sample, as text: mean and standard deviation, or the share of the category or word
        that differs most. Free text in which no word differs has its number of words, a vector the direction that
        differs most.
    effect : float or None
        For numbers, dates and times, Cohen's d: the difference of the means in units of the deviation within samples,
        positive if the first is larger (for times of day, the shorter way round the clock); at most 100 in size, and
        100 if neither sample varies. For categories and words, h: the difference of two shares' arcsines. None if most
        rows have rare categories, since no single share then shows how they differ, or if a sample has no value.
    missing_first, missing_second : float
        The share of rows of each sample in which it is missing.
    mean_first, mean_second, deviation_first, deviation_second : float or None
        For numbers, booleans (0 and 1), durations (seconds) and times of day (hours); else None.
    p_value : float or None
        Small if the column differs by more than chance: adjusted for the number of columns, step by step (Westfall and
        Young), so that the chance of naming any column that does not differ is at most the level. None if there was no
        test.
    alone, without : float or None
        The divergence of this column alone, and of all others without it, each at rows that were held out; 0 if none
        is seen. None for all but the first eight columns, if nothing was found, or if an estimator was given.
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
        In small letters.
    first, second : float
        The share of rows of each sample that have it.
    p_value : float
        The chance that any word or phrase of any column differs as much if the samples come from one distribution: from
        the same permutations as the test, adjusted for all words and phrases.
    """

    column: str | int
    text: str
    first: float
    second: float
    p_value: float

    def write(self, names: Sequence[str]) -> str:
        """Say how many rows of each sample have it; `names` are those of the samples."""
        shares = " and ".join(f"{write_share(share)} of {name}" for share, name in zip(self[2:4], names, strict=True))
        return f"{self.text!r} is in {shares} ({self.column}, p = {write_p(self.p_value)})"


def describe_words(samples: Samples, p_values: Floats, level: float) -> list[WordDifference]:
    """Describe words and phrases that differ between two samples, the strongest first.

    Each word is named once, in the phrase that differs most, or alone; of phrases that differ equally the longest.

    Parameters
    ----------
    samples : Samples
    p_values : ndarray of shape (n_terms,)
        Of the terms of all columns, one column after the other.
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
    `p_values` come from the test, one per column, and so do `words`, the strongest first.
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
    """Explain the effects of columns, with the name of the first sample."""
    scale = f"Cohen's d of means, h of shares, above 0 if more in {name}"
    has_times = any(each.kind == TIME for each in columns)
    return f"{scale}; times of day by the shorter way round the clock" if has_times else scale


def explain_parts(
    result: Any, columns: Sequence[ColumnDifference], parts: Sequence[str] = ("alone", "without")
) -> list[str]:
    """Explain the divergences of some columns that are shown, and the star at those that differ only jointly."""
    said = []
    if parts and any(each.alone is not None for each in columns):
        but = f"; for columns that overlap, also without {result.set_aside}" if result.set_aside else ""
        meanings = {"alone": "this column alone", "without": f"all other columns{but}"}
        said.append("; ".join(f"{part}: the divergence of {meanings[part]}" for part in parts))
    joint = result.joint_columns
    star = f"* its own p is above {LEVEL}, but half of the divergence or more is lost without it"
    return said + [star] * any(each in joint for each in columns)


def explain_small_effects(result: Any, columns: Sequence[ColumnDifference]) -> list[str]:
    """Name the columns whose means are similar though they differ, with what differs."""
    found: dict[str, list[str]] = {}
    for each in columns:
        if said := result.explain_small_effect(each):
            found.setdefault(said, []).append(str(each.column))
    return [f"{said}: {', '.join(names)}" for said, names in found.items()]


def _describe_levels(levels: Levels, n_first: int, described: ColumnDifference) -> dict[str, Any]:
    """Name the category that differs most before rare ones are pooled, if chance does not explain it.

    Otherwise, if most rows have rare categories, say how many categories each sample has, and how many only it has.
    """
    parts, n_levels = (levels.codes[:n_first], levels.codes[n_first:]), len(levels.texts)
    counts = np.stack([np.bincount(part[part >= 0], minlength=n_levels) for part in parts])
    sizes = np.array([[len(part)] for part in parts])
    first, second = counts / sizes
    share = counts.sum(0) / sizes.sum()
    scores = np.abs(first - second) / np.sqrt(np.maximum(share * (1 - share), 1e-300) * (1 / sizes).sum())
    best = int(scores.argmax())
    # The largest of many normal variables.
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
        Summary of its values in each sample.
    effects : list of float
        The effect of each sample against all others.
    missing : list of float
        The share of missing values in each.
    means, deviations : list of float, or None
        For kinds that have them; None in samples without values.
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
        # In deviations, or a group of few rows would decide.
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
    """Return the summary of a column in each of two samples, the effect, the shares missing, means and deviations."""
    found = describe_column(column, (first, second))
    return (
        *found.words,
        # Where one sample has no value there is no mean to compare.
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
