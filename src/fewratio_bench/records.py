"""Records: one JSON line for each measured number, with its circumstances."""

import gzip
import json
import os
import subprocess
import zlib
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from fewratio.core.tensorfile import write_atomically
from fewratio.errors import DataFileError


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
        Support instances a side.
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


class RecordFile:
    """A file of records that only ever grows.

    What a compressed file beside it (``.gz`` added to its name) holds comes first; new records go to the file itself.

    Parameters
    ----------
    path : Path
        The file; it need not exist.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> list[Record]:
        """Give all records."""
        packed: tuple[Record, ...] = ()
        if self.packed.exists():
            state = self.packed.stat()
            packed = _read_packed(self.packed, state.st_mtime_ns, state.st_size)
        return [*packed, *_parse(self._text(), self.path)]

    @property
    def packed(self) -> Path:
        """The compressed file."""
        return self.path.with_name(self.path.name + ".gz")

    def pack(self) -> None:
        """Move all records into the compressed file; the same records give the same bytes."""
        text = self._packed() + self._text()
        write_atomically(self.packed, gzip.compress(text.encode(), mtime=0))
        self.path.unlink(missing_ok=True)

    def _packed(self) -> str:
        return _unpacked(self.packed) if self.packed.exists() else ""

    def add_new(self, records: list[Record]) -> None:
        """Add those of some records that are not here yet."""
        known = {json.dumps(asdict(record)) for record in self.read()}
        self.append([record for record in records if json.dumps(asdict(record)) not in known])

    def append(self, records: list[Record]) -> None:
        """Add records, all or none of them: what a run that is cut off has not added, it measures again."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = self._text()
        # A file that was edited or copied by hand may have lost the end of its last line.
        between = "\n" if text and not text.endswith("\n") else ""
        added = "".join(json.dumps(asdict(record)) + "\n" for record in records)
        write_atomically(self.path, (text + between + added).encode())

    def _text(self) -> str:
        return self.path.read_text(encoding="utf-8") if self.path.exists() else ""


def record_files(folder: Path) -> dict[Path, RecordFile]:
    """Find the files of records in a folder, by their path in it."""
    found = {path.with_name(path.name.removesuffix(".gz")) for path in folder.glob("*/records.jsonl*")}
    return {path.relative_to(folder): RecordFile(path) for path in sorted(found)}


def _unpacked(path: Path) -> str:
    try:
        return gzip.decompress(path.read_bytes()).decode()
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise DataFileError(f"{path} cannot be unpacked ({error}). Use another copy of it.") from error


@lru_cache(maxsize=8)
def _read_packed(path: Path, _changed: int, _size: int) -> tuple[Record, ...]:
    """Read a compressed file, once for each of its states: a page of all tables asks for it again and again."""
    return tuple(_parse(_unpacked(path), path))


def _parse(text: str, path: Path) -> list[Record]:
    records = []
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            records.append(Record(**json.loads(line)))
        except (json.JSONDecodeError, TypeError) as error:
            raise DataFileError(
                f"Line {number} of {path} is not a record ({error}). Delete that line and run again."
            ) from error
    return records


def circumstances(device: torch.device) -> dict[str, str]:
    """Give commit and device, as records hold them."""
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
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
