"""Figures made from records."""

import io
import json
import statistics
import textwrap
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fewratio.charts.chart import Picture
from fewratio.charts.style import BLUE, FIRST, GRID, INK, MUTED, OUTLIER, PINK, SECOND
from fewratio_bench import experiments
from fewratio_bench.aggregation import METRICS, aggregate, measurements, standard_error
from fewratio_bench.examples import synthetic_examples
from fewratio_bench.experiments import EXPERIMENTS, OURS, RULSIF, Panel
from fewratio_bench.methods import Learned, Method
from fewratio_bench.methods.learned import LATENT_DIMS
from fewratio_bench.problems import ISOLET, LANDMINE, MNIST_R, SCHOOL, Problem
from fewratio_bench.records import Record
from fewratio_bench.rendering import display_name
from fewratio_bench.tables import read_records

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TRAINED_ON_TARGETS: tuple[Method, ...] = (
    *(experiments.D3RE, experiments.NNPU, experiments.AE, experiments.AE_FT, experiments.SD, experiments.SD_FT),
    *(experiments.RULSIF_FT_BY_ADAM, experiments.D3RE_FT),
)

_COLOURS = (FIRST, OUTLIER, BLUE, SECOND, MUTED, "#b58900", PINK, "#56b4e9")
# Height of a name beside a curve, as a share of the height of the panel.
_NAME_HEIGHT = 0.043


def latent_dimension(folder: Path) -> "Figure":
    """Draw how the paper's method depends on the length K of dataset vectors, with RuLSIF as a line."""
    experiment = EXPERIMENTS["latent-dimension"]
    results = aggregate(experiment, read_records(folder, experiment.problems))
    dims = {name: method.latent_dims[0] for name, method in experiment.rows if isinstance(method, Learned)}
    figure, axes = _panels(len(results), n_columns=4)
    for ax, result in zip(axes, results, strict=True):
        averages = {(row.method, row.selection): row.values[result.columns[-1]] for row in result.rows}
        by_dim = {dims[name]: values for (name, _), values in averages.items() if name in dims and values}
        _curve(ax, by_dim, "Ours", color=INK, marker="o", markersize=4)
        if rulsif := averages.get((RULSIF.name, RULSIF.rule)):
            mean, error = statistics.fmean(rulsif), standard_error(rulsif)
            ax.axhline(mean, color=OUTLIER, linestyle="--", label="RuLSIF, lambda best on test")
            ax.axhspan(mean - error, mean + error, color=OUTLIER, alpha=0.2, linewidth=0)
        ax.set_xscale("log", base=2)
        ax.set_xticks(LATENT_DIMS, [str(dim) for dim in LATENT_DIMS])
        _label(ax, result.panel, "length K of the dataset vectors", by_dim)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower left", ncols=2, frameon=False)
    return figure


def support_size(folder: Path) -> "Figure":
    """Draw how the methods of the three main tables depend on the number of support instances.

    Settings are selected by the rule that the paper uses for the method; for ours, on validation. Results with a
    selected number of steps on the target are only in the tables.
    """
    tables = [EXPERIMENTS[name] for name in ("relative-dre", "dataset-comparison", "outlier-detection")]
    shown = [replace(table, panels=(panel,)) for table in tables for panel in table.panels if not panel.absence]
    figure, axes = _panels(len(shown), n_columns=2, size=(5.6, 4.4))
    colours: dict[str, str] = {}
    for ax, experiment in zip(axes, shown, strict=True):
        (result,) = aggregate(experiment, read_records(folder, experiment.problems))
        methods = {name: method for name, method in experiment.rows if name == method.name}
        ends: dict[str, Any] = {}
        for row in result.rows:
            method = methods.get(row.method)
            # Select by the rule of the paper; for methods that are not in the paper, by validation.
            if method and row.selection in (method.rule if method.published else "validation", "none"):
                by_size = {int(size): values for size, values in row.values.items() if size.isdecimal()}
                # A method has the same colour in all panels.
                colour = colours.setdefault(row.method, _COLOURS[len(colours) % len(_COLOURS)])
                style = {"marker": "o", "color": INK, "linewidth": 2} if method is OURS else {"color": colour}
                ends[row.method] = _curve(ax, by_size, row.method, **style)
        ax.set_xticks(experiment.problems[0].sizes)
        _label(ax, result.panel, "support instances N_S", result.rows)
        _name_ends(ax, ends)
    return figure


def training_curves(folder: Path) -> "Figure":
    """Draw the results of networks as they train on a target, with the best other settings at each moment."""
    problems: tuple[Problem, ...] = (MNIST_R, ISOLET, LANDMINE, SCHOOL)
    figure, axes = _panels(len(problems), n_columns=2, size=(5.4, 3.8))
    records = read_records(folder, problems)
    for ax, problem in zip(axes, problems, strict=True):
        shown = [record for record in records[problem.data] if (record.role, record.metric) == ("target", "auc")]
        ends: dict[str, Any] = {}
        for number, method in enumerate(_TRAINED_ON_TARGETS):
            if mine := measurements(shown, method, problem):
                colour = _COLOURS[number % len(_COLOURS)]
                ends[method.name] = _curve(ax, _best_by_steps(mine.values()), method.name, color=colour)
        ax.set_xscale("log")
        _label(ax, Panel(problem.data, (problem,), "auc"), "gradient steps on the target", ends)
        _name_ends(ax, ends)
    return figure


# The title and the function of each figure by name.
FIGURES: dict[str, tuple[str, Callable[[Path], "Figure | Picture"]]] = {
    "synthetic": ("four unseen pairs of the synthetic data", synthetic_examples),
    "latent-dimension": ("dependence on the length K of the dataset vectors", latent_dimension),
    "support-size": ("dependence on the number of support instances", support_size),
    "training-curves": ("steps on the target, alone or after the sources (best setting at each)", training_curves),
}


def figure_file(name: str, folder: Path, path: Path) -> bytes:
    """Draw a figure of a folder of records; return the content of a file of the kind that a path ends in."""
    drawn = FIGURES[name][1](folder)
    if isinstance(drawn, Picture):
        return drawn.as_file(path)
    payload, ending = io.BytesIO(), path.suffix[1:]
    drawn.savefig(payload, format=ending, dpi=110, metadata={"Date": None} if ending == "svg" else None)
    return payload.getvalue()


def _panels(n_panels: int, n_columns: int, size: tuple[float, float] = (4, 3.4)) -> "tuple[Figure, list[Axes]]":
    n_rows = -(-n_panels // n_columns)
    figure = new_figure((size[0] * n_columns, size[1] * n_rows))
    axes = figure.subplots(n_rows, n_columns, squeeze=False).flatten().tolist()
    for spare in axes[n_panels:]:
        spare.set_visible(False)
    return figure, axes[:n_panels]


def _best_by_steps(records: Iterable[Record]) -> dict[int, list[float]]:
    """Return the means over all sizes of every split, by number of steps, of the setting that is best at each."""
    found: dict[int, dict[str, dict[int, list[float]]]] = {}
    for record in records:
        setting = json.dumps(record.parameters | {"n_steps": None}, sort_keys=True)
        splits = found.setdefault(record.parameters["n_steps"], {}).setdefault(setting, {})
        splits.setdefault(record.split, []).append(record.value)
    means = {
        n_steps: [[statistics.fmean(values) for values in splits.values()] for splits in settings.values()]
        for n_steps, settings in sorted(found.items())
    }
    return {n_steps: max(curves, key=statistics.fmean) for n_steps, curves in means.items()}


def _curve(ax: "Axes", values: dict[Any, list[float]], label: str, **style: Any) -> Any:
    """Draw means with their standard errors."""
    errors = [standard_error(each) for each in values.values()]
    means = [statistics.fmean(each) for each in values.values()]
    return ax.errorbar(list(values), means, yerr=errors, label=display_name(label), elinewidth=0.7, **style)


def _name_ends(ax: "Axes", curves: dict[str, Any]) -> None:
    """Write the names of curves beside their last points, moved as little as necessary to avoid overlaps."""
    from sklearn.isotonic import IsotonicRegression

    ends = sorted((curve[0].get_xydata()[-1][::-1].tolist(), name) for name, curve in curves.items())
    low, high = ax.get_ylim()
    gaps = _NAME_HEIGHT * np.arange(len(ends))
    places = [(y - low) / (high - low) for (y, _), _ in ends]
    if ends:
        # Each place is at least a name's height above the one before: a regression on places less those heights.
        fit = IsotonicRegression(y_min=0, y_max=max(0, 1 - gaps[-1]))
        places = fit.fit_transform(gaps, places - gaps) + gaps
    for ((y, x), name), place in zip(ends, places, strict=True):
        colour = curves[name][0].get_color()
        line = {"arrowstyle": "-", "color": colour, "lw": 0.5, "shrinkA": 2, "shrinkB": 2, "relpos": (0, 0.5)}
        ax.annotate(
            display_name(name), (x, y), (1.1, place), "data", "axes fraction", line, va="center", color=colour,
            fontsize=8,
        )  # fmt: skip


def _label(ax: "Axes", panel: Panel, x: str, drawn: Collection[object]) -> None:
    metric = METRICS[panel.metric]
    task = "outlier detection" if panel.problems[0].episodes == "inliers" else "dataset comparison"
    ax.minorticks_off()
    title = f"{panel.data}: {'relative DRE' if panel.metric == 'squared_error' else task}"
    if not drawn:
        tidy(ax, title)
        # The axis has no meaningful scale.
        ax.set_xticks([])
        ax.set_yticks([])
        why = "\n".join(["no records", *textwrap.wrap(panel.absence, 32)])
        ax.text(0.5, 0.5, why, transform=ax.transAxes, ha="center", va="center", color=MUTED)
        return
    tidy(ax, title, x, f"{metric.label} ({'lower' if metric.sign > 0 else 'higher'} is better)")
    ax.grid(color=GRID, linewidth=0.6)


def new_figure(size: tuple[float, float]) -> "Figure":
    """Return an empty figure of a size in inches."""
    from matplotlib.figure import Figure

    # Do not use pyplot, which would keep the figure and choose a backend for the whole program.
    return Figure(figsize=size, dpi=120, layout="constrained")


def tidy(panel: "Axes", title: str, xlabel: str = "", ylabel: str = "") -> None:
    """Title a panel and its axes, and remove unnecessary lines."""
    panel.set_title(title, loc="left", fontsize=10)
    panel.set(xlabel=xlabel, ylabel=ylabel)
    panel.tick_params(colors=MUTED, length=0)
    panel.spines[["top", "right"]].set_visible(False)
