"""Ctrl-C that waits for the step to end, and the progress bar."""

import os
import signal
import sys
import threading

import pytest

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
