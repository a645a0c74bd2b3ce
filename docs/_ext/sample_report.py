"""The sample report of the site: two tables of wines, compared as ``fewratio compare --report`` does."""

from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory

from typer.testing import CliRunner


def write_sample_report(path):
    """Write the report of two tables of ``fewratio demo``, and return its path."""
    from fewratio.app import app
    from fewratio.demo.wines import write_wine_tables

    path = Path(path).resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    # The report names the command that makes it again; the folder does not belong there.
    with TemporaryDirectory() as folder, chdir(folder):
        (known, other, _), _ = write_wine_tables(Path(), seed=0)
        done = CliRunner().invoke(app, ["compare", str(known), str(other), "--report", path.name])
        if not done.exit_code:
            path.write_bytes(Path(path.name).read_bytes())
    if done.exit_code:
        raise RuntimeError(done.output)
    return path


def write(app, error):
    if error is None and app.builder.format == "html":
        write_sample_report(Path(app.outdir, "sample-report.html"))


def setup(app):
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
