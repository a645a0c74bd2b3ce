"""What verbs share: options, tables from files, answers, and error handling."""

import json
import math
import os
import re
import shlex
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial, update_wrapper
from inspect import Signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer
from typer.core import TyperCommand

from fewratio.cli.machine import check_limit, describe_error
from fewratio.cli.overwriting import check_not_input
from fewratio.cli.row_files import ENDINGS, Write, row_file, write_rows
from fewratio.cli.terminal import find_width, is_terminal, lay_out
from fewratio.cli.verb import SHARED, Verb
from fewratio.errors import DataNotFoundError, FewRatioError, FewRatioWarning, LeftOutWarning, ParameterError
from fewratio.lazy import import_home

if TYPE_CHECKING:
    from fewratio.charts.chart import Picture
    from fewratio.data.collection import Collection as Datasets
    from fewratio.data.non_overlapping import NonOverlapping
    from fewratio.data.raw_table import RawTable
    from fewratio.data.readers.files import TableFile
    from fewratio.data.table import Table
    from fewratio.estimators.base import RatioEstimator
    from fewratio.estimators.samples import Samples
    from fewratio.report.page import Report

# Base classes of the errors about parameters, tables, files and models.
_WRONG_INPUT = (ValueError, FileNotFoundError)
_RESULTS = (".json", *ENDINGS)
_REPORTS = (".html",)
# Most rows of a result to print; a file gets all.
SHOWN = 10
# The fewest characters of a cell, which may make a table wider than a line.
_LEAST_WIDTH = 12
# The fewest characters in a line of a text that goes on below.
_LEAST_TEXT = 30
# A number in a cell, an empty cell, or one of a missing value.
_NUMBER = re.compile(r"(> |over )?[+-]?[\d.,]+(e[+-]?\d+)?( ?%| [mbtr]+illion)?|-?")

# The exit code if a condition of --fail-if holds.
FAILED = 3

# How a verb writes the parameters that messages name; the page has its own way.
write_parameter: Callable[[Verb, str, str], str | None] = Verb.write_option


class Answer(NamedTuple):
    """A result: lines for a person, JSON values, and columns of equal length for a table.

    If there are `tables`, their rows, one table after the other, belong to the columns and are written beside them.
    Columns that `Request.row_file` has already written are None.
    """

    lines: Sequence[str]
    payload: Mapping[str, Any] | Sequence[Any]
    columns: Mapping[str, Sequence[Any]] | None
    tables: "Sequence[RawTable]" = ()


@dataclass(frozen=True)
class Request:
    """The options that verbs share, and what they do: `read` before the work, `deliver` after it."""

    verb: Verb
    model: Path | None = None
    scale: str | None = None
    columns: list[str] | None = None
    drop: list[str] | None = None
    keep: list[str] | None = None
    id: str | None = None
    categorical: list[str] | None = None
    numeric: list[str] | None = None
    common: bool = False
    separator: str | None = None
    decimal: str = "."
    header: bool | None = None
    json: bool = False
    output: Path | None = None
    plot: Path | None = None
    report: Path | None = None
    seed: int = 0
    command: str = ""
    warned: Callable[[], Sequence[str]] = tuple

    def read(self, *paths: Path, cut: bool = True) -> "tuple[list[RawTable], RatioEstimator | None]":
        """Refuse outputs that cannot be written, then read the model and the tables: a mistake imports nothing heavy.

        Parameters
        ----------
        *paths : path
            The tables; ``-`` for CSV on standard input.
        cut : bool
            Whether to cut windows if the model's rows are windows.

        Returns
        -------
        (list of RawTable, RatioEstimator or None)
            The tables, and an estimator if the user asked for one.
        """
        from fewratio.data.readers.files import read_raw

        files, estimator = self.find(*paths)
        tables = [read_raw(file) for file in files]
        return [cut_series(table, estimator) for table in tables] if cut else tables, estimator

    @contextmanager
    def open(self, *paths: Path) -> "Iterator[tuple[list[RawTable], RatioEstimator | None]]":
        """Do the same, but read the rows of large CSV, TSV and Parquet files only when they are used."""
        from fewratio.data.readers.files import open_rows

        files, estimator = self.find(*paths)
        # A report goes over rows again and again, and windows are cut from whole series.
        if self.report is not None or cuts_series(estimator):
            yield self.read(*paths)
            return
        with ExitStack() as stack:
            yield [stack.enter_context(open_rows(file, by_column=True)) for file in files], estimator

    def find(self, *paths: Path) -> "tuple[list[TableFile], RatioEstimator | None]":
        """Do the same, but read no table yet."""
        from fewratio.data.readers.files import STANDARD_INPUT, find_file, settle_layouts

        estimator = self._estimator(*paths)
        if [str(path) for path in paths].count(STANDARD_INPUT) > 1:
            raise ParameterError("- is given twice, but standard input can be read only once. Give a file instead.")
        return settle_layouts([find_file(path, **self.marks) for path in paths]), estimator

    @property
    def marks(self) -> Any:
        """Return the options for text files as arguments of Python's functions."""
        return {"separator": self.separator, "decimal": self.decimal, "header": self.header}

    def read_folder(self, folder: Path, *others: Path) -> "tuple[Datasets, RatioEstimator | None]":
        """Do the same for a folder of tables, one dataset each; `others` are more files to read."""
        from fewratio.data.collection import Collection

        estimator, options = self._estimator(folder, *others), self.options(folder=folder)
        if self.model is not None and options:
            raise ParameterError(
                f"--{next(iter(options))} is given with --model, but a model has its own encoding of columns. Leave it "
                "out, or give it to `fewratio train`."
            )
        if estimator is not None and self.model is not None:
            options = {"encoding": estimator.encoding_}
        return Collection.from_folder(folder, **self.marks, **options), estimator

    def options(self, *tables: "RawTable", folder: Path | None = None) -> Any:
        """Return the column options as arguments of Python's functions; for a folder, the first table counts."""
        names = ("columns", "drop", "keep", "categorical", "numeric")
        if folder is not None and any("," in item for name in names for item in getattr(self, name) or ()):
            from fewratio.data.readers.files import find_table_files, read_with_flags

            first = replace(find_table_files(folder)[0], separator=self.separator, decimal=self.decimal)
            tables = (read_with_flags(first)[0],)
        known = {label for table in tables for label in table.labels}
        result: dict[str, Any] = {"id": self.id} if self.id is not None else {}
        for name in names:
            given = getattr(self, name)
            if given:
                # A name may contain a comma.
                labels = [part for item in given for part in ([item] if item in known else item.split(","))]
                result[name] = "error" if name == "categorical" and labels == ["error"] else labels
        return result | ({"common": True} if self.common else {})

    def deliver(
        self,
        answer: Answer,
        draw: "Callable[[], Picture] | None" = None,
        report: "Callable[[str], Report] | None" = None,
    ) -> None:
        """Print an answer, and write it, the picture and the report to files if asked for.

        The function that makes the report is called with the command line.
        """
        text = json.dumps(_finite(answer.payload), indent=2, allow_nan=False) if self.wants_json else ""
        files = {}
        if self.output is not None and not self._wants_rows:
            files[self.output] = f"{text}\n".encode()
        if self.plot is not None and draw is not None:
            files[self.plot] = draw().as_file(self.plot)
        if self.report is not None and report is not None:
            from fewratio.report.page import render

            files[self.report] = render(replace(report(self.command), notes=self.warned())).encode()
        if self.output is not None and self._wants_rows and answer.columns is not None:
            write_rows(self.output, answer.columns, answer.tables)
        for path, payload in files.items():
            from fewratio.core.container import write_atomically

            write_atomically(path, payload)
        # Some answers end with the file that has the other rows.
        last, paths = "".join(answer.lines[-1:]), (self.output, self.plot, self.report)
        written = ", ".join(str(path) for path in paths if path is not None and str(path) not in last)
        lines = [*answer.lines, *([f"written     {written}"] if written else [])]
        try:
            typer.echo(text if self.json else "\n".join(lay_out(lines)))
        except OSError as error:
            error.filename = "standard output"
            raise

    @property
    def wants_json(self) -> bool:
        """Whether the user asked for JSON."""
        return self.json or (self.output is not None and not self._wants_rows)

    @property
    def _wants_rows(self) -> bool:
        return self.output is not None and self.output.suffix.lower() in ENDINGS

    def row_file(self) -> AbstractContextManager[Write]:
        """Open the output to write rows piece by piece; if it is not for rows, ignore them."""
        if self.output is not None and self._wants_rows:
            return row_file(self.output)
        return nullcontext(lambda columns, table: None)

    def summary(
        self, samples: "Samples", names: Sequence[str], apart: "Sequence[NonOverlapping] | None" = None
    ) -> Iterator[str]:
        """Say which columns separate two tables, by default those of samples, and how all columns were encoded."""
        for each in samples.non_overlapping if apart is None else apart:
            yield f"apart       {each.describe(names)}"
        if samples.encoding is not None and samples.encoding.is_named:
            yield f"columns     {samples.encoding.summary}"

    def and_more(self, count: int) -> Iterator[str]:
        """Say how many rows are not shown, if any, and where they are."""
        if count > 0:
            yield f"and {count} more" + (f" in {self.output}" if self.output else "; --output FILE.csv writes all")

    def write_first_rows(self, columns: Mapping[str, Sequence[Any]], n_rows: int) -> Iterator[str]:
        """Yield the first of `n_rows` rows of a result as lines, and say where to find the others."""
        from fewratio.core.wording import write_alike

        shown = [list(values[:SHOWN]) for values in columns.values()]
        shown = [write_alike(values) if isinstance(values[0], float) else values for values in shown]
        yield from align_columns([tuple(columns), *zip(*shown, strict=True)])
        yield from self.and_more(n_rows - SHOWN)

    def _estimator(self, *inputs: Path) -> "RatioEstimator | None":
        """Refuse outputs that cannot be written or would overwrite inputs; then read the model, if any.

        Without a model the verb chooses an estimator, unless columns are to stay in their own units.
        """
        if self.output is not None:
            check_target(self.output, "--output", *inputs, self.model, endings=_RESULTS)
        if self.plot is not None:
            check_picture(self.plot, "--plot", *inputs, self.model)
        if self.report is not None:
            check_target(self.report, "--report", *inputs, self.model, endings=_REPORTS)
            for package in ("jinja2", "vl_convert"):
                import_home(package, "--report")
        check_scale(self.scale)
        if self.model is not None and self.scale is not None:
            raise ParameterError(
                "--scale is given with --model, but a model has the units of what it was trained on. Leave it out, "
                "or give it to `fewratio train`."
            )
        if self.model is None and self.scale != "none":
            return None
        import fewratio

        return fewratio.RuLSIF() if self.model is None else fewratio.load_model(self.model, "model")


def cuts_series(estimator: "RatioEstimator | None") -> bool:
    """Return whether the rows of a model are windows of series."""
    return estimator is not None and estimator.encoding_ is not None and estimator.encoding_.window is not None


def cut_series(raw: "RawTable", estimator: "RatioEstimator | None") -> "RawTable":
    """Return the windows of a series, if they are the rows of a model, or else the table as it is."""
    return raw if estimator is None or estimator.encoding_ is None else estimator.encoding_.cut(raw)


class _Command(TyperCommand):
    """A verb, whose options are listed by section."""

    def list_sections(self, ctx: Any) -> dict[str, list[tuple[str, str]]]:
        """Return the names and help of all parameters by section."""
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is None:
                continue
            names, text = record
            is_argument = parameter.param_type_name == "argument"
            title = "Arguments" if is_argument else getattr(parameter, "rich_help_panel", None) or "Options"
            # The text says what an argument is; its type in Python would add nothing.
            sections.setdefault(title, []).append((names.partition(" <")[0] if is_argument else names, text))
        return {title: records for title, records in sections.items() if records}

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the sections."""
        for title, records in self.list_sections(ctx).items():
            with formatter.section(title):
                formatter.write_dl(records)


def make_app(verbs: Sequence[Verb], **options: Any) -> typer.Typer:
    """Make the command line of verbs."""
    app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False, **options)
    for verb in verbs:
        run: Any = update_wrapper(partial(run_verb, verb), verb.run)
        # typer sees the verb's fields as parameters.
        run.__signature__ = Signature([field.make_parameter() for field in verb.fields])
        app.command(verb.name, cls=_Command)(run)
    return app


def run_verb(verb: Verb, **values: Any) -> None:
    """Run a verb with values of its fields; an error ends it with one line on standard error.

    The exit code is 2 for wrong input, else 1.
    """
    values = {field.variable: values.get(field.variable, field.default) for field in verb.fields}
    shared = {field.variable: values[field.variable] for field in verb.fields if field in SHARED}
    own = {name: value for name, value in values.items() if name not in shared}
    try:
        with _plain_warnings(verb) as warned:
            check_limit()
            verb.run(Request(verb, **shared, command=shlex.join(verb.list_words(values)), warned=warned), **own)
    except FewRatioError as error:
        _say(write_message(verb, error))
        raise typer.Exit(2 if isinstance(error, _WRONG_INPUT) else 1) from None
    except BrokenPipeError:
        # Whoever read the output has enough; click knows what to do.
        raise
    except (OSError, MemoryError, ImportError, UnicodeEncodeError) as error:
        _say(describe_error(error))
        raise typer.Exit(1) from None


def fail(reason: str) -> None:
    """Exit because a condition of ``--fail-if`` holds."""
    typer.echo(f"fewratio: --fail-if: {reason}", err=True)
    raise typer.Exit(FAILED)


def write_message(verb: Verb, message: FewRatioError | Warning) -> str:
    """Write an error or a warning with the names of a verb's options."""
    if isinstance(message, FewRatioError | FewRatioWarning):
        # In the shell an option is given or not.
        text = message.write(lambda name, value: write_parameter(verb, name, value))
        return text.replace("must be None or ", "must be ")
    return str(message)


@contextmanager
def _plain_warnings(verb: Verb) -> Iterator[Callable[[], Sequence[str]]]:
    """Write warnings as lines of text that name a verb's options, without code locations.

    Yields a function that returns the messages so far.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)

        def messages() -> list[str]:
            # Answers already list the columns that are left out.
            found = (each.message for each in caught if not issubclass(each.category, LeftOutWarning))
            return list(dict.fromkeys(write_message(verb, each) for each in found if isinstance(each, Warning)))

        try:
            yield messages
        finally:
            for message in messages():
                _say(message)


def _say(message: str) -> None:
    try:
        os.getcwd()
    except OSError:
        message += " The working folder no longer exists: change to another."
    sys.stderr.write(f"fewratio: {' '.join(message.split())}\n")


# ---------------------------------------------------------------- reading


def check_scale(scale: str | None, known: Sequence[str] = ("columns", "none")) -> None:
    """Refuse a scale that does not exist."""
    if scale is not None and scale not in known:
        raise ParameterError(
            f"--scale is {scale!r}; it must be {', '.join(known[:-1])} or {known[-1]}. Choose one of them."
        )


def identify_rows(table: "Table", start: int = 0) -> dict[str, Any]:
    """Return the columns of a result that identify a row: its number, and its name if it has one."""
    rows: dict[str, Any] = {"row": range(start, start + table.n_rows)}
    return rows if table.row_names is None else rows | {"name": list(table.row_names)}


def fits(columns: Sequence[Sequence[Any]]) -> bool:
    """Return whether the columns of a table can be printed without cutting any cell."""
    from fewratio.core.wording import write_cell

    return sum(max(len(write_cell(cell)) for cell in column) + 2 for column in columns) <= find_width()


def align_columns(rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    """Return the rows of a table as lines, each column as wide as its longest cell.

    The first row is the heading. Numbers are aligned to the right. In a table that is too wide for a terminal, texts of
    the last column go on below if there is room for them; other long ones are cut in the middle.
    """
    import textwrap

    from fewratio.core.wording import group_alike, shorten, shorten_apart, write_cell

    columns = (group_alike(list(map(write_cell, column))) for column in zip(*rows, strict=True))
    cells = list(map(list, zip(*columns, strict=True)))
    widths, most_wide = [max(map(len, column)) for column in zip(*cells, strict=True)], find_width()
    room = most_wide - sum(widths[:-1]) - 2 * len(widths)
    # Elsewhere a row is a line, for other programs.
    if is_terminal() and room >= _LEAST_TEXT:
        widths[-1] = min(widths[-1], room)
    elif sum(widths) + 2 * len(widths) > most_wide:
        limits = range(max(widths), _LEAST_WIDTH, -1)
        fits = (n for n in limits if sum(min(width, n) + 2 for width in widths) <= most_wide)
        most = next(fits, _LEAST_WIDTH)
        cells = [[shorten(cell, most) for cell in row] for row in cells]
        # Names of columns and rows must stay distinct.
        cells[0] = shorten_apart(list(map(write_cell, rows[0])), most)
        for row, text in zip(cells, shorten_apart([write_cell(row[0]) for row in rows], most), strict=True):
            row[0] = text
        widths = [min(width, most) for width in widths]
    signs = [">" if all(map(_NUMBER.fullmatch, column[1:])) else "<" for column in zip(*cells, strict=True)]
    for row in cells:
        *others, last = row
        parts = [f"{cell:{sign}{width}}" for cell, sign, width in zip(others, signs, widths, strict=False)]
        first, *rest = textwrap.wrap(last, max(1, widths[-1]), break_on_hyphens=False) or [""]
        yield f"  {'  '.join([*parts, f'{first:{signs[-1]}{widths[-1]}}']).rstrip()}"
        yield from (f"{'':{2 + sum(widths[:-1]) + 2 * len(others)}}{text}" for text in rest)


def make_label(path: Path) -> str:
    """Return the name of a file in answers."""
    if str(path) == "-":
        return "standard input"
    # The name of a pipe (`<(...)`) would be a bare number.
    return str(path) if path.parent == Path("/dev/fd") else path.name


def make_labels(*paths: Path) -> list[str]:
    """Return the names of several files in answers; files of the same name are called by their paths."""
    names = [make_label(path) for path in paths]
    return names if len(set(names)) == len(set(paths)) else [str(path) for path in paths]


# ---------------------------------------------------------------- writing


def check_picture(path: Path, option: str, *inputs: Path | None) -> None:
    """Refuse a picture that cannot be drawn or written."""
    from fewratio.charts.chart import PICTURES

    check_target(path, option, *inputs, endings=PICTURES)
    import_home("vl_convert", option)


def check_target(path: Path, option: str, *inputs: Path | None, endings: Sequence[str] = ()) -> None:
    """Refuse, before the work, an output that cannot be written, or would overwrite inputs or a table."""
    from fewratio.data.readers.files import SUFFIXES, split_name

    if endings and path.suffix.lower() not in endings:
        raise ParameterError(f"{option} is {str(path)!r}; it must end in {', '.join(endings)}. Change its name.")
    folder = path.resolve().parent
    try:
        if path.exists() and not path.is_file():
            # A pipe would be replaced by a file, or wait for a reader.
            raise OSError(0, "it is a folder" if path.is_dir() else "it is a pipe or a device")
        if not folder.is_dir():
            raise OSError(0, f"there is no folder {str(folder)!r}")
        # Asking for permission is not enough on some file systems.
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise DataNotFoundError(
            f"{str(path)!r} cannot be written ({error.strerror}). Give another file with {option}."
        ) from error
    check_not_input(path, option, inputs)
    if not endings and split_name(path)[1] in SUFFIXES:
        found = f"{option} is {str(path)!r}, the name of a table, which this file is not"
        raise ParameterError(f"{found}; expected another ending. Use {path.stem}.safetensors, for instance.")


def _finite(value: Any) -> Any:
    """Replace numbers that are not finite by None: JSON has no such numbers."""
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
