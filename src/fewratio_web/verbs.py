"""The verbs that the page offers: their JSON API and their forms, made from their declarations."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Discriminator, create_model
from pydantic import Field as Described

from fewratio.app import find_verbs
from fewratio.cli.columns import VERB as COLUMNS
from fewratio.cli.verb import COLUMN_USES, Field, Page, Verb

RESULTS = REPORT, ROWS, JSON, TEXT, STATE = "report.html", "rows.csv", "result.json", "answer.txt", "state.fewratio"
VERBS = {verb.name: verb for verb in find_verbs() if verb.page or verb is COLUMNS}
_LONGEST_TEXT = 500
_FORBID = ConfigDict(extra="forbid")


def _is_on(page: Page | None, field: Field) -> bool:
    return page is not None and field.name in page.inputs


def _make_request(verb: Verb) -> Any:
    """Make the model of a request: ids of files by what they are, and options."""
    inputs: dict[str, Any] = {}
    options: dict[str, Any] = {}
    for field in verb.fields:
        if field.reads:
            kind: Any = str | list[str] if field.is_several else str
            is_needed = field.is_required or (_is_on(verb.page, field) and field.reads != "state")
            is_needed &= verb.page is None or field.name not in verb.page.instead
            described = Described(... if is_needed else None, description=field.help)
            inputs[field.variable] = (kind if is_needed else kind | None, described)
        elif field.label:
            low, high = field.limits
            bounds: dict[str, Any] = {"ge": low, "le": high} if field.type in (int, float) else {}
            bounds |= {"max_length": high or _LONGEST_TEXT} if field.type is str else {}
            options[field.variable] = (field.type | None, Described(None, description=field.help, **bounds))
    title = verb.name.title().replace("-", "")
    parts: dict[str, Any] = {"verb": (Literal[verb.name], ...)}
    for name, fields, doc in (("inputs", inputs, "Ids of files."), ("options", options, "As in the shell.")):
        part = create_model(f"{title}{name.title()}", __config__=_FORBID, __doc__=doc, **fields)
        parts[name] = (part, ... if name == "inputs" else part())
    doc = str(verb.run.__doc__).partition("\n")[0]
    return create_model(f"{title}Job", __config__=_FORBID, __doc__=doc, **parts)


JobRequest: Any = Annotated[reduce(or_, map(_make_request, VERBS.values())), Discriminator("verb")]


@dataclass(frozen=True)
class Command:
    """A command line, its equivalents, and the file for standard output."""

    arguments: list[str]
    shell: str
    python: str
    stdout: str


def make_command(request: Any, names: Mapping[str, Any]) -> Command:
    """Make the command line of a request.

    Parameters
    ----------
    request : JobRequest
    names : mapping of str to str or list of str
        Names of the input files in the folder in which it will run.
    """
    verb = VERBS[request.verb]
    values = {**request.options.model_dump(exclude_none=True), **names}
    writes = {field.name: field for field in verb.fields if field.name in ("report", "output")}
    if "report" in writes:
        values |= {"report": REPORT, "output": ROWS, "json": True}
    elif "output" in writes:
        (first, *_) = next(iter(names.values()))
        values["output"] = f"{first}.safetensors"
    else:
        values["json"] = True
    if any(field.reads == "state" for field in verb.fields):
        # It can be saved, and sent with the next tables.
        values.setdefault("state", STATE)
    words = verb.list_words(values)
    shell = shlex.join(words) + (f" > {JSON}" if "json" in values else "")
    python = verb.write_python(values) if verb.python else ""
    return Command(words[1:], shell, python, JSON if "json" in values else TEXT)


def describe_pages() -> dict[str, Any]:
    """Describe what the page shows: a form for each question, and the options for a column."""
    uses = {field.name: field.label for field in COLUMN_USES}
    return {"pages": [_describe_page(verb.page, verb) for verb in VERBS.values() if verb.page], "uses": uses}


def _describe_page(page: Page, verb: Verb) -> dict[str, Any]:
    fields = {field.name: field for field in verb.fields}
    inputs = [
        {"key": key, "label": label, "hint": hint, "reads": fields[key].reads, "isSeveral": fields[key].is_several}
        | {"instead": page.instead.get(key)}
        for key, (label, hint, _) in page.inputs.items()
    ]
    key = page.key or verb.name
    return {
        **{name: getattr(page, name) for name in ("button", "title", "lead", "last", "takes")},
        **{"key": key, "tab": page.tab or key.title(), "verb": verb.name},
        "inputs": inputs,
        "example": {
            "text": page.example,
            "files": {key: files.split() for key, (*_, files) in page.inputs.items()},
            "options": dict(page.settings),
        },
        "options": [_describe_option(field) for field in verb.fields if field.label and field not in COLUMN_USES],
        "next": [_describe_page(stage, VERBS[stage.verb]) for stage in page.stages],
    }


def _describe_option(field: Field) -> dict[str, Any]:
    low, high = field.limits
    described: dict[str, Any] = {"name": field.name, "label": field.label, "placeholder": field.hint}
    if field.type in (int, float):
        step = 1 if field.type is int else "any"
        return described | {"type": "number", "min": low, "max": high, "step": step}
    kind = "checkbox" if field.type is bool else "text"
    kind = "column" if field.is_column else "switch" if field.is_switch else kind
    return described | {"type": kind, "maxlength": high}
