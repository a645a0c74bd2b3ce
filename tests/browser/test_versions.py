"""The site's menu of versions works when its pages are opened from files."""

import json
import shutil
from pathlib import Path

STATIC = Path(__file__).parents[2] / "docs" / "_static"
# What the theme's template and Sphinx put on a page.
PAGE = """<!doctype html><html data-content_root="../"><title>page</title><link rel="icon" href="data:,">
<script>const DOCUMENTATION_OPTIONS = { VERSION: "0.2.0" };</script>
<script src="../_static/versions.js"></script><script src="../_static/switcher.js"></script>
<button class="version-switcher__button">Choose</button><div class="version-switcher__menu"></div></html>"""


def opened(visit, folder, versions):
    """Give what the button and the menu of a page in a folder say, and where its links lead."""
    (folder / "_static").mkdir(parents=True, exist_ok=True)
    (folder / "guides").mkdir(exist_ok=True)
    shutil.copy(STATIC / "switcher.js", folder / "_static")
    (folder / "_static" / "versions.js").write_text(f"const VERSIONS = {json.dumps(versions)};")
    page = folder / "guides" / "page.html"
    page.write_text(PAGE)
    with visit(page.as_uri()) as shown:
        links = shown.locator(".version-switcher__menu a").all()
        said = shown.locator("button").inner_text(), shown.locator("a.active").inner_text()
        return *said, [(link.inner_text(), (page.parent / link.get_attribute("href")).resolve()) for link in links]


def test_the_menu_leads_to_the_versions_beside_this_one(tmp_path, visit):
    site = tmp_path.resolve()
    links = [("0.3.0", site / "0.3.0" / "index.html"), ("0.2.0", site / "0.2.0" / "index.html")]
    assert opened(visit, site / "0.2.0", ["0.3.0", "0.2.0"]) == ("0.2.0", "0.2.0", links)


def test_a_site_that_lies_alone_names_itself(tmp_path, visit):
    site = tmp_path.resolve()
    assert opened(visit, site / "html", []) == ("0.2.0", "0.2.0", [("0.2.0", site / "html" / "index.html")])
