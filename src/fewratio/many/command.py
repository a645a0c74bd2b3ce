"""``fewratio compare-all``."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fewratio.cli import frame
from fewratio.cli.verb import FOLDER, SHARED, Field, Page, Verb, declare_count
from fewratio.errors import ParameterError
from fewratio.testing import LEVEL

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fewratio.data.raw_table import RawTable
    from fewratio.many.result import AllPairsResult


def compare_all(
    request: frame.Request,
    folder: Path,
    by: str | None,
    new: Path | None,
    permutations: int,
    jobs: int,
    differences: bool = False,
    compare_two: Callable[..., Any] | None = None,
) -> None:
    """Compare all datasets of a folder with each other, or all groups of a table.

    Example: fewratio compare-all sites/ --report sites.html
    """
    from fewratio.core.wording import write_count
    from fewratio.data.readers.files import find_file, find_table_files, read_raw, settle_layouts
    from fewratio.many.all_pairs import compare_all as compare_all_datasets

    if new is not None and folder.is_file() and new.is_dir():
        found = f"{str(folder)!r} is a file, and {str(new)!r}, which --new names, is a folder"
        raise ParameterError(f"{found}; expected the folder first. Write compare-all {new} --new {folder}.")
    tables = {}
    if by is None:
        datasets, estimator = request.read_folder(folder, *([] if new is None else [new]))
        files = {file.name: file for file in find_table_files(folder)}
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

    def read(name: str) -> "RawTable":
        held = tables | judged
        return held[name] if name in held else read_raw(settle_layouts([replace(files[name], **request.marks)])[0])

    result = compare_all_datasets(
        datasets, estimator=estimator, n_permutations=permutations, new=judged, n_jobs=jobs, random_state=request.seed
    )

    @cache
    def compare(first: str, second: str) -> Any:
        tables = [read(name) for name in (first, second)]
        options: Any = {} if request.model is not None else request.options(*tables)
        with warnings.catch_warnings():
            # All warnings about the tables were given when they were read.
            warnings.simplefilter("ignore")
            return compare_two and compare_two(*tables, estimator=estimator, random_state=request.seed, **options)

    # JSON has the numbers of all pairs.
    lines = [] if request.json else [*_lines(result, request, lambda *pair: compare(*sorted(pair)), differences)]
    lines += [f"columns  {datasets.encoding.summary}"] if datasets.encoding is not None else []
    if n_larger := sum(size > result.settings["n_rows"] for size in datasets.sizes):
        which = "each dataset" if n_larger == len(datasets) else f"the {write_count(n_larger, 'dataset')} with more"
        lines.append(f"rows     {result.settings['n_rows']} of {which}, drawn at random, say which is the nearest")
    # Each pair as a row is many times the memory of the result.
    whole = (result.to_dict(), _columns(result)) if request.json or request.output else ({}, {})
    request.deliver(frame.Answer(lines, *whole), result.plot, result._report)


def _lines(
    result: "AllPairsResult", request: frame.Request, compare: "Callable[[str, str], Any]", differences: bool
) -> "Iterator[str]":
    from fewratio.core.wording import OF_FITTED_ROWS, write_count

    if result.new:
        for name in result.new:
            yield result.verdict(name)
            if differences:
                columns = [each for each in result.new_columns(name) if each.is_outside][: frame.SHOWN]
                yield from (f"outside  {each}" for each in columns)
            yield f"nearest to {name}:"
            pairs = [(name, other) for other, _ in result.nearest(name)]
            yield from _write_pairs(pairs, compare, differences, ("",))
    else:
        names = [result.names[i] for i in result.order()]
        yield f"{write_count(len(names), 'dataset')}, similar ones side by side:"
        pairs = [(name, result.nearest(name, 1)[0][0]) for name in names[: frame.SHOWN]]
        yield from _write_pairs(pairs, compare, differences, ("", "nearest"))
        yield from request.and_more(len(names) - frame.SHOWN)
    if request.output is not None:
        yield f"(the divergences in {request.output} are {OF_FITTED_ROWS})"
    if result.adjusted_p_values is not None:
        n_pairs = len(result.names) * (len(result.names) - 1) // 2
        # Each pair appears twice in the table.
        n_different = int((result.adjusted_p_values <= LEVEL).sum()) // 2
        yield f"{n_different} of {write_count(n_pairs, 'pair')} differ (adjusted p-value at most {LEVEL})"


def _write_pairs(
    pairs: "Sequence[tuple[str, str]]",
    compare: "Callable[[str, str], Any]",
    differences: bool,
    heading: tuple[str, ...],
) -> "Iterator[str]":
    """Write the pairs as rows of a table, each with the answer of `fewratio compare`; without it, their names."""
    from fewratio.core.wording import NONE_NEARER, write_list

    found = [compare(*pair) for pair in pairs]
    names = [pair[-len(heading) :] for pair in pairs]
    if not all(found):
        yield from frame.align_columns([heading, *names])
        return
    cells = [(*heading, "divergence", "p", *(("differ in",) * differences))]
    for name, each in zip(names, found, strict=True):
        p_value = "too few rows" if each.smallest_p_value > LEVEL else f"{each.p_value:.2g}"
        columns = [str(column.column) for column in each.columns if column.p_value <= LEVEL]
        of_columns = (write_list(columns) or "no single column",) if differences else ()
        cells.append((*name, f"{each.divergence:.2g}", p_value, *of_columns))
    yield from frame.align_columns(cells)
    yield "(divergence and p as `fewratio compare` gives them, of all rows; p not adjusted for the number of pairs)"
    if sum(each.divergence == 0 for each in found) > 1:
        yield NONE_NEARER


def _columns(result: "AllPairsResult") -> dict[str, list[Any]]:
    import numpy as np

    i, j = (~np.eye(len(result.names), dtype=np.bool_)).nonzero()
    names, adjusted = np.array(result.names), result.adjusted_p_values
    matrices = {"divergence": result.divergences, "p_value": result.p_values, "adjusted_p_value": adjusted}
    values = {name: matrix[i, j].tolist() for name, matrix in matrices.items() if matrix is not None}
    return {"numerator": names[i].tolist(), "denominator": names[j].tolist(), **values}


_NEW = "A new table to judge: which datasets are nearest, and is it unlike all?"
VERB = Verb(
    compare_all,
    (
        FOLDER,
        Field("by", "Column that divides one table, given instead of a folder, into datasets.", python=""),
        Field("new", _NEW, Path, reads="table", value="{{{name!r}: {variable}}}"),
        declare_count("permutations", "Permutations per pair for p-values; 0 for none.", 0, least=0).on_page(
            "Permutations for the p-value", "none", (0, 100_000)
        ),
        Field("differences", "Also name the columns that differ, of each pair shown.", bool, False, python=""),
        declare_count("jobs", "Number of workers; -1 for one per core.", 1, least=None),
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
