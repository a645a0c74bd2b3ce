"""``fewratio demo``."""

import shlex
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from fewratio.cli.frame import check_picture, verb
from fewratio.compare.command import compare
from fewratio.errors import ParameterError
from fewratio.outliers.command import outliers

_STEPS = 2000


class Demo(StrEnum):
    """What can be shown."""

    TABLES = "tables"
    RATIO = "ratio"


@verb
def demo(
    name: Annotated[
        Demo, typer.Argument(help="tables: compare two real tables and find outliers. ratio: learn to estimate ratios.")
    ] = Demo.TABLES,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for tables and pictures.")] = Path("demo"),
    steps: Annotated[
        int | None, typer.Option(min=1, help=f"Training steps of the ratio demo. [default: {_STEPS}]")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of everything random.")] = 0,
) -> None:
    """Compare two small real tables and find the outliers of a third; or, as `ratio`, learn ratios and draw some.

    Example: fewratio demo --output demo
    """
    if name is not Demo.RATIO and steps is not None:
        raise ParameterError("--steps is for the ratio demo; this one does not train. Leave it out.")
    # A folder that cannot be made is what the check finds.
    with suppress(OSError):
        output.mkdir(parents=True, exist_ok=True)
    check_picture(output / "picture.png", "--output")
    if name is Demo.RATIO:
        _show_ratios(output, _STEPS if steps is None else steps, seed)
    else:
        _show_tables(output, seed)


def _show_tables(folder: Path, seed: int) -> None:
    """Run two verbs on files, as a person would."""
    from fewratio.demo.wines import write_wine_tables

    (known, other, delivery), strangers = write_wine_tables(folder, seed)
    pictures = [folder / "compare.png", folder / "outliers.png"]
    typer.echo(
        "Wines of two growers, 13 measurements each (data that come with scikit-learn), with a bottle number, a date "
        "and a closure that are made up.\n"
    )
    _echo_command("compare", known, other, "--plot", pictures[0])
    compare(known, other, plot=pictures[0], seed=seed)
    typer.echo()
    share = 0.1
    options = ("--contamination", str(share), "--plot", pictures[1])
    _echo_command("outliers", "--normal", known, "--unlabelled", delivery, *options)
    outliers(delivery, known, contamination=share, plot=pictures[1], seed=seed)
    typer.echo(
        f"In truth {', '.join(strangers)} of {delivery.name} are wines of other growers.\n\n"
        f"Pictures: {', '.join(map(str, pictures))}\n"
        "On a page, with your own tables: fewratio serve --open"
    )


def _echo_command(*words: str | Path) -> None:
    typer.echo(f"$ fewratio {shlex.join(map(str, words))}")


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
