"""``fewratio weights``."""

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
    check_targets,
    deliver,
    first_rows,
    label,
    load_model,
    read_tables,
    verb,
)


@verb
def weights(
    train: Annotated[Path, typer.Argument(help="Table of the rows to weigh; - for CSV on standard input.")],
    target: Annotated[Path, typer.Argument(help="Table of rows as they come where the model is to be used.")],
    clip: Annotated[float | None, typer.Option(help="Largest ratio allowed.")] = None,
    model: Model = None,
    as_json: AsJson = False,
    output: Output = None,
    plot: Plot = None,
    seed: Seed = 0,
) -> None:
    """Weigh training rows so that they look like the target.

    Example: fewratio weights train.csv target.csv --output weights.csv
    """
    check_targets(output, plot, train, target, model)
    learned = load_model(model)
    X_train, X_target = read_tables([train, target], learned, model)
    from fewratio.applications.weights import importance_weights

    result = importance_weights(X_train, X_target, learned, clip, random_state=seed)
    columns = {"row": range(len(result)), "weight": result.weights.tolist()}
    lines = [
        f"{len(result)} rows of {label(train)} are worth {result.effective_sample_size:.1f} rows of {label(target)}; "
        f"overlap {result.overlap:.2f}, {result.n_clipped} clipped",
        *first_rows(columns, output),
    ]
    deliver(Answer(lines, result.to_dict(), columns), as_json, output, plot, result.plot)
