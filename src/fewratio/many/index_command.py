"""``fewratio index`` and ``fewratio search``."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from fewratio.cli import frame


@partial(frame.verb, without=("plot", "report", "output"))
def index(
    request: frame.Request,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of tables, one dataset per file.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="File for the index.")],
) -> None:
    """Make an index of the datasets of a folder, to search with `fewratio search`.

    Example: fewratio index sites/ -o sites.index
    """
    from fewratio.many.dataset_index import DatasetIndex

    frame.check_target(output, "--output", folder, request.model)
    datasets, estimator = request.read_folder(folder)
    DatasetIndex.build(datasets, estimator=estimator, random_state=request.seed).save(output)
    lines = [datasets.summary, f"Index: {output}"]
    if datasets.encoding is not None:
        lines.insert(1, f"columns  {datasets.encoding.summary}")
    request.deliver(frame.Answer(lines, {"index": str(output), "n_datasets": len(datasets)}, {}))


_COLUMNS = ("columns", "drop", "keep", "id", "categorical", "numeric", "common")


@partial(frame.verb, without=("model", "scale", "plot", "report", "seed", *_COLUMNS))
def search(
    request: frame.Request,
    index: Annotated[Path, typer.Argument(help="An index that `fewratio index` wrote.")],
    table: Annotated[Path, typer.Argument(help="Table to compare with its datasets; - for CSV on standard input.")],
    k: Annotated[int, typer.Option("-k", min=1, help="How many datasets to name.")] = 10,
    permutations: Annotated[int, typer.Option(min=0, help="Permutations for the p-value of each; 0 for none.")] = 0,
    compared: Annotated[
        int | None, typer.Option(min=1, help="Datasets to compare with the table: the more, the fewer are missed.")
    ] = None,
) -> None:
    """Name the datasets of an index that differ least from a table.

    Example: fewratio search sites.index new.csv
    """
    from fewratio.many.dataset_index import DatasetIndex

    (raw,), _ = request.read(table)
    found = DatasetIndex.load(index).search(raw, k, n_permutations=permutations, n_compared=compared)
    columns = {"dataset": list(found.names), "divergence": found.divergences.tolist()}
    if found.p_values is not None:
        columns["p_value"] = found.p_values.tolist()
    lines = list(frame.aligned([tuple(columns), *zip(*columns.values(), strict=True)]))
    request.deliver(frame.Answer(lines, found.to_dict(), columns))
