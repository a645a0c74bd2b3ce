"""What verbs share: options, tables from files, answers, and what becomes of a mistake."""

import csv
import functools
import inspect
import io
import json
import math
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from fewratio.cli.option_words import arguments_as_options, in_option_words
from fewratio.cli.overwriting import check_not_input
from fewratio.errors import (
    CollectionError,
    DataFileError,
    DataNotFoundError,
    FewRatioError,
    InputError,
    ModelFileError,
    ParameterError,
)

if TYPE_CHECKING:
    from fewratio.data.collection import Collection as Datasets
    from fewratio.data.columns import Layout
    from fewratio.data.table import Table
    from fewratio.estimators.base import RatioEstimator
    from fewratio.estimators.meta import MetaRatioEstimator

_WRONG_INPUT = (CollectionError, DataFileError, DataNotFoundError, InputError, ModelFileError, ParameterError)
_SEPARATORS = {".csv": ",", ".tsv": "\t"}
_RESULTS = (".json", *_SEPARATORS)
_PICTURES = (".png", ".svg", ".pdf")
_MODELS_COLUMNS = "needed are the columns that the model was trained on. Select those, or use another model."
# Rows of a result that a person is shown; a file gets all.
SHOWN = 10

AsJson = Annotated[bool, typer.Option("--json", help="Write JSON.")]
Model = Annotated[
    Path | None, typer.Option("--model", "-m", help="A model that `fewratio train` wrote. [default: none is needed]")
]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="File for the whole result: .json, or .csv or .tsv for its rows.")
]
Plot = Annotated[Path | None, typer.Option("--plot", help="Picture to write: .png, .svg or .pdf.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of everything random.")]
Scale = Annotated[
    str, typer.Option(help="columns: bring the columns to a common unit; none: as they are. (A model knows its units.)")
]


class Answer(NamedTuple):
    """A result: lines for a person, JSON values, and columns of equal length for a table."""

    lines: Sequence[str]
    payload: Mapping[str, Any]
    columns: Mapping[str, Sequence[Any]]


def verb(function: Callable[..., None]) -> Callable[..., None]:
    """Let a verb end in one line on standard error where it cannot go on: exit code 2 for wrong input, else 1."""
    given = inspect.signature(function).parameters

    @functools.wraps(function)
    def run(*arguments: Any, **options: Any) -> None:
        try:
            with _plain_warnings(given):
                function(*arguments, **options)
        except FewRatioError as error:
            _say(in_option_words(error, given))
            raise typer.Exit(2 if isinstance(error, _WRONG_INPUT) else 1) from None
        except BrokenPipeError:
            # Whoever read the output has enough; click knows what to do.
            raise
        except OSError as error:
            _say(str(error))
            raise typer.Exit(1) from None

    return run


@contextmanager
def _plain_warnings(options: Collection[str]) -> Iterator[None]:
    """Say warnings as lines of text, in the words of a verb's options and without the place in the code."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            yield
        finally:
            for message in dict.fromkeys(str(warning.message) for warning in caught):
                _say(arguments_as_options(message, options))


def _say(message: str) -> None:
    sys.stderr.write(f"fewratio: {' '.join(message.split())}\n")


# ---------------------------------------------------------------- reading


def load_model(path: Path | None) -> "MetaRatioEstimator | None":
    """Read a model, if one is given."""
    if path is None:
        return None
    from fewratio.estimators.meta import MetaRatioEstimator

    return MetaRatioEstimator.load(path)


def prepare(
    paths: Sequence[Path],
    model: Path | None,
    scale: str = "none",
    output: Path | None = None,
    plot: Path | None = None,
    for_ratios: bool = False,
) -> "tuple[list[Table], RatioEstimator]":
    """Refuse what cannot be written, then read the tables and the model: nothing heavy is imported for a mistake.

    Parameters
    ----------
    paths : sequence of path
        The tables; ``-`` for CSV on standard input.
    model, scale, output, plot
        The options of those names.
    for_ratios : bool
        Whether ratios themselves are asked for, not a test.
    """
    check_targets(output, plot, *paths, model)
    learned = load_model(model)
    tables = read_tables(paths, learned, model)
    return tables, chosen_estimator(learned, scale, for_ratios)


def chosen_estimator(model: "MetaRatioEstimator | None", scale: str, for_ratios: bool = False) -> "RatioEstimator":
    """Return the model, or what is used without one: for ratios themselves, or for tests."""
    check_scale(scale)
    if model is not None:
        if scale != "none":
            raise ParameterError(
                "--scale is given with --model, but a model has the units of what it was trained on. Leave it out, or "
                "give it to `fewratio train`."
            )
        return model
    from fewratio.applications.inputs import default_estimator, default_ratio_estimator

    if for_ratios and find_spec("torch") is None:
        _say("torch is not installed; RuLSIF is used instead of the network. Run pip install 'fewratio[networks]'.")
        for_ratios = False
    return (default_ratio_estimator if for_ratios else default_estimator)(scale)


def check_scale(scale: str) -> None:
    """Refuse a scale that does not exist."""
    if scale not in ("columns", "none"):
        raise ParameterError(f"--scale is {scale!r}; it must be columns or none. Choose one of them.")


def read_tables(paths: Sequence[Path], model: "MetaRatioEstimator | None", model_path: Path | None) -> "list[Table]":
    """Read table files with the columns of the model, or else of the first; messages name file, row and column.

    Parameters
    ----------
    paths : sequence of path
        Files of any kind that `fewratio.data.files` knows; ``-`` for CSV on standard input.
    model : MetaRatioEstimator or None
        What the tables are for; it encodes them if its sources were encoded.
    model_path : path or None
        What messages call the model.
    """
    from fewratio.data.encoding import EncodingChoice
    from fewratio.data.files import STANDARD_INPUT, find_file, read_file
    from fewratio.data.table import check_same_features

    if [str(path) for path in paths].count(STANDARD_INPUT) > 1:
        raise ParameterError("- is given twice, but standard input can be read only once. Give a file instead.")
    encoding = None if model is None else model.encoding_
    choice = EncodingChoice(encoding=encoding)
    tables: list[Table] = []
    for path in paths:
        content = read_file(find_file(path), open_piece=lambda X, argument: choice.open(X, argument, encoding))
        table = content.table
        if model is not None:
            table = table.in_order(getattr(model, "feature_names_in_", None))
            _check_model_columns(table.layout, model, model_path)
        if tables:
            first = tables[0]
            table = table.in_order(first.feature_names)
            check_same_features(table, first.n_features, first.feature_names, first.argument)
        tables.append(table)
    return tables


def read_folder(folder: Path, model: "MetaRatioEstimator | None" = None, model_path: Path | None = None) -> "Datasets":
    """Read a folder of table files, one dataset each, with the columns of the model if there is one."""
    from fewratio.data.collection import Collection
    from fewratio.data.columns import Layout

    collection = Collection.from_folder(folder, encoding=None if model is None else model.encoding_)
    if model is not None:
        names = None if collection.feature_names is None else tuple(collection.feature_names)
        _check_model_columns(Layout(f"folder {str(folder)!r}", collection.n_features, names), model, model_path)
    return collection


def _check_model_columns(layout: "Layout", model: "MetaRatioEstimator", path: Path | None) -> None:
    from fewratio.data.columns import Layout, check_layout

    names = getattr(model, "feature_names_in_", None)
    reference = Layout(f"model {str(path)!r}", model.n_features_in_, None if names is None else tuple(names))
    check_layout(layout, reference, InputError, _MODELS_COLUMNS)


def label(path: Path) -> str:
    """Return what answers call a file."""
    return "standard input" if str(path) == "-" else path.name


# ---------------------------------------------------------------- writing


def check_targets(output: Path | None, plot: Path | None, *inputs: Path | None) -> None:
    """Refuse files that cannot be written, or that would take the place of inputs, before the work."""
    if output is not None:
        _check_ending(output, _RESULTS, "--output")
        check_target(output, "--output")
        check_not_input(output, "--output", inputs)
    if plot is not None:
        check_picture(plot, "--plot")
        check_not_input(plot, "--plot", inputs)


def check_picture(path: Path, option: str) -> None:
    """Refuse a picture that cannot be drawn or written."""
    if find_spec("matplotlib") is None:
        raise FewRatioError(f"matplotlib is not installed; {option} needs it. Run pip install 'fewratio[plot]'.")
    _check_ending(path, _PICTURES, option)
    check_target(path, option)


def check_target(path: Path, option: str) -> None:
    """Refuse a file that cannot be written."""
    folder = path.resolve().parent
    problem = None
    if path.is_dir():
        problem = "it is a folder"
    elif not folder.is_dir():
        problem = f"there is no folder {str(folder)!r}"
    else:
        try:
            # More than asking for permission: that knows nothing of some file systems.
            tempfile.TemporaryFile(dir=folder).close()
        except OSError as error:
            problem = f"in folder {str(folder)!r} nothing can be written: {os.strerror(error.errno or 0)}"
    if problem is not None:
        raise DataNotFoundError(f"{str(path)!r} cannot be written ({problem}). Give another file with {option}.")


def deliver(
    answer: Answer,
    as_json: bool,
    output: Path | None = None,
    plot: Path | None = None,
    draw: Callable[[], Any] | None = None,
) -> None:
    """Print an answer, and write it and its picture to files where asked for: each whole or not at all.

    Parameters
    ----------
    answer : Answer
    as_json : bool
        Whether to print JSON instead of lines.
    output, plot : path or None
        Checked by `check_targets` before.
    draw : callable
        Gives the picture, as a Figure or an Axes.
    """
    text = json.dumps(_finite(answer.payload), indent=2, allow_nan=False)
    files = {}
    if output is not None:
        separator = _SEPARATORS.get(output.suffix.lower())
        files[output] = (f"{text}\n" if separator is None else _as_table(answer.columns, separator)).encode()
    if plot is not None and draw is not None:
        files[plot] = _as_picture(draw(), plot.suffix.lower()[1:])
    if files:
        from fewratio.core.tensorfile import write_atomically

        for path, payload in files.items():
            write_atomically(path, payload)
    typer.echo(text if as_json else "\n".join(answer.lines))


def first_rows(columns: Mapping[str, Sequence[Any]], output: Path | None) -> Iterator[str]:
    """Return the first rows of a result as lines, and say where to find the others."""
    yield "  ".join(f"{name:>10}" for name in columns)
    rows = list(zip(*columns.values(), strict=True))
    for row in rows[:SHOWN]:
        yield "  ".join(f"{f'{value:.4g}' if isinstance(value, float) else value!s:>10}" for value in row)
    yield from and_more(len(rows) - SHOWN, output)


def and_more(count: int, output: Path | None) -> Iterator[str]:
    """Say how many rows are not shown, if any, and where they are."""
    if count > 0:
        yield f"and {count} more; --output FILE.csv writes all" if output is None else f"and {count} more in {output}"


def _check_ending(path: Path, endings: Sequence[str], option: str) -> None:
    if path.suffix.lower() not in endings:
        raise ParameterError(f"{option} is {str(path)!r}; it must end in {', '.join(endings)}. Choose one of them.")


def _as_table(columns: Mapping[str, Sequence[Any]], separator: str) -> str:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()


def _as_picture(drawn: Any, kind: str) -> bytes:
    payload = io.BytesIO()
    # An Axes knows its figure, and a Figure itself. Without the date the same result gives the same file.
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    drawn.figure.savefig(payload, format=kind, metadata=metadata)
    return payload.getvalue()


def _finite(value: Any) -> Any:
    """Put None for what is not finite: JSON has no such numbers."""
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
