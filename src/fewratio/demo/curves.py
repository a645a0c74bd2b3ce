"""Ratios in one dimension: the truth, the estimates of methods, and the instances they saw."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fewratio.charts.chart import Picture, encode_samples, heading, layer, name, number
from fewratio.charts.style import BLUE, FIRST, INK, OUTLIER, PINK, SECOND
from fewratio.core.shapes import Floats
from fewratio.estimators.quantities import gaussian_relative_ratio

# In the order of the curves: the truth, then the methods; the first of these, which matters most, is a solid line.
_COLOURS, _DASHES = (INK, BLUE, OUTLIER, PINK), ([1, 0], [1, 0], [6, 3], [2, 2])
_INSTANCES = ("numerator's instances", "denominator's instances")
_LEGEND = {"columns": 0, "symbolType": "stroke", "symbolSize": 300, "symbolStrokeWidth": 2}


@dataclass(frozen=True)
class DrawnPair:
    """Two Gaussians, instances of both, and ratios on a grid.

    Attributes
    ----------
    moments : (float, float, float, float)
        Mean and standard deviation of the numerator, then of the denominator.
    nu, de : sequence of float
        The instances that the methods were fitted to.
    curves : dict
        The ratio of each method, by name, at the points of `grid`.
    """

    moments: tuple[float, float, float, float]
    nu: Sequence[float] | Floats
    de: Sequence[float] | Floats
    curves: Mapping[str, Sequence[float] | Floats]

    @property
    def grid(self) -> Floats:
        """The points at which the ratios are drawn."""
        return ratio_grid(self.moments)


def ratio_grid(moments: tuple[float, float, float, float]) -> Floats:
    """Return points that cover both Gaussians."""
    nu_mean, nu_std, de_mean, de_std = moments
    low, high = min(nu_mean - 3 * nu_std, de_mean - 3 * de_std), max(nu_mean + 3 * nu_std, de_mean + 3 * de_std)
    return np.linspace(low, high, 400)


def choose_pairs(errors: Sequence[float]) -> list[int]:
    """Choose four of some pairs, from hard to separate to easy, by the error of the true ratio (less is easier)."""
    ordered = sorted(range(len(errors)), key=lambda number: -errors[number])
    return [ordered[round(share * (len(ordered) - 1))] for share in (0.2, 0.45, 0.7, 0.95)]


def draw_pairs(pairs: Sequence[DrawnPair], title: str, note: str = "") -> Picture:
    """Draw pairs, each with the true ratio; a note goes below the title."""
    rows: list[dict[str, Any]] = []
    for place, pair in enumerate(pairs):
        nu_mean, nu_std, de_mean, de_std = pair.moments
        label = {"place": place, "pair": f"N({nu_mean:.1f}, {nu_std:.1f}²) over N({de_mean:.1f}, {de_std:.1f}²)"}
        true = gaussian_relative_ratio(pair.grid[:, None], *pair.moments)
        for curve, ratio in {"true": true, **pair.curves}.items():
            points = zip(pair.grid.round(4).tolist(), np.round(ratio, 4).tolist(), strict=True)
            rows += [{**label, "sample": curve, "x": x, "ratio": y} for x, y in points]
        for sample, values, level in zip(_INSTANCES, (pair.nu, pair.de), (-0.14, -0.28), strict=True):
            rows += [{**label, "sample": sample, "tick": x, "ratio": level} for x in np.round(values, 4).tolist()]
    curves = ["true", *pairs[0].curves]
    names = [*curves, *_INSTANCES]
    colours = encode_samples(names, (*_COLOURS[: len(curves)], FIRST, SECOND), _LEGEND)
    dashes = encode_samples(names, (*_DASHES[: len(curves)], [1, 0], [1, 0]), _LEGEND)
    x: dict[str, Any] = {"title": "x", "scale": {"zero": False, "nice": False}}
    y = number("ratio", "relative density ratio", scale={"domain": [-0.4, 2.5]}, axis={"values": [0, 0.5, 1, 1.5, 2]})
    lines = layer("line", {"x": number("x", **x), "y": y, "color": colours, "strokeDash": dashes}, strokeWidth=2)
    ticks = layer("tick", {"x": number("tick", **x), "y": y, "color": colours}, height=10, thickness=1.6, opacity=1)
    layers = [
        {**lines, "transform": [{"filter": "isValid(datum.x)"}]},
        {**ticks, "transform": [{"filter": "isValid(datum.tick)"}]},
    ]
    content = {
        "title": heading(title, subtitle=note.splitlines()),
        "data": {"values": rows},
        "facet": name("pair", sort={"field": "place", "op": "min"}, header={"labelAnchor": "start"}),
        "columns": 2,
        "spec": {"width": 380, "height": 220, "layer": layers},
        "resolve": {"scale": {"x": "independent"}},
    }
    return Picture(content, f"{title}: the true ratio, {', '.join(curves[1:])}, and the instances.")
