"""``fewratio changes``."""

from pathlib import Path
from typing import Annotated

import typer

from fewratio.cli import exchange


@exchange.verb
def changes(
    request: exchange.Request,
    series: Annotated[Path, typer.Argument(help="Table of rows in the order of time; - for CSV on standard input.")],
    window: Annotated[
        int, typer.Option(min=1, help="Number of rows before and after a moment that are compared.")
    ] = 20,
    permutations: Annotated[int, typer.Option(min=1, help="Number of shuffled series that set the threshold.")] = 199,
    level: Annotated[float, typer.Option(help="Chance to report any change if there is none.")] = 0.01,
) -> None:
    """Find the moments at which a series changed.

    Example: fewratio changes sensor.csv --window 30 --plot changes.png
    """
    tables, estimator = request.read(series)
    from fewratio.applications.changes import detect_changes
    from fewratio.data.columns import counted

    options = request.options(*tables)
    result = detect_changes(tables[0], window, estimator, permutations, level, random_state=request.seed, **options)
    payload, n_rows = result.to_dict(), tables[0].n_rows
    points, scores = payload["points"], payload["scores"]
    lines = [
        f"{counted(len(points), 'change')} in {n_rows} rows of {exchange.label(series)} "
        f"(windows of {window} rows, threshold {result.threshold:.3g})"
    ]
    if result.encoding is not None and result.encoding.is_named:
        lines.append(f"columns  {result.encoding.summary}")
    called = ["" if result.row_names is None else f" ({result.row_names[point]})" for point in points]
    triples = zip(points, called, payload["p_values"], strict=True)
    lines += [f"  row {point}{name}: score {scores[point]:.3g}, p = {p_value:.3g}" for point, name, p_value in triples]
    # Rows too near the ends have no score: an empty field.
    columns = {"row": range(n_rows), "score": scores, "change": [int(row in points) for row in range(n_rows)]}
    request.deliver(exchange.Answer(lines, payload, columns, tables), result.plot)
