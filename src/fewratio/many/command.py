"""``fewratio compare-all``."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from fewratio.cli import frame
from fewratio.cli.verb import FOLDER, SHARED, Field, Page, Verb, declare_count
from fewratio.testing import LEVEL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fewratio.data.collection import Collection
    from fewratio.data.raw_table import RawTable
    from fewratio.estimators.base import RatioEstimator
    from fewratio.many.result import AllPairsResult


def compare_all(request: frame.Request, folder: Path, new: Path | None, permutations: int, jobs: int) -> None:
    """Compare all datasets of a folder with each other.

    Example: fewratio compare-all sites/ --report sites.html
    """
    collection, estimator = request.read_folder(folder, *([] if new is None else [new]))
    tables = {}
    if new is not None:
        from fewratio.data.readers.files import find_file, read_raw

        file = find_file(new, **request.marks)
        name = f"{file.name} (new)" if file.name in collection else file.name
        tables[name] = read_raw(file)
    deliver_all(request, collection, estimator, permutations, jobs, tables)


def deliver_all(
    request: frame.Request,
    datasets: "Collection",
    estimator: "RatioEstimator | None",
    permutations: int,
    jobs: int = 1,
    new: "dict[str, RawTable] | None" = None,
) -> "AllPairsResult":
    """Compare all datasets of a collection, deliver the answer, and return the result."""
    from fewratio.core.wording import write_count
    from fewratio.many.all_pairs import compare_all as compare_all_datasets

    result = compare_all_datasets(
        datasets, estimator=estimator, n_permutations=permutations, new=new, n_jobs=jobs, random_state=request.seed
    )
    lines = [f"columns  {datasets.encoding.summary}"] if datasets.encoding is not None else []
    lines += _lines(result, request)
    if n_larger := sum(size > result.settings["n_rows"] for size in datasets.sizes):
        which = "each dataset" if n_larger == len(datasets) else f"the {write_count(n_larger, 'dataset')} with more"
        lines.append(f"rows     {result.settings['n_rows']} of {which}, drawn at random, are used")
    # Each pair as a row is many times the memory of the result.
    whole = (result.to_dict(), _columns(result)) if request.json or request.output else ({}, {})
    request.deliver(frame.Answer(lines, *whole), result.plot, result._report)
    return result


def _lines(result: "AllPairsResult", request: frame.Request) -> "Iterator[str]":
    from fewratio.core.wording import OF_FITTED_ROWS, write_count

    names = [result.names[i] for i in result.order()]
    for name in result.new:
        yield result.verdict(name)
        yield f"nearest  {', '.join(f'{other} ({divergence:.3g})' for other, divergence in result.nearest(name))}"
    yield f"{write_count(len(names), 'dataset')}, similar ones side by side:"
    nearest = [(name, *result.nearest(name, 1)[0]) for name in names[: frame.SHOWN]]
    yield from frame.align_columns([("", "nearest", "divergence"), *nearest])
    yield from request.and_more(len(names) - frame.SHOWN)
    yield f"(divergences are {OF_FITTED_ROWS})"
    if result.adjusted_p_values is not None:
        n_pairs = len(names) * (len(names) - 1) // 2
        # Each pair stands twice in the table.
        n_different = int((result.adjusted_p_values <= LEVEL).sum()) // 2
        yield f"{n_different} of {write_count(n_pairs, 'pair')} differ (adjusted p-value at most {LEVEL})"


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
        Field("new", _NEW, Path, reads="table", value="{{{name!r}: {variable}}}"),
        declare_count("permutations", "Permutations per pair for p-values; 0 for none.", 0, least=0).on_page(
            "Permutations for the p-value", "none", (0, 100_000)
        ),
        declare_count("jobs", "Number of workers; -1 for one per core.", 1, least=None),
        *SHARED,
    ),
    "datasets = fewratio.Collection.from_folder({folder}{columns}{marks})\n"
    "result = fewratio.compare_all(datasets{settings})\nprint(result)",
    Page(
        "Compare all",
        "How do many datasets relate?",
        "Every dataset of a folder compared with every other one: which are alike, which stand apart.",
        {"folder": ("Folder of tables", "One file per dataset, all with the same columns.", "example-sensors")},
        "40 sensors",
        key="many",
        tab="Many datasets",
    ),
)
