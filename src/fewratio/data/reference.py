"""A table to compare others with later: its rows, and what becomes of its columns, in an Arrow file."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

from fewratio.core.tensorfile import write_atomically
from fewratio.data import arrow as pa
from fewratio.data.encoding import Encoding
from fewratio.data.raw import RawTable
from fewratio.errors import DataFileError

SUFFIX = ".fewratio"
_KEY = b"fewratio.encoding"


def write_reference(path: str | os.PathLike[str], raw: RawTable, encoding: Encoding) -> None:
    """Write a table with its encoding; nothing in the file is code."""
    columns = {label: pa.array(raw.cells(label)) for label in raw.labels}
    table = pa.table(columns, metadata={_KEY: json.dumps(encoding.to_dict()).encode()})
    payload = io.BytesIO()
    with pa.ipc.new_file(payload, table.schema) as writer:
        writer.write_table(table)
    write_atomically(Path(path), payload.getvalue())


def encoding_of(path: Path) -> Encoding | None:
    """Return what becomes of the columns of a reference; None for any other table."""
    if path.suffix.lower() != SUFFIX:
        return None
    try:
        with pa.OSFile(str(path)) as file:
            metadata = pa.ipc.open_file(file).schema.metadata or {}
        return Encoding.from_dict(json.loads(metadata[_KEY]))
    except (pa.ArrowException, OSError, KeyError, ValueError, TypeError) as error:
        found = f"file {str(path)!r} is no reference, or a damaged one ({error})"
        raise DataFileError(f"{found}; needed is what `fewratio reference` wrote. Write it anew.") from error
