"""``fewratio weights``."""

from pathlib import Path
from typing import Annotated

import typer

from fewratio.cli import exchange


@exchange.verb
def weights(
    train: Annotated[Path, typer.Argument(help="Table of the rows to weigh; - for CSV on standard input.")],
    target: Annotated[Path, typer.Argument(help="Table of rows as they come where the model is to be used.")],
    clip: Annotated[float | None, typer.Option(help="Largest ratio allowed.")] = None,
    model: exchange.Model = None,
    as_json: exchange.AsJson = False,
    output: exchange.Output = None,
    plot: exchange.Plot = None,
    seed: exchange.Seed = 0,
) -> None:
    """Weigh training rows so that they look like the target.

    Example: fewratio weights train.csv target.csv --output weights.csv
    """
    (X_train, X_target), estimator = exchange.prepare([train, target], model, "none", output, plot)
    from fewratio.applications.weights import importance_weights

    result = importance_weights(X_train, X_target, None if model is None else estimator, clip, random_state=seed)
    columns = {"row": range(len(result)), "weight": result.weights.tolist()}
    lines = [
        f"{len(result)} rows of {exchange.label(train)} are worth {result.effective_sample_size:.1f} rows of "
        f"{exchange.label(target)}; overlap {result.overlap:.2f}, {result.n_clipped} clipped",
        *exchange.first_rows(columns, output),
    ]
    exchange.deliver(exchange.Answer(lines, result.to_dict(), columns), as_json, output, plot, result.plot)
