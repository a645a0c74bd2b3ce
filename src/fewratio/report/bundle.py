"""The JavaScript that draws charts, from a package; cached in a file, since building it takes seconds."""

import os
from contextlib import suppress
from pathlib import Path

from fewratio.core.container import write_atomically
from fewratio.lazy import import_home


def chart_script() -> str:
    """Return a script that sets ``window.vegaEmbed``."""
    vl_convert = import_home("vl_convert", "A report with charts")
    file = None
    with suppress(OSError, RuntimeError, UnicodeDecodeError):
        # RuntimeError: there is no home folder.
        file = _cache_folder() / f"vega-{vl_convert.__version__}-{vl_convert.get_vega_embed_version()}.js"
        return file.read_text(encoding="utf-8")
    # A "</script" within the code would end this element; in a JavaScript string the backslash changes nothing.
    script = vl_convert.javascript_bundle().replace("</script", "<\\/script")
    if file is not None:
        with suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(file, script.encode())
    return script


def _cache_folder() -> Path:
    """Return the user's cache folder."""
    given = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return (Path(given) if given else Path.home() / ".cache") / "fewratio"
