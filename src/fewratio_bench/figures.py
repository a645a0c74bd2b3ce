"""Figures made from records alone."""

import statistics
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fewratio_bench.experiments import AE, AE_FT, D3RE, EXPERIMENTS, NNPU, OURS, RULSIF, SD, SD_FT
from fewratio_bench.methods import Method
from fewratio_bench.problems import ISOLET, LANDMINE, MNIST_R, SCHOOL, Problem
from fewratio_bench.records import Record
from fewratio_bench.run import record_file
from fewratio_bench.tables import METRICS, make_blocks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PANELS: tuple[tuple[Problem, str], ...] = (
    (MNIST_R, "squared_error"),
    (ISOLET, "squared_error"),
    (MNIST_R, "auc"),
    (ISOLET, "auc"),
    (LANDMINE, "auc"),
    (SCHOOL, "auc"),
)
_TRAINED_ON_TARGETS: tuple[Method, ...] = (D3RE, NNPU, AE, AE_FT, SD, SD_FT)


def latent_dimension(folder: Path) -> "Figure":
    """Draw how Ours depends on the length K of the dataset vectors, with RuLSIF as a line (the paper's K figures)."""
    figure, axes = _panels(_PANELS)
    for ax, (problem, metric) in zip(axes, _PANELS, strict=True):
        records = _targets(folder, problem, metric)
        by_dim = _by_parameter(records, OURS.name, "latent_dim")
        _curve(ax, by_dim, "Ours", "C0")
        by_reg = _by_parameter(records, RULSIF.name, "reg")
        if by_reg:
            best = (min if METRICS[metric][2] else max)(statistics.mean(values) for values in by_reg.values())
            ax.axhline(best, color="C1", linestyle="--", label="RuLSIF, best on test")
        ax.set_xscale("log", base=2)
        _label(ax, problem, metric, "length K of the dataset vectors", by_dim)
    axes[0].legend()
    return figure


def support_size(folder: Path) -> "Figure":
    """Draw how the methods of the three main tables depend on the number of support instances.

    Settings are selected by the rule that the paper uses for the method; for ours, on validation.
    """
    figure, axes = _panels(_PANELS)
    names = ("relative-dre", "relative-dre", "dataset-comparison", "dataset-comparison", *["outlier-detection"] * 2)
    handles: dict[str, Any] = {}
    for ax, name, (problem, metric) in zip(axes, names, _PANELS, strict=True):
        experiment = EXPERIMENTS[name]
        blocks = make_blocks(experiment, {problem.data: record_file(folder, problem).read()})
        (block,) = [block for block in blocks if block.panel.data == problem.data]
        for method in experiment.methods:
            lines = [line for line in block.lines if line.method == method.name]
            # By the paper's own rule; for methods that are not the paper's, by validation.
            rules = (method.rule if method.published else "validation", "none")
            lines = [line for line in lines if line.selection in rules]
            if lines:
                by_size = {int(size): values for size, values in lines[0].values.items() if size.isdecimal()}
                # A method has one look in all panels: ten colours, then the same ones dashed.
                number = list(handles).index(method.name) if method.name in handles else len(handles)
                style = {"linestyle": "-" if number < 10 else "--", "marker": "o" if method is OURS else None}
                handles[method.name] = _curve(ax, by_size, method.name, f"C{number % 10}", **style)
        _label(ax, problem, metric, "support instances N_S", block.lines)
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=6, fontsize="small")
    return figure


def training_curves(folder: Path) -> "Figure":
    """Draw what becomes of networks as they train on a target, with the value of their other parameter best in it."""
    problems = (MNIST_R, ISOLET, LANDMINE, SCHOOL)
    panels = [(problem, "auc") for problem in problems]
    figure, axes = _panels(panels)
    for ax, (problem, metric) in zip(axes, panels, strict=True):
        records = _targets(folder, problem, metric)
        for number, method in enumerate(_TRAINED_ON_TARGETS):
            mine = [record for record in records if record.method == method.name]
            other = "bound" if "bound" in (mine[0].parameters if mine else {}) else "latent_dim"
            candidates = sorted({record.parameters[other] for record in mine})
            curves = [
                _by_parameter([record for record in mine if record.parameters[other] == value], method.name, "n_steps")
                for value in candidates
            ]
            if curves:
                best = max(curves, key=lambda curve: max(statistics.mean(values) for values in curve.values()))
                _curve(ax, best, method.name, f"C{number}")
                ax.legend(fontsize="small")
        ax.set_xscale("log")
        _label(ax, problem, metric, "gradient steps on the target", ax.get_legend_handles_labels()[0])
    return figure


FIGURES: dict[str, Callable[[Path], "Figure"]] = {
    "latent-dimension": latent_dimension,
    "support-size": support_size,
    "training-curves": training_curves,
}


def _panels(panels: Sequence[tuple[Problem, str]]) -> "tuple[Figure, list[Axes]]":
    from matplotlib.figure import Figure

    n_columns = 2 if len(panels) == 4 else 3
    n_rows = -(-len(panels) // n_columns)
    figure = Figure(figsize=(4 * n_columns, 3.4 * n_rows), layout="constrained")
    return figure, figure.subplots(n_rows, n_columns, squeeze=False).flatten().tolist()


def _targets(folder: Path, problem: Problem, metric: str) -> list[Record]:
    records = record_file(folder, problem).read()
    return [record for record in records if (record.role, record.metric) == ("target", metric)]


def _by_parameter(records: Sequence[Record], method: str, parameter: str) -> dict[float, list[float]]:
    """Give the means over all sizes of every split, by the value of a parameter."""
    found: dict[float, dict[int, list[float]]] = {}
    for record in records:
        if record.method == method:
            splits = found.setdefault(record.parameters[parameter], {})
            splits.setdefault(record.split, []).append(record.value)
    return {value: [statistics.mean(values) for values in splits.values()] for value, splits in sorted(found.items())}


def _curve(ax: "Axes", values: dict[Any, list[float]], label: str, colour: str, **style: Any) -> Any:
    """Draw means with their standard errors."""
    errors = [statistics.stdev(each) / len(each) ** 0.5 if len(each) > 1 else 0.0 for each in values.values()]
    means = [statistics.mean(each) for each in values.values()]
    return ax.errorbar(list(values), means, yerr=errors, color=colour, label=label, capsize=2, **style)


def _label(ax: "Axes", problem: Problem, metric: str, x: str, drawn: Collection[object]) -> None:
    name, _, less = METRICS[metric]
    ax.set_title(problem.data)
    ax.set_xlabel(x)
    ax.set_ylabel(f"{name} ({'lower' if less else 'higher'} is better)")
    ax.grid(alpha=0.3)
    if not drawn:
        ax.text(0.5, 0.5, "no records", transform=ax.transAxes, ha="center", color="0.5")
