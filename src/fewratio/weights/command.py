"""``fewratio weights``."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from fewratio.cli import frame


@partial(frame.verb, without=("scale",))
def weights(
    request: frame.Request,
    train: Annotated[Path, typer.Argument(help="Table of the rows to weigh; - for CSV on standard input.")],
    target: Annotated[Path, typer.Argument(help="Table of rows like those that the model will be used on.")],
    clip: Annotated[float | None, typer.Option(help="Largest ratio allowed.")] = None,
) -> None:
    """Weigh training rows so that they resemble the target.

    Rows of large CSV, TSV and Parquet files stay there, and are read and written as they come.

    Example: fewratio weights train.csv target.csv --output weights.csv
    """
    with request.open(train, target) as ((X_train, X_target), estimator):
        from fewratio.weights.weighting import importance_weights

        options = request.options(X_train, X_target)
        result = importance_weights(
            X_train, X_target, estimator=estimator, clip=clip, random_state=request.seed, **options
        )
        table, names = result.samples.tables[0], frame.labels(train, target)
        columns = frame.row_columns(table) | {"weight": result.weights}
        lines = [
            f"{len(result)} rows of {names[0]} are worth {result.effective_sample_size:.1f} rows of {names[1]}; "
            f"overlap {result.overlap:.2f}, {result.n_clipped} clipped",
            f"advice: {result.advice}",
            *request.summary(result.samples, names),
            *request.first_rows(columns, len(result)),
        ]
        payload = result.to_dict() | {"row_names": columns.get("name")} if request.wants_json else {}
        request.deliver(
            frame.Answer(lines, payload, columns, [X_train]),
            result.plot,
            lambda command: result._report(command, (names[0], names[1])),
        )
