"""``fewratio compare-all``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fewratio.cli import exchange
from fewratio.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fewratio.applications.all_pairs import AllPairsResult
    from fewratio.applications.workers import Backend
    from fewratio.data.collection import Collection
    from fewratio.estimators.base import RatioEstimator


@exchange.verb
def compare_all(
    request: exchange.Request,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of tables, one dataset per file.")],
    permutations: Annotated[int, typer.Option(min=0, help="Permutations per pair for p-values; 0 for none.")] = 0,
    jobs: Annotated[int, typer.Option(help="Number of workers; -1 for one per core.")] = 1,
    dask: Annotated[str | None, typer.Option(help="Compute on a Dask cluster: the address of its scheduler.")] = None,
    ray: Annotated[str | None, typer.Option(help="Compute on Ray: its address, auto or local.")] = None,
) -> None:
    """Compare all datasets of a folder with each other.

    Example: fewratio compare-all sites/ --report sites.html
    """
    from fewratio.applications.workers import cluster

    if dask is not None and ray is not None:
        raise ParameterError("--dask and --ray are given, but there is one cluster to compute on. Leave one out.")
    collection, estimator = request.read_folder(folder)
    with cluster(dask, ray) as backend:
        deliver_all(request, collection, estimator, permutations, jobs, backend)


def deliver_all(
    request: exchange.Request,
    datasets: "Collection",
    estimator: "RatioEstimator | None",
    permutations: int,
    jobs: int = 1,
    backend: "Backend | None" = None,
) -> "AllPairsResult":
    """Compare all datasets of a collection, deliver the answer, and return the result."""
    from fewratio.applications.all_pairs import compare_all as compare_all_datasets

    result = compare_all_datasets(
        datasets, estimator, permutations, n_jobs=jobs, random_state=request.seed, backend=backend
    )
    lines = [f"columns  {datasets.encoding.summary}"] if datasets.encoding is not None else []
    lines += _lines(result, request)
    # Each pair as a row is many times the memory of the result.
    whole = (result.to_dict(), _columns(result)) if request.wants_all else ({}, {})
    request.deliver(exchange.Answer(lines, *whole), result.plot, result._report)
    return result


def _lines(result: "AllPairsResult", request: exchange.Request) -> "Iterator[str]":
    from fewratio.data.columns import counted

    names = [result.names[i] for i in result.order()]
    yield f"{counted(len(names), 'dataset')}, similar ones side by side:"
    nearest = [(name, *result.nearest(name, 1)[0]) for name in names[: exchange.SHOWN]]
    yield from exchange.aligned([("", "nearest", "divergence"), *nearest])
    yield from request.and_more(len(names) - exchange.SHOWN)
    if result.adjusted_p_values is not None:
        n_pairs = len(names) * (len(names) - 1) // 2
        # Each pair stands twice in the table.
        n_different = int((result.adjusted_p_values <= exchange.LEVEL).sum()) // 2
        yield f"{n_different} of {counted(n_pairs, 'pair')} differ (adjusted p-value at most {exchange.LEVEL})"


def _columns(result: "AllPairsResult") -> dict[str, list[Any]]:
    import numpy as np

    i, j = (~np.eye(len(result.names), dtype=np.bool_)).nonzero()
    names, adjusted = np.array(result.names), result.adjusted_p_values
    matrices = {"divergence": result.divergences, "p_value": result.p_values, "adjusted_p_value": adjusted}
    values = {name: matrix[i, j].tolist() for name, matrix in matrices.items() if matrix is not None}
    return {"numerator": names[i].tolist(), "denominator": names[j].tolist(), **values}
