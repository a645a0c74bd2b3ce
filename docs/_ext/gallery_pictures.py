"""Pictures of results in the gallery."""

from weakref import WeakSet

from sphinx_gallery.scrapers import figure_rst

from fewratio.charts.chart import Picture

_saved: WeakSet[Picture] = WeakSet()


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
