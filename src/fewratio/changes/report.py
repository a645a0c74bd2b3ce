"""The report of the changes of a series."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewratio.changes.chart import change_scores, series_chart
from fewratio.changes.gaps import SHORT_GAP, mark_long_gaps
from fewratio.changes.kinds import column_title, describe_change, describe_columns, is_missing, write_pair
from fewratio.charts.chart import Chart, Picture, combine
from fewratio.core.shapes import Floats
from fewratio.core.wording import shorten, write_alike, write_count, write_list, write_number, write_share, write_signed
from fewratio.report import page
from fewratio.report.distributions import round_values

_HOW_TO_READ = (
    "The thin line shows the values, the thick one the level (median) of each segment with its season and trend. "
    "Dashed lines are changes, in colour in the columns that changed. In columns of zeros and ones, ticks mark the "
    "ones, and the line is their share."
)
# The most columns in a report, and in a picture.
_MOST_COLUMNS, _MOST_DRAWN = 8, 4
# Sentences of a verdict.
_MOST_SAID = 6
# The height of the only chart of a column, and of one of several.
_ALONE, _BESIDE = 240, 150
# The most rows to draw one by one; longer series are drawn as this many stretches, with minimum, mean and maximum.
_MOST_ROWS, _STRETCHES = 1500, 700
# A line through fewer scores adds nothing to the table.
_FEWEST_SCORES = 5
# Lines are interrupted where two rows are this many times as far apart as usual.
_GAP = 3
# How many rows to check for a time zone, which may equal UTC in winter.
_LOOKED_AT = 50


def report_changes(result: Any, name: str, command: str | None) -> page.Report:
    """Report when a series changed, and what changed.

    Parameters
    ----------
    result : ChangeResult
    name : str
        Name of the series.
    command : str or None
        The command that makes the report; by default a call in Python.
    """
    rows = write_count(len(result.scores), "row")
    changes = result.changes
    if result.times is not None:
        rows += f", {' to '.join(_write_when(result, np.array([0, len(result.scores) - 1])))}"
    facts = {"Rows": rows, "Method": result.method}
    if not result.is_test:
        option = "level=0.01" if command is None else "--level 0.01"
        facts["Method"] += f". Not tested: for a test with a chance of false alarms of 0.01, pass {option}."
    if result.encoding is not None and result.encoding.is_named:
        facts["Columns"] = result.encoding.summary
        if result.filled:
            facts["Filled"] = f"missing values of {write_list(result.filled)}"
    when = _write_when(result, result.points)
    headline, *more = _write_verdict(changes, when if result.times is not None else [f"row {each}" for each in when])
    call = page.describe_making(result.settings, command, "detect_changes", ("series",))
    sections = [
        page.Section("The series", _series(result)),
        page.Section("What changed", [_table(result, changes, when), *map(page.Text, result.notes)]),
        page.Section("How this was made", call),
    ]
    return page.Report(f"Changes of {name}", "\n".join([headline, *more]), facts, sections, headline=headline)


def _write_verdict(changes: list[dict[str, Any]], moments: list[str]) -> list[str]:
    """Say in one clause what the clearest change is, then what else changed then, and at the other moments."""
    if not changes:
        return ["No change was found."]
    clearest = max(range(len(changes)), key=lambda number: changes[number]["score"])
    which = "change" if len(changes) == 1 else "changes. The clearest"
    said = [f"{len(changes)} {which}, {moments[clearest]}: {describe_change(changes[clearest])}."]
    said += [f"At the same time: {describe_change(each)}." for each in changes[clearest]["also"]]
    others = [
        f"{moment}: {describe_columns(change)}."
        for number, (moment, change) in enumerate(zip(moments, changes, strict=True))
        if number != clearest
    ]
    said, left = [*said, *others][:_MOST_SAID], len(said) + len(others) - _MOST_SAID
    return [*said, f"And {left} more, in the table below."] if left > 0 else said


def report_each(results: Any, name: str, command: str | None) -> page.Report:
    """Report when each of several series changed.

    Parameters
    ----------
    results : ChangesBySeries
    name, command
        As in `report_changes`.
    """
    by = results.settings["by"]
    parts = {series: report_changes(result, series, command) for series, result in results.items()}
    changed = [f"{series} ({len(result.points)})" for series, result in results.items() if len(result.points)]
    answer = f"{len(changed)} of {len(results)} series changed{': ' * bool(changed)}{', '.join(changed)}."
    facts = {"Series": f"{len(results)}, by {by}"}
    if any(result.is_test for result in results.values()):
        facts["Level"] = "Holds for each series separately, not for all together."
    sections: list[page.Section] = []
    for series, part in parts.items():
        about = [*part.answer.splitlines(), f"{part.facts['Rows']}."]
        blocks = [block for section in part.sections[:-1] for block in section.blocks]
        if sections:
            # Explain only once how to read the charts.
            blocks = [block for block in blocks if not isinstance(block, page.Text) or block.text != _HOW_TO_READ]
        sections.append(page.Section(series, [*map(page.Text, about), *blocks]))
    making = page.describe_making(results.settings, command, "detect_changes", ("series",))
    sections.append(page.Section("How this was made", making))
    return page.Report(f"Changes of {name} by {by}", answer, facts, sections)


def draw_each(results: Any) -> Picture:
    """Draw the column of each series that changed most."""
    charts = [(_charts(result, 1)[0], name, 720) for name, result in results.items()]
    return combine(charts, f"Changes of {len(charts)} series", "vconcat")


def draw_changes(result: Any) -> Picture:
    """Draw the columns that changed most, and the scores."""
    charts = _charts(result, _MOST_DRAWN)
    title = f"{write_count(len(result.points), 'change')} in {write_count(len(result.scores), 'row')}"
    return combine([(chart, "", 720) for chart in charts], title, "vconcat")


def _is_zoned(result: Any) -> bool:
    """Return whether the rows have a time zone other than UTC."""
    if result.times is None or result.times.dtype.kind != "M":
        return False
    rows = np.linspace(0, len(result.times) - 1, _LOOKED_AT).astype(int)
    clock = np.array([result.row_names[row][:19] for row in rows], dtype="datetime64[s]")
    return bool((np.abs(clock - result.times[rows]) > np.timedelta64(1, "s")).any())


def _read_clock(result: Any, rows: NDArray[Any]) -> NDArray[Any]:
    """Return the local times of rows, or their numbers."""
    if result.times is None:
        return rows
    if _is_zoned(result):
        return np.array([result.row_names[row][:19] for row in rows], dtype="datetime64[s]")
    return result.times[rows]


def _write_when(result: Any, rows: NDArray[Any]) -> list[str]:
    if _is_zoned(result):
        return [result.row_names[row] for row in rows]
    return write_moments(_read_clock(result, rows))


def write_moments(moments: NDArray[Any]) -> list[str]:
    """Write dates to the day, minute or second, as needed, and numbers briefly."""
    if moments.dtype.kind != "M":
        return [write_number(moment, 6) if isinstance(moment, float) else str(moment) for moment in moments.tolist()]
    unit = next((unit for unit in "Dm" if (moments.astype(f"datetime64[{unit}]") == moments).all()), "s")
    return [str(moment).replace("T", " ") for moment in moments.astype(f"datetime64[{unit}]")]


def _make_plain(moments: NDArray[Any]) -> list[Any]:
    """Return moments as charts expect them: dates as ISO texts in UTC."""
    if moments.dtype.kind != "M":
        return moments.tolist()
    days = moments.astype("datetime64[D]")
    is_day = bool((days == moments).all())
    return [f"{moment}" if is_day else f"{moment}Z" for moment in (days if is_day else moments.astype("datetime64[s]"))]


def _charts(result: Any, n_columns: int) -> list[Chart]:
    """Draw the `n_columns` columns that changed most often, and the scores."""
    n, points, scores = len(result.scores), result.points, result.scores
    axis, is_thinned = "rows", n > _MOST_ROWS
    if result.times is not None:
        axis = "dates" if result.times.dtype.kind == "M" else "times"
    starts = np.arange(n)
    if is_thinned:
        starts = np.union1d(np.linspace(0, n, _STRETCHES, endpoint=False).astype(int), points)
    x, at = _make_plain(_read_clock(result, starts)), _make_plain(_read_clock(result, points))
    x[-1] = _make_plain(_read_clock(result, np.array([n - 1])))[0]
    labels = result.ranked_columns[:n_columns]
    mean, low, high, level = _describe_stretches(result, starts, [result.feature_names.index(each) for each in labels])
    gaps, height = _find_gaps(result, starts), _ALONE if len(labels) == 1 else _BESIDE
    charts = []
    for place, label in enumerate(labels):
        data = {
            "x": x,
            "y": _round_there(mean[:, place]),
            "level": _round_there(level[:, place]),
            "segment": np.searchsorted(points, starts, side="right").tolist(),
        }
        if is_thinned:
            data |= {"low": _round_there(low[:, place]), "high": _round_there(high[:, place])}
        data = _open_gaps(data, gaps)
        title = column_title(label)
        column = result.feature_names.index(label)
        are_own = [any(column == number for number, *_ in changed) for changed in result.changed]
        span = f"from {np.nanmin(low[:, place]):.3g} to {np.nanmax(high[:, place]):.3g}"
        n_values = n - int(result.gaps.get(label, np.zeros(1)).sum())
        description = f"{title}: {n_values} values {span}, {write_count(sum(are_own), 'change')}."
        charts.append(series_chart(data, at, are_own, shorten(title, 80), description, axis, height))
    there = np.flatnonzero(~np.isnan(scores))
    if len(there) > _MOST_ROWS:
        # The highest score of each stretch.
        parts = np.array_split(there, _STRETCHES)
        there = np.array([part[scores[part].argmax()] for part in parts])
    if len(there) >= _FEWEST_SCORES:
        data = {"x": _make_plain(_read_clock(result, there)), "y": round_values(scores[there])}
        description = f"Scores, highest {np.nanmax(scores):.3g}."
        charts.append(change_scores(data, at, result.threshold, x, description, axis))
    return charts


def _find_gaps(result: Any, starts: NDArray[Any]) -> list[int]:
    """Return which of the drawn rows come after a gap in the times."""
    if result.times is None or len(starts) < _GAP:
        return []
    steps = np.diff(result.times[starts].astype(np.float64))
    return (np.flatnonzero(steps > _GAP * np.median(steps)) + 1).tolist()


def _open_gaps(data: dict[str, list[Any]], gaps: list[int]) -> dict[str, list[Any]]:
    """Add a row without values before each gap, to interrupt the lines."""
    opened = {key: list(values) for key, values in data.items()}
    for place in reversed(gaps):
        for key, values in opened.items():
            values.insert(place, values[place - 1] if key in ("x", "segment") else None)
    return opened


def _describe_stretches(result: Any, starts: NDArray[Any], places: list[int]) -> tuple[Floats, ...]:
    """Return mean, lowest and highest value of stretches of rows in some columns, and the level of their segments.

    They are NaN in long gaps.
    """
    ends = [*starts[1:].tolist(), len(result.scores)]
    mean, low, high, levels = np.empty((4, len(starts), len(places)))
    for number, (start, stop) in enumerate(zip(starts.tolist(), ends, strict=True)):
        rows = result.series[start:stop][:, places]
        mean[number], low[number], high[number] = rows.mean(0), rows.min(0), rows.max(0)
        levels[number] = result.levels[start:stop][:, places].mean(0)
    # The levels of a long series lack its changes.
    segment, level = np.searchsorted(result.points, starts, side="right"), levels.copy()
    for number in np.unique(segment):
        level[segment == number] += np.median((mean - levels)[segment == number], axis=0)
    for place, number in enumerate(places):
        is_gap = result.gaps.get(result.feature_names[number])
        if is_gap is not None:
            is_open = np.logical_and.reduceat(mark_long_gaps(is_gap), starts)
            for values in (mean, low, high, level):
                values[is_open, place] = np.nan
    return mean, low, high, level


def _round_there(values: Floats) -> list[float | None]:
    """Round values, with None for those that are missing."""
    there = ~np.isnan(values)
    rounded = iter(round_values(values[there]))
    return [next(rounded) if is_there else None for is_there in there]


def _series(result: Any) -> list[page.Block]:
    n, rest = len(result.scores), len(result.feature_names) - _MOST_COLUMNS
    of_all = f"Of {n} values, the mean, lowest and highest of {_STRETCHES} stretches are drawn." * (n > _MOST_ROWS)
    left_out = f"{write_count(rest, 'more column')}, which changed least, {'is' if rest == 1 else 'are'} left out here."
    score = (
        "how far the rows before and after a moment are apart"
        if result.is_test
        else "what a change adds to twice the log likelihood"
    )
    is_scored = int(np.count_nonzero(~np.isnan(result.scores))) >= _FEWEST_SCORES
    filled = (
        f"Where values are missing for more than {SHORT_GAP} rows, or at an end, the lines are interrupted. The "
        "search fills these gaps with nearby values, but never reports a change because of them alone."
    )
    is_open = any(mark_long_gaps(is_gap).any() for is_gap in result.gaps.values())
    limits = " ".join(filter(None, [of_all, left_out * (rest > 0), filled * is_open, f"Score: {score}." * is_scored]))
    return [page.Text(_HOW_TO_READ), *([page.Text(limits)] if limits else []), *_charts(result, _MOST_COLUMNS)]


def _write_sides(change: dict[str, Any], quantities: Sequence[str]) -> list[Any]:
    """Write some quantities before and after a change; shares have no deviation of their own, and others no slope."""
    cells: list[Any] = []
    are_shares = change["kind"] == "share" or is_missing(change["column"])
    for quantity in quantities:
        of = "level" if quantity == "mean" and change["kind"] == "level" else quantity
        sides = change[f"{of}_before"], change[f"{of}_after"]
        texts = write_pair(*sides) if quantity == "mean" else write_alike(sides)
        if quantity == "slope":
            texts = list(map(write_signed, sides)) if change["kind"] == "slope" else ["", ""]
        elif are_shares:
            texts = list(map(write_share, sides)) if quantity == "mean" else ["", ""]
        cells += [page.Number(side, text) if text else "" for side, text in zip(sides, texts, strict=True)]
    return cells


def _table(result: Any, changes: list[dict[str, Any]], when: list[str]) -> page.Block:
    if not changes:
        return page.Text("No clear change: trends, seasons and chance may explain the whole series.")
    # One row per column that changed at a moment.
    when = [text for text, change in zip(when, changes, strict=True) for _ in range(1 + len(change["also"]))]
    changes = [change | each for change in changes for each in ({}, *change["also"])]
    are_shares = [change["kind"] == "share" for change in changes]
    # What is compared on both sides.
    quantities = ["mean"] + ["slope"] * any(change["kind"] == "slope" for change in changes)
    quantities += ["deviation"] * (not all(are_shares))
    table = [
        [
            text,
            change["row"],
            change["column"],
            change["kind"],
            *_write_sides(change, quantities),
            float(change["score"]),
            *([] if change["p_value"] is None else [float(change["p_value"])]),
        ]
        for text, change in zip(when, changes, strict=True)
    ]
    means = f"Before and after: levels at the change; for other kinds, means of up to {result.n_near} rows"
    means += ", but shares of all rows up to the column's neighbouring changes" * any(are_shares)
    if all(are_shares):
        sides, means = ["share before", "share after"], "Shares: of all rows up to the column's neighbouring changes"
    else:
        called = {"mean": ["before", "after"]}
        sides = [side for each in quantities for side in called.get(each, [f"{each} before", f"{each} after"])]
        slopes = ". Slopes: of a line through the rows up to the neighbouring changes, per row"
        means += slopes * ("slope" in quantities)
        means += ". Deviations: standard deviations about the level, up to the neighbouring changes"
    note = f"Columns that changed, the clearest first. {means}. {result.certainty}"
    headings = ["when", "row", "column", "kind", *sides, "score"]
    has_p = changes[0]["p_value"] is not None
    return page.Table("Changes in order of time", headings + ["p"] * has_p, table, True, note)
