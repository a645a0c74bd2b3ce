"""Records: one JSON line for each measured number, with its circumstances."""

import gzip
import json
import os
import subprocess
import zlib
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from fewratio.core.container import write_atomically
from fewratio.errors import DataFileError

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Record:
    """One measured number.

    Attributes
    ----------
    experiment, data : str
        What was run on what.
    split : int
        Which draw of source, validation and target datasets.
    n_support : int
        Support instances per sample.
    method : str
        Name in the table.
    parameters : dict
        Every setting of the method.
    role : {"target", "validation"}
        Which datasets it was measured on.
    metric : str
        What was measured; the mean over all pairs.
    value : float
        The number.
    seconds : float
        Time of learning (members of an ensemble share it equally) and of evaluating all pairs.
    seed : int
        Seed of the method.
    commit, device : str
        Code and machine.
    """

    experiment: str
    data: str
    split: int
    n_support: int
    method: str
    parameters: dict[str, Any]
    role: str
    metric: str
    value: float
    seconds: float
    seed: int
    commit: str
    device: str

    @cached_property
    def setting(self) -> str:
        """The parameters as text: equal for equal ones."""
        return json.dumps(self.parameters, sort_keys=True)


class RecordFile:
    """A file of records that any number of processes may add to.

    What a compressed file beside it (``.gz`` added to its name) holds comes first; new records go to the file itself.
    Duplicates are ignored.

    Parameters
    ----------
    path : Path
        The file; it need not exist.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def packed(self) -> Path:
        """The compressed file."""
        return self.path.with_name(self.path.name + ".gz")

    def read(self) -> list[Record]:
        """Read all records."""
        return list(self._records().values())

    def pack(self) -> None:
        """Move all records into the compressed file; the same records give the same bytes."""
        with self._lock():
            write_atomically(
                self.packed, gzip.compress("".join(f"{line}\n" for line in self._records()).encode(), mtime=0)
            )
            self.path.unlink(missing_ok=True)

    def append(self, records: Iterable[Record]) -> None:
        """Add records at the end of the file."""
        lines = "".join(json.dumps(asdict(record)) + "\n" for record in records)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._lock(), open(self.path, "a+b") as file:
            _end_last_line(file)
            file.write(lines.encode())
            file.flush()
            os.fsync(file.fileno())

    def _lock(self) -> AbstractContextManager[object]:
        # Not needed to name the circumstances of a record.
        from filelock import FileLock

        return FileLock(self.path.with_name(f".{self.path.name}.lock")).acquire(poll_interval=0.005)

    def _records(self) -> dict[str, Record]:
        """Read all records by their lines."""
        # First the file, then the compressed one: whatever `pack` moves meanwhile is read twice, never missed.
        text = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
        packed: dict[str, Record] = {}
        if self.packed.exists():
            state = self.packed.stat()
            packed = _read_packed(self.packed, state.st_mtime_ns, state.st_size)
        return packed | _parse(text, self.path)


def record_files(folder: Path) -> dict[Path, RecordFile]:
    """Find the files of records in a folder, by their path in it."""
    found = {path.with_name(path.name.removesuffix(".gz")) for path in folder.glob("*/records.jsonl*")}
    return {path.relative_to(folder): RecordFile(path) for path in sorted(found)}


@lru_cache(maxsize=8)
def _read_packed(path: Path, _changed: int, _size: int) -> dict[str, Record]:
    """Read a compressed file, once for each of its states: a page of all tables asks for it again and again."""
    try:
        return _parse(gzip.decompress(path.read_bytes()).decode(), path)
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise DataFileError(f"{path} cannot be unpacked ({error}). Use another copy of it.") from error


def _parse(text: str, path: Path) -> dict[str, Record]:
    """Read records by their lines; a last line that a killed process left incomplete is none."""
    records = {}
    lines = text.splitlines()
    if lines and not text.endswith("\n") and not _is_json(lines[-1]):
        lines.pop()
    for number, line in enumerate(lines, start=1):
        try:
            records[line] = Record(**json.loads(line))
        except (json.JSONDecodeError, TypeError) as error:
            raise DataFileError(
                f"Line {number} of {path} is not a record ({error}). Delete that line and run again."
            ) from error
    return records


def _end_last_line(file: BinaryIO) -> None:
    """Delete a last line that a killed process left incomplete; end one that lacks only its line break."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 1))
    # An empty file has nothing to end.
    if file.read(1) in (b"", b"\n"):
        return
    file.seek(0)
    last = file.read().rpartition(b"\n")[2]
    if _is_json(last):
        file.write(b"\n")
    else:
        file.truncate(size - len(last))


def _is_json(text: str | bytes) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def circumstances(device: "torch.device | None" = None) -> dict[str, str]:
    """Return commit and device, by default the processor, as records hold them."""
    name = "cpu"
    if device is not None and device.type == "cuda":
        import torch

        name = torch.cuda.get_device_name(device)
    return {"commit": os.environ.get("FEWRATIO_COMMIT") or _commit(), "device": name}


def _commit() -> str:
    here = Path(__file__).parent
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--dirty"], cwd=here, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.strip()
