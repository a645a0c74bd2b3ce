"""Pictures of a collection: thumbnails for images, small multiples for tables."""

import base64
import struct
import zlib
from collections import Counter
from typing import Any

import numpy as np

from fewratio.charts.chart import Picture, heading, layer, name, number, panel
from fewratio.charts.heat_map import heat_map
from fewratio.charts.style import FIRST, GRID, MUTED, OUTLIER
from fewratio.core.shapes import Floats
from fewratio.core.wording import shorten
from fewratio.data.collection import Collection

_N_PANELS, _N_COLUMNS, _MOST_BINS = 12, 4, 30
# Pixels of a thumbnail of two images.
_THUMB = 56


def draw_preview(collection: Collection, image_shape: tuple[int, int] | None) -> Picture:
    """Draw a collection.

    Parameters
    ----------
    collection : Collection
    image_shape : pair of int or None
        If each row is an image.
    """
    title = f"{shorten(collection.name, 60)}: {collection.summary}"
    content = _draw_table(collection) if image_shape is None else _draw_images(collection, image_shape)
    return Picture({"title": heading(title), **content}, f"{title}.")


def _draw_images(collection: Collection, shape: tuple[int, int]) -> dict[str, Any]:
    """Draw the first two images of each dataset, as many datasets in a row as the largest group has."""
    width = max(Counter(collection.groups).values())
    rows = []
    for place, dataset in enumerate(collection):
        images = np.hstack([np.pad(image.reshape(shape), ((0, 0), (0, 1))) for image in dataset.X[:2]])
        url = f"data:image/png;base64,{base64.b64encode(_png(images)).decode()}"
        rows.append({"i": place // width, "j": place % width, "name": shorten(dataset.name, 12), "url": url})
    places = {"x": name("j", axis=None), "y": name("i", axis=None)}
    layers = [
        layer("image", {**places, "url": name("url")}, width=2 * _THUMB, height=_THUMB, smooth=False),
        layer("text", {**places, "text": name("name")}, dy=-_THUMB / 2 - 7, fontSize=10, color=MUTED),
    ]
    size = {"width": {"step": 2 * _THUMB + 8}, "height": {"step": _THUMB + 22}}
    return {**size, "data": {"values": rows}, "layer": layers}


def _png(image: Floats) -> bytes:
    """Return an image of numbers from 0, white, to 1, black, as a PNG file."""
    pixels = np.uint8(255 * (1 - image.clip(0, 1)))
    lines = np.pad(pixels, ((0, 0), (1, 0))).tobytes()
    header = struct.pack(">IIBBBBB", *pixels.shape[::-1], 8, 0, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(lines)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )


def _draw_table(collection: Collection) -> dict[str, Any]:
    """Draw some datasets along the direction in which instances differ most, and the means of all as a heat map."""
    from sklearn.preprocessing import StandardScaler

    X = StandardScaler().fit_transform(np.concatenate([dataset.X for dataset in collection]))
    ends = np.cumsum(collection.sizes)[:-1]
    axis = np.linalg.eigh(X.T @ X)[1][:, -1]
    # An eigenvector's sign is arbitrary: make its largest entry positive, so that a picture stays the same.
    along = X @ (axis * np.sign(axis[np.abs(axis).argmax()]))
    low, high = np.quantile(along, [0.002, 0.998])
    edges = np.linspace(low, high, min(_MOST_BINS, max(8, len(X) // 20)) + 1)
    along = along.clip(edges[0], edges[-1])
    parts = np.split(along, ends)

    def shares(values: Floats) -> list[float]:
        counts = np.histogram(values, edges)[0] / max(1, len(values))
        return [*counts.round(4).tolist(), round(float(counts[-1]), 4)]

    rows: list[dict[str, Any]] = []
    for place in np.unique(np.linspace(0, len(collection) - 1, _N_PANELS).round().astype(int)).tolist():
        dataset = collection[place]
        # Known outliers as ticks, for they are too few for a histogram.
        outlier = np.zeros(len(parts[place]), bool) if dataset.is_outlier is None else dataset.is_outlier
        label = {"place": place, "dataset": shorten(dataset.name, 26)}
        steps = zip(edges.tolist(), shares(along), shares(parts[place][~outlier]), strict=True)
        rows += [{**label, "x": x, "all": every, "share": share} for x, every, share in steps]
        rows += [{**label, "outlier": x} for x in parts[place][outlier].tolist()]
    x = number("x", scale={"zero": False, "nice": False}, axis={"grid": False, "tickCount": 3})
    y = number("all", axis=None)
    layers = [
        layer("area", {"x": x, "y": y}, interpolate="step-after", color=GRID),
        layer(
            "line", {"x": x, "y": number("share", axis=None)}, interpolate="step-after", color=FIRST, strokeWidth=1.5
        ),
        layer("tick", {"x": number("outlier"), "y": {"value": 78}}, color=OUTLIER, height=8),
    ]
    note = "grey: all datasets; line: one of them; ticks: known outliers; along the direction in which rows differ most"
    panels = {
        "title": {"text": note, "fontWeight": "normal", "color": MUTED, "limit": 900},
        "data": {"values": rows},
        "facet": name("dataset", sort={"field": "place", "op": "min"}, header={"labelAnchor": "start"}),
        "columns": _N_COLUMNS,
        "spec": {"width": 190, "height": 80, "layer": layers},
    }
    # One dataset has no others to differ from, and one feature is in the histograms already.
    if len(collection) == 1 or collection.n_features == 1:
        return panels
    means = np.array([part.mean(axis=0) for part in np.split(X, ends)])
    features = [str(each) for each in collection.feature_names or range(collection.n_features)]
    chart = heat_map(
        ([dataset.name for dataset in collection], features), {"mean": means.round(3).ravel().tolist()},
        ("dataset", "feature", "mean"), "", max(float(np.quantile(np.abs(means), 0.98)), 0.1),
    )  # fmt: skip
    title = "mean of each dataset, in standard deviations from the mean of all"
    return {"vconcat": [panels, panel(chart, title, 790)]}
