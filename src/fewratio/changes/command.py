"""``fewratio changes``."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from fewratio.cli import frame
from fewratio.cli.verb import SHARED, Field, Page, Verb, declare_count, declare_table
from fewratio.errors import ParameterError

if TYPE_CHECKING:
    from fewratio.changes.detection import ChangeResult

# A step between rows that is so many times as long as most is a gap.
_GAP = 10


def changes(
    request: frame.Request,
    series: Path,
    time: str | None,
    level: float | None,
    window: int | None,
    permutations: int | None,
) -> None:
    """Find the moments at which a series changed.

    The series is cut into segments; trends, seasons and dependence are not changes. With --level, or with --window or
    --model, changes are tested instead. A series of 100,000 rows or more is described by blocks of them, and stays in
    its CSV, TSV or Parquet file if its rows are in the order of time and neither windows nor --report are asked for.

    Example: fewratio changes sales.csv --time month --report changes.html
    """
    by_ratio = request.model is not None or window is not None
    if request.scale is not None and not by_ratio:
        raise ParameterError(
            f"--scale is {request.scale!r}, but only windows are compared in units of columns. Leave it out, or give "
            "--window."
        )
    with request.open(series) as (tables, estimator):
        import numpy as np

        from fewratio.changes.detection import detect_changes
        from fewratio.core.wording import quote_list, write_apart, write_count

        options = request.options(*tables)
        result = detect_changes(
            tables[0],
            window=window,
            estimator=estimator if by_ratio else None,
            n_permutations=permutations,
            level=level,
            time=time,
            random_state=request.seed,
            **options,
        )
        n_rows = tables[0].n_rows
        table = tables[0] if result.order is None else tables[0].take(result.order)
        changes = write_count(len(result.points), "change")
        lines = [f"{changes} in {n_rows:,} rows of {frame.make_label(series)} ({result.method})"]
        lines += _about_time(result)
        if result.encoding is not None and result.encoding.is_named:
            lines.append(f"columns  {result.encoding.summary}")
            if filled := [column.name for column in result.encoding.used if column.marks_missing]:
                lines.append(f"filled   missing values of {quote_list(filled)}")
        if len(result.points):
            lines.append(f"changes  mean of up to 20 {'rows' if result.block_rows == 1 else 'blocks'} before -> after")
        for change in result.changes:
            name = "" if change["name"] is None else f" ({change['name']})"
            p_value = "" if change["p_value"] is None else f", p = {change['p_value']:.3g}"
            before, after = write_apart(change["mean_before"], change["mean_after"])
            lines.append(
                f"  row {change['row']}{name}: {change['column']} {before} -> {after} "
                f"(deviation {change['deviation_before']:.3g} -> {change['deviation_after']:.3g}), "
                f"score {change['score']:.3g}{p_value}"
            )
        # A row without a score has an empty field.
        is_change, scores = np.zeros(n_rows, dtype=np.int64), np.full(n_rows, None)
        is_change[result.points] = 1
        there = ~np.isnan(result.scores)
        scores[there] = result.scores[there]
        columns: dict[str, Any] = {"row": range(n_rows), "score": scores, "change": is_change}
        payload = result.to_dict() if request.wants_json else {}
        request.deliver(
            frame.Answer(lines, payload, columns, [table]),
            result.plot,
            lambda command: result._report(command, frame.make_label(series)),
        )


def _about_time(result: "ChangeResult") -> list[str]:
    """Say from when to when rows came, and name the longest gap."""
    import numpy as np

    names = result.row_names
    if result.times is None or names is None:
        return []
    line = f"time     {names[0]} to {names[-1]}"
    steps = np.diff(result.times)
    if len(steps) and steps.max() > _GAP * np.median(steps):
        row = int(steps.argmax())
        line += f"; longest gap from {names[row]} to {names[row + 1]}"
    return [line]


VERB = Verb(
    changes,
    (
        declare_table("series", "Table of rows in the order of time; - for CSV on standard input."),
        Field("time", "Column of dates or numbers to sort rows by; a single column of dates is found.").on_page(
            "Column to sort by", "automatic", is_column=True
        ),
        Field("level", "Test for changes: the chance to report any if there is none.", float).on_page(
            "Test at this chance of a false alarm, such as 0.05", "no test", (0.0001, 0.9999)
        ),
        Field("window", "Test by the ratio of windows of so many rows before and after a moment.", int, least=1),
        declare_count("permutations", "Number of shuffled series that set the threshold of a test (199)."),
        *SHARED,
    ),
    "result = fewratio.detect_changes({series}{settings}{columns})\nprint(result.changes)",
    Page(
        "Find changes",
        "When did a series change?",
        "The moments at which rows in the order of time became different; trends and seasons are not changes.",
        {"series": ("Series", "Rows in the order of time, or with a column of dates", "example-machine")},
        "two years of a machine",
    ),
)
