"""``fewratio train``."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from fewratio.cli import exchange, summaries


@partial(exchange.verb, without=("model", "scale", "output", "plot"))
def train(
    request: exchange.Request,
    sources: Annotated[
        list[Path], typer.Argument(help="Folder of tables, one related dataset per file; or summaries (*.summary).")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="File for the model.")],
    episodes: Annotated[str, typer.Option(help="What to train on: pairs, or inliers for outlier detection.")] = (
        "pairs"
    ),
    outlier: Annotated[str | None, typer.Option(help="Column that marks known outliers (0 and 1).")] = None,
    features: Annotated[
        str,
        typer.Option(help="Features to learn: mlp (fast), relational, or both (most accurate; slow without a GPU)."),
    ] = "mlp",
    networks: Annotated[int, typer.Option(min=1, help="Networks of each kind, whose mean is taken.")] = 1,
    init: Annotated[
        str, typer.Option(help="Where to start: random, or universal where related datasets are few (below 20).")
    ] = "random",
    steps: Annotated[int, typer.Option(min=1, help="Training steps.")] = 5_000,
    scale: Annotated[str, typer.Option(help="columns: centre and scale the columns; none: as they are.")] = "columns",
    device: Annotated[str, typer.Option(help="Where to train: cpu, cuda, or auto for CUDA if available.")] = "auto",
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="File that keeps the state of the training; if it exists, the training resumes from it."),
    ] = None,
) -> None:
    """Learn a model from related datasets. Ctrl-C stops early and keeps the best model so far.

    Example: fewratio train sites/ -o sites.model
    """
    exchange.check_target(output, "--output", *sources, checkpoint)
    if sources[0].suffix == summaries.SUFFIX:
        summaries.learn(request, sources, output)
        return
    folder = summaries.only_folder(sources)
    if checkpoint is not None:
        exchange.check_target(checkpoint, "--checkpoint", folder)
    exchange.check_scale(scale)
    from fewratio.data.collection import Collection

    collection = Collection.from_folder(
        folder, outlier, separator=request.separator, decimal=request.decimal, **request.options()
    )
    from fewratio import MetaRatioEstimator
    from fewratio.errors import ParameterError
    from fewratio.estimators.settings import Architecture, Inliers, Pairs, Training

    if episodes not in ("pairs", "inliers"):
        raise ParameterError(f"--episodes must be one of pairs and inliers; it is {episodes!r}. Choose one.")
    estimator = MetaRatioEstimator(
        episodes=Inliers() if episodes == "inliers" else Pairs(),
        network=Architecture(features, networks),
        training=Training(max_steps=steps),
        init=init,
        scale=scale,
        device=device,
        random_state=request.seed,
    )
    estimator.pretrain(collection, checkpoint=checkpoint).save(output)
    lines = [
        f"Learned from {collection!r}.",
        *([] if collection.encoding is None else [f"columns  {collection.encoding.summary}"]),
        *(f"  {network.summary()}" for network in estimator.networks_),
        f"Model: {output}",
    ]
    payload = {
        "model": str(output),
        "n_datasets": len(collection),
        "n_features": collection.n_features,
        "history": estimator.history_.to_dict(),
        "networks": [network.to_dict() for network in estimator.networks_],
    }
    request.deliver(exchange.Answer(lines, payload, {}))
