"""``fewratio weights``."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from fewratio.cli import exchange


@partial(exchange.verb, without="scale")
def weights(
    request: exchange.Request,
    train: Annotated[Path, typer.Argument(help="Table of the rows to weigh; - for CSV on standard input.")],
    target: Annotated[Path, typer.Argument(help="Table of rows as they come where the model is to be used.")],
    clip: Annotated[float | None, typer.Option(help="Largest ratio allowed.")] = None,
) -> None:
    """Weigh training rows so that they look like the target.

    Example: fewratio weights train.csv target.csv --output weights.csv
    """
    (X_train, X_target), estimator = request.read(train, target)
    from fewratio.applications.weights import importance_weights

    chosen = None if request.model is None else estimator
    result = importance_weights(X_train, X_target, chosen, clip, random_state=request.seed)
    columns = {"row": range(len(result)), "weight": result.weights.tolist()}
    lines = [
        f"{len(result)} rows of {exchange.label(train)} are worth {result.effective_sample_size:.1f} rows of "
        f"{exchange.label(target)}; overlap {result.overlap:.2f}, {result.n_clipped} clipped",
        *request.first_rows(columns),
    ]
    request.deliver(exchange.Answer(lines, result.to_dict(), columns), result.plot)
