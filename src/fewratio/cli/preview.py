"""Pictures of a collection: thumbnails for images, small multiples for tables."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fewratio.charts.style import FIRST, INK, MUTED, OUTLIER, entitle, new_figure, shortened
from fewratio.cli.frame import as_picture
from fewratio.data.collection import Collection

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_POOLED = "#d1d5db"
_N_PANELS, _N_COLUMNS, _MOST_BINS, _MOST_NAMES = 12, 4, 30, 20


def draw_preview(collection: Collection, image_shape: tuple[int, int] | None, path: Path) -> None:
    """Draw a collection into a picture.

    Parameters
    ----------
    collection : Collection
    image_shape : pair of int or None
        If each row is an image.
    path : Path
        The picture; its ending chooses the format.
    """
    import matplotlib

    from fewratio.core.container import write_atomically

    with matplotlib.rc_context({"font.size": 8, "text.color": INK, "svg.fonttype": "none", "savefig.dpi": 160}):
        figure = _draw_table(collection) if image_shape is None else _draw_images(collection, image_shape)
        entitle(figure, f"{shortened(collection.name, 60)}: {collection.summary}")
        write_atomically(path, as_picture(figure, path))


def _draw_images(collection: Collection, shape: tuple[int, int]) -> "Figure":
    """Draw the first two images of each dataset, as many datasets in a row as the largest group has."""
    width = max(Counter(collection.groups).values())
    n_rows = -(-len(collection) // width)
    figure = new_figure((max(0.9 * width, 6), 0.6 * n_rows + 0.8))
    panels = figure.subplots(n_rows, width, squeeze=False, subplot_kw={"frame_on": False, "xticks": [], "yticks": []})
    for dataset, panel in zip(collection, panels.flat, strict=False):
        images = np.hstack([np.pad(image.reshape(shape), ((0, 0), (0, 1))) for image in dataset.X[:2]])
        panel.imshow(images, cmap="gray_r", vmin=0, vmax=1, interpolation="nearest")
        panel.set_title(shortened(dataset.name, 12), color=MUTED, fontsize=7)
    return figure


def _draw_table(collection: Collection) -> "Figure":
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
    shown = np.unique(np.linspace(0, len(collection) - 1, _N_PANELS).round().astype(int))
    n_rows = -(-len(shown) // _N_COLUMNS)
    # One dataset has no others to differ from, and one feature is in the histograms already.
    with_means = len(collection) > 1 and collection.n_features > 1
    figure = new_figure((9.6, 1.2 * n_rows + 0.8 + 2.5 * with_means))
    grid = figure.add_gridspec(n_rows + 2 * with_means, _N_COLUMNS)
    for i, place in enumerate(shown.tolist()):
        dataset, mine = collection[place], np.split(along, ends)[place]
        panel = figure.add_subplot(grid[divmod(i, _N_COLUMNS)])
        # One dataset before all of them; known outliers as ticks, for they are too few for a histogram.
        outlier = np.zeros(len(mine), bool) if dataset.is_outlier is None else dataset.is_outlier
        for values, colour, fill in ((along, _POOLED, True), (mine[~outlier], FIRST, False)):
            panel.stairs(np.histogram(values, edges)[0] / max(1, len(values)), edges, color=colour, fill=fill)
        panel.plot(mine[outlier], np.zeros(outlier.sum()), "|", color=OUTLIER)
        panel.set_yticks([])
        panel.spines[["top", "right", "left"]].set_visible(False)
        panel.set_title(shortened(dataset.name, 26), loc="left", color=MUTED)
    note = "filled: all datasets; outline: one of them, along the direction in which rows differ most"
    figure.supxlabel(note, color=MUTED, fontsize=8)
    if with_means:
        means = np.array([part.mean(axis=0) for part in np.split(X, ends)])
        limit = max(float(np.quantile(np.abs(means), 0.98)), 0.1)
        panel = figure.add_subplot(grid[n_rows:, :], xlabel="feature", ylabel="dataset")
        image = panel.imshow(means, aspect="auto", cmap="RdBu_r", vmin=-limit, vmax=limit, interpolation="nearest")
        panel.set_title("mean of each dataset, in standard deviations from the mean of all", loc="left", color=MUTED)
        figure.colorbar(image, ax=panel).outline.set_visible(False)
        features = collection.feature_names or range(collection.n_features)
        for set_ticks, names in ((panel.set_xticks, features), (panel.set_yticks, collection.names)):
            few = [shortened(name, 18) for name in names] if len(names) <= _MOST_NAMES else []
            set_ticks(range(len(few)), few)
        panel.tick_params(axis="x", rotation=90 if collection.n_features > _N_COLUMNS else 0)
    return figure
