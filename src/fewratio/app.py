"""Command line ``fewratio``: one file a verb; a verb parses, calls one function and prints."""

import signal
import sys
from importlib import import_module
from typing import Annotated

import typer

from fewratio import __version__
from fewratio.changes import command as changes
from fewratio.cli import columns, data, reference
from fewratio.compare import command as compare
from fewratio.demo import command as demo
from fewratio.learn import info, summaries, train
from fewratio.many import command as compare_all
from fewratio.many import index_command as index
from fewratio.outliers import command as outliers
from fewratio.ratio import command as ratio
from fewratio.weights import command as weights

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
    *(columns.columns, import_module("fewratio_web.serve").serve),
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
    """Run the command line. What becomes of a mistake is said by `fewratio.cli.frame.verb`."""
    # Ended as by an error: a file that is only half written is removed. (Windows knows no SIGHUP; nohup ignores it.)
    for number in {signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)}:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, lambda number, frame: sys.exit(128 + number))
    app()
