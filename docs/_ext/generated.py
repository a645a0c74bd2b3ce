"""What is made from the program at each build: the pages of command line and JSON API, and links in docstrings."""

import re
from pathlib import Path

import typer
import typer.main

NOTE = "<!-- Made at each build by docs/_ext/generated.py. -->\n\n"


def command_line():
    """Give the page of all commands, from what ``--help`` prints."""
    from fewratio.app import app

    root = typer.main.get_command(app)
    return "# Command line\n\n" + INTRODUCTION + "\n".join(_commands(root, typer.Context(root, info_name="fewratio")))


INTRODUCTION = """\
`fewratio COMMAND --help` prints the same on a terminal. Tables are CSV or TSV files (plain, `.gz`, `.xz` or `.zip`),
Parquet, Arrow (`.arrow`, `.feather`), JSON lines, Excel, `.npy` or `.npz`; `-` is CSV on standard input.
`--output FILE.csv` has the columns of the input beside the result. No result is written over an input.
{doc}`../errors` lists the exit codes.

"""


def _commands(group, context):
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        inner = typer.Context(command, info_name=name, parent=context)
        if hasattr(command, "commands"):
            yield from _commands(command, inner)
        else:
            yield _command(command, inner)


def _command(command, context):
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    text = "\n\n".join(
        f"```sh\n{part.removeprefix('Example: ')}\n```" if part.startswith("Example: ") else " ".join(part.split())
        for part in command.help.split("\n\n")
    )
    sections = [
        f"**{title}**\n\n" * (title != "Arguments")
        + "\n".join(f"`{names}`\n: {_escaped(help)}\n" for names, help in records if names != "--help")
        for title, records in command.list_sections(context).items()
        if records != [("--help", "Show this message and exit.")]
    ]
    return f"## {context.command_path}\n\n{text}\n\n```text\n{usage}\n```\n\n" + "\n".join(sections)


def _escaped(help):
    return " ".join(help.replace("[", r"\[").replace("<", r"\<").split())


def json_api():
    """Give the page of the JSON API, from its OpenAPI document."""
    from fewratio_web.app import make_app
    from fewratio_web.worker import work

    document = make_app(work).app.openapi()
    parts = ["# JSON API\n", document["info"]["description"], API_INTRODUCTION]
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            parts.append(f"## {method.upper()} {path}\n\n{operation['description']}\n")
            parts += [_parameter(each) for each in operation.get("parameters", [])]
            parts += [f"Body\n: {_type(each['schema'])}\n" for each in _contents(operation.get("requestBody", {}))]
            for status, response in operation["responses"].items():
                types = [_type(each.get("schema", {})) for each in _contents(response)] or ["a file"]
                parts.append(f"Response {status}\n: {', '.join(types)}\n")
    parts.append("## Objects\n")
    for name, schema in document["components"]["schemas"].items():
        if "properties" in schema and "ValidationError" not in name:
            parts.append(f"### {name}\n\n{schema.get('description', '')}\n")
            required = schema.get("required", ())
            for field, each in schema["properties"].items():
                optional = "" if field in required else ", optional"
                parts.append(f"`{field}` : {_type(each)}{optional}\n: {each.get('description', '').strip() or '—'}\n")
    return "\n".join(parts)


API_INTRODUCTION = """
`fewratio serve` answers at this address; the page itself uses nothing else. {doc}`/guides/page` has an example with
`curl` and one in Python. A running server gives the same as OpenAPI under `/api/v1/openapi.json`. Every refusal is a
`Problem`.
"""


def _contents(part):
    return part.get("content", {}).values()


def _parameter(each):
    optional = "" if each.get("required") else ", optional"
    return f"`{each['name']}` ({each['in']}) : {_type(each['schema'])}{optional}\n: {each.get('description', '—')}\n"


def _type(schema):
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]
        return f"[{name}](#{name.lower()})" if "ValidationError" not in name else "Problem"
    if several := schema.get("anyOf") or schema.get("oneOf"):
        return " or ".join(_type(each) for each in several)
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return schema.get("type", "any")


PAGES = {"reference/generated/command-line.md": command_line, "reference/generated/json-api.md": json_api}


def write_pages(app):
    for name, make in PAGES.items():
        path, text = Path(app.srcdir, name), NOTE + make()
        path.parent.mkdir(exist_ok=True, parents=True)
        # An equal page keeps its time, so that it is not built again.
        if not path.is_file() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")


def link_pages(app, what, name, thing, options, lines):
    """Make links of the pages that docstrings name by their files."""
    lines[:] = [re.sub(r"`?docs/([\w/-]+)\.md`?", r":doc:`/\1`", line) for line in lines]


def setup(app):
    app.connect("builder-inited", write_pages, priority=100)
    app.connect("autodoc-process-docstring", link_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
