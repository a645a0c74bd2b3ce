"""``fewratio compare``."""

import operator
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import chain, combinations
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fewratio.cli import exchange
from fewratio.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fewratio.applications.all_pairs import AllPairsResult
    from fewratio.applications.comparison import ComparisonResult

_CONDITION = re.compile(r"\s*(p|divergence|statistic)\s*(<=|>=|<|>)\s*([-+.\deE]+)\s*")
_SIGNS: dict[str, Callable[[float, float], bool]] = {
    **{"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
}
_FAILED = 3


@exchange.verb
def compare(
    request: exchange.Request,
    a: Annotated[Path, typer.Argument(help="Table of the first sample; - for CSV on standard input.")],
    b: Annotated[
        Path | None, typer.Argument(help="Table of the second sample, with the same columns, or a reference.")
    ] = None,
    by: Annotated[str | None, typer.Option(help="Column that divides one table into samples.")] = None,
    permutations: Annotated[
        int | None,
        typer.Option(min=0, help="Permutations for the p-value. [default: 999; of several groups 0, which is no test]"),
    ] = None,
    fail_if: Annotated[
        str | None, typer.Option(help=f"Exit with {_FAILED} if this holds, such as 'p < 0.01' or 'divergence > 0.1'.")
    ] = None,
) -> None:
    """Compare two datasets: how far apart, by chance or not, and which columns and rows differ.

    Example: fewratio compare before.csv after.csv --plot difference.png
    """
    if (b is None) == (by is None):
        raise ParameterError(
            "Two tables are needed, or one and --by with the column that divides it. Give one of both."
        )
    n_permutations = 999 if permutations is None else permutations
    fails = None if fail_if is None else _condition(fail_if, n_permutations)
    tables, estimator = request.read(*((a,) if b is None else (a, b)))
    options = request.options(*tables)
    if by is not None:
        from fewratio.data.partition import Roles, cut

        features, parts, _ = cut(tables[0], Roles(by))
        if len(parts) > 2:
            from fewratio.cli.compare_all import deliver_all
            from fewratio.data.collection import Collection

            collection = Collection.from_frame(tables[0], by, **options)
            # Many pairs take their time, so they are tested if somebody asks for it.
            n_permutations = (permutations or 0) if fails is None else n_permutations
            pairs = deliver_all(request, collection, estimator, n_permutations)
            return _exit(fails is not None and any(map(fails, _pairs(pairs))))
        tables = [replace(features.take(part.rows), argument=f"{by} {part.name}") for part in parts]
        names = [part.name for part in parts]
    else:
        names = [exchange.label(a), exchange.label(b)] if b is not None else []
        names = names if names[0] != names[1] else [str(a), str(b)]
    from fewratio.applications.comparison import compare_datasets
    from fewratio.data.reference import encoding_of

    if b is not None and request.model is None and (encoding := encoding_of(b)) is not None:
        if unused := sorted(set(options) - {"keep"}):
            raise ParameterError(
                f"--{unused[0]} is given, but {exchange.label(b)} is a reference, which says what becomes of the "
                "columns. Leave it out, or give it to `fewratio reference`."
            )
        options["encoding"] = encoding
    if len(tables) < 2:
        raise ParameterError(f"Column {by!r} has one value, {names[0]!r}; two or more are needed. Name another column.")
    first, second = tables
    found = compare_datasets(first, second, estimator, n_permutations, request.seed, **options)
    result = replace(found, names=(names[0], names[1]))
    answer = exchange.Answer(list(_lines(result, request)), result.to_dict(), _columns(result), tables)
    request.deliver(answer, result.plot)
    _exit(fails is not None and fails(result))


def _exit(failed: bool) -> None:
    if failed:
        raise typer.Exit(_FAILED)


def _pairs(result: "AllPairsResult") -> "Iterator[SimpleNamespace]":
    """Return what a condition is about for each pair of several samples; p-values are adjusted for their number."""
    adjusted, divergences = result.adjusted_p_values, result.divergences
    for i, j in combinations(range(len(result.names)), 2):
        both = float(divergences[i, j]), float(divergences[j, i])
        p_value = None if adjusted is None else float(adjusted[i, j])
        yield SimpleNamespace(p_value=p_value, divergence=max(both), statistic=sum(both) / 2)


def _condition(text: str, permutations: int) -> Callable[[Any], bool]:
    found = _CONDITION.fullmatch(text)
    if found is None or (found[1] == "p" and not permutations):
        raise ParameterError(
            f"--fail-if is {text!r}; needed is p, divergence or statistic, one of < <= > >=, and a number (p with at "
            "least one permutation). Write 'p < 0.01', for instance."
        )
    attribute, sign, limit = {"p": "p_value"}.get(found[1], found[1]), _SIGNS[found[2]], float(found[3])
    return lambda result: sign(getattr(result, attribute), limit)


def _lines(result: "ComparisonResult", request: exchange.Request) -> "Iterator[str]":
    from fewratio.data.columns import counted

    a, b = result.names
    yield f"{a} ({counted(len(result.ratios_a), 'row')}) and {b} ({counted(len(result.ratios_b), 'row')})"
    yield from request.summary(result.samples, result.names)
    yield f"divergence  {result.forward:.4g} ({a} over {b}), {result.backward:.4g} ({b} over {a})"
    if result.p_value is not None:
        yield f"p-value     {result.p_value:.4g} ({'all ' * result.exact}{len(result.null)} permutations)"
    if result.differences:
        yield from _differences(result)
    else:
        columns = [str(column) for column in result.columns]
        rest = len(columns) - exchange.SHOWN
        more = f" and {rest} more" if rest > 0 else ""
        yield f"differ in   {', '.join(columns[: exchange.SHOWN]) or 'none'}{more} (the strongest first)"
    for name, rows, table in zip(result.names, (result.rows_a, result.rows_b), result.samples.tables, strict=True):
        shown = [str(row) if table.row_names is None else str(table.row_names[row]) for row in rows[: exchange.SHOWN]]
        counting = ", counting from 0" * (table.row_names is None)
        yield f"rows        {', '.join(shown)} (the most typical of {name}{counting})"


def _differences(result: "ComparisonResult") -> "Iterator[str]":
    yield "differ in   (effect: difference of means in deviations, or of shares; the largest first)"
    shown = result.differences[: exchange.SHOWN]
    cells = [
        ("", *result.names, "effect"),
        *((column.column, column.first, column.second, f"{column.effect:+.2f}") for column in shown),
    ]
    widths = [max(len(row[place]) for row in cells) for place in range(4)]
    for row in cells:
        yield "  " + "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
    if len(result.differences) > exchange.SHOWN:
        yield f"  and {len(result.differences) - exchange.SHOWN} more; --json gives all"


def _columns(result: "ComparisonResult") -> dict[str, list[Any]]:
    sides = list(zip(result.names, (result.ratios_a.tolist(), result.ratios_b.tolist()), strict=True))
    return {
        "sample": [name for name, ratios in sides for _ in ratios],
        "row": [row for _, ratios in sides for row in range(len(ratios))],
        "ratio": list(chain.from_iterable(ratios for _, ratios in sides)),
    }
