"""Normal rows: no outlier among them, each as likely as another, and the same every time."""

import numpy as np
import pytest
import torch

from fewratio.core.objectives import NumeratorMean
from fewratio.data.normals import NormalBatches, NormalBlocks, normal_parts, pooled_numbers
from fewratio.data.pools import RowTable
from fewratio.errors import CollectionError
from tests.strategies import countable_collection


def parts_of(*collections):
    parts = normal_parts(collections)
    table = RowTable(parts, dtype=torch.float64)
    return table, [pooled_numbers(part, table) for part in parts]


def test_known_outliers_are_left_out_and_where_nothing_is_known_all_is_normal():
    flags = [np.array([True, False, True]), None, [True, True], [False, False]]
    (part,) = normal_parts([countable_collection([3, 2, 2, 2], flags)])
    assert part.names == ("a", "b", "d")
    assert [dataset.X.tolist() for dataset in part] == [[[0, 1]], [[1, 0], [1, 1]], [[3, 0], [3, 1]]]


def test_a_dataset_of_several_collections_stays_one():
    whole = countable_collection([3, 4, 5], [[1, 0, 0], None, None])
    table, (first, second) = parts_of(whole[:2], whole[[0, 2]])
    assert len(table.rows) == 2 + 4 + 5
    assert first[:2].tolist() == second[:2].tolist()


def test_nothing_but_outliers_is_refused():
    with pytest.raises(CollectionError, match=r"'toy' are outliers; normal ones are needed"):
        normal_parts([countable_collection([2], [[1, 1]])])


def test_batches_draw_every_row_alike():
    table, pools = parts_of(countable_collection([2, 6], [[0, 1], None]), countable_collection([3]))
    draw = NormalBatches(table.rows, pools, [0, 1], batch_size=700)
    episode = draw(torch.tensor(5))
    assert episode.query.rows.shape == (2, 1, 700, 2)
    for rows, pool in zip(episode.query.rows[:, 0], pools, strict=True):
        found, counts = rows.unique(dim=0, return_counts=True)
        assert {tuple(row) for row in found.tolist()} == {tuple(row) for row in table.rows[pool].tolist()}
        # 700 draws of 7 rows: 100 each, with a deviation of about 9.
        assert (counts - 700 / len(pool)).abs().max() < 50
    torch.testing.assert_close(draw(torch.tensor(5)).rows, episode.rows)
    assert not torch.equal(draw(torch.tensor(6)).rows, episode.rows)


def test_a_members_batches_are_its_own():
    table, pools = parts_of(countable_collection([4, 6]), countable_collection([30]))
    together = NormalBatches(table.rows, pools, [3, 4], 8)(torch.tensor(2)).rows
    alone = NormalBatches(table.rows, pools[1:], [4], 8)(torch.tensor(2)).rows
    assert torch.equal(together[1:], alone)


@pytest.mark.parametrize("n_rows", [1, 9, 10, 11, 47])
def test_blocks_hold_every_row_and_their_mean_is_near_the_mean_of_the_rows(n_rows):
    table, pools = parts_of(countable_collection([n_rows]), countable_collection([31]))
    episodes = list(NormalBlocks(table.rows, pools, [0, 1]).batches())
    assert len(episodes) == 10
    rows = torch.cat([episode.rows[0, 0][episode.query.shares[0, 0, 0] > 0] for episode in episodes])
    assert {row[1] for row in rows.tolist()} == set(range(n_rows))
    assert len(rows) == max(n_rows, 10)
    means = torch.stack([NumeratorMean()(episode.rows[..., 1], episode.query.shares) for episode in episodes])
    assert means.shape == (10, 2, 1)
    assert means.isfinite().all()
    assert means[:, 0].mean().item() == pytest.approx(rows[:, 1].mean().item(), abs=0.1 * n_rows)


def test_of_many_rows_some_are_drawn():
    table, pools = parts_of(countable_collection([50]))
    episodes = list(NormalBlocks(table.rows, pools, [0], n_blocks=2, max_rows=12).batches())
    assert sum(episode.rows.shape[-2] for episode in episodes) == 12
