"""``fewratio index`` and ``fewratio search``."""

from pathlib import Path

from fewratio.cli import frame
from fewratio.cli.verb import (
    COLUMNS,
    FOLDER,
    JSON,
    MARKS,
    MODEL,
    OUTPUT,
    SCALE,
    SEED,
    Field,
    Verb,
    declare_count,
    declare_file,
    declare_table,
)
from fewratio.errors import ParameterError


def index(request: frame.Request, folder: Path, output: Path) -> None:
    """Index the datasets of a folder, to search them with `fewratio search`.

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


def search(request: frame.Request, index: Path, table: Path, k: int, permutations: int, compared: int | None) -> None:
    """Find the datasets of an index that differ least from a table.

    Example: fewratio search sites.index new.csv
    """
    from fewratio.core.wording import NONE_NEARER, OF_FITTED_ROWS
    from fewratio.data.readers.files import SUFFIXES
    from fewratio.many.dataset_index import DatasetIndex

    if index.suffix.lower() in SUFFIXES and table.suffix.lower() not in SUFFIXES and table.is_file():
        given = f"{str(index)!r} is a table, and {str(table)!r} is not"
        raise ParameterError(f"{given}; expected the index first. Write search {table} {index}.")
    (raw,), _ = request.read(table)
    found = DatasetIndex.load(index).search(raw, k, n_permutations=permutations, n_compared=compared)
    columns = {"dataset": list(found.names), "divergence": found.divergences.tolist()}
    if found.p_values is not None:
        columns["p_value"] = found.p_values.tolist()
    rows = ((name, *(f"{value:.2g}" for value in values)) for name, *values in zip(*columns.values(), strict=True))
    lines = [f"outside  {each}" for each in found.outside]
    lines += [*frame.align_columns([tuple(columns), *rows]), f"(divergences are {OF_FITTED_ROWS})"]
    lines += [NONE_NEARER] * (0 in columns["divergence"])
    request.deliver(frame.Answer(lines, found.to_dict(), columns))


INDEX = Verb(index, (FOLDER, declare_file("File for the index."), MODEL, SCALE, *COLUMNS, *MARKS, JSON, SEED))
SEARCH = Verb(
    search,
    (
        Field("index", "Index that `fewratio index` wrote.", Path, is_positional=True, is_required=True),
        declare_table("table", "Table to look for; - reads CSV from standard input."),
        Field("k", "How many datasets to list.", int, 10, least=1),
        declare_count("permutations", "Permutations for each p-value; 0 skips the tests.", 0, least=0),
        declare_count("compared", "Datasets to compare exactly. More take longer and miss fewer."),
        *(*MARKS, JSON, OUTPUT),
    ),
)
