"""Limits on threads end with what they are for."""

import os
import subprocess
import sys

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from fewratio.core.threads import n_threads
from fewratio.estimators.classifier.kernel_logistic import fit_logistic

PROGRAM = """
from threading import Event, Thread
import numpy
from fewratio.core.threads import n_threads, one_thread

def enter(is_in, may_leave):
    with one_thread():
        is_in.set()
        may_leave.wait(30)

events = [(Event(), Event()) for _ in range(2)]
threads = [Thread(target=enter, args=each) for each in events]
found = [n_threads()]
for thread, (is_in, _) in zip(threads, events):
    thread.start()
    is_in.wait(30)
    found.append(n_threads())
for thread, (_, may_leave) in zip(threads, events):
    may_leave.set()
    thread.join()
    found.append(n_threads())
try:
    with one_thread(), one_thread():
        1 / 0
except ZeroDivisionError:
    found.append(n_threads())
print(*found)
"""


def test_the_limit_is_lifted_when_the_last_of_several_threads_leaves():
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "3", "OMP_NUM_THREADS": "3", "MKL_NUM_THREADS": "3"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, timeout=120)
    found = done.stdout.split()
    assert found, done.stderr
    if found[0] == "1":
        pytest.skip("linear algebra has one thread here")
    # Alone, in, in, the first has left, both have; after an error.
    assert found == [found[0], "1", "1", "1", found[0], found[0]]


def test_the_small_products_of_a_logistic_regression_use_one_thread():
    found = []

    class Weights(np.ndarray):
        def __matmul__(self, other):
            found.append(n_threads())
            return np.asarray(self) @ other

    with threadpool_limits(2, "blas"):
        fit_logistic(1.0, np.eye(4), np.array([1.0, 1, -1, -1]), np.ones(4).view(Weights))
        found.append(n_threads())
    assert found[-1] == 2
    assert set(found[:-1]) == {1}
