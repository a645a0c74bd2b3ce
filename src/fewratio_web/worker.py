"""The process that does one piece of work for the page.

It works under limits on memory, processor time and the size of files. It reports progress as JSON. Its exit status is 2
if the last message says what is wrong, and 1 after an internal error.
"""

import json
import multiprocessing
import os
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Mapping
from contextlib import suppress
from multiprocessing import connection
from pathlib import Path
from typing import Any

from fewratio.errors import FewRatioError

# Seconds between two reports of progress.
_PAUSE = 0.1


def work(channel: connection.Connection, task: Mapping[str, Any]) -> None:
    """Do one task.

    Parameters
    ----------
    channel : Connection
        The connection to report to.
    task : mapping
        ``folder`` to work in; ``stdout`` and ``stderr``, files for the output; ``limits``; and what to do:
        ``arguments`` of the command line, or ``unpack`` or ``examples``.
    """
    # Processes that it starts end with it.
    if hasattr(os, "setsid"):
        os.setsid()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.chdir(task["folder"])
    tempfile.tempdir = task["folder"]
    for stream, name in ((sys.stdout, task["stdout"]), (sys.stderr, task["stderr"])):
        with Path(name).open("wb") as file:
            os.dup2(file.fileno(), stream.fileno())
    _limit(task)
    _report_progress(lambda **found: channel.send_bytes(json.dumps(found).encode()))
    status = 1
    try:
        done = _do(task)
        sys.stdout.flush()
        status = done
    finally:
        if status == 1:
            traceback.print_exc()
        # Do not wait for threads of libraries.
        os._exit(status)


def _end_with_parent() -> None:
    server = multiprocessing.parent_process()
    if server is not None:
        server.join()
        os._exit(1)


def _limit(task: Mapping[str, Any]) -> None:
    """Limit tables and, if the system can, memory, processor time and files."""
    from fewratio.data.raw_table import set_limits

    set_limits(**task["limits"]["tables"])
    with suppress(ImportError):
        # Not on Windows.
        import resource

        used = Path("/proc/self/status")
        data = next((line for line in used.read_text().splitlines() if "VmData" in line), "") if used.exists() else ""
        memory = task["limits"]["memory"] + 1024 * int(data.split()[1] if data else 0)
        limits = {resource.RLIMIT_CPU: task["limits"]["seconds"], resource.RLIMIT_FSIZE: task["limits"]["file"]}
        # No limit on address space: libraries reserve much that they never use.
        for kind, most in (limits | {resource.RLIMIT_DATA: memory, resource.RLIMIT_CORE: 0}).items():
            resource.setrlimit(kind, (most, most))


def _report_progress(tell: Any) -> None:
    from fewratio import progress

    last = 0.0

    def report(description: str, step: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last > _PAUSE:
            last = time.monotonic()
            tell(description=description, step=step, total=total)

    progress.listen(report)


def _do(task: Mapping[str, Any]) -> int:
    """Do a task and return its exit status."""
    try:
        if "unpack" in task:
            from fewratio_web.archive import unpack

            unpack(Path(task["unpack"]), Path(task["into"]), task["limits"]["members"], task["unpacked"])
        elif "examples" in task:
            from fewratio.demo.examples import write_examples

            write_examples(Path(task["examples"]))
        else:
            from fewratio.app import app
            from fewratio.cli import frame
            from fewratio.cli.verb import Verb

            frame.write_parameter = Verb.write_label
            app(task["arguments"], prog_name="fewratio")
    except SystemExit as ended:
        return 2 if ended.code else 0
    except MemoryError:
        sys.stderr.write("fewratio: the work needs more memory than available. Use fewer rows or columns.\n")
        return 2
    except FewRatioError as error:
        sys.stderr.write(f"fewratio: {error}\n")
        return 2
    return 0
