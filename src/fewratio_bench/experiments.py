"""The paper's experiments: which methods on which problems, and what their tables show."""

from dataclasses import dataclass, replace

from fewratio_bench.methods import Kernel, Learned, MeanDiscrepancy, Method, TargetTrained
from fewratio_bench.methods.detectors import Detector, forest_scores, lof_scores
from fewratio_bench.problems import ISOLET, LANDMINE, MNIST_R, SCHOOL, SYNTHETIC, Problem

# ---------------------------------------------------------------- rows

OURS = Learned("Ours", "Ours")
PLAIN_OURS = replace(OURS, name="Ours (alpha=0)", published="Ours (alpha=0)", alpha=0.0)
OURS_01 = replace(OURS, name="Ours (alpha=0.1)", published="Ours (alpha=0.1)", alpha=0.1)
OURS_09 = replace(OURS, name="Ours (alpha=0.9)", published="Ours (alpha=0.9)", alpha=0.9)
LEARNED_ALPHA = replace(OURS, name="Ours w/ train", published="Ours w/ train", learn_alpha=True)
DEEP_OURS = replace(OURS, name="DeepOurs", published="DeepOurs", depth=5)
NO_LATENT = replace(OURS, name="NoLatent", published="NoLatent", encoder="none")
NO_SADAPT = replace(OURS, name="NoSadapt", published="NoSadapt", head="shared")
NO_SADAPT_FT = replace(NO_SADAPT, name="NoSadapt-FT", published="NoSadapt-FT", target_head="ridge")
RULSIF_FT = replace(NO_LATENT, name="RuLSIF-FT", published="RuLSIF-FT", head="shared", target_head="ridge")
D3RE_FT = replace(
    RULSIF_FT,
    name="D3RE-FT",
    published="D3RE-FT",
    target_head="descent",
    clip="ratio",
    bounds=(0.1, 0.5, 1.0, 10.0),
)
META_RULSIF = replace(
    NO_LATENT, name="Meta-RuLSIF", published="Meta-RuLSIF", features="gaussian", head="descent", clip="ratio"
)
# Our own settings, never mixed with the paper's: several tasks a step, the ratio clipped instead of the weights, one
# model for all sizes, averaged weights and frequent looks.
OURS_BETTER = Learned(
    "fewratio",
    None,
    clip="ratio",
    latent_dims=(32,),
    sizes=(1, 5),
    training={"tasks_per_step": 16, "averaging": 0.99, "validate_every": 100, "max_steps": 10_000},
)

RULSIF = Kernel("RuLSIF", "RuLSIF")
RULSIF_01 = Kernel("RuLSIF (alpha=0.1)", "RuLSIF (alpha=0.1)", alpha=0.1)
RULSIF_09 = Kernel("RuLSIF (alpha=0.9)", "RuLSIF (alpha=0.9)", alpha=0.9)
ULSIF = Kernel("uLSIF", "uLSIF", alpha=0.0)
RULSIF_RATIO = Kernel("RuLSIF, ratio clipped", None, clip="ratio")
ULSIF_RATIO = Kernel("uLSIF, ratio clipped", None, clip="ratio", alpha=0.0)
MMD = MeanDiscrepancy()
D3RE = TargetTrained("D3RE", "D3RE")
# The outlier rate that nnPU is told: the mean over the benchmark's datasets.
NNPU = TargetTrained("nnPU", "nnPU", loss="pu", values=(0.05, 0.15))
LOF = Detector("LOF", "LOF", "n_neighbors", (10, 20, 30, 40, 50), lof_scores)
IF = Detector("IF", "IF", "n_estimators", (10, 50, 100, 200), forest_scores)


# ---------------------------------------------------------------- tables


@dataclass(frozen=True)
class Experiment:
    """A table of the paper.

    Attributes
    ----------
    name : str
        As in ``published.csv``.
    problems : tuple of Problem
        Its data.
    methods : tuple of Method
        Its rows.
    metric : {"squared_error", "auc", "regret"}
        What it shows.
    """

    name: str
    problems: tuple[Problem, ...]
    methods: tuple[Method, ...]
    metric: str


_PAIRS = (MNIST_R, ISOLET)
_OUTLIERS = (LANDMINE, SCHOOL)
_ABLATIONS = (OURS, NO_LATENT, NO_SADAPT, NO_SADAPT_FT)

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        Experiment(
            "synthetic",
            (SYNTHETIC,),
            (
                replace(OURS, latent_dims=(32,)),
                replace(OURS_BETTER, sizes=(1, 10)),
                RULSIF,
                RULSIF_RATIO,
                RULSIF_FT,
                META_RULSIF,
            ),
            "squared_error",
        ),
        Experiment("relative-dre", _PAIRS, (OURS, RULSIF, RULSIF_FT, OURS_BETTER, RULSIF_RATIO), "squared_error"),
        Experiment(
            "dataset-comparison",
            _PAIRS,
            (OURS, RULSIF, ULSIF, D3RE, MMD, RULSIF_FT, D3RE_FT, OURS_BETTER, RULSIF_RATIO, ULSIF_RATIO),
            "auc",
        ),
        Experiment(
            "outlier-detection",
            _OUTLIERS,
            (OURS, RULSIF, ULSIF, D3RE, LOF, IF, RULSIF_FT, D3RE_FT, OURS_BETTER, RULSIF_RATIO, ULSIF_RATIO),
            "auc",
        ),
        Experiment("ablation-relative-dre", _PAIRS, _ABLATIONS, "squared_error"),
        Experiment("ablation-dataset-comparison", _PAIRS, _ABLATIONS, "auc"),
        Experiment("ablation-outlier-detection", _OUTLIERS, _ABLATIONS, "auc"),
        Experiment("relative-vs-plain", _PAIRS, (OURS, PLAIN_OURS), "auc"),
    )
}
