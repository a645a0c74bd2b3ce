"""Worker processes: one task each, some of them warm, any of them can be killed."""

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from fewratio.web.limits import Limits

STDERR = "messages.txt"
# Exit status of a worker after an error that is not the user's.
CRASHED = 1
_INTERNAL = "The work ended unexpectedly, by a mistake of the program; needed is a fewratio without it. Report it."


class Workers:
    """Processes that do tasks.

    Parameters
    ----------
    command : sequence of str
        Starts one; it is told its task as a line of JSON.
    limits : Limits
    root : Path
        Where everything is kept: no message names it.
    """

    def __init__(self, command: Sequence[str], limits: Limits, root: Path) -> None:
        self.command, self.limits, self.root = command, limits, root
        self._slots = asyncio.Semaphore(limits.running)
        self._spare: deque[Process] = deque()
        self._all: set[Process] = set()

    async def refill(self) -> None:
        """Start processes until enough wait for work."""
        while len(self._spare) < self.limits.spare:
            self._spare.append(await self._start("--warm"))

    async def run(self, task: Mapping[str, Any], report: Callable[[dict[str, Any] | None], None]) -> str | None:
        """Do a task when it is its turn; return what went wrong, or None.

        Parameters
        ----------
        task : mapping
            See `fewratio.cli.worker`; ``folder`` is where messages are left.
        report : callable
            Told None at the start, then how far it is.
        """
        async with self._slots:
            report(None)
            process = self._spare.popleft() if self._spare else await self._start()
            try:
                async with asyncio.timeout(self.limits.seconds):
                    status = await self._attend(process, task, report)
            except TimeoutError:
                return (
                    f"The work took longer than {self.limits.seconds} s; no more is given to one job. Use fewer rows, "
                    "or run the command yourself."
                )
            finally:
                await self._end(process)
                # Not before: it would take a core from the work.
                await self.refill()
        return None if status == 0 else self._message(Path(task["folder"]), status)

    async def close(self) -> None:
        """End all processes."""
        for process in list(self._all):
            await self._end(process)

    def messages(self, folder: Path) -> list[str]:
        """Return what a task said besides its answer, without places of this machine."""
        text = (folder / STDERR).read_text("utf-8", "replace") if (folder / STDERR).exists() else ""
        for place in (str(folder), str(self.root), str(Path.home())):
            text = text.replace(f"{place}{os.sep}", "").replace(place, "")
        return [line.removeprefix("fewratio: ") for line in text.splitlines() if line.startswith("fewratio: ")]

    async def _start(self, *options: str) -> Process:
        # One thread each: more of them than cores slow all down.
        environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONUTF8": "1"}
        process = await asyncio.create_subprocess_exec(
            *self.command, *options, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=environment, start_new_session=True
        )
        self._all.add(process)
        return process

    async def _attend(
        self, process: Process, task: Mapping[str, Any], report: Callable[[dict[str, Any] | None], None]
    ) -> int:
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(ConnectionError):
            process.stdin.write(
                json.dumps({"limits": self.limits.of_task(), "stderr": STDERR, **task}).encode() + b"\n"
            )
            await process.stdin.drain()
        async for line in process.stdout:
            report(json.loads(line))
        return await process.wait()

    async def _end(self, process: Process) -> None:
        """Kill a process and those that it started, if it is still there."""
        self._all.discard(process)
        if process.returncode is None:
            with suppress(ProcessLookupError):
                if hasattr(os, "killpg"):
                    os.killpg(process.pid, signal.SIGKILL)
                else:
                    process.kill()
        await process.wait()

    def _message(self, folder: Path, status: int) -> str:
        """Say why a task failed."""
        if status < 0:
            return (
                "The work was ended by the system: it needs more memory or time than there is for it. Use fewer rows "
                "or columns, or run the command yourself."
            )
        said = self.messages(folder)
        if said and status != CRASHED:
            return said[-1]
        # For whoever runs the server.
        sys.stderr.write((folder / STDERR).read_text("utf-8", "replace") if (folder / STDERR).exists() else "")
        return _INTERNAL
