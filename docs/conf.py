"""Settings of the documentation: ``make docs`` builds it, with warnings as errors and without a network."""

import re
import sys
from pathlib import Path

from docutils import nodes

import fewratio

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "fewratio"
author = "The fewratio developers"
copyright = author
release = version = fewratio.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "gallery_pictures",
    "generated",
    "mathml",
    "measured",
    "packages",
    "sample_report",
]
exclude_patterns = ["_build", "_ext", "gallery/**/*.py", "tutorial/**/*.py", "images", "pictures.py"]
templates_path = ["_templates"]
default_role = "py:obj"
smartquotes = False  # They make one dash of the two of an option.
suppress_warnings = ["config.cache"]

# ---------------------------------------------------------------- pages

myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist", "dollarmath", "substitution"]
myst_heading_anchors = 3
html_math_renderer = "mathml"

html_theme = "pydata_sphinx_theme"
html_title = f"{project} {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["versions.js", "switcher.js", "cards.js"]
html_favicon = html_logo = "_static/logo.svg"
html_context = {"default_mode": "auto"}
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": project},
    "navbar_start": ["navbar-logo", "version-switcher"],
    "navbar_align": "left",
    "navigation_with_keys": False,
    "header_links_before_dropdown": 6,
    "show_prev_next": False,
    "secondary_sidebar_items": {"**": ["page-toc"]}
    | dict.fromkeys(("index", "gallery/index", "guides/index", "how/index"), ()),
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {"index": [], "gallery/index": [], "choosing": [], "moving": [], "tutorial/*": []}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# ---------------------------------------------------------------- reference

autosummary_generate = ["reference/python.rst"]
autodoc_typehints = "none"
autodoc_member_order = "groupwise"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# ---------------------------------------------------------------- gallery

sphinx_gallery_conf = {
    "examples_dirs": ["../examples/gallery", "../examples/tutorial"],
    "gallery_dirs": ["gallery", "tutorial"],
    "filename_pattern": r"[/\\]plot_",
    "subsection_order": [
        f"../examples/gallery/{name}" for name in ("compare", "outliers", "time", "learn", "understand")
    ],
    "within_subsection_order": "gallery_pictures.best_first",
    "nested_sections": False,
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("fewratio",),
    "reference_url": {"fewratio": None},
    "image_scrapers": ("gallery_pictures.save_picture", "gallery_pictures.save_figure"),
    "ignore_repr_types": "Picture",
    "reset_modules": ("matplotlib",),
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "remove_config_comments": True,
    "min_reported_time": 5,
    "write_computation_times": False,
    "plot_gallery": "True",
}


def link_pictures(app, doctree):
    """Let pictures lead to their files, to be read on a phone: Sphinx links those that have a size."""
    # Cards of the gallery, which the reference shows too, lead to their examples.
    if not app.env.docname.startswith(("gallery/", "tutorial/", "reference/")):
        for picture in doctree.findall(nodes.image):
            picture.setdefault("width", "100%")


def keep_percent(app, doctree):
    """Keep a number and its per cent sign on one line."""
    for text in list(doctree.findall(nodes.Text)):
        kept = re.sub(r"(?<=\d) (?=%)", "\u00a0", text)
        if kept != text and not isinstance(text.parent, nodes.literal | nodes.literal_block):
            text.parent.replace(text, nodes.Text(kept))


def setup(app):
    """Connect what changes pages."""
    app.connect("doctree-read", link_pictures)
    app.connect("doctree-read", keep_percent)
