"""Early stopping: which look is kept, and when a member is done."""

import math

import pytest

from fewratio.optim.stopping import EarlyStopping

NAN = math.nan


def follow(validation, patience=None):
    """Show one member these validation losses at steps 10, 20, ...; give the stopping and which looks were kept."""
    stopping = EarlyStopping(1, patience)
    kept = []
    for look, value in enumerate(validation, start=1):
        (improved,) = stopping.look(10 * look, [0.5], [value], [0.1 * look])
        if improved:
            kept.append(10 * look)
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
    assert history.step == [10 * look for look in range(1, len(validation) + 1)]
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
def test_done_after_two_looks_without_a_better_one(validation, done_after):
    ends = [n for n in range(1, len(validation) + 1) if follow(validation[:n], patience=2)[0].done]
    assert (ends[0] if ends else None) == done_after


def test_looks_after_the_end_no_longer_count():
    stopping, kept = follow([2.0, 3.0, 3.0, 1.0], patience=2)
    assert kept == [10]
    assert stopping.histories[0].step == [10, 20, 30]


def test_members_end_one_by_one():
    stopping = EarlyStopping(2, patience=1)
    assert stopping.look(1, [0, 0], [1.0, 5.0], [0, 0]) == [True, True]
    assert stopping.look(2, [0, 0], [2.0, 4.0], [0, 0]) == [False, True]
    assert not stopping.done
    assert stopping.look(3, [0, 0], [0.0, 4.0], [0, 0]) == [False, False]
    assert stopping.done
    assert [history.best_step for history in stopping.histories] == [1, 2]


@pytest.mark.parametrize(("interrupted", "expected"), [(False, "max_steps"), (True, "interrupted")])
def test_why_each_member_ended(interrupted, expected):
    stopping = EarlyStopping(2, patience=1)
    stopping.look(1, [0, 0], [1.0, 1.0], [0, 0])
    stopping.look(2, [0, 0], [2.0, 0.0], [0, 0])
    stopping.finish(interrupted, seconds=3.5)
    assert [history.stopped for history in stopping.histories] == ["patience", expected]
    assert all(history.to_dict()["seconds"] == 3.5 for history in stopping.histories)
