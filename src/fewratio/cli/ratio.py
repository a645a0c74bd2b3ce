"""``fewratio ratio``."""

from pathlib import Path
from typing import Annotated

import typer

from fewratio.cli.exchange import (
    Answer,
    AsJson,
    Model,
    Output,
    Plot,
    Standardise,
    check_targets,
    chosen_estimator,
    deliver,
    first_rows,
    label,
    load_model,
    read_tables,
    verb,
)


@verb
def ratio(
    nu: Annotated[Path, typer.Argument(help="Table of the numerator's sample; - for CSV on standard input.")],
    de: Annotated[Path, typer.Argument(help="Table of the denominator's sample.")],
    rows: Annotated[Path | None, typer.Argument(help="Rows to give the ratio at. [default: those of NU]")] = None,
    model: Model = None,
    standardise: Standardise = False,
    as_json: AsJson = False,
    output: Output = None,
    plot: Plot = None,
) -> None:
    """Estimate the ratio of two densities at rows.

    Example: fewratio ratio new.csv old.csv rows.csv --output ratios.csv
    """
    check_targets(output, plot, nu, de, rows, model)
    from fewratio.data.columns import counted

    learned = load_model(model)
    X_nu, X_de, *others = read_tables([nu, de] if rows is None else [nu, de, rows], learned, model)
    from fewratio.charts.results import draw_ratios

    estimator = chosen_estimator(learned, standardise, for_ratios=True)
    table = others[0] if others else X_nu
    ratios = estimator.fit(X_nu, X_de).predict(table)
    values = ratios.tolist()
    divergence = estimator.divergence()
    columns = {"row": range(len(values)), "ratio": values}
    lines = [
        f"{label(nu)} ({counted(X_nu.n_rows, 'row')}) over {label(de)} ({counted(X_de.n_rows, 'row')}): "
        f"divergence {divergence:.4g}; ratio at the rows of {label(nu if rows is None else rows)}:",
        *first_rows(columns, output),
    ]
    title = f"ratio {label(nu)}/{label(de)} at the rows of {label(nu if rows is None else rows)}"
    answer = Answer(lines, {"divergence": divergence, "ratio": values}, columns)
    deliver(answer, as_json, output, plot, lambda: draw_ratios(ratios, table.to_numpy(), table.feature_names, title))
