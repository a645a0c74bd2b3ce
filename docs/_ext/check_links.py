"""Check that every link of the built site to a page, file or anchor of the site leads somewhere.

python docs/_ext/check_links.py docs/_build/html
"""

import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit


class Page(HTMLParser):
    """The links and anchors of a page."""

    def __init__(self, text):
        super().__init__()
        self.links, self.anchors = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.anchors |= {given[name] for name in ("id", "name") if given.get(name)}
        self.links += [given[name] for name in ("href", "src") if given.get(name)]


@cache
def page(path):
    return Page(path.read_text("utf-8"))


def broken(root):
    """Give the links that lead nowhere, each with its page."""
    # The theme's own templates lie in _static.
    for path in sorted(path for path in root.rglob("*.html") if "_static" not in path.parts):
        for link in page(path).links:
            if urlsplit(link).scheme or link.startswith("//"):
                continue
            place, anchor = urldefrag(unquote(link))
            target = path if not place else (path.parent / urlsplit(place).path).resolve()
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file() or (anchor and target.suffix == ".html" and anchor not in page(target).anchors):
                yield f"{path.relative_to(root)}: {link}"


if __name__ == "__main__":
    found = sorted(set(broken(Path(sys.argv[1]).resolve())))
    print("\n".join(found) or "All links and anchors lead somewhere.")
    sys.exit(bool(found))
