"""``fewratio demo``."""

from pathlib import Path
from typing import Annotated

import typer


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the picture.")] = Path("demo"),
    steps: Annotated[int, typer.Option(min=1, help="Training steps.")] = 2000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of data and training.")] = 0,
) -> None:
    """Learn from 600 small datasets, then estimate the ratio of unseen pairs from ten instances each.

    Example: fewratio demo --output demo
    """
    # Imported here so that `fewratio --help` need not wait for torch.
    from fewratio.demos.ratio import N_SOURCES, run_ratio_demo

    typer.echo(f"Learning from {N_SOURCES} datasets ({steps} steps; Ctrl-C keeps what is learned so far) ...")
    result = run_ratio_demo(output, steps, seed)
    typer.echo(f"Learned in {result.seconds:.0f} s; best look at step {result.best_step}.")
    typer.echo(f"Mean regret to the true ratio over {result.n_pairs} unseen pairs, ten instances each (0 is perfect):")
    for name, regret in result.regrets.items():
        typer.echo(f"  {name:<14} {regret:.3f}")
    typer.echo("Pictures: " + ", ".join(str(path) for path in result.pictures))
