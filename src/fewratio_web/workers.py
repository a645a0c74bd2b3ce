"""Worker processes: one task each, forked from one that has imported what they need; any can be killed."""

import asyncio
import json
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from multiprocessing import connection
from pathlib import Path
from typing import Any

from fewratio_web.limits import Limits

Work = Callable[[connection.Connection, Mapping[str, Any]], None]
OnMessage = Callable[[dict[str, Any] | None], None]

STDERR = "messages.txt"
# Exit status of a worker after an error that is not the user's.
CRASHED = 1
_MOST_BYTES_OF_REPORT = 10_000
_INTERNAL = "The work failed because of a bug in fewratio. Report what you did, or try another version."


class Workers:
    """Processes that do tasks.

    Parameters
    ----------
    work : callable
        The work of a process, called with a channel for reports and the task.
    limits : Limits
    root : Path
        Folder for everything; no message names it.
    preload : sequence of str
        Modules to import once, before processes are forked.
    """

    def __init__(self, work: Work, limits: Limits, root: Path, preload: Sequence[str] = ()) -> None:
        self.work, self.limits, self.root = work, limits, root
        # Windows cannot fork.
        method = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
        self._context: Any = multiprocessing.get_context(method)
        self._context.set_forkserver_preload([*preload])
        self._slots = asyncio.Semaphore(limits.running)
        # Starting a process asks for the exit status of all others, which can be read only once: whoever came second
        # would take it for a failure.
        self._statuses = threading.Lock()

    async def run(self, task: Mapping[str, Any], report: OnMessage) -> str | None:
        """Do a task when its turn comes; return what went wrong, or None.

        Parameters
        ----------
        task : mapping
            See `fewratio_web.worker`; messages go to ``folder``.
        report : callable
            Called with None at the start, then with the progress.
        """
        async with self._slots:
            report(None)
            try:
                async with asyncio.timeout(self.limits.seconds):
                    status = await self._attend(
                        {"limits": self.limits.list_for_worker(), "stderr": STDERR, **task}, report
                    )
            except TimeoutError:
                return (
                    f"The work took longer than {self.limits.seconds} s, the most for one job. Use fewer rows, "
                    "or run the command yourself."
                )
            except OSError as error:
                return f"The system could not start the work ({error.strerror}). Try again soon."
        return None if status == 0 else self._message(Path(task["folder"]), status)

    def messages(self, folder: Path) -> list[str]:
        """Return the messages of a task, without paths on this machine."""
        text = (folder / STDERR).read_text("utf-8", "replace") if (folder / STDERR).exists() else ""
        for place in (str(folder), str(self.root), str(Path.home())):
            text = text.replace(f"{place}{os.sep}", "").replace(place, "")
        return [line.removeprefix("fewratio: ") for line in text.splitlines() if line.startswith("fewratio: ")]

    async def _attend(self, task: Mapping[str, Any], report: OnMessage) -> int:
        """Let a process do a task, and return its exit status; if this is cancelled, it is killed."""
        receiver, sender = self._context.Pipe(duplex=False)
        process = self._context.Process(target=self.work, args=(sender, task), daemon=True)
        loop, is_over = asyncio.get_running_loop(), threading.Event()

        def live() -> int:
            with receiver:
                with sender, self._statuses:
                    process.start()
                if is_over.is_set():
                    _kill(process)
                # Anything but a report ends the reading; the process is killed when its time is up.
                with suppress(EOFError, OSError, ValueError, RecursionError):
                    # JSON, not pickle: a compromised process must not run code here.
                    while news := receiver.recv_bytes(_MOST_BYTES_OF_REPORT):
                        loop.call_soon_threadsafe(report, json.loads(news))
                connection.wait([process.sentinel])
                with self._statuses:
                    process.join()
                    return int(process.exitcode)

        living = loop.run_in_executor(None, live)
        try:
            return await asyncio.shield(living)
        finally:
            is_over.set()
            if not living.done():
                _kill(process)
                await living

    def _message(self, folder: Path, status: int) -> str:
        """Say why a task failed."""
        if status < 0:
            return (
                "The system ended the work: it needs more memory or time than it may use. Use fewer rows "
                "or columns, or run the command yourself."
            )
        said = self.messages(folder)
        if said and status != CRASHED:
            return said[-1]
        # For whoever runs the server.
        sys.stderr.write((folder / STDERR).read_text("utf-8", "replace") if (folder / STDERR).exists() else "")
        return _INTERNAL


def _kill(process: Any) -> None:
    """Kill a process and those that it started, if it still exists."""
    if process.pid is None:
        return
    with suppress(ProcessLookupError):
        process.kill()
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
