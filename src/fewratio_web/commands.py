"""What a user asks for, as a command line of ``fewratio`` and as lines of Python that do the same."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from fewratio.data.readers.csv import SEPARATORS
from fewratio.data.readers.files import split_name
from fewratio.errors import ParameterError

RESULTS = REPORT, ROWS, JSON, TEXT = "report.html", "rows.csv", "result.json", "answer.txt"
# Lines that read a file that is not text, by its ending.
_READERS = {
    ".parquet": "{name} = pandas.read_parquet({path!r})",
    ".xlsx": "{name} = pandas.read_excel({path!r})",
    **dict.fromkeys((".jsonl", ".ndjson"), "{name} = pandas.read_json({path!r}, lines=True)"),
    **dict.fromkeys((".arrow", ".feather", ".fewratio"), "{name} = pandas.read_feather({path!r})"),
    ".npy": "{name} = numpy.load({path!r})",
    ".npz": "arrays = numpy.load({path!r})\n{name} = arrays['X' if 'X' in arrays else arrays.files[0]]",
}


@dataclass(frozen=True)
class Verb:
    """A verb of the command line as the page uses it.

    Attributes
    ----------
    inputs : tuple of str
        Names of its tables or folders, in order.
    options : tuple of str
        Those of `Options` that it has.
    python : str
        What does the same; ``{name}`` stands for an input, ``{arguments}`` for the rest.
    are_named : bool
        Whether the inputs are options of the verb.
    has_report, takes_model : bool
        Whether it writes a report and rows, and whether it can use a model.
    takes_new : bool
        Whether it can judge a new table, ``new``.
    """

    inputs: tuple[str, ...]
    options: tuple[str, ...]
    python: str
    are_named: bool = False
    has_report: bool = True
    takes_model: bool = True
    takes_new: bool = False


_SHARED = ("common", "separator", "decimal", "seed")
VERBS = {
    "compare": Verb(
        ("a", "b"),
        ("permutations", *_SHARED),
        "result = fewratio.compare_datasets({a}, {b}{arguments})\nprint(result.p_value, result.divergence)",
    ),
    "outliers": Verb(
        ("normal", "unlabelled"),
        ("contamination", *_SHARED),
        "detector = fewratio.InlierOutlierDetector({settings}).fit({normal}{arguments})\n"
        "result = detector.detect({unlabelled})\nprint(result)",
        are_named=True,
    ),
    "changes": Verb(
        ("series",),
        ("time", "level", *_SHARED),
        "result = fewratio.detect_changes({series}{arguments})\nprint(result.changes)",
        takes_model=False,
    ),
    "weights": Verb(
        ("train", "target"),
        ("clip", *_SHARED),
        "result = fewratio.importance_weights({train}, {target}{arguments})\nprint(result.weights, result.advice)",
    ),
    "compare-all": Verb(
        ("folder",),
        ("permutations", *_SHARED),
        "datasets = fewratio.Collection.from_folder({folder}{arguments})\n"
        "result = fewratio.compare_all(datasets{settings})\nprint({shown})",
        takes_new=True,
    ),
    "train": Verb(
        ("folder",),
        _SHARED,
        "datasets = fewratio.Collection.from_folder({folder}{arguments})\n"
        "fewratio.AutoRatioEstimator({settings}).pretrain(datasets).save({output!r})",
        has_report=False,
        takes_model=False,
    ),
    "columns": Verb(("a", "b"), ("batch", *_SHARED[:3]), "", has_report=False, takes_model=False),
}

Use = Literal["drop", "id", "category", "number", "keep"]
_OPTIONS = {"drop": "drop", "id": "id", "category": "categorical", "number": "numeric", "keep": "keep"}
# What Python calls an option of the command line.
_ARGUMENTS = {"permutations": "n_permutations", "seed": "random_state"}
# What Python is told elsewhere than the options about columns.
_SETTINGS = {
    "outliers": ("contamination", "seed"),
    "compare-all": ("permutations", "seed"),
    "train": ("seed",),
}
_OF_FILES = ("separator", "decimal")


class Options(BaseModel):
    """Options of verbs; what is left out has the default of the command line."""

    model_config = ConfigDict(extra="forbid")

    permutations: int | None = Field(
        default=None, ge=0, le=100_000, description="Permutations for p-values (compare, compare-all)"
    )
    contamination: float | None = Field(default=None, gt=0, le=0.5, description="Share of rows to flag (outliers)")
    time: str | None = Field(default=None, max_length=500, description="Column to sort rows by (changes)")
    level: float | None = Field(
        default=None, gt=0, lt=1, description="Chance to report any change if there is none (changes)"
    )
    clip: float | None = Field(default=None, gt=0, description="Largest ratio allowed (weights)")
    batch: bool = Field(default=False, description="Outliers of the second table will be sought (columns)")
    common: bool = Field(default=False, description="Use the columns that all tables have")
    separator: str | None = Field(default=None, max_length=2, description="What divides the columns of text files")
    decimal: str | None = Field(default=None, max_length=1, description="The mark within numbers of text files")
    seed: int | None = Field(default=None, ge=0, lt=2**32, description="Seed of everything random")


class JobRequest(BaseModel):
    """What to do with which files."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"verb": "compare", "inputs": {"a": "example-grower_1", "b": "example-grower_2"}}]
        },
    )

    verb: Literal[tuple(VERBS)]  # type: ignore[valid-type]  # mypy wants them written out again
    inputs: dict[str, str] = Field(
        description="Ids of files by what they are: compare and columns: a, b; outliers: normal, unlabelled; changes: "
        "series; weights: train, target; compare-all and train: folder. And model, of a trained one; and "
        "new, of compare-all: a table to be judged by those of the folder."
    )
    columns: dict[str, Use] = Field(
        default={}, description="Columns that are not to be taken as found", max_length=10_000
    )
    options: Options = Options()


@dataclass(frozen=True)
class Command:
    """A command line, what does the same, and the file that standard output goes to."""

    arguments: list[str]
    shell: str
    python: str
    stdout: str


def check_inputs(request: JobRequest) -> None:
    """Refuse a request whose files are too many or too few."""
    verb = VERBS[request.verb]
    known = {*verb.inputs, *(["model"] * verb.takes_model), *(["new"] * verb.takes_new)}
    missing = [name for name in verb.inputs if name not in request.inputs]
    if request.verb == "columns":
        # Of one table, two, or a folder.
        missing = [] if request.inputs else ["a"]
    unknown = sorted(set(request.inputs) - known)
    if missing or unknown:
        found = f"{request.verb} has no input {unknown[0]!r}" if unknown else f"input {missing[0]!r} is not given"
        raise ParameterError(f"{found}; {request.verb} needs {', '.join(verb.inputs)}. Give the ids of those files.")


def command_of(request: JobRequest, names: Mapping[str, str]) -> Command:
    """Make the command line of a request.

    Parameters
    ----------
    request : JobRequest
    names : mapping of str to str
        What the input files are called in the folder in which it will run.
    """
    verb, given = VERBS[request.verb], request.options.model_dump(exclude_defaults=True)
    if unknown := [name for name in given if name not in verb.options]:
        raise ParameterError(
            f"{request.verb} has no option {unknown[0]!r}; it has {', '.join(verb.options)}. Leave it out."
        )
    if list(request.columns.values()).count("id") > 1:
        raise ParameterError("two columns are to name the rows; one can. Choose one.")
    tables = [name for name in verb.inputs if name in names]
    words = [names[name] for name in tables]
    if verb.are_named:
        words = [f"--{name}={names[name]}" for name in tables]
    output = f"{names['folder']}.safetensors" if request.verb == "train" else ROWS
    words += [f"--{name}" if value is True else f"--{name}={value}" for name, value in given.items()]
    words += [f"--{_OPTIONS[use]}={column}" for column, use in request.columns.items()]
    words += [f"--{name}={names[name]}" for name in ("new", "model") if name in names]
    words += [f"--report={REPORT}"] if verb.has_report else []
    words += [f"--output={output}"] if verb.has_report or request.verb == "train" else []
    wants_json = verb.has_report or request.verb == "columns"
    arguments = [request.verb, *words, *(["--json"] if wants_json else [])]
    shell = f"fewratio {shlex.join(arguments)}{f' > {JSON}' if wants_json else ''}"
    python = _python(request, names, given, output) if verb.python else ""
    return Command(arguments, shell, python, JSON if wants_json else TEXT)


def _python(request: JobRequest, names: Mapping[str, str], given: Mapping[str, Any], output: str) -> str:
    verb, elsewhere = VERBS[request.verb], _SETTINGS.get(request.verb, ())
    is_folder = "folder" in names
    given = {"seed": 0, **given}
    columns: dict[str, Any] = {}
    for column, use in request.columns.items():
        columns.setdefault(_OPTIONS[use], []).append(column)
    if "id" in columns:
        columns["id"] = columns["id"][0]
    told = {
        name: value for name, value in given.items() if name not in elsewhere and (is_folder or name not in _OF_FILES)
    }
    arguments = [f"{_ARGUMENTS.get(name, name)}={value!r}" for name, value in (told | columns).items()]
    settings = [f"{_ARGUMENTS.get(name, name)}={given[name]!r}" for name in elsewhere if name in given]
    if "model" in names:
        model = f"estimator=fewratio.load_model({names['model']!r})"
        # The encoding of the columns is the model's.
        (settings if elsewhere else arguments).append(model)
        if is_folder:
            arguments = [argument for argument in arguments if argument.partition("=")[0] in _OF_FILES]
            arguments.append(f"encoding=fewratio.load_model({names['model']!r}).encoding_")
    if request.verb == "compare-all":
        settings = ["", *settings]
    fields = {name: repr(names[name]) if is_folder else name for name in verb.inputs}
    read = ["new"] if "new" in names else [] if is_folder else verb.inputs
    tables = [_reading(name, names[name], given) for name in read]
    if "new" in names:
        settings.append(f"new={{{split_name(Path(names['new']))[0]!r}: new}}")
    modules = ["fewratio", *(each for each in ("numpy", "pandas") if any(f" {each}." in table for table in tables))]
    lines = [*(f"import {each}" for each in modules), *([""] if tables else []), *tables]
    last = [f"result.to_html({REPORT!r})"] if verb.has_report else []
    call = verb.python.format(
        **fields,
        arguments="".join(f", {argument}" for argument in arguments),
        settings=", ".join(settings),
        shown="result.new_p_values" if "new" in names else "result.divergences",
        output=output,
    )
    return "\n".join([*lines, "", call, *last, ""])


def _reading(name: str, path: str, given: Mapping[str, Any]) -> str:
    """Return the line that reads a file."""
    kind = split_name(Path(path))[1]
    if kind in _READERS:
        return _READERS[kind].format(name=name, path=path)
    separator = given.get("separator", SEPARATORS[kind]).replace("\\t", "\t")
    told = [f"sep={separator!r}"] if separator != "," else []
    told += [f"decimal={given['decimal']!r}"] if "decimal" in given else []
    return f"{name} = pandas.read_csv({', '.join([repr(path), *told])})"
