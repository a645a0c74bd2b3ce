"""``fewratio map`` and ``fewratio summarise``, and learning from summaries."""

from collections.abc import Sequence
from pathlib import Path

from fewratio.cli import frame
from fewratio.cli.verb import COLUMNS, JSON, MARKS, SEED, Field, Verb, declare_count, declare_file, declare_table
from fewratio.errors import ParameterError

SUFFIX = ".summary"


def make_map(
    request: frame.Request, example: Path, output: Path, range: list[str] | None, components: int, scale: str
) -> None:
    """Fix columns, ranges, units and features, so that `fewratio summarise` can run at each site.

    Example: fewratio map example.csv --range age=0:120 -o sites.map
    """
    frame.check_target(output, "--output", example, endings=(".map",))
    frame.check_scale(scale)
    given = dict(map(_range, range or []))
    from fewratio.estimators.closed_form.source_map import SourceMap

    (raw,), _ = request.read(example)
    source_map = SourceMap.from_table(
        raw, given, n_components=components, scale=scale, random_state=request.seed, **request.options(raw)
    )
    source_map.save(output)
    columns = source_map.features.columns
    encoding = None if columns is None else columns.encoding
    lines = [
        *([] if encoding is None else [f"columns  {encoding.summary}"]),
        f"features {source_map.features.n_outputs}",
        f"Map: {output}",
    ]
    request.deliver(frame.Answer(lines, {"map": str(output), **source_map.features.to_dict()}, {}))


def summarise(
    request: frame.Request, table: Path, map: Path, output: Path, epsilon: float | None, delta: float
) -> None:
    """Summarise a dataset by its mean and covariances, so that no row leaves its site.

    `fewratio train` learns from summaries.

    Example: fewratio summarise clinic.csv --map sites.map -o clinic.summary
    """
    frame.check_target(output, "--output", table, map, endings=(SUFFIX,))
    from fewratio.estimators.closed_form.source_map import SourceMap

    source_map = SourceMap.load(map)
    (raw,), _ = request.read(table)
    summary = source_map.summarise(raw, epsilon, delta)
    summary.save(output)
    noise = [] if epsilon is None else [f"Differentially private: epsilon {epsilon:g}, delta {delta:g}."]
    lines = [f"{frame.make_label(table)} ({summary.n_rows} rows)", *noise, f"Summary: {output}"]
    request.deliver(frame.Answer(lines, {"summary": str(output), "n_rows": summary.n_rows}, {}))


def learn(request: frame.Request, files: Sequence[Path], output: Path) -> None:
    """Learn a model from files with summaries, for ``fewratio train``."""
    if tables := [str(file) for file in files if file.suffix != SUFFIX]:
        raise ParameterError(
            f"{tables[0]!r} is not a {SUFFIX} file, but others are; all must be. Run `fewratio summarise` on it, "
            "or give a folder of tables instead."
        )
    of_files = {"separator": request.separator is not None, "decimal": request.decimal != "."}
    of_files["header"] = request.header is not None
    if given := [name for name, is_given in of_files.items() if is_given]:
        raise ParameterError(
            f"--{given[0]} is given, but it is for text files, and summaries are none. Leave it out, or give it to "
            "`fewratio summarise`."
        )
    if of_tables := request.options():
        raise ParameterError(
            f"--{next(iter(of_tables))} is given, but the summaries' map has fixed what becomes of columns. Leave it "
            "out, or give it to `fewratio map`."
        )
    from fewratio.estimators.closed_form.discriminant import DiscriminantRatioEstimator
    from fewratio.estimators.closed_form.summary import Summary

    found = [Summary.load(file) for file in files]
    first_of: dict[bytes, Path] = {}
    for file, summary in zip(files, found, strict=True):
        first = first_of.setdefault(summary.mean_sum.tobytes() + summary.scatter.tobytes(), file)
        if first is not file:
            raise ParameterError(
                f"{str(file)!r} has the same content as {str(first)!r}; each dataset must count once. Leave one out."
            )
    estimator = DiscriminantRatioEstimator().pretrain(found)
    estimator.save(output)
    n_sources, n_rows = (sum(getattr(each, name) for each in found) for name in ("n_sources", "n_rows"))
    name = type(estimator).__name__
    lines = [f"Learned a {name} from summaries of {n_sources} datasets ({n_rows} rows).", f"Model: {output}"]
    payload = {"model": str(output), "estimator": name, "n_datasets": n_sources, "n_rows": n_rows}
    request.deliver(frame.Answer(lines, payload | estimator.settings_._asdict(), {}))


def only_folder(sources: Sequence[Path]) -> Path:
    """Return the one folder to learn from, if sources are not summaries."""
    if len(sources) != 1:
        raise ParameterError(
            f"{len(sources)} sources are given, and {str(sources[0])!r} is not a {SUFFIX} file; expected one folder of "
            f"tables, or only {SUFFIX} files. Put the tables into a folder."
        )
    if sources[0].is_file():
        raise ParameterError(
            f"{str(sources[0])!r} is a file; expected a folder with one table per dataset, or {SUFFIX} files. Put "
            "the tables into a folder."
        )
    return sources[0]


def _range(text: str) -> tuple[str, tuple[float, float]]:
    """Read a column and its range, such as ``age=0:120``."""
    column, _, values = text.rpartition("=")
    try:
        low, high = map(float, values.split(":"))
    except ValueError:
        column = ""
    if not column:
        raise ParameterError(f"--range is {text!r}; a column and two numbers are needed. Write it as age=0:120.")
    return column, (low, high)


MAP = Verb(
    make_map,
    (
        declare_table("example", "Table with the same columns and nothing secret."),
        declare_file("File for the map, ending in .map."),
        Field(
            "range",
            "Lowest and highest value of a column, such as age=0:120. Repeat the option for other columns.",
            list[str],
        ),
        declare_count("components", "Number of random features; 0 uses the columns themselves.", 512, least=0),
        Field("scale", "columns: standard deviations; none: values as they are.", default="columns"),
        # Column options are passed here, not for each table.
        *(*COLUMNS[:-1], *MARKS, JSON, SEED),
    ),
    name="map",
)
SUMMARISE = Verb(
    summarise,
    (
        declare_table("table", "All rows of one dataset; - reads CSV from standard input."),
        Field("map", "Map that `fewratio map` wrote.", Path, is_required=True),
        declare_file("File for the summary, ending in .summary."),
        Field("epsilon", "Add noise for differential privacy with this epsilon. [default: no noise]", float),
        Field("delta", "The delta of differential privacy.", float, default=1e-5),
        *(*MARKS, JSON),
    ),
)
