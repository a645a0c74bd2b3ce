"""Command line ``fewratio``: one file a verb; a verb parses, calls one function and prints."""

import signal
import sys
from typing import Annotated

import typer

from fewratio import __version__
from fewratio.cli import (
    changes,
    columns,
    compare,
    compare_all,
    data,
    demo,
    index,
    info,
    outliers,
    ratio,
    reference,
    serve,
    summaries,
    train,
    weights,
)

app = typer.Typer(
    name="fewratio",
    help="Tell how two datasets differ from a handful of instances.",
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
for _verb in (
    *(compare.compare, compare_all.compare_all, outliers.outliers, weights.weights, changes.changes),
    *(ratio.ratio, reference.reference, train.train, index.index, index.search, info.info, demo.demo),
    *(columns.columns, serve.serve),
):
    app.command()(_verb)
app.command("map")(summaries.map_)
app.command()(summaries.summarise)
app.add_typer(data.app)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"fewratio {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line. What becomes of a mistake is said by `fewratio.cli.exchange.verb`."""
    # Ended as by an error: a file that is only half written is removed. (Windows knows no SIGHUP; nohup ignores it.)
    for number in {signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)}:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, lambda number, frame: sys.exit(128 + number))
    app()
