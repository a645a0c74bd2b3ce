"""``fewratio ratio``."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from fewratio.cli import exchange


@partial(exchange.verb, without=("seed",))
def ratio(
    request: exchange.Request,
    nu: Annotated[Path, typer.Argument(help="Table of the numerator's sample; - for CSV on standard input.")],
    de: Annotated[Path, typer.Argument(help="Table of the denominator's sample.")],
    rows: Annotated[
        Path | None, typer.Argument(help="Table of rows to evaluate the ratio at. [default: those of NU]")
    ] = None,
) -> None:
    """Estimate the density ratio of two samples at given rows.

    Example: fewratio ratio new.csv old.csv rows.csv --output ratios.csv
    """
    paths = [nu, de] if rows is None else [nu, de, rows]
    tables, estimator = request.read(*paths)
    from fewratio import AutoRatioEstimator
    from fewratio.applications.inputs import read_samples
    from fewratio.charts.results import draw_ratios
    from fewratio.data.columns import counted

    if estimator is None or request.model is None:
        # The network's ratios of small samples are better than a kernel's (docs/design.md).
        estimator = AutoRatioEstimator(scale=request.scale or "columns", random_state=0)
    samples = read_samples(estimator, {raw.argument: raw for raw in tables[:2]}, request.options(*tables[:2]))
    X_nu, X_de = samples.tables
    raw, table = tables[0], X_nu
    if rows is not None:
        raw = tables[2]
        table = estimator._open(raw, "X") if samples.encoding is None else samples.encoding.encode(raw, raw.argument)
    ratios = estimator.fit(X_nu, X_de).predict(table)
    divergence, values = estimator.divergence(), ratios.tolist()
    columns = exchange.row_columns(table) | {"ratio": values}
    names = [exchange.label(path) for path in (nu, de, nu if rows is None else rows)]
    lines = [
        f"{names[0]} ({counted(X_nu.n_rows, 'row')}) over {names[1]} ({counted(X_de.n_rows, 'row')}): "
        f"divergence {divergence:.4g}",
        *request.summary(samples, names),
        f"ratio at the rows of {names[2]}:",
        *request.first_rows(columns),
    ]
    payload = {"divergence": divergence, "ratio": values, "row_names": columns.get("name")}
    title = f"ratio {names[0]}/{names[1]} at the rows of {names[2]}"
    request.deliver(
        exchange.Answer(lines, payload, columns, [raw]),
        lambda: draw_ratios(ratios, table.to_numpy(), table.feature_names, title),
    )
