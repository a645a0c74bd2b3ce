"""Workers: the same bits on processes, Dask and Ray as in one process, also if a worker is killed in the middle."""

import os
import signal

import numpy as np
import pytest

from fewratio import ParameterError, compare_all
from fewratio.many import all_pairs
from fewratio.many.workers import cluster

# Connections to a process that was killed are closed when garbage is collected.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
RNG = np.random.default_rng(0)
# Eight sizes make 36 blocks.
SETS = [RNG.normal(i, 1, (3 + i % 8, 4)) for i in range(16)]


def compared(**workers):
    result = compare_all(SETS, n_permutations=39, random_state=0, **workers)
    return result.divergences, result.p_values


@pytest.fixture(scope="module")
def alone():
    return compared()


@pytest.fixture
def once_begun(monkeypatch):
    """Do something when results of three blocks have come in."""

    def at_third(action):
        store, seen = all_pairs._store, []

        def stored(state, *found):
            seen.append(state.n_done)
            if len(seen) == 3:
                action()
            store(state, *found)

        monkeypatch.setattr(all_pairs, "_store", stored)
        return seen

    return at_third


@pytest.fixture(scope="module")
def scheduler():
    distributed = pytest.importorskip("distributed")
    settings = dict(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50)
    with distributed.LocalCluster(**settings) as local:
        yield local.scheduler_address


@pytest.mark.slow
def test_two_processes_give_the_same_bits(alone):
    np.testing.assert_array_equal(compared(n_jobs=2), alone)


@pytest.mark.slow
def test_a_worker_of_dask_is_killed(alone, scheduler, once_begun):
    import distributed

    with distributed.Client(scheduler) as client:
        victim = min(client.run(os.getpid).values())
        seen = once_begun(lambda: os.kill(victim, signal.SIGKILL))
        np.testing.assert_array_equal(compared(backend="dask"), alone)
        assert seen == list(range(36))
        # The nanny starts another one.
        client.wait_for_workers(2, timeout=120)
        assert victim not in client.run(os.getpid).values()


@pytest.mark.slow
def test_a_cluster_by_its_address(alone, scheduler):
    with cluster(dask=scheduler) as backend:
        np.testing.assert_array_equal(compared(backend=backend), alone)


def test_a_cluster_that_is_not_there():
    dask = pytest.importorskip("dask")
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "1s"}),
        pytest.raises(ParameterError, match=r"tcp://127.0.0.1:9'.*no scheduler answers.*mend the address"),
        cluster(dask="tcp://127.0.0.1:9"),
    ):
        pass


def test_a_worker_of_ray_is_killed(alone, once_begun):
    # Ray is large and not among the development tools.
    ray = pytest.importorskip("ray")
    with ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False):
        victim = ray.get(ray.remote(lambda: os.getpid()).remote())
        once_begun(lambda: os.kill(victim, signal.SIGKILL))
        np.testing.assert_array_equal(compared(backend="ray"), alone)


def test_what_is_wrong_with_a_backend_is_named():
    pytest.importorskip("distributed")
    with pytest.raises(ParameterError, match="backend is 'spark'; needed is 'dask' or 'ray'"):
        compare_all(SETS, backend="spark")
    with pytest.raises(ParameterError, match=r"no client is connected.*Make one first"):
        compare_all(SETS, backend="dask")
