"""``fewratio changes``."""

from pathlib import Path
from typing import Annotated

import typer

from fewratio.cli.exchange import (
    Answer,
    AsJson,
    Model,
    Output,
    Plot,
    Seed,
    Standardise,
    check_targets,
    chosen_estimator,
    deliver,
    label,
    load_model,
    read_tables,
    verb,
)


@verb
def changes(
    series: Annotated[Path, typer.Argument(help="Table of rows in the order of time; - for CSV on standard input.")],
    window: Annotated[int, typer.Option(min=1, help="Rows before and after a moment that are compared.")] = 20,
    permutations: Annotated[int, typer.Option(min=1, help="How many times to shuffle for the threshold.")] = 199,
    level: Annotated[float, typer.Option(help="Chance to report a change where there is none.")] = 0.01,
    model: Model = None,
    standardise: Standardise = False,
    as_json: AsJson = False,
    output: Output = None,
    plot: Plot = None,
    seed: Seed = 0,
) -> None:
    """Find the moments at which a series changed.

    Example: fewratio changes sensor.csv --window 30 --plot changes.png
    """
    check_targets(output, plot, series, model)
    from fewratio.data.columns import counted

    learned = load_model(model)
    (rows,) = read_tables([series], learned, model)
    from fewratio.applications.changes import detect_changes

    estimator = chosen_estimator(learned, standardise)
    result = detect_changes(rows, window, estimator, permutations, level, random_state=seed)
    words = result.to_dict()
    points = words["points"]
    lines = [
        f"{counted(len(points), 'change')} in {rows.n_rows} rows of {label(series)} "
        f"(windows of {window} rows, threshold {result.threshold:.3g})"
    ]
    lines += [
        f"  row {point}: score {words['scores'][point]:.3g}, p = {p_value:.3g}"
        for point, p_value in zip(points, words["p_values"], strict=True)
    ]
    # Rows too near the ends have no score, so an empty field.
    columns = {
        "row": range(rows.n_rows),
        "score": words["scores"],
        "change": [int(row in points) for row in range(rows.n_rows)],
    }
    deliver(Answer(lines, words, columns), as_json, output, plot, result.plot)
