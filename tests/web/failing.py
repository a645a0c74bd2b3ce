"""A worker whose command line fails; the seed chooses how."""

import os
import sys

import fewratio.app
from fewratio_web.worker import work


def _mistake():
    raise ValueError("a mistake")


def _no_memory():
    raise MemoryError


# What is said, and what happens.
ENDS = {
    "The work failed because of a bug in fewratio": _mistake,
    "The system ended the work": lambda: os.kill(os.getpid(), 9),
    "the work needs more memory": _no_memory,
    "a note": lambda: sys.exit(1),
}


def fail(channel, task):
    def app(arguments, **options):
        sys.stderr.write("fewratio: a note\n")
        [*ENDS.values()][int(arguments[arguments.index("--seed") + 1]) - 1]()

    fewratio.app.app = app
    work(channel, task)
