"""Command line ``fewratio``: the list of its verbs, each declared in the room of its task."""

import signal
import sys
from dataclasses import replace
from functools import partial, update_wrapper
from importlib.util import find_spec
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from fewratio import __version__
from fewratio.changes import command as changes
from fewratio.cli import columns, data, frame, reference
from fewratio.compare import command as compare
from fewratio.demo import command as demo
from fewratio.lazy import import_home
from fewratio.learn import info, summaries, train
from fewratio.many import command as many
from fewratio.many import index_command as index
from fewratio.outliers import command as outliers
from fewratio.ratio import command as ratio
from fewratio.weights import command as weights

# A task does not know another one: that many groups are compared as `compare-all` does is said here.
_RUN = update_wrapper(partial(compare.compare, compare_groups=many.deliver_all), compare.compare)
_COMPARE = replace(compare.VERB, run=_RUN)
# In the order of help and of the page.
VERBS = (
    *(_COMPARE, outliers.VERB, changes.VERB, weights.VERB, many.VERB, ratio.VERB, reference.VERB, train.VERB),
    *(index.INDEX, index.SEARCH, info.VERB, demo.VERB, columns.VERB, summaries.MAP, summaries.SUMMARISE),
)
# Verbs of packages that the library does not know, and the modules that declare them.
_OTHERS = {"serve": "fewratio_web.serve"}


class _Group(TyperGroup):
    """The verbs, and those of other packages, which are imported when they are asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [
            *super().list_commands(ctx),
            *(name for name, home in _OTHERS.items() if find_spec(home.partition(".")[0])),
        ]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in _OTHERS:
            return super().get_command(ctx, cmd_name)
        return typer.main.get_command(frame.make_app([import_home(_OTHERS[cmd_name]).VERB], add_completion=False))


app = frame.make_app(VERBS, name="fewratio", help="See how two datasets differ, from a handful of rows.", cls=_Group)
app.add_typer(frame.make_app(data.VERBS, name="data", help=data.HELP))


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
    """Run the command line. What becomes of a mistake is said by `fewratio.cli.frame.run_verb`."""
    # Ended as by an error: a file that is only half written is removed. (Windows knows no SIGHUP; nohup ignores it.)
    for number in {signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)}:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, lambda number, frame: sys.exit(128 + number))
    app()
