"""Figures made from records."""

import json
import statistics
import textwrap
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

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


def latent_dimension(folder: Path) -> "Figure":
    """Draw how the paper's method depends on the length K of dataset vectors, with RuLSIF as a line."""
    experiment = EXPERIMENTS["latent-dimension"]
    results = aggregate(experiment, read_records(folder, experiment.problems))
    dims = {name: method.latent_dims[0] for name, method in experiment.rows if isinstance(method, Learned)}
    figure, axes = _panels(len(results), n_columns=4)
    for ax, result in zip(axes, results, strict=True):
        averages = {(row.method, row.selection): row.values[result.columns[-1]] for row in result.rows}
        by_dim = {dims[name]: values for (name, _), values in averages.items() if name in dims and values}
        _curve(ax, by_dim, "Ours", "C0", marker="o")
        if rulsif := averages.get((RULSIF.name, RULSIF.rule)):
            mean, error = statistics.mean(rulsif), standard_error(rulsif)
            ax.axhline(mean, color="C1", linestyle="--", label="RuLSIF, lambda best on test")
            ax.axhspan(mean - error, mean + error, color="C1", alpha=0.2, linewidth=0)
        ax.set_xscale("log", base=2)
        ax.set_xticks(LATENT_DIMS, [str(dim) for dim in LATENT_DIMS])
        _label(ax, result.panel, "length K of the dataset vectors", by_dim)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


def support_size(folder: Path) -> "Figure":
    """Draw how the methods of the three main tables depend on the number of support instances.

    Settings are selected by the rule that the paper uses for the method; for ours, on validation. What a method would
    be with its number of steps on the target selected is in the tables alone.
    """
    tables = [EXPERIMENTS[name] for name in ("relative-dre", "dataset-comparison", "outlier-detection")]
    shown = [replace(table, panels=(panel,)) for table in tables for panel in table.panels if not panel.absence]
    figure, axes = _panels(len(shown), n_columns=3)
    handles: dict[str, Any] = {}
    for ax, experiment in zip(axes, shown, strict=True):
        (result,) = aggregate(experiment, read_records(folder, experiment.problems))
        methods = {name: method for name, method in experiment.rows if name == method.name}
        for row in result.rows:
            method = methods.get(row.method)
            # By the paper's own rule; for methods that are not the paper's, by validation.
            if method and row.selection in (method.rule if method.published else "validation", "none"):
                by_size = {int(size): values for size, values in row.values.items() if size.isdecimal()}
                # A row has the same line in all panels: ten colours, then the same ones dashed, then dotted.
                number = list(handles).index(row.method) if row.method in handles else len(handles)
                style = {"linestyle": ("-", "--", ":")[number // 10 % 3], "marker": "o" if method is OURS else None}
                handles[row.method] = _curve(ax, by_size, row.method, f"C{number % 10}", **style)
        ax.set_xticks(experiment.problems[0].sizes)
        _label(ax, result.panel, "support instances N_S", result.rows)
    figure.legend(handles=list(handles.values()), loc="outside lower center", ncols=6, fontsize="small")
    return figure


def training_curves(folder: Path) -> "Figure":
    """Draw what becomes of networks as they train on a target, with the best of their other settings at each moment."""
    problems: tuple[Problem, ...] = (MNIST_R, ISOLET, LANDMINE, SCHOOL)
    figure, axes = _panels(len(problems), n_columns=2)
    handles: dict[str, Any] = {}
    records = read_records(folder, problems)
    for ax, problem in zip(axes, problems, strict=True):
        shown = [record for record in records[problem.data] if (record.role, record.metric) == ("target", "auc")]
        for number, method in enumerate(_TRAINED_ON_TARGETS):
            if mine := measurements(shown, method, problem):
                handles[method.name] = _curve(ax, _best_by_steps(mine.values()), method.name, f"C{number}")
        ax.set_xscale("log")
        panel = Panel(problem.data, (problem,), "auc")
        _label(ax, panel, "gradient steps on the target", ax.get_legend_handles_labels()[0])
    figure.legend(handles=list(handles.values()), loc="outside lower center", ncols=4)
    return figure


# By name, the title and what draws it.
FIGURES: dict[str, tuple[str, Callable[[Path], "Figure"]]] = {
    "synthetic": ("four unseen pairs of the synthetic data", synthetic_examples),
    "latent-dimension": ("dependence on the length K of the dataset vectors", latent_dimension),
    "support-size": ("dependence on the number of support instances", support_size),
    "training-curves": ("steps on the target, alone or after the sources (best setting at each)", training_curves),
}


def _panels(n_panels: int, n_columns: int) -> "tuple[Figure, list[Axes]]":
    from matplotlib.figure import Figure

    n_rows = -(-n_panels // n_columns)
    figure = Figure(figsize=(4 * n_columns, 3.4 * n_rows), layout="constrained")
    axes = figure.subplots(n_rows, n_columns, squeeze=False).flatten().tolist()
    for spare in axes[n_panels:]:
        spare.set_visible(False)
    return figure, axes[:n_panels]


def _best_by_steps(records: Iterable[Record]) -> dict[int, list[float]]:
    """Give the means over all sizes of every split, by number of steps, of the setting that is best at each."""
    found: dict[int, dict[str, dict[int, list[float]]]] = {}
    for record in records:
        setting = json.dumps(record.parameters | {"n_steps": None}, sort_keys=True)
        splits = found.setdefault(record.parameters["n_steps"], {}).setdefault(setting, {})
        splits.setdefault(record.split, []).append(record.value)
    means = {
        n_steps: [[statistics.mean(values) for values in splits.values()] for splits in settings.values()]
        for n_steps, settings in sorted(found.items())
    }
    return {n_steps: max(curves, key=statistics.mean) for n_steps, curves in means.items()}


def _curve(ax: "Axes", values: dict[Any, list[float]], label: str, colour: str, **style: Any) -> Any:
    """Draw means with their standard errors."""
    errors = [standard_error(each) for each in values.values()]
    means = [statistics.mean(each) for each in values.values()]
    return ax.errorbar(list(values), means, yerr=errors, color=colour, label=display_name(label), capsize=2, **style)


def _label(ax: "Axes", panel: Panel, x: str, drawn: Collection[object]) -> None:
    metric = METRICS[panel.metric]
    task = "outlier detection" if panel.problems[0].episodes == "inliers" else "dataset comparison"
    ax.set_title(f"{panel.data}: {'relative DRE' if panel.metric == 'squared_error' else task}")
    ax.minorticks_off()
    if not drawn:
        # A scale would be made up.
        ax.set_xticks([])
        ax.set_yticks([])
        why = "\n".join(["no records", *textwrap.wrap(panel.absence, 32)])
        ax.text(0.5, 0.5, why, transform=ax.transAxes, ha="center", va="center", color="0.5")
        return
    ax.set_xlabel(x)
    ax.set_ylabel(f"{metric.label} ({'lower' if metric.sign > 0 else 'higher'} is better)")
    ax.grid(alpha=0.3)
