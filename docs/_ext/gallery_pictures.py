"""Pictures, thumbnails and order of the gallery."""

from pathlib import Path
from weakref import WeakSet

from PIL import Image
from sphinx_gallery.scrapers import figure_rst
from sphinx_gallery.sorting import FunctionSortKey

from fewratio.charts.chart import Picture

_saved: WeakSet[Picture] = WeakSet()

# By example, the best of a section first: the part of its last picture that the thumbnail shows, as shares of width and
# height (left, top, right, bottom).
WHOLE = 0, 0, 1, 1
THUMBNAILS = {
    "plot_compare_tables": (0.643, 0, 1, 1),
    "plot_typical_rows": (0, 0.07, 0.51, 1),
    "plot_columns_that_differ": (0, 0.07, 0.5, 0.52),
    "plot_many_datasets": WHOLE,
    "plot_mixed_table": (0.7, 0, 1, 1),
    "plot_dataset_index": (0.55, 0.05, 1, 1),
    "plot_streaming": WHOLE,
    "plot_outliers_few_normals": (0, 0, 0.6, 0.55),
    "plot_covariate_shift": WHOLE,
    "plot_changes": (0, 0.02, 1, 0.5),
    "plot_online_changes": WHOLE,
    "plot_few_readings": (0.58, 0, 0.915, 1),
    "plot_series": (0.34, 0, 0.69, 1),
    "plot_summaries": WHOLE,
    "plot_ensemble": WHOLE,
    "plot_permutation_test": (0.35, 0, 0.68, 1),
    "plot_relative_ratio": (0.36, 0, 0.68, 1),
    "plot_universal_network": (0.34, 0, 0.67, 1),
    "plot_how_many_rows": (0, 0.33, 0.24, 0.64),
    "plot_divergence_limit": WHOLE,
    "plot_paper_network": (0.36, 0, 0.68, 1),
}
SIZE = 400, 280

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
    return figure_rst([path], gallery_conf["src_dir"], shown.spec["title"]["text"])


def cut_thumbnails(app):
    """Make each thumbnail of one panel of the last picture of its example."""
    for name, (left, top, right, bottom) in THUMBNAILS.items():
        for path in Path(app.srcdir, "gallery").glob(f"*/images/thumb/sphx_glr_{name}_thumb.png"):
            if pictures := sorted(path.parents[1].glob(f"sphx_glr_{name}_0*.png")):
                picture = Image.open(pictures[-1]).convert("RGB")
                width, height = picture.size
                part = picture.crop((int(left * width), int(top * height), int(right * width), int(bottom * height)))
                part.thumbnail(SIZE, Image.Resampling.LANCZOS)
                thumbnail = Image.new("RGB", SIZE, "white")
                thumbnail.paste(part, ((SIZE[0] - part.width) // 2, (SIZE[1] - part.height) // 2))
                thumbnail.save(path)


def setup(app):
    # After the gallery is made.
    app.connect("builder-inited", cut_thumbnails, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
