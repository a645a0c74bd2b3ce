"""Command line ``fewratio``: the list of its verbs, each declared in the room of its task."""

import signal
import sys
from importlib.util import find_spec
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from fewratio import __version__
from fewratio.cli import frame
from fewratio.cli.verb import Verb
from fewratio.lazy import import_home

# The verbs by task, in the order of help and of the page, and the module that declares each: a command imports only its
# own.
_TASKS = {
    "Answers": {
        "compare": "fewratio.compare.command",
        "outliers": "fewratio.outliers.command",
        "changes": "fewratio.changes.command",
        "monitor": "fewratio.monitor.command",
        "weights": "fewratio.weights.command",
        "compare-all": "fewratio.many.command",
        "ratio": "fewratio.ratio.command",
    },
    "Your data": {
        "columns": "fewratio.cli.columns",
        "reference": "fewratio.cli.reference",
        "index": "fewratio.many.index_command",
        "search": "fewratio.many.index_command",
    },
    "Learn from older data": {
        "train": "fewratio.learn.train",
        "info": "fewratio.learn.info",
        "map": "fewratio.learn.summaries",
        "summarise": "fewratio.learn.summaries",
    },
    "Try it": {"demo": "fewratio.demo.command"},
}
_HOMES = {name: home for verbs in _TASKS.values() for name, home in verbs.items()}
# Verbs of packages that the library does not import.
_OTHERS = {"serve": "fewratio_web.serve"}


def find_verb(name: str) -> Verb:
    """Return the declaration of a verb."""
    home = import_home((_HOMES | _OTHERS)[name])
    (verb,) = {id(each): each for each in vars(home).values() if isinstance(each, Verb) and each.name == name}.values()
    return verb


def find_verbs() -> tuple[Verb, ...]:
    """Return the verbs of the library, in the order of help and of the page."""
    return tuple(map(find_verb, _HOMES))


class _Group(TyperGroup):
    """The verbs, each made on demand."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        others = [name for name, home in _OTHERS.items() if find_spec(home.partition(".")[0])]
        # typer uses the names to suggest what a mistyped one may mean.
        self.commands: Any = dict.fromkeys([*_HOMES, "data", *others])

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name == "data":
            from fewratio.cli import data

            return typer.main.get_command(frame.make_app(data.VERBS, name="data", help=data.HELP, add_completion=False))
        if cmd_name not in self.commands:
            return None
        return typer.main.get_command(frame.make_app([find_verb(cmd_name)], add_completion=False))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the verbs by task, each with its whole first sentence."""
        known = [name for verbs in _TASKS.values() for name in verbs]
        tasks = {task: list(verbs) for task, verbs in _TASKS.items()}
        tasks["Try it"] += [name for name in self.commands if name not in known]
        for task, names in tasks.items():
            with formatter.section(task):
                found = ((name, self.get_command(ctx, name)) for name in names)
                formatter.write_dl([(name, command.get_short_help_str(limit=200)) for name, command in found])


app = frame.make_app((), name="fewratio", help="See how two datasets differ, from a handful of rows.", cls=_Group)


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
    """Run the command line. `fewratio.cli.frame.run_verb` handles errors."""
    # End as after an error, so that a half-written file is removed. (Windows has no SIGHUP; nohup ignores it.)
    for number in {signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)}:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, lambda number, frame: sys.exit(128 + number))
    app()
