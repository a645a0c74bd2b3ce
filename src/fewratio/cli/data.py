"""``fewratio data``: list, describe, fetch and draw collections."""

from pathlib import Path

import typer

from fewratio.cli.frame import Answer, Request, align_columns, check_picture
from fewratio.cli.verb import JSON, Field, Verb
from fewratio.errors import DataNotFoundError, FewRatioError

HELP = "List, describe, download and draw collections of datasets."


def list_sources(request: Request) -> None:
    """List the known collections, and say whether their files are on this machine.

    Example: fewratio data list
    """
    from fewratio.data.registry import SOURCES

    described = [source.describe() for source in SOURCES.values()]
    cells = [("name", "here", "what (`data info` says more)")]
    for each in described:
        cells.append((each["name"], "yes" if each["available"] else "no", each["description"].partition("\n")[0]))
    request.deliver(Answer(list(align_columns(cells)), described, {}))


def info(request: Request, name: str) -> None:
    """Describe a collection: datasets, origin, licence, options and files.

    Example: fewratio data info digits_r
    """
    from fewratio.data.registry import find_source

    found = find_source(name).describe()
    lines = {
        "name": name,
        "from": found["origin"],
        "licence": found["licence"],
        "options": ", ".join(f"{option} (default {default!r})" for option, default in found["options"].items()),
        "here": found["missing"] or ", ".join(found["found"]) or "needs no file",
        "\nwhat": found["description"],
    }
    text = [f"{label:<12} {text}" for label, text in lines.items()]
    request.deliver(Answer(text, found, {}))


def fetch(request: Request, name: str) -> None:
    """Download the files of a collection, unless they are on this machine.

    Example: fewratio data fetch digits_r
    """
    from fewratio.data.registry import find_source

    try:
        paths = find_source(name).files(True)
    except DataNotFoundError as error:
        # The call is right, but the files are not available.
        raise FewRatioError(str(error)) from error
    typer.echo("\n".join(map(str, paths)) or f"{name} needs no file.")


def preview(request: Request, name: str, output: Path | None) -> None:
    """Draw a collection: thumbnails of images, small multiples of tables.

    Example: fewratio data preview digits_r --output digits.png
    """
    from fewratio.cli.preview import draw_preview
    from fewratio.data.registry import find_source, load_collection

    source = find_source(name)
    path = Path(f"{name}.png") if output is None else output
    check_picture(path, "--output")
    collection = load_collection(name)
    draw_preview(collection, source.image_shape).save(path)
    typer.echo(f"{collection!r}: {path}")


_NAME = Field("name", "Name of the source, as `fewratio data list` gives it.", is_positional=True, is_required=True)
_PICTURE = Field("output", "Picture to write. [default: NAME.png]", Path, short="-o")
VERBS = (
    Verb(list_sources, (JSON,), name="list"),
    Verb(info, (_NAME, JSON)),
    Verb(fetch, (_NAME,)),
    Verb(preview, (_NAME, _PICTURE)),
)
