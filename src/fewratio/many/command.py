"""``fewratio compare-all``."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from fewratio.cli import frame
from fewratio.cli.verb import FOLDER, SHARED, Field, Page, Verb, declare_count
from fewratio.errors import ParameterError
from fewratio.testing import LEVEL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fewratio.many.result import AllPairsResult

# Up to this many datasets, all are shown.
_SHOWN = 15


def compare_all(
    request: frame.Request,
    folder: Path,
    by: str | None,
    new: Path | None,
    permutations: int,
    jobs: int,
) -> None:
    """Compare all datasets of a folder, or all groups of a table, and see which are similar and which stand out.

    Example: fewratio compare-all sites/ --report sites.html
    """
    from fewratio.data.readers.files import find_file, read_raw
    from fewratio.many.all_pairs import compare_all as compare_all_datasets

    if new is not None and folder.is_file() and new.is_dir():
        found = f"{str(folder)!r} is a file, and {str(new)!r}, which --new names, is a folder"
        raise ParameterError(f"{found}; expected the folder first. Write compare-all {new} --new {folder}.")
    if by is None and folder.is_file():
        found = f"{str(folder)!r} is a table; expected a folder with one data file per dataset"
        raise ParameterError(f"{found}. If one of its columns names the datasets, give --by COLUMN.")
    if by is None:
        datasets, estimator = request.read_folder(folder, *([] if new is None else [new]))
    else:
        from fewratio.data.collection import Collection
        from fewratio.data.split_table import split_by_column

        (table,), estimator = request.read(folder, cut=False)
        tables = {name: frame.cut_series(group, estimator) for name, group in split_by_column(table, by).items()}
        datasets = Collection.from_arrays(tables, **request.options(table))
    judged = {}
    if new is not None:
        file = find_file(new, **request.marks)
        judged[f"{file.name} (new)" if file.name in datasets else file.name] = read_raw(file)
    result = compare_all_datasets(
        datasets, estimator=estimator, n_permutations=permutations, new=judged, n_jobs=jobs, random_state=request.seed
    )
    # JSON has the numbers of all pairs.
    lines = [] if request.json else list(_lines(result, request))
    # Each pair as a row is many times the memory of the result.
    whole = (result.to_dict(), _columns(result)) if request.json or request.output else ({}, {})
    request.deliver(frame.Answer(lines, *whole), result.plot, result._report)


def _lines(result: "AllPairsResult", request: frame.Request) -> "Iterator[str]":
    from fewratio.many.novelty import MOST_BY_CHANCE

    for name in result.new:
        yield result.verdict(name)
        outside = [str(each) for each in result.new_columns(name) if each.is_outside]
        is_unlike = result.new_p_values[name] <= LEVEL
        most = frame.SHOWN if is_unlike else MOST_BY_CHANCE
        yield from (f"{'' if place else 'outside':<12}{each}" for place, each in enumerate(outside[:most]))
        if outside and not is_unlike:
            yield f"{'':<12}(outside the range of the others, which may be chance)"
        near = [
            (other, f"{max(0.0, far):.2f}", result.write_p_value(name, other)) for other, far in result.nearest(name)
        ]
        yield from frame.align_columns([(f"nearest to {name}", "divergence", result.p_heading), *near])
    if not result.new:
        yield result.summary
        yield from _write_datasets(result, request)
    yield f"divergence  {result.scale}"
    yield from (f"{what.lower():<12}{said}" for what, said in result.data_used.items())


def _write_datasets(result: "AllPairsResult", request: frame.Request) -> "Iterator[str]":
    """Write the datasets that stand out most: how far from the others, by which columns, and the nearest one."""
    table = []
    for name, median in result.list_datasets(frame.SHOWN if len(result.names) > _SHOWN else _SHOWN):
        ((nearest, divergence),) = result.nearest(name, 1)
        p_value = result.write_p_value(name, nearest)
        table.append((name, f"{median:.2f}", nearest, f"{max(0.0, divergence):.2f}", p_value))
    cells: list[tuple[str, ...]] = [("", "median", "nearest", "divergence", result.p_heading), *table]
    # In a narrow terminal whole names say more than further columns.
    for most in (3, 2, 1):
        columns = ["stands out by", *(result.write_columns(row[0], most) for row in table)]
        if any(columns[1:]) and frame.fits([*zip(*cells, strict=True), columns]):
            cells = [(*row, said) for row, said in zip(cells, columns, strict=True)]
            break
    yield from frame.align_columns(cells)
    if len(result.names) > len(table):
        where = f", in {request.report}" if request.report else "; --report FILE.html shows all"
        yield f"  and {len(result.names) - len(table)} more{where}"
    by = "; stands out by: Cohen's d from all other rows" * (len(cells[0]) > len(table[0]))
    yield f"(median: of the divergences from all others; {result.p_heading}: of the nearest one, {result.p_note}{by})"


def _columns(result: "AllPairsResult") -> dict[str, list[Any]]:
    import numpy as np

    i, j = (~np.eye(len(result.names), dtype=np.bool_)).nonzero()
    names, adjusted = np.array(result.names), result.adjusted_p_values
    matrices = {"divergence": result.divergences, "p_value": result.p_values, "adjusted_p_value": adjusted}
    values = {name: matrix[i, j].tolist() for name, matrix in matrices.items() if matrix is not None}
    return {"dataset": names[i].tolist(), "other": names[j].tolist(), **values}


_NEW = "A new table: is it unlike all datasets, and which are nearest?"
VERB = Verb(
    compare_all,
    (
        FOLDER,
        Field("by", "Compare the groups of one table instead of a folder; names the grouping column.", python=""),
        Field("new", _NEW, Path, reads="table", value="{{{name!r}: {variable}}}"),
        declare_count("permutations", "Permutations per pair for p-values; 0 skips the tests.", 0, least=0).on_page(
            "Permutations for the p-value", "none", (0, 100_000)
        ),
        declare_count("jobs", "Worker processes; -1 for one per core.", 1, least=None),
        *SHARED,
    ),
    "datasets = fewratio.Collection.from_folder({folder}{columns}{marks})\n"
    "result = fewratio.compare_all(datasets{settings})\nprint(result)",
    Page(
        "Compare all",
        "How do many datasets relate?",
        "Compare every dataset of a folder with every other one: which are similar, which stand out?",
        {"folder": ("Folder of tables", "One file per dataset, all with the same columns.", "example-sensors")},
        "40 sensors",
        key="many",
        tab="Many datasets",
    ),
)
