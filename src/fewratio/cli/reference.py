"""``fewratio reference``."""

from pathlib import Path

from fewratio.cli import frame
from fewratio.cli.verb import COLUMNS, JSON, MARKS, Verb, declare_file, declare_table


def reference(request: frame.Request, table: Path, output: Path) -> None:
    """Save a table and how its columns are read, so that `fewratio compare` can compare later tables with it.

    Example: fewratio reference january.csv -o january.fewratio; fewratio compare new.csv january.fewratio
    """
    from fewratio.core.wording import write_count
    from fewratio.data.columns import ColumnRules
    from fewratio.data.encoding import Encoding
    from fewratio.data.reference import SUFFIX, write_reference

    frame.check_target(output, "--output", table, endings=(SUFFIX,))
    (raw,), _ = request.read(table)
    encoding = Encoding.learn([raw], ColumnRules.of(request.options(raw)))
    write_reference(output, raw, encoding)
    rows = write_count(raw.n_rows, "row")
    lines = [f"{frame.make_label(table)} ({rows})", f"columns     {encoding.summary}", f"Reference: {output}"]
    request.deliver(frame.Answer(lines, {"reference": str(output), "encoding": encoding.to_dict()}, {}))


VERB = Verb(
    reference,
    (
        declare_table("table", "Table to compare later ones with; - reads CSV from standard input."),
        declare_file("File for the reference, ending in .fewratio."),
        *(*COLUMNS, *MARKS, JSON),
    ),
)
