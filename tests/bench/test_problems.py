"""Problems: splits and supports that never change, and evaluations that do not fill the memory."""

import gc
import hashlib
import weakref

import numpy as np
import pytest
import torch

from fewratio import Collection
from fewratio.errors import DataNotFoundError
from fewratio_bench import problems
from fewratio_bench.problems import ROLES, PairProblem, Trial
from fewratio_bench.splits import Split

# Of split 1: names of its datasets, then supports and queries of the largest size, on validation and on targets.
GOLDEN = {
    "SYNTHETIC": ("a6b26b1800b8", "e4d9557859e6", "9e9b4618f94b"),
    "MNIST_R": ("17e25a21b930", "a48b4144ffd9", "bf49e5e9af3c"),
    "ISOLET": ("632c405f8cac", "1da71ade14cc", "66cc346cd3a5"),
    "LANDMINE": ("652aac6d846e", "64a5940d5016", "fb45b9282186"),
    "SCHOOL": ("ddd9989e2bb2", "22fb2b3cb4d7", "c7becd722290"),
    "WINE": ("1698a1dd4690", "6af9f9dad802", "82df32f1d210"),
}


def digest(text):
    return hashlib.sha256(text).hexdigest()[:12]


@pytest.mark.slow
@pytest.mark.parametrize("name", GOLDEN)
def test_splits_and_supports_are_those_of_the_committed_records(name):
    problem = getattr(problems, name)
    try:
        split = problem.split(1)
    except DataNotFoundError:
        pytest.skip(f"the data of {name} are not here: set FEWRATIO_DATA")
    found = [digest(repr([part.names for part in (split.source, split.validation, split.target)]).encode())]
    for role in ROLES:
        episode = problem.evaluation(split, role, max(problem.sizes), torch.device("cpu")).episode
        rows = torch.cat([episode.support.rows, episode.query.rows], dim=-2).double().numpy()
        found.append(digest(np.ascontiguousarray(rows.round(4) + 0.0).tobytes()))
    assert tuple(found) == GOLDEN[name]


def test_evaluations_are_the_same_each_time_and_do_not_pile_up():
    rng = np.random.default_rng(0)
    collection = Collection.from_arrays(list(rng.normal(size=(10, 100, 256))))
    trials = [
        Trial(PairProblem("mine", "Mine"), Split(*[collection] * 3, number), 5, torch.device("cpu"))
        for number in range(5)
    ]
    made = []
    for trial in trials:
        for evaluation in trial.evaluations.values():
            made.append(weakref.ref(evaluation))
        # While a method judges with an evaluation it is not made again for the numbers.
        assert trial.evaluations["target"] is evaluation
    rows = trials[0].evaluations["target"].episode.support.rows
    del evaluation
    gc.collect()
    assert len(made) == 10
    assert sum(each() is not None for each in made) <= 3  # about 40 MB each
    for trial in trials[1:]:
        trial.evaluations["target"]
    torch.testing.assert_close(trials[0].evaluations["target"].episode.support.rows, rows, rtol=0, atol=0)
