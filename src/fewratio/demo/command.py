"""``fewratio demo``."""

import shlex
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Any

import typer

from fewratio.cli import frame
from fewratio.cli.verb import SEED, Field, Verb
from fewratio.compare import command as compare
from fewratio.errors import ParameterError
from fewratio.outliers import command as outliers

_STEPS = 2000


class Demo(StrEnum):
    """What can be shown."""

    TABLES = "tables"
    RATIO = "ratio"


def demo(request: frame.Request, name: Demo, output: Path, steps: int | None) -> None:
    """Compare two small real tables and find the outliers in a third. `demo ratio` learns ratios and draws some.

    Example: fewratio demo --output demo
    """
    if name is not Demo.RATIO and steps is not None:
        raise ParameterError("--steps is for the ratio demo; this one does not train. Leave it out.")
    # The check reports a folder that cannot be made.
    with suppress(OSError):
        output.mkdir(parents=True, exist_ok=True)
    frame.check_picture(output / "picture.png", "--output")
    if name is Demo.RATIO:
        _show_ratios(output, _STEPS if steps is None else steps, request.seed)
    else:
        _show_tables(output, request.seed)


def _show_tables(folder: Path, seed: int) -> None:
    """Run two verbs on files, as a person would."""
    from fewratio.demo.wines import write_wine_tables

    (known, other, delivery), strangers = write_wine_tables(folder, seed)
    pictures = [folder / "compare.png", folder / "outliers.png"]
    typer.echo(
        "Wines of two growers, 13 measurements each (data that come with scikit-learn), with a bottle number, a date "
        "and a closure that are made up.\n"
    )
    _run(compare.VERB, a=known, b=other, plot=pictures[0], seed=seed)
    typer.echo()
    _run(outliers.VERB, normal=known, unlabelled=delivery, contamination=0.1, plot=pictures[1], seed=seed)
    typer.echo(
        f"In truth {', '.join(strangers)} of {delivery.name} are wines of other growers.\n\n"
        f"Pictures: {', '.join(map(str, pictures))}\n"
        "On a page, with your own tables: fewratio serve --open"
    )


def _run(verb: Verb, **values: Any) -> None:
    typer.echo(f"$ {shlex.join(verb.list_words(values))}")
    frame.run_verb(verb, **values)


def _show_ratios(folder: Path, steps: int, seed: int) -> None:
    # Imported here so that `fewratio --help` need not wait for torch.
    from fewratio.demo.ratio import N_SOURCES, N_TARGETS, PICTURES, run_ratio_demo

    typer.echo(f"Learning from {N_SOURCES} datasets ({steps} steps; Ctrl-C keeps what is learned so far) ...")
    regrets, history = run_ratio_demo(folder, steps, seed)
    typer.echo(f"Learned in {history.seconds:.0f} s; best validation at step {history.best_step}.")
    typer.echo(f"Mean regret to the true ratio over {N_TARGETS**2} unseen pairs, ten instances each (0 is perfect):")
    for name, regret in regrets.items():
        typer.echo(f"  {name:<14} {regret:.3f}")
    typer.echo("Pictures: " + ", ".join(str(folder / name) for name in PICTURES))


_NAME = "tables: compare two tables and find outliers. ratio: learn to estimate ratios."
VERB = Verb(
    demo,
    (
        Field("name", _NAME, Demo, Demo.TABLES, is_positional=True),
        Field("output", "Folder for tables and pictures.", Path, Path("demo"), short="-o"),
        Field("steps", f"Training steps of the ratio demo. [default: {_STEPS}]", int, least=1),
        SEED,
    ),
)
