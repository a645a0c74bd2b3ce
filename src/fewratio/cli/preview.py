"""Pictures of a collection: thumbnails for images, small multiples for tables."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fewratio.data.collection import Collection
from fewratio.data.columns import counted
from fewratio.errors import DataNotFoundError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, MUTED, GRID = "#1f2328", "#6b7280", "#e5e7eb"
NORMAL, OUTLIER, POOLED = "#0072b2", "#d55e00", "#d1d5db"
N_PANELS = 12
PANEL_HEIGHT, MAP_HEIGHT = 1.2, 2.7  # inches
MOST_BINS = 30


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

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    style: dict[Any, Any] = {"font.family": "sans-serif", "font.size": 9, "text.color": INK, "svg.fonttype": "none"}
    with plt.rc_context(style):
        figure = _draw_table(collection) if image_shape is None else _draw_images(collection, image_shape)
        try:
            figure.savefig(path, dpi=160, metadata={"Date": None} if path.suffix.lower() == ".svg" else None)
        except OSError as error:
            raise DataNotFoundError(
                f"{path} cannot be written ({error.strerror}). Give another file with --output."
            ) from error
        finally:
            plt.close(figure)


# ---------------------------------------------------------------- images


def _draw_images(collection: Collection, shape: tuple[int, int]) -> "Figure":
    """One row for each group, one column for each dataset of it: the first two images."""
    import matplotlib.pyplot as plt

    groups = list(dict.fromkeys(collection.groups))
    members = {group: [dataset for dataset in collection if dataset.group == group] for group in groups}
    n_columns = max(map(len, members.values()))
    figure, panels = plt.subplots(
        len(groups), n_columns, figsize=(0.92 * n_columns + 1.0, 0.55 * len(groups) + 0.9), squeeze=False
    )
    for panel in panels.flat:
        panel.set_axis_off()
    for row, (group, datasets) in enumerate(members.items()):
        for panel, dataset in zip(panels[row], datasets, strict=False):
            pair = [image.reshape(shape) for image in dataset.X[:2]]
            gap = np.full((shape[0], 1), np.nan)
            panel.imshow(np.hstack([pair[0], gap, *pair[1:]]), cmap="gray_r", vmin=0, vmax=1, interpolation="nearest")
        panels[row, 0].text(-0.12, 0.5, group, transform=panels[row, 0].transAxes, ha="right", va="center", color=MUTED)
    for panel, dataset in zip(panels[0], members[groups[0]], strict=False):
        panel.set_title(dataset.name.rsplit("-", 1)[-1], color=MUTED, fontsize=9, pad=4)
    _title(figure, collection, "the first two images of each dataset")
    figure.subplots_adjust(left=0.09, right=0.985, bottom=0.03, top=0.8, wspace=0.12, hspace=0.12)
    return figure


# ---------------------------------------------------------------- tables


def _draw_table(collection: Collection) -> "Figure":
    """Draw some datasets along the direction in which instances differ most, and all means as a heat map."""
    import matplotlib.pyplot as plt
    from matplotlib.patches import Patch

    shown = np.unique(np.linspace(0, len(collection) - 1, N_PANELS).round().astype(int))
    n_columns = min(4, len(shown))
    n_rows = -(-len(shown) // n_columns)
    height = PANEL_HEIGHT * n_rows + 0.95
    # One dataset has no others to differ from, and one feature is in the histograms already.
    if len(collection) > 1 and collection.n_features > 1:
        figure = plt.figure(figsize=(9.6, height + MAP_HEIGHT))
        top, bottom = figure.subfigures(2, 1, squeeze=False, height_ratios=[height, MAP_HEIGHT])[:, 0]
        _heat_map(bottom, collection)
    else:
        figure = top = plt.figure(figsize=(9.6, height))
    panels = top.subplots(n_rows, n_columns, sharex=True, squeeze=False).ravel()
    _histograms(panels, collection, shown)
    for panel in panels[len(shown) :]:
        panel.set_axis_off()
    words = [] if len(shown) == len(collection) else [f"{len(shown)} of them"]
    words += ["standardised" if collection.n_features == 1 else "along the first principal component"]
    _title(top, collection, " ".join(words))
    top.subplots_adjust(left=0.03, right=0.97, top=1 - 0.8 / height, bottom=0.3 / height, hspace=0.5, wspace=0.1)
    labelled = collection[0].is_outlier is not None
    kinds = {"all datasets": POOLED, "normal" if labelled else "the dataset": NORMAL}
    kinds |= {"outlier": OUTLIER} if labelled else {}
    handles = [Patch(color=colour) for colour in kinds.values()]
    top.legend(handles, kinds, loc="upper right", ncols=3, frameon=False, fontsize=8.5, labelcolor=MUTED)
    return figure


def _histograms(panels: "Sequence[Axes]", collection: Collection, shown: NDArray[Any]) -> None:
    scores = _first_component(collection)
    pooled = np.concatenate(scores)
    low, high = np.quantile(pooled, [0.002, 0.998])
    edges = np.linspace(low, high, min(MOST_BINS, max(8, len(pooled) // 20)) + 1)
    for place, panel in zip(shown, panels, strict=False):
        dataset = collection[int(place)]
        _histogram(panel, scores[place], pooled, dataset.is_outlier, edges)
        panel.set_title(_short(dataset.name), loc="left", fontsize=8.5, color=MUTED, pad=3)


def _first_component(collection: Collection) -> list[NDArray[np.float64]]:
    """Give each instance's place along the first principal component of standardised features."""
    X = np.concatenate([dataset.X for dataset in collection]).astype(np.float64)
    spread = X.std(axis=0)
    X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1)
    _, axes = np.linalg.eigh(X.T @ X)
    axis = axes[:, -1]
    # An eigenvector's sign is arbitrary: make its largest entry positive, so that a picture stays the same.
    axis = axis * np.sign(axis[np.abs(axis).argmax()])
    return np.split(X @ axis, np.cumsum(collection.sizes)[:-1])


def _histogram(
    panel: "Axes",
    scores: NDArray[Any],
    pooled: NDArray[Any],
    is_outlier: NDArray[np.bool_] | None,
    edges: NDArray[Any],
) -> None:
    middles, width = (edges[:-1] + edges[1:]) / 2, edges[1] - edges[0]

    def shares(values: NDArray[Any], n: int) -> NDArray[Any]:
        return np.histogram(np.clip(values, edges[0], edges[-1]), edges)[0] / n

    panel.bar(middles, shares(pooled, len(pooled)), width, color=POOLED, lw=0)
    normal = scores if is_outlier is None else scores[~is_outlier]
    panel.stairs(shares(normal, len(normal)), edges, color=NORMAL, lw=1.3)
    if is_outlier is not None:
        # Ticks, one each: they are too few for a histogram.
        outliers = np.clip(scores[is_outlier], edges[0], edges[-1])
        panel.plot(
            outliers,
            np.full(len(outliers), -0.07),
            "|",
            color=OUTLIER,
            ms=5,
            mew=0.9,
            clip_on=False,
            transform=panel.get_xaxis_transform(),
        )
        panel.tick_params(pad=10)
    panel.set_yticks([])
    panel.tick_params(colors=MUTED, length=0, labelsize=7.5)
    for side in ("top", "right", "left"):
        panel.spines[side].set_visible(False)
    panel.spines["bottom"].set_color(GRID)
    panel.margins(x=0.01)


def _heat_map(figure: Any, collection: Collection) -> None:
    means = np.array([dataset.X.mean(axis=0) for dataset in collection], dtype=np.float64)
    spread = np.concatenate([dataset.X for dataset in collection]).std(axis=0)
    relative = (means - means.mean(axis=0)) / np.where(spread > 0, spread, 1)
    limit = max(float(np.quantile(np.abs(relative), 0.98)), 1e-9)
    panel = figure.subplots()
    image = panel.imshow(relative, aspect="auto", cmap="RdBu_r", vmin=-limit, vmax=limit, interpolation="nearest")
    panel.set_title(
        "mean of each dataset, in standard deviations from the mean of all", loc="left", fontsize=9, color=MUTED
    )
    panel.set_xlabel(f"feature (1 to {collection.n_features})", color=MUTED)
    panel.set_ylabel("dataset", color=MUTED)
    panel.set_xticks([])
    panel.set_yticks([])
    for side in panel.spines.values():
        side.set_color(GRID)
    bar = figure.colorbar(image, ax=panel, pad=0.012, fraction=0.025)
    bar.outline.set_visible(False)
    bar.ax.tick_params(colors=MUTED, length=0, labelsize=8)
    figure.subplots_adjust(left=0.05, right=0.97, top=0.86, bottom=0.12)


def _title(figure: Any, collection: Collection, subtitle: str) -> None:
    height = figure.bbox.height / figure.figure.dpi
    low, high = collection.sizes.min(), collection.sizes.max()
    rows = counted(low, "row") if low == high else f"{low} to {high} rows"
    counts = f"{counted(len(collection), 'dataset')} of {rows}, {counted(collection.n_features, 'feature')}"
    figure.text(0.02, 1 - 0.14 / height, collection.name, weight="bold", fontsize=12, va="top")
    figure.text(0.02, 1 - 0.36 / height, "; ".join(filter(None, [counts, subtitle])), color=MUTED, va="top")


def _short(name: str, longest: int = 28) -> str:
    return name if len(name) <= longest else name[: longest - 1] + "…"
