"""``fewratio compare``."""

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
    from fewratio.data.options import ColumnOptions
    from fewratio.data.raw import RawTable

_CONDITION = re.compile(
    r"\s*(p|divergence|statistic)\s*(<=|>=|<|>)\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*", re.ASCII
)
_FAILED, _PERMUTATIONS = 3, 999


@exchange.verb
def compare(
    request: exchange.Request,
    a: Annotated[Path, typer.Argument(help="Table of the first sample; - for CSV on standard input.")],
    b: Annotated[
        Path | None,
        typer.Argument(help="Table of the second sample, with the same columns, or a file of `fewratio reference`."),
    ] = None,
    by: Annotated[str | None, typer.Option(help="Column that divides one table into samples.")] = None,
    permutations: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Permutations for the p-value; 0 for no test. "
            f"[default: {_PERMUTATIONS}; for more than two groups 0 unless --fail-if is given]",
        ),
    ] = None,
    fail_if: Annotated[
        str | None,
        typer.Option(
            help=f"Exit with {_FAILED} if this condition holds: 'p < 0.01', 'divergence > 0.1', 'statistic > 0.1'."
        ),
    ] = None,
) -> None:
    """Compare two datasets: how far apart they are, whether that may be chance, and which columns and rows differ.

    Example: fewratio compare before.csv after.csv --plot difference.png
    """
    if (b is None) == (by is None):
        given, advice = "Two tables and --by are given", "Leave out --by, or one table"
        if b is None:
            given, advice = "One table is given without --by", "Give a second table, or --by"
        raise ParameterError(
            f"{given}; needed are two tables, or one and --by with the column that divides it. {advice}."
        )
    n_permutations = _PERMUTATIONS if permutations is None else permutations
    fails = None if fail_if is None else _condition(fail_if, n_permutations)
    tables, estimator = request.read(*((a,) if b is None else (a, b)))
    options = request.options(*tables)
    if b is None:
        names, groups = _groups(tables[0], str(by))
        if len(groups) > 2:
            from fewratio.cli.compare_all import deliver_all
            from fewratio.data.collection import Collection

            collection = Collection.from_arrays(dict(zip(names, groups, strict=True)), **options)
            # Tests of many pairs take long.
            n_permutations = (permutations or 0) if fails is None else n_permutations
            pairs = deliver_all(request, collection, estimator, n_permutations)
            return _exit(fails is not None and any(map(fails, _pairs(pairs))))
        tables = groups
    else:
        labels = [exchange.label(a), exchange.label(b)]
        names = labels if labels[0] != labels[1] else [str(a), str(b)]
        if request.model is None:
            options |= _reference_encoding(b, options) or _reference_encoding(a, options)
    from fewratio.applications.comparison import compare_datasets

    first, second = tables
    found = compare_datasets(first, second, estimator, n_permutations, request.seed, **options)
    result = replace(found, names=(names[0], names[1]))
    answer = exchange.Answer(list(_lines(result, request)), result.to_dict(), _columns(result), tables)
    request.deliver(answer, result.plot)
    _exit(fails is not None and fails(result))


def _groups(table: "RawTable", by: str) -> "tuple[list[str], list[RawTable]]":
    """Divide a table by a column, and name the groups."""
    from fewratio.data.partition import groups_of

    groups = groups_of(table, by)
    if len(groups) < 2:
        raise ParameterError(
            f"column {by!r} of {table.argument} has one value, {next(iter(groups))!r}; --by needs a column with two "
            "or more. Name another column."
        )
    return list(groups), list(groups.values())


def _reference_encoding(path: Path, options: "ColumnOptions") -> "ColumnOptions":
    """Return the encoding of a reference as an option; nothing for any other table."""
    from fewratio.data.reference import encoding_of

    encoding = encoding_of(path)
    if encoding is None:
        return {}
    if unused := sorted(set(options) - {"keep"}):
        raise ParameterError(
            f"--{unused[0]} is given, but {exchange.label(path)} is a reference, whose columns are encoded already. "
            f"Leave --{unused[0]} out, or give it to `fewratio reference`."
        )
    return {"encoding": encoding}


def _exit(failed: bool) -> None:
    if failed:
        raise typer.Exit(_FAILED)


def _pairs(result: "AllPairsResult") -> "Iterator[SimpleNamespace]":
    """Return what a condition can test, for each pair of groups; p-values are adjusted for the number of pairs."""
    adjusted, divergences = result.adjusted_p_values, result.divergences
    for i, j in combinations(range(len(result.names)), 2):
        both = float(divergences[i, j]), float(divergences[j, i])
        p_value = None if adjusted is None else float(adjusted[i, j])
        yield SimpleNamespace(p_value=p_value, divergence=max(both), statistic=sum(both) / 2)


def _condition(text: str, permutations: int) -> Callable[[Any], bool]:
    """Return a function that tells whether a condition holds for a result."""
    found = _CONDITION.fullmatch(text)
    if found is None:
        raise ParameterError(
            f"--fail-if is {text!r}; it must be p, divergence or statistic, one of < <= > >=, and a number. Write "
            "'p < 0.01', for instance."
        )
    if found[1] == "p" and not permutations:
        raise ParameterError(
            f"--fail-if is {text!r}, but --permutations is 0, which gives no p-value. Raise --permutations, or test "
            "the divergence or the statistic."
        )
    from fewratio.data.partition import SIGNS

    attribute, sign, limit = {"p": "p_value"}.get(found[1], found[1]), SIGNS[found[2]], float(found[3])
    return lambda result: sign(getattr(result, attribute), limit)


def _lines(result: "ComparisonResult", request: exchange.Request) -> "Iterator[str]":
    from fewratio.data.columns import counted

    a, b = result.names
    yield f"{a} ({counted(len(result.ratios_a), 'row')}) and {b} ({counted(len(result.ratios_b), 'row')})"
    yield from request.summary(result.samples, result.names)
    yield f"divergence  {result.forward:.4g} ({a} over {b}), {result.backward:.4g} ({b} over {a})"
    if result.p_value is not None:
        verdict = (
            "the tables differ"
            if result.p_value <= exchange.LEVEL
            else f"no difference found at the level {exchange.LEVEL}"
        )
        yield f"p-value     {result.p_value:.4g} ({'all ' * result.exact}{len(result.null)} permutations): {verdict}"
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
    yield f"effects     (Cohen's d of means, h of shares; above 0: more in {result.names[0]}; the largest first)"
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
