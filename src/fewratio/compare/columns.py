"""How columns differ between two samples."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from fewratio.core.effects import means_apart, shares_apart
from fewratio.core.shapes import Floats
from fewratio.core.wording import write_apart
from fewratio.data.column_kinds import BOOLEAN, CATEGORY, TIME
from fewratio.data.columns import Column
from fewratio.data.non_overlapping import NonOverlapping


class ColumnDifference(NamedTuple):
    """How a column differs between two samples.

    Attributes
    ----------
    column : str or int
        Its name, or its number where columns have no names.
    kind : {"number", "boolean", "category", "date", "duration", "time of day"}
    first, second : str
        What it holds in either sample, in words: mean and standard deviation, or the shares of the category that
        differs most.
    effect : float
        Cohen's d of numbers, dates and times (the difference of the means in units of the deviation within the samples,
        positive if the first is larger), h of categories and of gaps (the difference of two shares' arcsines),
        whichever is larger.
    p_value : float or None
        The chance that any column differs as much if the samples are of one distribution: adjusted for the number of
        columns. None if there was no test.
    contribution : float or None
        Its share of the joint difference; columns that tell the same thing share it. None if there was no test.
    """

    column: str | int
    kind: str
    first: str
    second: str
    effect: float
    p_value: float | None
    contribution: float | None


def describe_columns(
    columns: Mapping[str | int, tuple[Column, slice]],
    first: Floats,
    second: Floats,
    p_values: Sequence[float | None],
    contributions: Sequence[float | None],
    apart: Sequence[NonOverlapping] = (),
) -> list[ColumnDifference]:
    """Describe how each column differs between two encoded samples, the strongest first.

    Columns that separate the samples come first, then the others in the order of their p-values, and of their effects
    where those are equal.

    Parameters
    ----------
    columns : mapping
        Of each column what became of it, and where its features are.
    first, second : ndarray of shape (n, n_features)
        The samples.
    p_values, contributions : sequence of float or None
        Of the test, one for each column.
    apart : sequence of NonOverlapping
        The columns that separate the samples.
    """
    found = [
        ColumnDifference(
            label, column.kind, *_describe(column, first[:, place], second[:, place]), p_value, contribution
        )
        for (label, (column, place)), p_value, contribution in zip(
            columns.items(), p_values, contributions, strict=True
        )
    ]
    order = {each.column: place for place, each in enumerate(apart)}
    for place, each in enumerate(found):
        if each.column in order and each.kind == CATEGORY:
            # Its categories may all be rare, and encoded as one.
            held = apart[order[each.column]]
            effect = float(shares_apart(np.array(held.share), np.array(1 - held.share)))
            found[place] = each._replace(first=held.first, second=held.second, effect=effect)
    return sorted(found, key=lambda each: (order.get(each.column, len(order)), each.p_value or 0, -abs(each.effect)))


def _describe(column: Column, first: Floats, second: Floats) -> tuple[str, str, float]:
    """Return what a column holds in either sample, and the effect."""
    shares = first.mean(0), second.mean(0)
    is_share = np.full(first.shape[1], column.kind == CATEGORY)
    is_share[-1] |= column.marks_missing
    effects = np.where(is_share, shares_apart(*shares), 0.0)
    values = [side[:, 0] if is_share[0] else column.decode(side) for side in (first, second)]
    if column.kind == TIME and all(map(len, values)):
        values = _unwind(*values)
    if not is_share[0] and all(map(len, values)):
        effects[0] = means_apart(*values)
    largest = int(np.abs(effects).argmax())
    if column.kind == BOOLEAN and largest == 0:
        words = [f"True {side.mean():.0%}" for side in values]
    elif is_share[largest]:
        what = column.feature_names[largest].removeprefix(f"{column.name}=").removeprefix(f"{column.name} is ")
        words = [f"{what} {share[largest]:.0%}" for share in shares]
    else:
        means, deviations = [float(side.mean()) for side in values], [float(side.std()) for side in values]
        words = write_apart(means[0], means[1], column.write)
        words = [f"{word} ± {column.write_deviation(each)}" for word, each in zip(words, deviations, strict=True)]
    return words[0], words[1], float(effects[largest])


def _unwind(first: Floats, second: Floats) -> list[Floats]:
    """Return times of day, in hours, as numbers around their mean on the circle: 23:30 and 0:30 are an hour apart."""
    angles = [np.exp(2j * np.pi * side / 24).mean() for side in (first, second)]
    centre = float(np.angle(angles[0] + angles[1])) * 12 / np.pi
    return [(side - centre + 12) % 24 - 12 + centre for side in (first, second)]
