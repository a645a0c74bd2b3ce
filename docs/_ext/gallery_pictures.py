"""Pictures, thumbnails and order of the gallery."""

from pathlib import Path
from weakref import WeakSet

import matplotlib.pyplot as plt
from matplotlib.text import Text
from PIL import Image, ImageOps
from sphinx_gallery.scrapers import figure_rst, matplotlib_scraper
from sphinx_gallery.sorting import FunctionSortKey

from fewratio.charts.chart import Picture

_saved: WeakSet[Picture] = WeakSet()

# By example, the best of a section first: the panels of its last picture that the thumbnail shows, in rows.
THUMBNAILS = {
    "plot_compare_tables": ((2,),),
    "plot_typical_rows": ((0, 1, 2, 3), (8, 9, 10, 11), (16, 17, 18, 19)),
    "plot_columns_that_differ": ((0,),),
    "plot_many_datasets": ((0,),),
    "plot_mixed_table": ((2,),),
    "plot_dataset_index": ((15, 16, 17), (19, 20, 21), (23, 24, 25)),
    "plot_streaming": ((0,),),
    "plot_outliers_few_normals": ((14, 15, 16, 17, 18, 19), (24, 25, 26, 27, 28, 29), (36, 37, 38, 39, 40, 41)),
    "plot_covariate_shift": ((0,),),
    "plot_changes": ((0,),),
    "plot_online_changes": ((0,), (1,)),
    "plot_few_readings": ((2,),),
    "plot_series": ((1,),),
    "plot_summaries": ((0,),),
    "plot_ensemble": ((0,),),
    "plot_permutation_test": ((1,),),
    "plot_relative_ratio": ((1,),),
    "plot_universal_network": ((1,),),
    "plot_how_many_rows": ((4,),),
    "plot_divergence_limit": ((0,),),
    "plot_paper_network": ((1,),),
}
SIZE = 400, 280
# A chart of many marks is drawn this many times as large, then reduced.
ZOOMS = {"plot_many_datasets": 1.9, "plot_divergence_limit": 1.4, "plot_outliers_few_normals": 1.6}

best_first = FunctionSortKey(
    lambda name: list(THUMBNAILS).index(Path(name).stem) if Path(name).stem in THUMBNAILS else -1
)


def save_picture(block, block_vars, gallery_conf):
    """Save the picture that a block of an example ends in."""
    # What the last expression of a block gave; it stays there in blocks that end in none.
    shown = block_vars["example_globals"].get("___")
    if not isinstance(shown, Picture) or shown in _saved:
        return ""
    _saved.add(shown)
    path = next(block_vars["image_path_iterator"])
    shown.save(path)
    if name := _thumbnail(block_vars):
        panels = shown.spec.get("hconcat") or shown.spec.get("vconcat") or [shown.spec]
        ((place,),) = THUMBNAILS[name.stem]
        size = {"width": 0.75 * SIZE[0], "height": 0.75 * SIZE[1], "title": None}
        Picture(_bare(panels[place] | size), "").save(name)
    return figure_rst([path], gallery_conf["src_dir"], shown.spec["title"]["text"])


def save_figure(block, block_vars, gallery_conf):
    """Save the figures of Matplotlib that a block of an example drew."""
    figures = list(map(plt.figure, plt.get_fignums()))
    text = matplotlib_scraper(block, block_vars, gallery_conf)
    if figures and (name := _thumbnail(block_vars)):
        _draw_thumbnail(figures[-1], name, THUMBNAILS[name.stem], ZOOMS.get(name.stem, 0.9))
    return text


def _thumbnail(block_vars):
    """Return the path of the thumbnail of an example, if it gets one."""
    example = Path(block_vars["src_file"])
    folder = Path(block_vars["target_file"]).parent / "images" / "panels"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{example.stem}.png" if example.stem in THUMBNAILS else None


def _draw_thumbnail(figure, path, rows, zoom):
    """Draw some panels of a figure without text, so that a picture of this size shows only its idea."""
    panels = figure.axes
    figure.set_layout_engine("none")
    figure.set_size_inches(zoom * SIZE[0] / 100, zoom * SIZE[1] / 100)
    for ax in panels:
        ax.set_visible(False)
    for text in figure.findobj(Text):
        text.set_visible(False)
    for y, row in enumerate(rows):
        for x, place in enumerate(row):
            ax = panels[place]
            ax.set_visible(True)
            width, height = 0.94 / len(row), 0.94 / len(rows)
            ax.set_position((0.03 + x * width, 0.97 - (y + 1) * height, 0.96 * width, 0.94 * height))
            ax.xaxis.set_visible(False)
            ax.yaxis.set_visible(False)
            if legend := ax.get_legend():
                legend.remove()
    figure.savefig(path, dpi=200 / zoom)


def _bare(node):
    """Remove axes and legends from a specification."""
    if isinstance(node, list):
        return [_bare(each) for each in node]
    if not isinstance(node, dict):
        return node
    gone = {"x": "axis", "y": "axis", "color": "legend", "shape": "legend", "strokeDash": "legend"}
    nodes = {key: _bare(value) for key, value in node.items() if key != "values"}
    for key, part in gone.items():
        if isinstance(nodes.get(key), dict) and nodes[key].keys() & {"field", "datum"}:
            nodes[key] = {**nodes[key], part: None}
    return nodes | {key: value for key, value in node.items() if key == "values"}


def place_thumbnails(app):
    """Put the thumbnails where the gallery has crops of whole pictures."""
    for panel in Path(app.srcdir, "gallery").glob("*/images/panels/*.png"):
        picture = Image.open(panel).convert("RGB")
        drawn = picture.crop(ImageOps.invert(picture).getbbox())
        thumbnail = ImageOps.expand(ImageOps.pad(drawn, (2 * SIZE[0], 2 * SIZE[1]), color="white"), 20, "white")
        thumbnail.save(panel.parents[1] / "thumb" / f"sphx_glr_{panel.stem}_thumb.png", optimize=True)


def setup(app):
    # After the gallery is made.
    app.connect("builder-inited", place_thumbnails, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
