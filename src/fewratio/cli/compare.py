"""``fewratio compare``."""

from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fewratio.cli.exchange import (
    SHOWN,
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

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fewratio.applications.comparison import ComparisonResult


@verb
def compare(
    a: Annotated[Path, typer.Argument(help="Table of the first sample; - for CSV on standard input.")],
    b: Annotated[Path, typer.Argument(help="Table of the second sample, with the same columns.")],
    permutations: Annotated[int, typer.Option(min=0, help="Arrangements for the p-value; 0 for no test.")] = 999,
    model: Model = None,
    standardise: Standardise = False,
    as_json: AsJson = False,
    output: Output = None,
    plot: Plot = None,
    seed: Seed = 0,
) -> None:
    """Compare two datasets: how far apart, by chance or not, and which rows and columns differ.

    Example: fewratio compare before.csv after.csv --plot difference.png
    """
    check_targets(output, plot, a, b, model)
    learned = load_model(model)
    first, second = read_tables([a, b], learned, model)
    # Imported only now: what is wrong with the tables is said at once, and this takes seconds.
    from fewratio.applications.comparison import compare_datasets

    estimator = chosen_estimator(learned, standardise)
    found = compare_datasets(first, second, estimator, permutations, seed)
    names = (label(a), label(b)) if label(a) != label(b) else (str(a), str(b))
    result = replace(found, names=names)
    deliver(Answer(list(_lines(result)), result.to_dict(), _columns(result)), as_json, output, plot, result.plot)


def _lines(result: "ComparisonResult") -> "Iterator[str]":
    from fewratio.data.columns import counted

    a, b = result.names
    yield f"{a} ({counted(len(result.ratios_a), 'row')}) and {b} ({counted(len(result.ratios_b), 'row')})"
    yield f"divergence  {result.forward:.4g} ({a} over {b}), {result.backward:.4g} ({b} over {a})"
    if result.p_value is not None:
        kind = f"all {len(result.null)} arrangements" if result.exact else f"{len(result.null)} permutations"
        yield f"p-value     {result.p_value:.4g} ({kind})"
    columns = [str(column) for column in result.columns]
    more = f" and {len(columns) - SHOWN} more" if len(columns) > SHOWN else ""
    yield f"columns     {', '.join(columns[:SHOWN]) or 'none'}{more} (that drive the difference, the strongest first)"
    for name, rows in ((a, result.rows_a), (b, result.rows_b)):
        yield f"rows        {', '.join(map(str, rows[:SHOWN]))} (the most typical of {name}, counting from 0)"


def _columns(result: "ComparisonResult") -> dict[str, list[Any]]:
    sides = list(zip(result.names, (result.ratios_a.tolist(), result.ratios_b.tolist()), strict=True))
    return {
        "sample": [name for name, ratios in sides for _ in ratios],
        "row": [row for _, ratios in sides for row in range(len(ratios))],
        "ratio": list(chain.from_iterable(ratios for _, ratios in sides)),
    }
