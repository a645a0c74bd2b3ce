"""``fewratio compare``."""

from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fewratio.cli import exchange

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fewratio.applications.comparison import ComparisonResult


@exchange.verb
def compare(
    request: exchange.Request,
    a: Annotated[Path, typer.Argument(help="Table of the first sample; - for CSV on standard input.")],
    b: Annotated[Path, typer.Argument(help="Table of the second sample, with the same columns.")],
    permutations: Annotated[int, typer.Option(min=0, help="Permutations for the p-value; 0 for no test.")] = 999,
) -> None:
    """Compare two datasets: how far apart, by chance or not, and which rows and columns differ.

    Example: fewratio compare before.csv after.csv --plot difference.png
    """
    (first, second), estimator = request.read(a, b)
    from fewratio.applications.comparison import compare_datasets

    found = compare_datasets(first, second, estimator, permutations, request.seed)
    names = exchange.label(a), exchange.label(b)
    result = replace(found, names=names if names[0] != names[1] else (str(a), str(b)))
    answer = exchange.Answer(list(_lines(result)), result.to_dict(), _columns(result))
    request.deliver(answer, result.plot)


def _lines(result: "ComparisonResult") -> "Iterator[str]":
    from fewratio.data.columns import counted

    a, b = result.names
    yield f"{a} ({counted(len(result.ratios_a), 'row')}) and {b} ({counted(len(result.ratios_b), 'row')})"
    yield f"divergence  {result.forward:.4g} ({a} over {b}), {result.backward:.4g} ({b} over {a})"
    if result.p_value is not None:
        yield f"p-value     {result.p_value:.4g} ({'all ' * result.exact}{len(result.null)} permutations)"
    columns = [str(column) for column in result.columns]
    shown, rest = ", ".join(columns[: exchange.SHOWN]) or "none", len(columns) - exchange.SHOWN
    more = f" and {rest} more" if rest > 0 else ""
    yield f"columns     {shown}{more} (that drive the difference, the strongest first)"
    for name, rows in ((a, result.rows_a), (b, result.rows_b)):
        yield f"rows        {', '.join(map(str, rows[: exchange.SHOWN]))} (the most typical of {name}, counting from 0)"


def _columns(result: "ComparisonResult") -> dict[str, list[Any]]:
    sides = list(zip(result.names, (result.ratios_a.tolist(), result.ratios_b.tolist()), strict=True))
    return {
        "sample": [name for name, ratios in sides for _ in ratios],
        "row": [row for _, ratios in sides for row in range(len(ratios))],
        "ratio": list(chain.from_iterable(ratios for _, ratios in sides)),
    }
