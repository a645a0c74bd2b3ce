"""A table to compare others with later: its rows, and what becomes of its columns, in an Arrow file."""

from __future__ import annotations

import hashlib
import io
import os
from pathlib import Path

from fewratio.core.arguments import as_path
from fewratio.core.container import CHECKSUM, KEY, header_text, parse_header, write_atomically
from fewratio.data import arrow as pa
from fewratio.data.encoding import Encoding
from fewratio.data.raw_table import RawTable
from fewratio.errors import DataFileError, ModelVersionError

SUFFIX = ".fewratio"
_KIND = "reference"


def write_reference(path: str | os.PathLike[str], raw: RawTable, encoding: Encoding) -> None:
    """Write a table with its encoding; nothing in the file is code."""
    columns = {label: pa.array(raw.cells(label)) for label in raw.labels}
    # Read again, so that the checksum is that of what a reader will have.
    table = pa.ipc.open_file(_as_file(pa.table(columns))).read_all()
    text = header_text(_KIND, {"encoding": encoding.to_dict()}).encode()
    marked = table.replace_schema_metadata({KEY: text, CHECKSUM: _checksum(table, text)})
    write_atomically(as_path(path), _as_file(marked))


def read_encoding(path: Path) -> Encoding | None:
    """Return what becomes of the columns of a reference; None for any other table."""
    if path.suffix.lower() != SUFFIX:
        return None
    try:
        with pa.OSFile(str(path)) as file:
            table = pa.ipc.open_file(file).read_all()
        metadata = table.schema.metadata or {}
        text = metadata[KEY.encode()]
        header = parse_header(path, text, (_KIND,))
        if metadata.get(CHECKSUM.encode()) != _checksum(table.replace_schema_metadata(None), text):
            raise ValueError("its contents do not match its checksum")
        return Encoding.from_dict(header["encoding"])
    except ModelVersionError:
        # Nothing is damaged.
        raise
    except (pa.ArrowException, OSError, KeyError, ValueError, TypeError) as error:
        found = f"file {str(path)!r} is no reference, or a damaged one ({error})"
        raise DataFileError(f"{found}; expected what `fewratio reference` wrote. Write it again.") from error


def _as_file(table: pa.Table) -> bytes:
    payload = io.BytesIO()
    with pa.ipc.new_file(payload, table.schema) as writer:
        writer.write_table(table)
    return payload.getvalue()


def _checksum(table: pa.Table, text: bytes) -> bytes:
    return hashlib.sha256(text + _as_file(table)).hexdigest().encode()
