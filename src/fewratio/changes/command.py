"""``fewratio changes``."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fewratio.cli import frame
from fewratio.cli.verb import SHARED, Field, Page, Verb, declare_count, declare_table
from fewratio.errors import ParameterError

if TYPE_CHECKING:
    from fewratio.changes.detection import ChangeResult

_CONDITION = re.compile(r"changes\s*(?:(<=?|>=?)\s*(\d+))?")


def changes(
    request: frame.Request,
    series: Path,
    time: str | None,
    by: str | None,
    level: float | None,
    trend: bool | None,
    swings: str | None,
    window: int | None,
    permutations: int | None,
    fail_if: str | None,
) -> None:
    """Find when a series changed, and how.

    Trends, seasons and dependence between rows do not count as changes. --level, --window and --model test each change.
    From 100,000 rows on, blocks of rows are searched. Such a file is read piece by piece if its rows are in order of
    time and you use neither --window nor --report.

    Example: fewratio changes sales.csv --time month --report changes.html
    """
    fails = None if fail_if is None else _CONDITION.fullmatch(fail_if.strip())
    if fail_if is not None and fails is None:
        raise ParameterError(
            f"--fail-if is {fail_if!r}; it must be changes, or changes, one of < <= > >=, and a number. Write "
            "'changes > 2', for instance."
        )
    by_ratio = request.model is not None or window is not None
    if request.scale is not None and not by_ratio:
        raise ParameterError(
            f"--scale is {request.scale!r}, but only windows are compared in units of columns. Leave it out, or give "
            "--window."
        )
    with request.open(series) as (tables, estimator):
        from fewratio.changes.detection import detect_changes
        from fewratio.changes.time_order import split_series
        from fewratio.core.wording import write_count
        from fewratio.data.split_table import SIGNS

        found: Any = detect_changes(
            tables[0],
            by=by,
            window=window,
            estimator=estimator if by_ratio else None,
            n_permutations=permutations,
            level=level,
            time=time,
            trend=trend is not False,
            swings="noise" if swings is None else swings,
            random_state=request.seed,
            **request.options(*tables),
        )
        label = frame.make_label(series)
        results: dict[str, ChangeResult] = {label: found} if by is None else found
        parts = tables if by is None else list(split_series(tables[0].hold_in_memory(), by).values())
        lines = [] if by is None else [f"{len(results)} series of {label}, by {by}"]
        if by is not None and found and next(iter(found.values())).is_test:
            lines.append("level    holds for each series separately")
        for name, result in results.items():
            lines += _write_lines(result, name)
        payload = found.to_dict() if request.wants_json else {}
        pairs = zip(parts, results.values(), strict=True)
        ordered = [part if result.order is None else part.take(result.order) for part, result in pairs]
        request.deliver(
            frame.Answer(lines, payload, _list_rows(results, by), ordered),
            found.plot,
            lambda command: found._report(command, label),
        )
        for name, result in results.items():
            n_changes, sign, limit = len(result.points), fails and fails[1], fails and fails[2]
            if fails is not None and SIGNS[sign or ">"](n_changes, int(limit or 0)):
                frame.fail(f"{name} has {write_count(n_changes, 'change')}: {fail_if}")


def _list_rows(results: "dict[str, ChangeResult]", by: str | None) -> dict[str, Any]:
    """Return the columns of a table of rows: number, score and change; a row without a score has an empty field."""
    import numpy as np

    all_scores = np.concatenate([result.scores for result in results.values()])
    scores, there = np.full(len(all_scores), None), ~np.isnan(all_scores)
    scores[there] = all_scores[there]
    sizes = [len(result.scores) for result in results.values()]
    is_change = [np.bincount(each.points, minlength=n) for each, n in zip(results.values(), sizes, strict=True)]
    columns = {"row": np.concatenate(list(map(np.arange, sizes))), "score": scores, "change": np.concatenate(is_change)}
    return columns if by is None else {by: np.repeat(list(results), sizes).astype(object), **columns}


def _write_lines(result: "ChangeResult", name: str) -> "Iterator[str]":
    from fewratio.changes.kinds import describe_columns, is_slow
    from fewratio.core.wording import quote_list, write_alike, write_count, write_p

    slow = "; rises and falls that build up slowly count as noise, see the note" * any(map(is_slow, result.notes))
    found = f"{write_count(len(result.points), 'change')} in {len(result.scores):,} rows of {name}"
    yield f"{found} ({result.method}){slow}"
    for change in result.changes:
        moment = f"row {change['row']}" if change["name"] is None else f"{change['name']} (row {change['row']})"
        more = ""
        for what, said in (("mean", ("level", "share")), ("deviation", ("level", "spread", "share"))):
            before, after = write_alike((change[f"{what}_before"], change[f"{what}_after"]))
            more += f"; {what} {before} -> {after}" * (change["kind"] not in said and before != after)
        p_value = "" if change["p_value"] is None else f"; p = {write_p(change['p_value'])}"
        yield f"  {moment}: {describe_columns(change)}{more}; score {change['score']:.3g}{p_value}"
    if result.times is not None and result.row_names is not None:
        yield f"time     {result.row_names[0]} to {result.row_names[-1]}"
    elif result.times is None:
        yield "time     none is known: rows are taken in the order of the file"
    if result.encoding is not None and result.encoding.is_named:
        yield f"columns  {result.encoding.summary}"
        if result.filled:
            yield f"filled   missing values of {quote_list(result.filled)}"
    if len(result.points):
        has_shares = any(kind == "share" for changed in result.changed for _, kind, *_ in changed)
        shares = "; shares are of all rows up to the column's next change" * has_shares
        near = f"means are of up to {result.n_near} rows on either side"
        levels = "levels are medians, with the trend and season at the change"
        yield f"numbers  {levels}; {near}; deviations are about the level{shares}"
        yield f"sure     {result.certainty}{' Test with --level 0.01.' * (not result.is_test)}"
    yield from (f"note     {note}" for note in result.notes)


VERB = Verb(
    changes,
    (
        declare_table("series", "Table with rows in order of time; - reads CSV from standard input."),
        Field("time", "Column of dates or numbers to sort rows by. [default: found; the answer names it]").on_page(
            "Column to sort by", "automatic", is_column=True
        ),
        Field("by", "Column that names the series, if the table has several.").on_page(
            "Column that names the series, if there are several", "one series", is_column=True
        ),
        Field("level", "Test for changes, with this chance of any false alarm, such as 0.05.", float).on_page(
            "Test at this chance of a false alarm, such as 0.05", "no test", (0.0001, 0.9999)
        ),
        Field("trend", "Whether the level may drift without a change. --no-trend finds more steps.", bool),
        Field("swings", "Treat slow swings as noise, or as changes (with ruptures). [default: noise]"),
        Field("window", "Test by the ratio of this many rows before and after each moment.", int, least=1),
        declare_count("permutations", "Shuffled series for the threshold of a test. [default: 199]"),
        Field(
            "fail-if",
            f"Exit with code {frame.FAILED} if this is true of any series: changes, or 'changes > 2'.",
            python="",
        ),
        *SHARED,
    ),
    "result = fewratio.detect_changes({series}{settings}{columns})\nprint(result)",
    Page(
        "Find changes",
        "When did a series change?",
        "The moments at which the rows became different; trends and seasons are not changes.",
        {"series": ("Series", "Rows in order of time, or with a column of dates", "example-machine")},
        "two years of a machine",
    ),
)
