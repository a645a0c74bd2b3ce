"""``fewratio changes``."""

from pathlib import Path
from typing import Annotated

import typer

from fewratio.cli import exchange


@exchange.verb
def changes(
    request: exchange.Request,
    series: Annotated[Path, typer.Argument(help="Table of rows in the order of time; - for CSV on standard input.")],
    window: Annotated[int, typer.Option(min=1, help="Rows before and after a moment that are compared.")] = 20,
    permutations: Annotated[int, typer.Option(min=1, help="How many times to shuffle for the threshold.")] = 199,
    level: Annotated[float, typer.Option(help="Chance to report a change where there is none.")] = 0.01,
) -> None:
    """Find the moments at which a series changed.

    Example: fewratio changes sensor.csv --window 30 --plot changes.png
    """
    (rows,), estimator = request.read(series)
    from fewratio.applications.changes import detect_changes
    from fewratio.data.columns import counted

    result = detect_changes(rows, window, estimator, permutations, level, random_state=request.seed)
    payload = result.to_dict()
    points, scores = payload["points"], payload["scores"]
    lines = [
        f"{counted(len(points), 'change')} in {rows.n_rows} rows of {exchange.label(series)} "
        f"(windows of {window} rows, threshold {result.threshold:.3g})"
    ]
    pairs = zip(points, payload["p_values"], strict=True)
    lines += [f"  row {point}: score {scores[point]:.3g}, p = {p_value:.3g}" for point, p_value in pairs]
    # Rows too near the ends have no score, so an empty field.
    columns = {"row": range(rows.n_rows), "score": scores, "change": [int(row in points) for row in range(rows.n_rows)]}
    request.deliver(exchange.Answer(lines, payload, columns), result.plot)
