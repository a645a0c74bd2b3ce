"""The same function for many small tasks: in this process, in joblib's workers, on a Dask cluster or on Ray."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any, Literal, TypeVar, get_args

import joblib

from fewratio.errors import ParameterError
from fewratio.lazy import import_home

Shared = TypeVar("Shared")
Task = TypeVar("Task")
Result = TypeVar("Result")
Backend = Literal["dask", "ray"]

# Arrays from this size on, in bytes, are written to a file that all processes of a machine map into their memory.
_MAPPED = 2**14
# Tasks that a cluster is given ahead of the results: some for each of a few hundred workers.
_AHEAD = 1000


def check_backend(backend: object) -> None:
    """Refuse the name of a backend that there is not."""
    if backend is not None and not (isinstance(backend, str) and backend in get_args(Backend)):
        raise ParameterError(
            f"backend is {backend!r}; needed is 'dask' or 'ray', or None for the workers of joblib. Pass one of them."
        )


@contextmanager
def cluster(dask: str | None = None, ray: str | None = None) -> Iterator[Backend | None]:
    """Connect to a cluster by the address of Dask's scheduler or that of Ray, and give the name of the backend."""
    if dask is not None:
        try:
            client = import_home("distributed", "--dask").Client(dask)
        except (OSError, ValueError) as error:
            raise ParameterError(
                f"dask is {dask!r}, but no scheduler answers there ({error}); needed is the address that `dask "
                "scheduler` prints, such as tcp://host:8786. Start it, or mend the address."
            ) from error
        with client:
            yield "dask"
    elif ray is not None:
        try:
            context = import_home("ray", "--ray").init(ray)
        except (ConnectionError, ValueError) as error:
            raise ParameterError(
                f"ray is {ray!r}, but Ray is not there ({error}); needed is the address that `ray start --head` "
                "prints, auto for that of this machine, or local for a new one. Start it, or mend the address."
            ) from error
        with context:
            yield "ray"
    else:
        yield None


def in_workers(
    function: Callable[[Shared, Task], Result],
    shared: Shared,
    tasks: Iterable[Task],
    n_jobs: int | None = 1,
    backend: Backend | None = None,
) -> Iterator[Result]:
    """Yield ``function(shared, task)`` for each task, in the order of the tasks, as soon as it is known.

    Parameters
    ----------
    function : callable
        Of a module, so that workers find it.
    shared : object
        Sent to each worker once; of joblib's workers that holds for the arrays in it.
    tasks : iterable
        Small objects; what makes a result must not depend on who computes it.
    n_jobs : int or None
        Number of joblib's workers.
    backend : {"dask", "ray"} or None
        None for the workers of joblib, of which there may be one.
    """
    tasks = iter(tasks)
    if backend is not None:
        submit, result = {"dask": _on_dask, "ray": _on_ray}[backend](function, shared)
        return _in_order(submit, result, tasks)
    if joblib.effective_n_jobs(n_jobs) == 1:
        return (function(shared, task) for task in tasks)
    return _on_joblib(function, shared, tasks, n_jobs)


def _in_order(
    submit: Callable[[Task], Any], result: Callable[[Any], Result], tasks: Iterator[Task]
) -> Iterator[Result]:
    under_way = deque(map(submit, islice(tasks, _AHEAD)))
    while under_way:
        found = result(under_way.popleft())
        under_way.extend(map(submit, islice(tasks, 1)))
        yield found


def _on_dask(function: Callable[..., Any], shared: Any) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    distributed = import_home("distributed", 'backend="dask"')
    try:
        client = distributed.get_client()
    except ValueError:
        raise ParameterError(
            "backend is 'dask', but no client is connected to a cluster; one is needed. Make one first: "
            "dask.distributed.Client('tcp://...'), or Client() for a cluster on this machine."
        ) from None
    # The result of a task, not scattered: if all workers that hold it die, Dask knows how to make it again.
    with import_home("dask").config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
        stored = client.submit(_same, shared, pure=False)
    client.replicate(stored)
    return lambda task: client.submit(function, stored, task, pure=False), lambda future: future.result()


def _same(shared: Shared) -> Shared:
    return shared


def _on_ray(function: Callable[..., Any], shared: Any) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    ray = import_home("ray", 'backend="ray"')
    stored, remote = ray.put(shared), ray.remote(function)
    return lambda task: remote.remote(stored, task), ray.get


def _on_joblib(
    function: Callable[[Shared, Task], Result], shared: Shared, tasks: Iterator[Task], n_jobs: int | None
) -> Iterator[Result]:
    calls = (joblib.delayed(function)(shared, task) for task in tasks)
    try:
        parallel = joblib.Parallel(n_jobs, return_as="generator", max_nbytes=_MAPPED)
    except ValueError:
        # Not every backend of joblib gives results one by one. Many at a time: all workers wait for the last one.
        with joblib.Parallel(n_jobs, max_nbytes=_MAPPED) as parallel:
            while some := list(islice(calls, 16 * joblib.effective_n_jobs(n_jobs))):
                yield from parallel(some)
    else:
        yield from parallel(calls)
