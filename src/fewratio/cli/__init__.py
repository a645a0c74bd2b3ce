"""Command line ``fewratio``: one file a verb; a verb parses, calls one function and prints."""

import sys

import typer

from fewratio.cli import data, demo
from fewratio.errors import FewRatioError

app = typer.Typer(
    name="fewratio",
    help="Tell how two datasets differ from a handful of instances.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
)
app.command("demo")(demo.demo)
app.add_typer(data.app)


@app.callback()
def _root() -> None:
    # With a callback, typer keeps a single verb a verb.
    pass


def main() -> None:
    """Run the command line; a user's mistake ends in one line, not in a traceback."""
    try:
        app()
    except FewRatioError as error:
        sys.stderr.write(f"fewratio: {error}\n")
        sys.exit(1)
