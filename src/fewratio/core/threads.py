"""How many threads linear algebra uses."""

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


def one_thread() -> AbstractContextManager[Any]:
    """Let linear algebra use one thread: of many small products, threads that wait for each other take longer."""
    limit: AbstractContextManager[Any] = _libraries().limit(limits=1, user_api="blas")
    return limit


def n_threads() -> int:
    """Give how many threads linear algebra may use here, which is what the user lets a computation use."""
    libraries = _libraries().select(user_api="blas").lib_controllers
    return max((int(library.num_threads) for library in libraries), default=1)


@cache
def _libraries() -> ThreadpoolController:
    # To look for the libraries takes milliseconds, more than a small block of pairs.
    return ThreadpoolController()
