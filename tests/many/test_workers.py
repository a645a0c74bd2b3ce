"""Workers: the same bits on processes and on Dask as in one process."""

import joblib
import numpy as np
import pytest

from fewratio import compare_all

RNG = np.random.default_rng(0)
# Eight sizes make 36 blocks.
SETS = [RNG.normal(i, 1, (3 + i % 8, 4)) for i in range(16)]


def compare_sets(**workers):
    result = compare_all(SETS, n_permutations=39, random_state=0, **workers)
    return result.divergences, result.p_values


@pytest.fixture(scope="module")
def alone():
    return compare_sets()


@pytest.mark.slow
def test_two_processes_give_the_same_bits(alone):
    np.testing.assert_array_equal(compare_sets(n_jobs=2), alone)


@pytest.mark.slow
def test_dask_gives_the_same_bits(alone):
    distributed = pytest.importorskip("distributed")
    settings = dict(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50)
    with distributed.Client(processes=False, **settings) as client, joblib.parallel_config("dask"):
        np.testing.assert_array_equal(compare_sets(n_jobs=-1), alone)
        n_tasks = client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.transition_counter)
        assert n_tasks > 36


@pytest.mark.slow
def test_a_backend_that_gives_no_results_one_by_one(alone):
    # As that of Ray.
    with joblib.parallel_config("multiprocessing"):
        np.testing.assert_array_equal(compare_sets(n_jobs=2), alone)
