"""Training of the universal network: it runs, the seed decides it, and what is held out stays out."""

import pytest
import torch

from fewratio.estimators import universal_training
from fewratio.estimators.universal_training import (
    HELD_OUT_RELATION,
    HELD_OUT_SHAPE,
    PRACTISED_RELATIONS,
    PRACTISED_SHAPES,
    Bank,
    Stage,
    train_universal,
)

TINY = dict(
    stages=(Stage(4, 1e-3, largest=4, tasks=4, n_query=8), Stage(2, 1e-3, largest=8, skew=3.0, tasks=2, n_query=12)),
    intervals=Stage(3, 1e-2, largest=4, tasks=4, n_query=8),
    bank=Bank(32, 32, 8),
    progress=False,
)


@pytest.fixture(scope="module")
def trained():
    with pytest.MonkeyPatch.context() as patch:
        drawn = []
        draw = universal_training.draw_pairs
        patch.setattr(universal_training, "draw_pairs", lambda *a, **k: drawn.append(draw(*a, **k)) or drawn[-1])
        return *train_universal(3, **TINY), drawn


def state(model, intervals):
    return {**model.state_dict(), **{f"intervals.{name}": t for name, t in intervals.state_dict().items()}}


def test_every_stage_trains_and_gives_finite_weights(trained):
    model, intervals, histories, _ = trained
    assert [history.step for history in histories] == [[4], [2], [3]]
    start = universal_training.universal_model(torch.Generator().manual_seed(3)).state_dict()
    learned = model.state_dict()
    assert all(tensor.isfinite().all() for tensor in state(model, intervals).values())
    assert all(not torch.equal(start[name], learned[name]) for name in start)
    start = universal_training.untrained_intervals(torch.Generator().manual_seed(3)).state_dict()
    assert any(not torch.equal(start[name], tensor) for name, tensor in intervals.state_dict().items())


def test_the_seed_decides(trained):
    again, other = (state(*train_universal(seed, **TINY)[:2]) for seed in (3, 4))
    mine = state(*trained[:2])
    assert all(torch.equal(mine[name], again[name]) for name in mine)
    assert not any(torch.equal(mine[name], other[name]) for name in mine)


def test_kinds_that_are_held_out_are_in_no_bank(trained):
    *_, drawn = trained
    assert [len(pairs) for pairs in drawn] == [32, 32]
    assert not torch.equal(drawn[0].rows, drawn[1].rows), "what is validated on is not what was practised"
    for pairs in drawn:
        assert HELD_OUT_SHAPE not in pairs.shapes
        assert HELD_OUT_RELATION not in pairs.relations
    assert HELD_OUT_SHAPE not in PRACTISED_SHAPES
    assert HELD_OUT_RELATION not in PRACTISED_RELATIONS
