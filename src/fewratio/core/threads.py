"""How many threads linear algebra uses."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

# The limit holds for the whole process: the first to enter sets it, the last to leave lifts it.
_LOCK = Lock()
_inside = 0
_before: list[int] = []


@contextmanager
def one_thread() -> Iterator[None]:
    """Let linear algebra use one thread: for many small products, threads that wait for each other are slower."""
    global _inside
    with _LOCK:
        if not _inside:
            _before[:] = _count_threads()
            _set([1] * len(_before))
        _inside += 1
    try:
        yield
    finally:
        with _LOCK:
            _inside -= 1
            if not _inside:
                _set(_before)


def n_threads() -> int:
    """Return how many threads linear algebra may use here: the user's limit for any computation."""
    return max(_count_threads(), default=1)


def _count_threads() -> list[Any]:
    return [int(library.num_threads) for library in _libraries().lib_controllers]


def _set(numbers: Iterable[Any]) -> None:
    # Not annotated as int: type checks in tests would draw an item, and change the global random state.
    for library, number in zip(_libraries().lib_controllers, numbers, strict=True):
        library.set_num_threads(number)
    # threadpoolctl lets only one thread change limits, until it leaves a block: another one must be able to lift ours.
    with _libraries().limit(limits=None):
        pass


@cache
def _libraries() -> ThreadpoolController:
    # Finding the libraries takes milliseconds, longer than a small block of pairs.
    return ThreadpoolController().select(user_api="blas")
