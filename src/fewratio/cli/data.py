"""``fewratio data``: what collections there are, where they are, and what they look like."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fewratio.cli.exchange import AsJson, check_picture, verb
from fewratio.errors import DataNotFoundError, FewRatioError

if TYPE_CHECKING:
    from fewratio.data.registry import SourceInfo

app = typer.Typer(
    name="data", help="Collections of datasets: list, describe, fetch and draw them.", no_args_is_help=True
)

Name = Annotated[str, typer.Argument(help="Name of the source, as `fewratio data list` gives it.")]


@app.command("list")
@verb
def list_sources(as_json: AsJson = False) -> None:
    """List the known collections and whether they are here.

    Example: fewratio data list
    """
    from fewratio.data.registry import SOURCES, source_info

    infos = [source_info(name) for name in SOURCES]
    if as_json:
        typer.echo(json.dumps([asdict(info) for info in infos], indent=2))
        return
    typer.echo(f"{'name':<10} {'datasets':>8} {'rows each':>10} {'features':>8}  here")
    for info in infos:
        typer.echo(
            f"{info.name:<10} {info.n_datasets or '?':>8} {_sizes(info):>10} {info.n_features or '?':>8}  "
            f"{_availability(info)}"
        )


@app.command()
@verb
def info(name: Name, as_json: AsJson = False) -> None:
    """Say what a collection is: datasets, sizes, features, origin, licence, files and checksums.

    Example: fewratio data info digits_r
    """
    from fewratio.data.registry import source_info

    found = source_info(name)
    if as_json:
        typer.echo(json.dumps(asdict(found), indent=2))
        return
    for label, text in _described(found):
        typer.echo(f"{label:<12} {text}")


@app.command()
@verb
def fetch(name: Name) -> None:
    """Make sure that the files of a collection are here, by a download if need be.

    Example: fewratio-bench data fetch isolet
    """
    from fewratio.data.registry import fetch_source, find_source

    try:
        paths = fetch_source(name)
    except DataNotFoundError as error:
        # Nothing is wrong with the call: what it asks for cannot be had.
        raise FewRatioError(str(error)) from error
    if not paths:
        typer.echo(f"{name} needs no file.")
        return
    for path in paths:
        typer.echo(str(path))
    note = find_source(name).status().note
    if note:
        typer.echo(f"fewratio: {note}", err=True)


@app.command()
@verb
def preview(
    name: Name,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Picture to write. [default: NAME.png]")] = None,
) -> None:
    """Draw a collection: thumbnails of images, small multiples of tables.

    Example: fewratio data preview digits_r --output digits.png
    """
    from fewratio.cli.preview import draw_preview
    from fewratio.data.registry import find_source, load_collection

    source = find_source(name)
    path = Path(f"{name}.png") if output is None else output
    check_picture(path, "--output")
    collection = load_collection(name)
    draw_preview(collection, source.image_shape, path)
    typer.echo(f"{collection!r}: {path}")


def _sizes(info: "SourceInfo") -> str:
    return str(info.smallest or "?") if info.smallest == info.largest else f"{info.smallest} to {info.largest}"


def _availability(info: "SourceInfo") -> str:
    if not info.available:
        can = any(file.url for file in info.files)
        return "no; `data fetch` downloads it" if can else "no; to be fetched by hand"
    # The first sentence of a note says it all; the rest is for `info`.
    return f"in part: {info.note.split('. ')[0]}" if info.note and info.found else "yes"


def _described(info: "SourceInfo") -> Iterator[tuple[str, str]]:
    yield "name", info.name
    yield "what", info.description
    yield "datasets", f"{info.n_datasets or '?'} of {_sizes(info)} rows"
    yield "features", str(info.n_features or "?")
    yield "from", info.origin
    yield "licence", info.licence
    for option in info.options:
        values = "" if option.values is None else f"; one of {', '.join(map(repr, option.values))}"
        yield "option", f"{option.name} (default {option.default!r}{values})"
    n_forms = len({file.form for file in info.files})
    if n_forms > 1:
        yield "files", f"in {n_forms} forms, of which one is enough"
    for file in info.files:
        form = f", form {file.form}" if n_forms > 1 else ""
        yield "file", file.path + ("" if file.size is None else f" ({file.size:,} bytes)") + form
        if file.sha256:
            yield "  sha256", file.sha256 + {True: "", None: "", False: "; the file here differs"}[file.as_published]
        if file.url:
            yield "  download", file.url
        if file.found is None:
            yield "  place", file.place
    if info.values_sha256:
        yield "values", f"sha256 {info.values_sha256}, whatever the file"
    yield "here", ", ".join(info.found) or ("yes" if info.available else "no")
    if info.note:
        yield "note", info.note
