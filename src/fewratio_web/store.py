"""Files and jobs of all users: kept in one private folder, sent only to their owner, removed after a while."""

import asyncio
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fewratio_web.limits import Limits

STATES = ("queued", "running", "done", "failed", "cancelled")


@dataclass
class File:
    """An uploaded table, model or folder, an example, or a result."""

    id: str
    owner: str | None
    name: str
    path: Path
    n_files: int = 1
    used: float = field(default_factory=time.monotonic)

    def describe(self) -> dict[str, Any]:
        """Return the description for a user."""
        n_files = self.n_files if self.path.is_dir() else None
        return {"id": self.id, "name": self.name, "bytes": _size(self.path), "files": n_files}


@dataclass
class Job:
    """A command line that waits, runs or has run, in its own folder."""

    id: str
    owner: str
    verb: str
    shell: str
    python: str
    folder: Path
    state: str = "queued"
    progress: dict[str, Any] | None = None
    message: str | None = None
    notes: list[str] = field(default_factory=list)
    files: list[File] = field(default_factory=list)
    seconds: float | None = None
    started: float | None = None
    used: float = field(default_factory=time.monotonic)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    task: "asyncio.Task[None] | None" = None

    def tell(self, **news: Any) -> None:
        """Update the job, and wake requests that wait for it."""
        for name, value in news.items():
            setattr(self, name, value)
        self.used = time.monotonic()
        self.changed.set()
        self.changed = asyncio.Event()

    @property
    def is_over(self) -> bool:
        """Whether the job has ended."""
        return self.state in STATES[2:]


class Store:
    """All files and jobs."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        # Only this user may enter it.
        self.root = Path(tempfile.mkdtemp(prefix="fewratio-"))
        self.files: dict[str, File] = {}
        self.jobs: dict[str, Job] = {}
        self._counted, self._bytes, self._reserved = 0.0, 0, 0

    @contextmanager
    def new_folder(self) -> Iterator[Path]:
        """Make a folder with a name that cannot be guessed; remove it if the block fails."""
        folder = self.root / secrets.token_urlsafe(16)
        folder.mkdir(mode=0o700)
        try:
            yield folder
        except BaseException:
            shutil.rmtree(folder)
            raise

    def add(self, owner: str | None, path: Path, n_files: int = 1, id: str | None = None) -> File:
        """Keep a file, or a folder of `n_files`, and give it an id."""
        file = File(id or secrets.token_urlsafe(16), owner, path.name, path, n_files)
        self.files[file.id] = file
        return file

    @property
    def is_full(self) -> bool:
        """Whether there is no room left; counted once a second, as there may be many files."""
        # While archives are unpacked, their reserved room counts, not what is already there.
        if not self._reserved and time.monotonic() - self._counted > 1:
            self._counted, self._bytes = time.monotonic(), _size(self.root)
        n_files = sum(max(1, file.n_files) for file in self.files.values())
        return self._bytes + self._reserved > self.limits.disk or n_files > self.limits.files

    @contextmanager
    def reserve(self, most: int) -> Iterator[int]:
        """Reserve room for new files, and yield its bytes: `most`, or all that is left."""
        if not self._reserved:
            self._counted, self._bytes = time.monotonic(), _size(self.root)
        size = max(0, min(most, self.limits.disk - self._reserved - self._bytes))
        self._reserved += size
        try:
            yield size
        finally:
            self._reserved -= size
            self._counted = 0.0

    def forget(self) -> None:
        """Remove files and jobs that were last used longer ago than the limits allow."""
        oldest = time.monotonic() - self.limits.kept
        # Examples are shared, and a job may wait long before it uses its tables or its model.
        busy = {None, *(job.owner for job in self.jobs.values() if not job.is_over)}
        idle = [each for each in self.jobs.values() if each.owner not in busy]
        for job in [each for each in idle if max([each.used, *(file.used for file in each.files)]) <= oldest]:
            del self.jobs[job.id]
            for result in job.files:
                self.files.pop(result.id, None)
            shutil.rmtree(job.folder, ignore_errors=True)
        needed = {file.id for job in self.jobs.values() for file in job.files}
        for file in [each for each in self.files.values() if each.used <= oldest]:
            if file.id not in needed and file.owner not in busy:
                del self.files[file.id]
                shutil.rmtree(file.path.parent, ignore_errors=True)

    def close(self) -> None:
        """Remove everything."""
        shutil.rmtree(self.root, ignore_errors=True)


def _size(path: Path) -> int:
    """Return the bytes of a file, or of all in a folder; links are not followed."""
    found = [path] if path.is_file() else [Path(folder, name) for folder, _, names in os.walk(path) for name in names]
    total = 0
    for each in found:
        # Workers remove files at any time.
        with suppress(FileNotFoundError):
            total += each.lstat().st_size
    return total
