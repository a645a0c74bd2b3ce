"""The process that does one piece of work for the page: ``python -m fewratio.cli.worker``.

It reads one task from standard input, a line of JSON, and does it under limits on memory, processor time and the size
of files. What it writes to standard output are lines of JSON: how far it is. Its exit status is 2 if the last message
says what is wrong, and 1 after a mistake of the program itself. With ``--warm`` it first imports what verbs need. When
standard input is closed it ends.
"""

import json
import os
import sys
import tempfile
import threading
import time
import traceback
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from fewratio.errors import FewRatioError, MissingPackageError
from fewratio.lazy import import_home

# Seconds between two reports of progress.
_PAUSE = 0.1
_WARM = (
    *(f"fewratio.applications.{name}" for name in ("all_pairs", "changes", "comparison", "outliers", "weights")),
    *(f"fewratio.report.{name}" for name in ("all_pairs", "changes", "comparison", "outliers", "weights")),
    *("fewratio.cli", "fewratio.estimators.auto", "pyarrow.csv", "pyarrow.parquet"),
    *("scipy.cluster.hierarchy", "sklearn.covariance", "sklearn.neighbors"),
)


def main() -> None:
    """Do one task."""
    channel = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    if "--warm" in sys.argv:
        _warm_up()
    line = sys.stdin.readline()
    if not line:
        return
    threading.Thread(target=_end_with_parent, daemon=True).start()
    task = json.loads(line)
    os.chdir(task["folder"])
    tempfile.tempdir = task["folder"]
    for stream, name in ((sys.stdout, task["stdout"]), (sys.stderr, task["stderr"])):
        with Path(name).open("wb") as file:
            os.dup2(file.fileno(), stream.fileno())
    _limit(task)

    def tell(**found: Any) -> None:
        channel.write(json.dumps(found) + "\n")
        channel.flush()

    _report_progress(tell)
    status = 1
    try:
        done = _do(task)
        sys.stdout.flush()
        status = done
    finally:
        if status == 1:
            traceback.print_exc()
        # Threads of libraries are not waited for.
        os._exit(status)


def _warm_up() -> None:
    """Import what takes long, so that the first answer need not wait for it."""
    for module in _WARM:
        import_module(module)
    from fewratio.report.bundle import chart_script

    with suppress(MissingPackageError):
        chart_script()
        import_home("jinja2")


def _end_with_parent() -> None:
    sys.stdin.read()
    os._exit(1)


def _limit(task: dict[str, Any]) -> None:
    """Bound tables, and where the system can do so memory, processor time and files."""
    from fewratio.data.raw import set_limits

    set_limits(**task["limits"]["tables"])
    with suppress(ImportError):
        # Not on Windows.
        import resource

        used = Path("/proc/self/status")
        data = next((line for line in used.read_text().splitlines() if "VmData" in line), "") if used.exists() else ""
        memory = task["limits"]["memory"] + 1024 * int(data.split()[1] if data else 0)
        limits = {resource.RLIMIT_CPU: task["limits"]["seconds"], resource.RLIMIT_FSIZE: task["limits"]["file"]}
        # Not of addresses, of which libraries reserve many that they never use.
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


def _do(task: dict[str, Any]) -> int:
    """Do a task and return its exit status."""
    try:
        if "unpack" in task:
            from fewratio.web.archive import unpack

            unpack(Path(task["unpack"]), Path(task["into"]), task["limits"]["members"], task["unpacked"])
        elif "examples" in task:
            from fewratio.demos.examples import write_examples

            write_examples(Path(task["examples"]))
        else:
            from fewratio.cli import app

            app(task["arguments"], prog_name="fewratio")
    except SystemExit as ended:
        return 2 if ended.code else 0
    except MemoryError:
        sys.stderr.write("fewratio: the work needs more memory than there is for it. Use fewer rows or columns.\n")
        return 2
    except FewRatioError as error:
        sys.stderr.write(f"fewratio: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    main()
