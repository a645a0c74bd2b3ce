"""How much the page accepts, keeps and computes."""

from dataclasses import dataclass
from typing import Any

_MB = 2**20


@dataclass(frozen=True)
class Limits:
    """Limits of the server, in bytes unless stated otherwise.

    Attributes
    ----------
    upload, message : int
        Largest file, and largest request that is not a file.
    disk, files : int
        Total size and number of files kept for all users.
    cells, columns : int
        Largest table.
    members, unpacked : int
        Number of files in an archive or a folder, and their total size.
    memory, file : int
        For one job: memory in addition to libraries, and the largest file that it may write.
    seconds : int
        Longest job.
    running, waiting, per_user : int
        Jobs at once, in the queue, and of one user.
    headers, body : int
        Seconds allowed for the headers of a request, and for a pause within its body.
    unfinished, requests : int
        Connections without a request, and simultaneous requests, per client.
    kept : int
        Seconds that files and results are kept after their last use.
    """

    upload: int = 200 * _MB
    message: int = _MB
    disk: int = 2048 * _MB
    files: int = 20_000
    cells: int = 50_000_000
    columns: int = 10_000
    members: int = 2_000
    unpacked: int = 500 * _MB
    memory: int = 2048 * _MB
    file: int = 500 * _MB
    seconds: int = 600
    running: int = 2
    waiting: int = 32
    per_user: int = 8
    headers: int = 10
    body: int = 30
    unfinished: int = 32
    requests: int = 64
    kept: int = 3600

    def list_for_worker(self) -> dict[str, Any]:
        """Return the limits for a worker."""
        return {
            "tables": {"columns": self.columns, "cells": self.cells},
            **{name: getattr(self, name) for name in ("members", "memory", "seconds", "file")},
        }
