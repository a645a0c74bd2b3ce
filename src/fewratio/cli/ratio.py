"""``fewratio ratio``."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from fewratio.cli import exchange


@partial(exchange.verb, without="seed")
def ratio(
    request: exchange.Request,
    nu: Annotated[Path, typer.Argument(help="Table of the numerator's sample; - for CSV on standard input.")],
    de: Annotated[Path, typer.Argument(help="Table of the denominator's sample.")],
    rows: Annotated[Path | None, typer.Argument(help="Rows to give the ratio at. [default: those of NU]")] = None,
) -> None:
    """Estimate the ratio of two densities at rows.

    Example: fewratio ratio new.csv old.csv rows.csv --output ratios.csv
    """
    paths = [nu, de] if rows is None else [nu, de, rows]
    tables, estimator = request.read(*paths, for_ratios=True)
    from fewratio.charts.results import draw_ratios
    from fewratio.data.columns import counted

    X_nu, X_de, table = tables[0], tables[1], tables[0 if rows is None else 2]
    ratios = estimator.fit(X_nu, X_de).predict(table)
    divergence, values = estimator.divergence(), ratios.tolist()
    columns = {"row": range(len(values)), "ratio": values}
    names = [exchange.label(path) for path in (nu, de, nu if rows is None else rows)]
    lines = [
        f"{names[0]} ({counted(X_nu.n_rows, 'row')}) over {names[1]} ({counted(X_de.n_rows, 'row')}): "
        f"divergence {divergence:.4g}; ratio at the rows of {names[2]}:",
        *request.first_rows(columns),
    ]
    answer = exchange.Answer(lines, {"divergence": divergence, "ratio": values}, columns)
    title = f"ratio {names[0]}/{names[1]} at the rows of {names[2]}"
    request.deliver(answer, lambda: draw_ratios(ratios, table.to_numpy(), table.feature_names, title))
