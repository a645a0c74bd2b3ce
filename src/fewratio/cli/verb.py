"""The declaration of a verb, which defines its options, its JSON API, its form, and the equivalent Python lines."""

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from dataclasses import field as make_field
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any, get_origin

import typer

# How the help writes the value of an option, by its type.
_METAVARS: dict[Any, str] = {str: "TEXT", int: "N", float: "X", Path: "FILE", list[str]: "TEXT"}


@dataclass(frozen=True)
class Field:
    """An input or an option of a verb.

    Attributes
    ----------
    name : str
        Its name in the shell, after two dashes, and in the JSON API.
    help : str
    type : type
        str, int, float, bool, Path, or a list of one of them.
    default : object
    python : str, optional
        Name of the argument in Python, if different; empty if there is none.
    value : str
        How the Python lines write the value; `name` stands for the name of the file and `variable` for the table.
    lines : str
        Python lines with the same effect, if it is not an argument in Python.
    reads : str, optional
        "table", "folder" or "model", if it is a file to read.
    is_positional, is_required, is_column : bool
        Whether it has no name in the shell, must be given, names a column.
    short, metavar, envvar : str, optional
        As in typer.
    least, most : float, optional
        The bounds of a number.
    limits : pair of float or None
        Narrower bounds for the page and the JSON API; for a text, bounds of its length.
    label, hint : str
        Its label on the page, and the hint in an empty field. Without a label it is not on the page.
    """

    name: str
    help: str
    type: Any = str
    default: Any = None
    python: str | None = None
    value: str = "{value!r}"
    lines: str = ""
    reads: str | None = None
    is_positional: bool = False
    is_required: bool = False
    short: str | None = None
    metavar: str | None = None
    envvar: str | None = None
    is_column: bool = False
    least: float | None = None
    most: float | None = None
    limits: tuple[float | None, float | None] = (None, None)
    label: str = ""
    hint: str = ""

    def on_page(self, label: str, hint: str = "", limits: Any = None, is_column: bool = False) -> "Field":
        """Return the same field with its label and hint on the page."""
        return replace(self, label=label, hint=hint, limits=limits or (self.least, self.most), is_column=is_column)

    @property
    def variable(self) -> str:
        """Its name as an argument of a function."""
        return self.name.replace("-", "_")

    @property
    def is_several(self) -> bool:
        """Whether it is a list."""
        return get_origin(self.type) is list

    @property
    def is_switch(self) -> bool:
        """Whether it is on, off, or neither."""
        return self.type is bool and self.default is None

    @property
    def option(self) -> str:
        """Its name in the shell."""
        return f"--{self.name}" if len(self.name) > 1 else f"-{self.name}"

    def write_words(self, value: Any) -> list[str]:
        """Write a value as words of a shell line."""
        values = value if isinstance(value, list) else [value]
        if self.is_positional:
            return [str(each) for each in values]
        if isinstance(value, bool):
            return [self.option if value else f"--no-{self.name}"]
        # A value that begins with a dash would look like an option.
        pairs = (
            [f"{self.option}={each}"] if str(each).startswith("-") else [self.option, str(each)] for each in values
        )
        return [word for pair in pairs for word in pair]

    def make_parameter(self) -> Parameter:
        """Make the parameter of a function that typer understands."""
        # A switch may be on, off or left out.
        option = f"{self.option}/--no-{self.name}" if self.is_switch else self.option
        names = [] if self.is_positional else [option, *([self.short] if self.short else [])]
        info = (typer.Argument if self.is_positional else typer.Option)(
            *names,
            help=self.help,
            min=self.least,
            max=self.most,
            metavar=self.metavar or (None if self.is_positional else _METAVARS.get(self.type)),
            envvar=self.envvar,
            rich_help_panel=next((title for title, names in _SECTIONS.items() if self.name in names), None),
        )
        kind = self.type if self.is_required or self.default is not None else self.type | None
        default = Parameter.empty if self.is_required else self.default
        return Parameter(self.variable, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, info])


def declare_table(name: str, help: str, is_positional: bool = True, is_required: bool = True) -> Field:
    """Declare a table to read."""
    return Field(name, help, Path, reads="table", is_positional=is_positional, is_required=is_required)


def declare_count(name: str, help: str, default: int | None = None, least: int | None = 1) -> Field:
    """Declare a count, whose name in Python starts with ``n_``."""
    return Field(name, help, int, default, python=f"n_{name}", least=least)


def declare_file(help: str) -> Field:
    """Declare the file that a verb writes."""
    return Field("output", help, Path, is_required=True, short="-o")


@dataclass(frozen=True)
class Page:
    """A question of the page, answered by a verb.

    Attributes
    ----------
    button, title, lead : str
    inputs : mapping of str to three str
        For each input on the page: the label, the hint, and the file of the example.
    example : str
        Description of the example.
    key : str
        Its name in the address and in the browser's storage, if not that of the verb.
    tab : str
        By default, the key.
    verb : str
        The verb, if it is not the one that declares the page.
    takes : tuple of str
        Inputs taken from the page before.
    stages : tuple of Page
        Questions that can be asked next.
    last : str
        The last thing to do.
    instead : mapping of str to str
        For an input that may be left out, the option to give instead.
    settings : mapping
        Options of the example.
    """

    button: str
    title: str
    lead: str
    inputs: Mapping[str, tuple[str, str, str]]
    example: str
    key: str = ""
    tab: str = ""
    verb: str = ""
    takes: tuple[str, ...] = ()
    stages: "tuple[Page, ...]" = ()
    last: str = "Making the report…"
    instead: Mapping[str, str] = make_field(default_factory=dict)
    settings: Mapping[str, Any] = make_field(default_factory=dict)


@dataclass(frozen=True)
class Verb:
    """A verb: its name, its inputs and options, and what it does.

    Attributes
    ----------
    run : callable
        Called with a `Request`, and the values of the verb's own fields by keyword. Its docstring is the verb's help.
    fields : tuple of Field
    python : str
        Lines that do the same. ``{settings}`` stands for the verb's own options, ``{columns}`` for the column options
        and ``{marks}`` for the marks of text files, each with a comma before it; other names stand for inputs.
    page : Page, optional
    name : str
        By default, that of `run`.
    """

    run: Callable[..., None]
    fields: tuple[Field, ...]
    python: str = ""
    page: Page | None = None
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name or self.run.__name__.replace("_", "-"))

    def find(self, parameter: str) -> Field | None:
        """Return the field of Python's parameter; for nested settings (training__max_steps), of the last name."""
        name = parameter.rpartition("__")[2]
        return next((field for field in self.fields if name in (field.python, field.variable)), None)

    def write_option(self, parameter: str, value: str) -> str | None:
        """Write the option for a Python parameter, and a value for it."""
        field = self.find(parameter)
        # A tab is hard to see.
        value = value.replace("\t", "\\t")
        words = [] if field is None else field.write_words({"": True, "True": True, "False": False}.get(value, value))
        return shlex.join(words) if words else None

    def write_label(self, parameter: str, value: str) -> str | None:
        """Write the page's label for a Python parameter, and a value for it."""
        field = self.find(parameter)
        if field is None or not field.label:
            return None
        label = f"Use as: {field.label}" if field in COLUMN_USES else field.label
        return f"“{label}”" + (f": {value}" if value not in ("", "True") else "")

    def list_words(self, values: Mapping[str, Any]) -> list[str]:
        """List the words of the shell line with these values; defaults are left out."""
        given = [(field, values.get(field.variable)) for field in self.fields]
        words = [field.write_words(value) for field, value in given if value not in (None, [], field.default)]
        return ["fewratio", self.name, *(word for each in words for word in each)]

    def write_python(self, values: Mapping[str, Any]) -> str:
        """Write the Python lines that do the same as the shell line of these values."""
        from fewratio.data.readers.files import split_name

        def is_given(field: Field) -> bool:
            # Always write the seed.
            return field == SEED or values.get(field.variable) not in (None, [], field.default)

        given = {each: values.get(each.variable, each.default) for each in self.fields if is_given(each)}
        texts: dict[str, str] = {"settings": "", "columns": "", "marks": ""}
        lines = ["import fewratio", ""]
        for field in MARKS:
            texts["marks"] += f", {field.name}={given[field]!r}" if field in given else ""
        if tables := {field.variable: value for field, value in given.items() if field.reads == "table"}:
            several = {name for name, value in tables.items() if isinstance(value, list)}
            paths = ", ".join(repr(path) for name in tables for path in ([tables[name]], tables[name])[name in several])
            names = ", ".join(f"*{name}" if name in several else name for name in tables)
            lines.append(f"{names} = fewratio.read_table({paths}{texts['marks']})")
        for field, value in given.items():
            first = value[0] if isinstance(value, list) else value
            texts[field.variable] = repr(first) if field.reads in (None, "folder") else field.variable
            if field == MODEL:
                lines.append(f"{field.variable} = fewratio.load_model({first!r})")
            if field.lines:
                lines.append(field.lines)
            if (
                field in (*MARKS, *RESULTS)
                or field.python == ""
                or field.lines
                or f"{{{field.variable}}}" in self.python
            ):
                continue
            name = split_name(Path(first))[0] if field.reads else ""
            text = field.value.format(value=value, name=name, variable=field.variable)
            texts["columns" if field in (*COLUMNS, WINDOW) else "settings"] += (
                f", {field.python or field.variable}={text}"
            )
        if MODEL in given and "{columns}" in self.python and any(each.reads == "folder" for each in given):
            # The model defines the encoding of columns.
            texts["columns"] = ", encoding=model.encoding_"
        report = [f"result.to_html({str(values['report'])!r})"] if REPORT in given else []
        for name in ("settings", "columns", "marks"):
            if f"({{{name}}}" in self.python:
                # The first of several arguments has no comma before it.
                texts[name] = texts[name].removeprefix(", ")
        call = self.python
        for each in self.fields:
            # A table that may be left out.
            if each.reads and each.variable not in texts:
                call = call.replace(f", {{{each.variable}}}", "")
        return "\n".join([*lines, call.format(**texts), *report, ""])


def _name_columns(name: str, help: str, label: str = "") -> Field:
    return Field(name, help, list[str], label=label, metavar="NAMES")


_MODEL = "Model that `fewratio train` wrote."
MODEL = Field("model", _MODEL, Path, python="estimator", value="{variable}", reads="model", short="-m")
SCALE = Field(
    "scale",
    "Units of columns. columns: standard deviations; none: values as they are. [default: columns; for ratio, what "
    "predicts best]",
)
COLUMN_USES = (
    _name_columns("drop", "Columns to leave out.", "do not use"),
    _name_columns(
        "keep",
        "Columns to use even if they look like ids, or are dates that would be left out.",
        "use anyway",
    ),
    Field("id", "Column that names the rows.", label="names the rows"),
    _name_columns("categorical", "Columns that are categories. `error` refuses every category.", "category"),
    _name_columns("numeric", "Columns that are numbers.", "number"),
)
COMMON = Field("common", "Use the columns that all tables have.", bool, False).on_page(
    "Use only the columns that all tables have"
)
COLUMNS = (_name_columns("columns", "Columns to use, and no others."), *COLUMN_USES, COMMON)
WINDOW = Field("window", "Tables are series: learn from windows of this many consecutive readings.", int, least=2)
MARKS = (
    Field("separator", "Column separator, such as ';'. [default: found]").on_page(
        "Separator of columns", ", (tab in .tsv)", (None, 2)
    ),
    Field("decimal", "Decimal mark, such as ','.", default=".").on_page("Decimal mark", ".", (None, 1)),
    Field("header", "Whether the first line names the columns. [default: found]", bool).on_page(
        "The first line names the columns", "automatic"
    ),
)
_FOLDER = "Folder of tables, one dataset per file."
FOLDER = Field("folder", _FOLDER, Path, reads="folder", is_positional=True, is_required=True, metavar="DIR")
JSON = Field("json", "Print JSON instead of text.", bool, False)
OUTPUT = Field("output", "Write the whole result to .json, or its rows to .csv, .tsv or .parquet.", Path, short="-o")
PLOT = Field("plot", "Write a picture: .png, .svg, .pdf, .html or .json.", Path)
REPORT = Field("report", "Write a report: one .html file.", Path)
RESULTS = (JSON, OUTPUT, PLOT, REPORT)
# Sections of the help, below the options that only one verb has.
_SECTIONS = {
    title: {field.name for field in fields}
    for title, fields in (
        ("Columns (for several names, use commas or repeat the option)", COLUMNS),
        ("Text files", MARKS),
        ("Output", RESULTS),
    )
}
SEED = Field("seed", "Random seed.", int, 0, python="random_state", least=0).on_page("Random seed", "0", (0, 2**32 - 1))
# The fields of `Request`, in the order of the help.
SHARED = (MODEL, SCALE, *COLUMNS, *MARKS, *RESULTS, SEED)
