"""Put the built site into a folder of versions, beside those that are there: ``make site SITE=folder``.

python docs/_ext/publish.py docs/_build/html folder
"""

import json
import shutil
import sys
from pathlib import Path

from packaging.version import InvalidVersion, Version

import fewratio

FRONT = """<!doctype html>
<meta charset="utf-8"><title>fewratio</title><meta http-equiv="refresh" content="0; url=stable/index.html">
"""


def is_version(name):
    try:
        return bool(Version(name))
    except InvalidVersion:
        return False


def publish(built, site, version):
    """Copy a built site to the folder of its version, name all versions in each, and copy the newest to ``stable``."""
    shutil.rmtree(site / version, ignore_errors=True)
    shutil.copytree(built, site / version)
    names = [path.name for path in site.iterdir() if path.is_dir() and is_version(path.name)]
    versions = sorted(names, key=Version, reverse=True)
    for each in versions:
        (site / each / "_static" / "versions.js").write_text(f"const VERSIONS = {json.dumps(versions)};\n", "utf-8")
    stable = next((each for each in versions if not Version(each).is_prerelease), versions[0])
    shutil.rmtree(site / "stable", ignore_errors=True)
    shutil.copytree(site / stable, site / "stable")
    (site / "index.html").write_text(FRONT, "utf-8")
    return versions


if __name__ == "__main__":
    found = publish(Path(sys.argv[1]), Path(sys.argv[2]), fewratio.__version__)
    print(f"{sys.argv[2]}: versions {', '.join(found)}")
