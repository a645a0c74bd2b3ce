"""Ctrl-C that waits for the step to end, and the progress bar."""

import os
import signal
import sys
import threading
from types import SimpleNamespace

import pytest

from fewratio import progress
from fewratio.progress import deferred_interrupt, progress_bar


@pytest.fixture
def presses():
    """Counts the Ctrl-Cs that reach the handler outside, and puts the real one back."""
    seen = []
    previous = signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    yield seen
    signal.signal(signal.SIGINT, previous)


def press():
    os.kill(os.getpid(), signal.SIGINT)


def test_first_press_raises_a_flag_and_the_handler_comes_back(presses):
    outside = signal.getsignal(signal.SIGINT)
    with deferred_interrupt() as interrupted:
        assert not interrupted()
        press()
        assert interrupted()
    assert signal.getsignal(signal.SIGINT) is outside
    assert presses == []
    press()
    assert presses == [signal.SIGINT]


def test_second_press_interrupts_at_once_and_the_handler_comes_back(presses):
    outside = signal.getsignal(signal.SIGINT)

    def press_twice():
        with deferred_interrupt():
            press()
            press()

    with pytest.raises(KeyboardInterrupt):
        press_twice()
    assert signal.getsignal(signal.SIGINT) is outside


def test_another_thread_leaves_signals_alone(presses):
    outside, inside = signal.getsignal(signal.SIGINT), []

    def work():
        with deferred_interrupt() as interrupted:
            inside.append((signal.getsignal(signal.SIGINT), interrupted()))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert inside == [(outside, False)]


@pytest.mark.parametrize("show", [False, None], ids=["off", "no terminal"])
def test_nothing_is_written_unless_there_is_a_terminal(show, capfd):
    with progress_bar(10, "training", show) as report:
        report(5, 0.25)
    assert capfd.readouterr() == ("", "")


def test_bar_goes_to_standard_error(capfd):
    with progress_bar(10, "training", show=True) as report:
        report(0, None)
        report(10, -0.25)
    out, err = capfd.readouterr()
    assert out == ""
    assert "training" in err
    assert "10/10" in err
    assert "validation -0.2500" in err


def test_plain_lines_where_rich_is_missing(capfd, monkeypatch):
    monkeypatch.setitem(sys.modules, "rich.console", None)
    with progress_bar(10, "training", show=True) as report:
        report(2, None)
        report(5, -0.25)
    assert capfd.readouterr() == ("", "training: step 5 of 10, validation -0.2500\n")


@pytest.fixture
def clock(monkeypatch):
    """A clock that only the test moves."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


@pytest.fixture
def notebook(monkeypatch):
    """What a kernel of IPython looks like from inside."""
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    return shell


def test_a_notebook_has_a_bar_after_two_seconds(notebook, clock, capsys):
    """Its standard error is no terminal."""
    assert not sys.stderr.isatty()
    with progress_bar(10, "comparing") as report:
        report(1, None)
        clock[0] += 1.9
        report(2, None)
        assert capsys.readouterr().err == ""
        clock[0] += 0.2
        report(3, None)
        report(4, 0.5)
    assert capsys.readouterr().err == "\rcomparing: 3 of 10\rcomparing: 4 of 10, validation 0.5000"


def test_ipython_in_a_pipe_is_no_notebook(notebook, clock, capsys):
    notebook.kernel = None
    with progress_bar(10, "comparing") as report:
        clock[0] += 5
        report(3, None)
    assert capsys.readouterr().err == ""


def test_a_bar_that_was_asked_for_is_shown_at_once(notebook, clock, capsys):
    with progress_bar(10, "comparing", show=True) as report:
        report(3, None)
    assert "3 of 10" in capsys.readouterr().err


def test_a_listener_takes_the_place_of_bars(monkeypatch, capsys):
    told = []
    monkeypatch.setattr(progress, "_listener", None)
    progress.listen(lambda *news: told.append(news))
    with progress_bar(10, "training", show=True) as report:
        report(3, 0.5)
    assert told == [("training", 3, 10)]
    assert capsys.readouterr().err == ""
