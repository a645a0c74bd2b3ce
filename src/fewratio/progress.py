"""Progress bars for slow work, and a Ctrl-C that waits for the step to end."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

Item = TypeVar("Item")
OnStep = Callable[[int, float | None], None]
"""Called with the step, and the best validation loss if there is one."""


# Seconds before a bar appears unasked: faster work needs none.
_DELAY = 2.0
_listener: Callable[[str, int, int], None] | None = None
_listening = 0


def listen(listener: Callable[[str, int, int], None]) -> None:
    """Report the progress of everything in this thread to a function, instead of bars.

    Parameters
    ----------
    listener : callable
        Called with a description, the step, and the number of steps.
    """
    global _listener, _listening
    _listener, _listening = listener, threading.get_ident()


def in_notebook() -> bool:
    """Return whether this is a notebook kernel, whose standard error is shown though it is not a terminal."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


def is_first_process() -> bool:
    """Return whether this process shows and writes results: under torchrun, only the first one does."""
    return "TORCHELASTIC_RUN_ID" not in os.environ or os.environ.get("RANK") == "0"


@contextmanager
def progress_bar(total: int, description: str, show: bool | None = None, unit: str = "steps") -> Iterator[OnStep]:
    """Show steps, steps a second, validation loss and time left on standard error.

    Parameters
    ----------
    total : int
        Number of steps.
    description : str
        Name of the work in progress.
    show : bool, optional
        By default, show if standard error is a terminal or a notebook, after two seconds.
    unit : str
        The unit of the counted steps.
    """
    if _listener is not None and threading.get_ident() == _listening:
        listener = _listener
        yield lambda step, loss: listener(description, step, total)
        return
    started = time.monotonic() + (_DELAY if show is None else 0.0)
    if show is None:
        show = sys.stderr.isatty() or in_notebook()
    if not show or not is_first_process():
        yield lambda step, loss: None
        return
    if in_notebook():
        # One line of text that is overwritten; rich would need widgets.
        def line_report(step: int, loss: float | None) -> None:
            if time.monotonic() >= started:
                validation = "" if loss is None else f", validation {loss:.4f}"
                sys.stderr.write(f"\r{description}: {step} of {total}{validation}")

        yield line_report
        return
    try:
        from rich.console import Console
        from rich.progress import MofNCompleteColumn, Progress, TextColumn
    except ImportError:
        # A machine to train on may have torch and little else.
        def plain_report(step: int, loss: float | None) -> None:
            if loss is not None:
                sys.stderr.write(f"{description}: step {step} of {total}, validation {loss:.4f}\n")

        yield plain_report
        return
    note = TextColumn("{task.fields[rate]} {task.fields[loss]}")
    columns = (*Progress.get_default_columns(), MofNCompleteColumn(), note)
    progress = Progress(*columns, console=Console(stderr=True))
    try:
        task = progress.add_task(description, total=total, rate="", loss="")

        def report(step: int, loss: float | None) -> None:
            if time.monotonic() >= started:
                progress.start()
            speed = progress.tasks[0].speed or 0
            # Slow steps have a time left; a rate of 0 says nothing.
            progress.update(task, completed=step, rate=f"{speed:.0f} {unit}/s" if speed >= 1 else "")
            if loss is not None:
                progress.update(task, loss=f"validation {loss:.4f}")

        yield report
    finally:
        progress.stop()


def track(
    items: Iterable[Item], total: int, description: str, show: bool | None = None, unit: str = "steps"
) -> Iterator[Item]:
    """Iterate over items, and show how many are done; the parameters are those of `progress_bar`."""
    with progress_bar(total, description, show, unit) as report:
        for number, item in enumerate(items, start=1):
            yield item
            report(number, None)


@contextmanager
def deferred_interrupt() -> Iterator[Callable[[], bool]]:
    """Turn the first Ctrl-C into a flag, so that a step is never torn; a second one interrupts at once.

    Outside the main thread, where Python delivers no signals, the flag stays down.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    pressed = False

    def handler(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        if pressed:
            raise KeyboardInterrupt
        pressed = True

    previous = signal.signal(signal.SIGINT, handler)
    try:
        yield lambda: pressed
    finally:
        signal.signal(signal.SIGINT, previous)
