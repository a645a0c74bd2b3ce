"""``fewratio train``."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from fewratio.cli import frame
from fewratio.cli.verb import COLUMNS, JSON, MARKS, SEED, WINDOW, Field, Page, Verb, declare_file
from fewratio.core.wording import write_count
from fewratio.errors import ParameterError
from fewratio.learn import summaries
from fewratio.learn.info import describe_learned, describe_weight_of_sources
from fewratio.progress import is_first_process

if TYPE_CHECKING:
    from fewratio.data.collection import Collection

_EPISODES = ("pairs", "inliers")
_LEARNERS = ("fast", "network", "best")
DEFAULT_LEARNER = "fast"


def train(
    request: frame.Request,
    sources: list[Path],
    output: Path,
    learner: str,
    episodes: str,
    outlier: str | None,
    scale: str,
    window: int | None,
    **given: Any,
) -> None:
    """Learn a model from related datasets.

    Ctrl-C stops the training of networks early, and keeps the best model so far.

    Example: fewratio train sites/ -o sites.safetensors
    """
    checkpoint = given["checkpoint"]
    frame.check_target(output, "--output", *sources, checkpoint)
    if checkpoint is not None:
        frame.check_target(checkpoint, "--checkpoint", *sources)
    frame.check_scale(scale, SCALES)
    for option, value, known in (("learner", learner, _LEARNERS), ("episodes", episodes, _EPISODES)):
        if value not in known:
            raise ParameterError(f"--{option} must be one of {', '.join(known)}; it is {value!r}. Choose one.")
    of_networks = {name: value for name, value in given.items() if value is not None}
    if learner == "fast" and episodes == "inliers" and scale != "auto":
        raise ParameterError(
            f"--scale {scale} is not for inliers in closed form. Leave it out, or give --learner network."
        )
    if learner == "best" and episodes == "inliers":
        raise ParameterError("--learner best is for pairs. Give --learner network, or leave it out.")
    if learner == "fast" and of_networks:
        raise ParameterError(
            f"--{next(iter(of_networks))} is for networks. Give --learner network as well, or leave it out."
        )
    if any(source.suffix == summaries.SUFFIX for source in sources):
        if (learner, episodes, scale, outlier, window) != (DEFAULT_LEARNER, "pairs", "auto", None, None):
            raise ParameterError(
                "--learner, --episodes, --scale, --outlier and --window are for tables; summaries and their map leave "
                "no choice. Leave them out, or give a folder of tables."
            )
        summaries.learn(request, sources, output)
        return
    folder = summaries.only_folder(sources)
    from fewratio.data.collection import Collection

    options = request.options(folder=folder) | ({} if window is None else {"window": window})
    collection = Collection.from_folder(folder, outlier, **request.marks, **options)
    estimator = _train(collection, learner, episodes, scale, request.seed, of_networks)
    if not is_first_process():
        return
    estimator.save(output)
    n_rows = int(collection.sizes.sum())
    lines = [
        f"Learned from {write_count(len(collection), 'dataset')} in {folder} ({write_count(n_rows, 'row')}).",
        *([] if collection.encoding is None else [f"columns  {collection.encoding.summary}"]),
        *(f"sources  {line}" for line in describe_weight_of_sources(estimator)),
        *(f"  {network.summary()}" for network in getattr(estimator, "networks_", [])),
        f"Model: {output}",
    ]
    payload = {
        "model": str(output),
        "estimator": type(estimator).__name__,
        "n_datasets": len(collection),
        "n_features": collection.n_features,
    }
    request.deliver(frame.Answer(lines, payload | describe_learned(estimator), {}))


def _train(
    collection: "Collection", learner: str, episodes: str, scale: str, seed: int, of_networks: dict[str, Any]
) -> Any:
    """Learn from the datasets with the chosen learner."""
    import fewratio

    if learner == "fast":
        if episodes == "inliers":
            return fewratio.estimators.InlierRatioEstimator(random_state=seed).pretrain(collection)
        return fewratio.AutoRatioEstimator(scale=scale, random_state=seed).pretrain(collection)
    if scale == "ranks":
        raise ParameterError("--scale ranks is not for networks. Choose columns or none, or give --learner fast.")
    usual = ("both", 2) if learner == "best" else ("mlp", 1)
    features, n_networks = of_networks.pop("features", usual[0]), of_networks.pop("networks", usual[1])
    checkpoint, steps = of_networks.pop("checkpoint", None), of_networks.pop("steps", 5_000)
    networks = fewratio.estimators.networks
    estimator = fewratio.MetaRatioEstimator(
        episodes=networks.Inliers() if episodes == "inliers" else networks.Pairs(),
        network=networks.Architecture(features, n_networks=n_networks),
        training=networks.Training(max_steps=steps),
        scale="columns" if scale == "auto" else scale,
        random_state=seed,
        **of_networks,
    )
    if learner == "best":
        from fewratio.estimators.mixtures.best_members import make_best_members

        estimator = fewratio.AutoRatioEstimator(members=make_best_members(estimator, random_state=seed))
    return estimator.pretrain(collection, checkpoint=checkpoint)


SCALES = ("auto", "ranks", "columns", "none")
_SOURCES = "Folder with one table per related dataset, or summaries (*.summary)."
VERB = Verb(
    train,
    (
        Field("sources", _SOURCES, list[Path], reads="folder", is_positional=True, is_required=True),
        declare_file("File for the model."),
        Field(
            "learner",
            "fast: closed form, takes seconds; network: gradient descent, takes minutes; best: the mean of both kinds, "
            "takes an hour or more without a GPU.",
            default=DEFAULT_LEARNER,
        ),
        Field("episodes", "pairs: learn to compare datasets; inliers: learn to find outliers.", default="pairs"),
        Field("outlier", "Column that marks known outliers (0 and 1)."),
        Field(
            "scale",
            "Units of columns. ranks: ranks among all source rows; columns: standard deviations; none: values as they "
            "are; auto: ranks and values as they are (columns for networks).",
            default="auto",
        ),
        WINDOW,
        # For networks; None means the learner's default.
        Field(
            "features", "Kind of networks: mlp, relational, or both (slow without a GPU). [default: mlp; both for best]"
        ),
        Field("networks", "Networks of each kind to average. [default: 1; 2 for best]", int, least=1),
        Field("init", "Start networks from random weights, or from the universal network. [default: random]"),
        Field("steps", "Training steps of networks. [default: 5000]", int, python="max_steps", least=1),
        Field("device", "Where networks are trained: cpu, cuda or auto. [default: auto]"),
        Field("checkpoint", "File for the state of the training. If it exists, the training resumes from it.", Path),
        *(*COLUMNS, *MARKS, JSON, SEED),
    ),
    "datasets = fewratio.Collection.from_folder({sources}{columns}{marks})\n"
    "fewratio.AutoRatioEstimator({settings}).pretrain(datasets).save({output})",
    Page(
        "Learn",
        "Learn from related datasets, and judge a new one",
        "A model of how such datasets differ: with it, a handful of rows of a new one is enough. Then judge a new "
        "dataset, or compare new tables, here or elsewhere.",
        {"sources": ("Folder of tables", "One file per dataset, all with the same columns.", "example-sensors")},
        "40 sensors, and a new one",
        last="Writing the model…",
        stages=(
            Page(
                "Judge",
                "Judge a new dataset",
                "Is it unlike all that were learned from, and which of them are nearest? A few rows are enough.",
                {"new": ("New dataset", "For example, a new sensor", "example-sensor_41")},
                "a new sensor, eight rows",
                key="judge",
                verb="compare-all",
                takes=("folder", "model"),
            ),
            Page(
                "Compare with the model",
                "Compare two new tables with the model",
                "Two tables of the same kind as those it was learned from; a few rows are enough.",
                {
                    "a": ("New table", "For example, a new sensor", "example-sensor_41"),
                    "b": (
                        "Another table",
                        "For example, another new sensor, or one of those learned from",
                        "example-sensor_42",
                    ),
                },
                "two new sensors, eight rows each",
                key="compare-new",
                verb="compare",
                takes=("model",),
            ),
        ),
    ),
)
