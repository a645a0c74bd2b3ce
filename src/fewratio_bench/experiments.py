"""The paper's experiments: which methods on which problems, and what their tables show."""

from dataclasses import dataclass, replace
from typing import Any, TypeVar

from fewratio_bench.methods import Kernel, Learned, MeanDiscrepancy, Method, OneClass, Pooled, Pretrained, TargetTrained
from fewratio_bench.methods.base import REGS
from fewratio_bench.methods.closed_form import ClosedForm
from fewratio_bench.methods.joined import Joined
from fewratio_bench.methods.learned import LATENT_DIMS, PAPER_TRAINING
from fewratio_bench.methods.untrained import Detector, Universal, forest_scores, kl_scores, lof_scores
from fewratio_bench.problems import IOT, ISOLET, LANDMINE, MNIST_R, SCHOOL, SYNTHETIC, TABLES, UNSEEN_TABLES, Problem

Row = TypeVar("Row", bound=Learned | OneClass | TargetTrained)

# ---------------------------------------------------------------- rows


def _variant(method: Row, name: str, **changes: Any) -> Row:
    """Return a method of the paper that differs from another one in some parts."""
    return replace(method, name=name, published=name, **changes)


def to_the_end(method: Row) -> Row:
    """Return a method that takes steps on a target after all of them."""
    return replace(method, steps=method.steps[-1:])


OURS = Learned("Ours", "Ours")
# The appendix's variants have one length of vectors, and are compared with the paper's method at that length; the whole
# grid would take as long as all the rest.
_VARIANT = replace(OURS, latent_dims=(32,))
PLAIN_OURS = _variant(_VARIANT, "Ours (alpha=0)", alpha=0.0)
OURS_01 = _variant(_VARIANT, "Ours (alpha=0.1)", alpha=0.1)
OURS_09 = _variant(_VARIANT, "Ours (alpha=0.9)", alpha=0.9)
LEARNED_ALPHA = _variant(_VARIANT, "Ours w/ train", learn_alpha=True)
DEEP_OURS = _variant(_VARIANT, "DeepOurs", depth=5)
NO_LATENT = _variant(OURS, "NoLatent", encoder="none")
NO_SADAPT = _variant(OURS, "NoSadapt", head="shared")
NO_SADAPT_FT = _variant(NO_SADAPT, "NoSadapt-FT", target_head="adam", trained_as=NO_SADAPT.name)
# A network with a last layer of free weights, which is fitted to the target: in closed form, where the loss is squared
# and the paper names a grid of lambda; else by Adam.
RULSIF_FT = _variant(NO_LATENT, "RuLSIF-FT", head="shared", clip="ratio", target_head="ridge")
RULSIF_FT_BY_ADAM = replace(
    RULSIF_FT, name="RuLSIF-FT, by Adam", published=None, target_head="adam", trained_as=RULSIF_FT.name
)
D3RE_FT = _variant(RULSIF_FT, "D3RE-FT", target_head="adam", bounds=(0.1, 0.5, 1.0, 10.0))
META_RULSIF = _variant(NO_LATENT, "Meta-RuLSIF", features="gaussian", head="descent", clip="ratio")
# Our own settings, never mixed with the paper's: several tasks per step, the ratio clipped instead of the weights, one
# model for all sizes, averaged weights and frequent validations.
OURS_BETTER = Learned(
    "fewratio",
    None,
    clip="ratio",
    latent_dims=(32,),
    sizes=(1, 5),
    training=PAPER_TRAINING | {"tasks_per_step": 16, "averaging": 0.99, "validate_every": 100},
)
# Distances to the support instead, in the columns' space and in a learned one.
RELATIONAL = replace(
    OURS_BETTER,
    name="fewratio, relational",
    features="relational",
    clip="range",
    shape={"space": "both"},
    training=OURS_BETTER.training | {"max_steps": 5_000, "n_query": 64, "weight_decay": 1.0, "calibration": 0.0},
)
CALIBRATED = replace(
    RELATIONAL,
    name="fewratio, relational, calibrated",
    training=RELATIONAL.training | {"weight_decay": 0.3, "calibration": 0.3},
)
# Our choice with sources: networks of both kinds. Networks of distances do not learn about outliers.
COMMITTEE = Pretrained("fewratio, committee", parameters={"features": "both", "n_networks": 2, "n_support": (1, 5)})
OUTLIER_COMMITTEE = replace(COMMITTEE, parameters={**COMMITTEE.parameters, "features": "mlp"})
# Estimators that learn in seconds, and several of them with more features.
CLOSED_FORM = ClosedForm("fewratio, closed form")
CLOSED_FORM_DRAWS = ClosedForm(
    "fewratio, closed form, four draws",
    parameters={"scale": "none", "features": "cosines", "n_components": 4096},
    n_draws=4,
)
# Our best method if time does not matter: both together, in equal shares or shares chosen on validation datasets.
ENSEMBLE = Joined("fewratio, ensemble", parts=(COMMITTEE, CLOSED_FORM_DRAWS))
STACKED = replace(ENSEMBLE, name="fewratio, ensemble, stacked", stacked=True)
# Without a network, in seconds; and with all outliers of the sources known, which no other method is told.
POOLED, POOLED_MARKS = Pooled(), Pooled("fewratio, pooled, outliers known", outliers_known=True)
# Our method without sources.
NO_SOURCES = Universal()

RULSIF = Kernel("RuLSIF", "RuLSIF")
RULSIF_01 = Kernel("RuLSIF (alpha=0.1)", "RuLSIF (alpha=0.1)", alpha=0.1)
RULSIF_09 = Kernel("RuLSIF (alpha=0.9)", "RuLSIF (alpha=0.9)", alpha=0.9)
ULSIF = Kernel("uLSIF", "uLSIF", alpha=0.0)
RULSIF_RATIO = Kernel("RuLSIF, ratio clipped", None, clip="ratio")
ULSIF_RATIO = Kernel("uLSIF, ratio clipped", None, clip="ratio", alpha=0.0)
MMD = MeanDiscrepancy()
D3RE = TargetTrained("D3RE", "D3RE")
NNPU = TargetTrained("nnPU", "nnPU", loss="pu", bounds=(0.0,))
AE = OneClass("AE", "AE", "autoencoder")
AE_S = _variant(AE, "AE-S", train_on="sources")
AE_FT = _variant(AE, "AE-FT", train_on="sources then target")
SD = OneClass("SD", "SD", "deep svdd")
SD_S = _variant(SD, "SD-S", train_on="sources")
SD_FT = _variant(SD, "SD-FT", train_on="sources then target")
LOF = Detector("LOF", "LOF", "n_neighbors", (10, 20, 30, 40, 50), lof_scores)
IF = Detector("IF", "IF", "n_estimators", (10, 50, 100, 200), forest_scores)
KL = Detector("KL", "KL", "reg", REGS, kl_scores)


# ---------------------------------------------------------------- tables


@dataclass(frozen=True)
class Panel:
    """One block of a table: a metric on some data.

    Attributes
    ----------
    data : str
        Name in the paper of the data of one or several problems.
    problems : tuple of Problem
        The problems that are averaged.
    metric : {"squared_error", "auc", "regret"}
        The metric of the panel.
    complete : bool
        Whether the paper's average is over the same data; if not, it cannot be compared.
    absence : str
        Why the records in the repository have no data for it.
    """

    data: str
    problems: tuple[Problem, ...]
    metric: str
    complete: bool = True
    absence: str = ""


@dataclass(frozen=True)
class Experiment:
    """A table of the paper.

    Attributes
    ----------
    name, title : str
        Name of the experiment in ``published.csv``, and title of the table.
    panels : tuple of Panel
        The blocks of the table.
    methods : tuple of Method
        The methods to run.
    layout : {"sizes", "panels", "seconds"}
        The columns: numbers of support instances, the panels, or seconds of learning and evaluation.
    shown : tuple of (str, Method)
        The rows by name, if they are not simply the methods, such as several settings of a method.
    note : str
        The first sentences of the caption.
    is_quick : bool
        Whether grids and trainings are those of a quick run.
    is_ranked : bool
        Whether to name the best and the worst method; false if the numbers of a panel are not comparable.
    """

    name: str
    title: str
    panels: tuple[Panel, ...]
    methods: tuple[Method, ...]
    layout: str = "sizes"
    shown: tuple[tuple[str, Method], ...] = ()
    note: str = ""
    is_quick: bool = False
    is_ranked: bool = True

    @property
    def rows(self) -> tuple[tuple[str, Method], ...]:
        """The rows of the table by name."""
        return self.shown or tuple((method.name, method) for method in self.methods)

    def quick(self) -> "Experiment":
        """Return the experiment with small grids and short trainings."""
        shown = tuple((name, method.quick()) for name, method in self.shown)
        methods = tuple(method.quick() for method in self.methods)
        note = f"A quick run, with small grids and short trainings: no numbers to set beside the paper's. {self.note}"
        return replace(self, methods=methods, shown=shown, note=note, is_quick=True)

    @property
    def problems(self) -> list[Problem]:
        """All problems, once each."""
        return list(dict.fromkeys(problem for panel in self.panels for problem in panel.problems))


def _make_panels(metric: str, *problems: Problem) -> tuple[Panel, ...]:
    why = {IOT.data: "eight of its nine devices are missing where the others were made"}
    return tuple(Panel(problem.data, (problem,), metric, absence=why.get(problem.data, "")) for problem in problems)


_PAIRS = (MNIST_R, ISOLET)
# Only the authors have the complete IoT data; its rows appear once you have them.
_OUTLIERS = (LANDMINE, SCHOOL, IOT)
_HERE = (LANDMINE, SCHOOL)
_ABLATIONS = (OURS, NO_LATENT, NO_SADAPT, NO_SADAPT_FT)
# Methods with gradient steps on a target. The paper selects their number for AE-FT and SD-FT, and states none for the
# others: these rows are after all steps, and close to the paper for methods that train on a target alone.
_STEPPING: tuple[TargetTrained | OneClass | Learned, ...] = (
    *(D3RE, NNPU, AE, SD),
    *(RULSIF_FT_BY_ADAM, D3RE_FT, NO_SADAPT_FT),
)


def _rows(*methods: Method) -> tuple[tuple[str, Method], ...]:
    """Return the rows of these methods, and below them those with a selected number of steps on a target."""
    stepping = [method for method in _STEPPING if method in methods]
    rows: dict[str, Method] = {method.name: method for method in methods}
    rows |= {method.name: to_the_end(method) for method in stepping}
    rows |= {f"{method.name}, stopped early": replace(method, published=None) for method in stepping}
    return tuple(rows.items())


_OF_GAUSSIANS: tuple[Method, ...] = (
    *(OURS, RULSIF, RULSIF_FT, RULSIF_FT_BY_ADAM, META_RULSIF),
    # Three validation datasets, often alike, are too few to choose a step by when validated often. And one network of
    # instances for all sizes is best for one instance long before it is for ten.
    replace(OURS_BETTER, sizes=(10, 10), keep_aside=True),
    *(replace(method, sizes=(1, 10), keep_aside=True) for method in (RELATIONAL, CALIBRATED)),
    replace(COMMITTEE, parameters={**COMMITTEE.parameters, "n_networks": 1, "n_support": 10}, keep_aside=True),
    replace(CLOSED_FORM, keep_aside=True),
    NO_SOURCES,
    RULSIF_RATIO,
)
_ESTIMATED = (
    *(OURS, RULSIF, RULSIF_FT, RULSIF_FT_BY_ADAM),
    *(OURS_BETTER, RELATIONAL, CALIBRATED, COMMITTEE, CLOSED_FORM, CLOSED_FORM_DRAWS, ENSEMBLE, STACKED),
    *(NO_SOURCES, RULSIF_RATIO),
)
_COMPARED = (
    *(OURS, RULSIF, ULSIF, D3RE, MMD, RULSIF_FT, RULSIF_FT_BY_ADAM, D3RE_FT),
    *(OURS_BETTER, RELATIONAL, CALIBRATED, COMMITTEE, CLOSED_FORM, CLOSED_FORM_DRAWS, ENSEMBLE, STACKED),
    *(NO_SOURCES, RULSIF_RATIO, ULSIF_RATIO),
)
_DETECTORS = (
    *(OURS, RULSIF, ULSIF, D3RE, AE, SD, LOF, IF, AE_S, SD_S, AE_FT, SD_FT),
    *(RULSIF_FT, RULSIF_FT_BY_ADAM, D3RE_FT),
    *(OURS_BETTER, OUTLIER_COMMITTEE, POOLED, NO_SOURCES, RULSIF_RATIO, ULSIF_RATIO),
)
# A quick run of the lengths themselves has the shortest, the usual and the longest.
_EVERY_LENGTH = replace(OURS, quick_dims=(4, 32, 256))
_OF_ONE_LENGTH = {dim: replace(OURS, latent_dims=(dim,), quick_dims=(dim,)) for dim in LATENT_DIMS}


_ALL_THREE = (
    Panel("relative DRE", _PAIRS, "squared_error"),
    Panel("dataset comparison", _PAIRS, "auc"),
    Panel("outlier detection", _HERE, "auc", complete=False),
)

_COMPARISONS = (*_make_panels("auc", *_PAIRS), Panel("all", _PAIRS, "auc"))
_OTHER_SUPPORTS = "What is called validation here is other instances of the same classes. "


def _experiment(name: str, title: str, panels: tuple[Panel, ...], *methods: Method, **options: Any) -> Experiment:
    return Experiment(name, title, panels, methods, **({"shown": _rows(*methods)} | options))


EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        _experiment(
            "synthetic",
            "Relative density ratios of one-dimensional Gaussians",
            (*_make_panels("squared_error", SYNTHETIC), *_make_panels("regret", SYNTHETIC)),
            *_OF_GAUSSIANS,
        ),
        _experiment(
            "relative-dre", "Relative density-ratio estimation", _make_panels("squared_error", *_PAIRS), *_ESTIMATED
        ),
        _experiment("dataset-comparison", "Dataset comparison", _make_panels("auc", *_PAIRS), *_COMPARED),
        _experiment(
            "outlier-detection", "Inlier-based outlier detection", _make_panels("auc", *_OUTLIERS), *_DETECTORS
        ),
        _experiment(
            "ablation-relative-dre",
            "Ablations: relative density-ratio estimation",
            (*_make_panels("squared_error", *_PAIRS), Panel("all", _PAIRS, "squared_error")),
            *_ABLATIONS,
        ),
        _experiment("ablation-dataset-comparison", "Ablations: dataset comparison", _COMPARISONS, *_ABLATIONS),
        _experiment(
            "ablation-outlier-detection",
            "Ablations: outlier detection",
            (*_make_panels("auc", *_OUTLIERS), Panel("all", _HERE, "auc", complete=False)),
            *_ABLATIONS,
        ),
        _experiment(
            "relative-vs-plain",
            "Relative against plain density ratios: dataset comparison",
            _COMPARISONS,
            *(_VARIANT, PLAIN_OURS),
        ),
        _experiment(
            "alpha-dependency",
            "Dependence on alpha",
            _ALL_THREE,
            *(OURS_01, replace(_VARIANT, published="Ours (alpha=0.5)"), OURS_09),
            *(RULSIF_01, replace(RULSIF, published="RuLSIF (alpha=0.5)"), RULSIF_09),
            is_ranked=False,
        ),
        _experiment("trainable-alpha", "A learned alpha", _ALL_THREE, _VARIANT, LEARNED_ALPHA),
        _experiment(
            "latent-dimension",
            "Dependence on the length K of the dataset vectors",
            (*_make_panels("squared_error", *_PAIRS), *_make_panels("auc", *_PAIRS, *_OUTLIERS)),
            *(_EVERY_LENGTH, RULSIF),
            layout="panels",
            shown=(*((f"Ours, K = {dim}", row) for dim, row in _OF_ONE_LENGTH.items()), (RULSIF.name, RULSIF)),
            note="Every length K is shown as it is; the paper has this as figures, without numbers. ",
        ),
        _experiment(
            "computation-cost",
            "Computation cost",
            # Records of all metrics contain the seconds.
            _make_panels("auc", MNIST_R),
            *(OURS, RULSIF, ULSIF, MMD, RULSIF_FT),
            layout="seconds",
        ),
        _experiment("deeper-network", "A deeper network", _ALL_THREE, _VARIANT, DEEP_OURS, RULSIF),
        _experiment(
            "no-sources",
            "Without sources: classes of tables, standardised as a whole",
            _make_panels("squared_error", *TABLES),
            *(NO_SOURCES, RULSIF_RATIO),
            note=_OTHER_SUPPORTS,
        ),
        _experiment(
            "unseen-tables",
            "Without sources: tables that were looked at once, with the final weights",
            _make_panels("squared_error", *UNSEEN_TABLES),
            *(NO_SOURCES, RULSIF_RATIO),
            note=_OTHER_SUPPORTS,
        ),
        _experiment(
            "known-outliers",
            "Outlier detection where the outliers of the sources are known",
            _make_panels("auc", *_HERE),
            *(OUTLIER_COMMITTEE, POOLED, POOLED_MARKS),
            note="Only the last row knows them; the others know some normals of each source. ",
            is_ranked=False,
        ),
        _experiment("additional-outlier", "More outlier detection", _make_panels("auc", *_OUTLIERS), OURS, KL, NNPU),
    )
}
