"""How many threads linear algebra uses."""

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


def one_thread() -> AbstractContextManager[Any]:
    """Let linear algebra use one thread: of many small products, threads that wait for each other take longer."""
    limit: AbstractContextManager[Any] = _libraries().limit(limits=1, user_api="blas")
    return limit


@cache
def _libraries() -> ThreadpoolController:
    # To look for the libraries takes milliseconds, more than a small block of pairs.
    return ThreadpoolController()
