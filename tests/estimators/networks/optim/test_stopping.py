"""Early stopping: which validation is kept, and when a member is done."""

import math

import numpy as np
import pytest
import torch

from fewratio.estimators.networks.optim.stopping import EarlyStopping, standard_error

NAN = math.nan


def follow(validation, patience=None):
    """Show one member these validation losses at steps 10, 20, ...; give the stopping and which were kept."""
    stopping = EarlyStopping(1, patience)
    kept = []
    for number, value in enumerate(validation, start=1):
        (improved,) = stopping.record(10 * number, [0.5], [value], [0.1 * number])
        if improved:
            kept.append(10 * number)
    return stopping, kept


@pytest.mark.parametrize(
    ("validation", "kept"),
    [
        ([3.0, 2.0, 1.0], [10, 20, 30]),
        ([1.0, 2.0, 3.0], [10]),
        ([2.0, 3.0, 1.0, 1.0], [10, 30]),
        ([NAN, 2.0, NAN, 1.0], [20, 40]),
        ([NAN, NAN], []),
        ([math.inf, -math.inf, NAN], [20]),
    ],
    ids=["falling", "rising", "a tie is no improvement", "NaN is skipped", "only NaN", "infinite"],
)
def test_improvements_are_kept(validation, kept):
    stopping, actual = follow(validation)
    (history,) = stopping.histories
    assert actual == kept
    assert history.best_step == (kept[-1] if kept else 0)
    assert history.step == [10 * number for number in range(1, len(validation) + 1)]
    if kept:
        place = kept[-1] // 10 - 1
        assert (history.best_validation, history.best_standard_error) == (validation[place], 0.1 * (place + 1))
    else:
        assert history.best_validation == math.inf
    assert not stopping.done, "without patience there is no end"


@pytest.mark.parametrize(
    ("validation", "done_after"),
    [([3, 2, 1, 2, 2, 2], 5), ([1, 2, 2], 3), ([NAN, NAN, 1], 2), ([2, 3, 1, 3, 0], None), ([1, NAN, 2], 3)],
)
def test_done_after_two_validations_without_improvement(validation, done_after):
    ends = [n for n in range(1, len(validation) + 1) if follow(validation[:n], patience=2)[0].done]
    assert (ends[0] if ends else None) == done_after


def test_validations_after_the_end_no_longer_count():
    stopping, kept = follow([2.0, 3.0, 3.0, 1.0], patience=2)
    assert kept == [10]
    assert stopping.histories[0].step == [10, 20, 30]


def test_members_end_one_by_one():
    stopping = EarlyStopping(2, patience=1)
    assert stopping.record(1, [0, 0], [1.0, 5.0], [0, 0]) == [True, True]
    assert stopping.record(2, [0, 0], [2.0, 4.0], [0, 0]) == [False, True]
    assert not stopping.done
    assert stopping.record(3, [0, 0], [0.0, 4.0], [0, 0]) == [False, False]
    assert stopping.done
    assert [history.best_step for history in stopping.histories] == [1, 2]


@pytest.mark.parametrize(("interrupted", "expected"), [(False, "max_steps"), (True, "interrupted")])
def test_why_each_member_ended(interrupted, expected):
    stopping = EarlyStopping(2, patience=1)
    stopping.record(1, [0, 0], [1.0, 1.0], [0, 0])
    stopping.record(2, [0, 0], [2.0, 0.0], [0, 0])
    stopping.finish(interrupted, seconds=3.5)
    assert [history.stopped for history in stopping.histories] == ["patience", expected]
    assert all(history.to_dict()["seconds"] == 3.5 for history in stopping.histories)


# ---------------------------------------------------------------- standard error


def test_the_standard_error_of_paired_tasks_is_that_of_the_means_of_the_datasets():
    """Ten draws of each of four datasets: only the datasets are independent."""
    rng = np.random.default_rng(0)
    losses = torch.tensor(rng.normal(size=4).repeat(10) + 0.1 * rng.normal(size=40))[None]
    datasets = torch.arange(4).repeat_interleave(10)[None, :, None].expand(-1, -1, 2)
    means = losses.view(4, 10).mean(1)
    assert standard_error(losses, datasets).item() == pytest.approx((means.std() / 2).item())
    independent = standard_error(losses, None).item()
    assert independent == pytest.approx((losses.std() / 40**0.5).item())
    assert independent < 0.5 * standard_error(losses, datasets).item()


def test_the_standard_error_of_pairs_is_what_the_mean_varies_by_over_draws_of_datasets():
    """The loss of a pair is a sum of both datasets' own: each of ten datasets is in nineteen of a hundred pairs."""
    rng = np.random.default_rng(0)
    own = torch.tensor(rng.normal(size=(400, 10)))
    first, second = (axis.flatten() for axis in torch.meshgrid(torch.arange(10), torch.arange(10), indexing="ij"))
    losses = own[:, first] + own[:, second]
    tasks = torch.stack([first, second], dim=-1).expand(400, -1, -1)
    true = losses.mean(-1).std().item()
    assert standard_error(losses, tasks).mean().item() == pytest.approx(true, rel=0.15)
    assert standard_error(losses, None).mean().item() < 0.3 * true


def test_one_dataset_has_no_standard_error():
    assert standard_error(torch.ones(1, 3), torch.zeros(1, 3, 2, dtype=torch.int64)).isnan().all()
