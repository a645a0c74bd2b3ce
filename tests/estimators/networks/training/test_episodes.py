"""Episodes: which rows end up where, and that nothing but seed and step decides it."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from scipy import stats

from fewratio.errors import CollectionError, ParameterError
from fewratio.estimators.networks.training.episodes import WINDOW, EpisodeSampler, EvaluationEpisodes, SupportSize
from fewratio.estimators.networks.training.pools import Pools

TWO, THREE = SupportSize(2, 2), SupportSize(3, 3)


def make_pools(sizes, first=0, de_sizes=None):
    """Pools of so many rows each, numbered from ``first``; paired where the denominators have pools of their own."""
    ends = first + np.cumsum([0, *sizes, *(de_sizes or [])])
    pools = [np.arange(*part) for part in pairwise(ends)]
    nu, de = (pools, pools) if de_sizes is None else (pools[: len(sizes)], pools[len(sizes) :])
    return Pools(nu, de, tuple("abcdefgh"[: len(sizes)]), paired=de_sizes is not None)


def numbered_rows(*pools):
    """A table whose rows hold their own numbers."""
    n = 1 + max(int(pool.max()) for member in pools for pool in member.nu + member.de)
    return torch.arange(n, dtype=torch.float64).unsqueeze(-1)


def make_sampler(pools, seeds=(0,), nu_size=TWO, de_size=TWO, **options):
    return EpisodeSampler(numbered_rows(*pools), pools, seeds, [(nu_size, de_size)] * len(pools), **options)


def sides(pair, member=0, task=0):
    """The numbers of the real rows of a task's two samples."""
    n = pair.rows.shape[-2]
    shares = pair.shares.expand(*pair.rows.shape[:-2], 2, n)[member, task]
    torch.testing.assert_close(shares.sum(-1), torch.ones(2, dtype=shares.dtype))
    numbers = pair.rows[member, task, :, 0].long().numpy()
    is_nu = np.arange(n) < pair.n_nu
    real = shares.numpy() > 0
    assert not (real[0] & ~is_nu).any()
    assert not (real[1] & is_nu).any()
    return [numbers[row] for row in real]


def draw(sampler, steps, member=0, n_tasks=1):
    """Four lists of row numbers for each task of the steps: support nu, support de, query nu, query de."""
    for step in steps:
        episode = sampler(torch.tensor(step))
        for task in range(n_tasks):
            yield [numbers for pair in episode for numbers in sides(pair, member, task)]


def pool_of(numbers, pools):
    """Which pool all these rows are in."""
    (index,) = {i for i, pool in enumerate(pools) for number in numbers if number in pool}
    assert set(numbers) <= set(pools[index].tolist())
    return index


SHAPES = {
    "even": make_pools([40, 40, 40]),
    "uneven": make_pools([40, 5, 90]),
    "large": make_pools([WINDOW + 500, 40, 5]),
    "paired": make_pools([40, 5, 12], de_sizes=[60, 30, 4]),
}


@pytest.mark.parametrize("pools", SHAPES.values(), ids=SHAPES)
def test_what_an_episode_is_made_of(pools):
    sampler = make_sampler([pools], nu_size=SupportSize(1, 6), de_size=SupportSize(2, 8), n_query=16, tasks_per_step=3)
    met = set()
    for support_nu, support_de, query_nu, query_de in draw(sampler, range(60), n_tasks=3):
        i, j = pool_of(query_nu, pools.nu), pool_of(query_de, pools.de)
        met.add((i, j))
        for support, query, pool, (low, high) in (
            (support_nu, query_nu, pools.nu[i], (1, 6)),
            (support_de, query_de, pools.de[j], (2, 8)),
        ):
            assert len(query) == min(16, len(pool))
            assert len(set(query)) == len(query), "drawn without replacement"
            assert low <= len(support) <= min(high, len(pool))
            np.testing.assert_array_equal(support, query[: len(support)])
    assert met == {(i, j) for i in range(3) for j in range(3) if i == j or not pools.paired}


def test_fixed_sizes_without_padding_need_no_masks():
    episode = make_sampler([SHAPES["even"]], nu_size=TWO, de_size=SupportSize(5, 5), n_query=16)(torch.tensor(0))
    assert episode.support.shares.shape == (2, 7)
    assert episode.query.shares.shape == (2, 32)
    assert episode.query.rows.shape == (1, 1, 32, 1)


def test_a_query_holds_the_support_even_where_it_is_asked_to_be_smaller():
    sampler = make_sampler([SHAPES["even"]], de_size=SupportSize(30, 30), n_query=4)
    for _, support_de, _, query_de in draw(sampler, range(5)):
        assert len(support_de) == 30
        assert set(support_de) <= set(query_de)


def test_all_support_sizes_of_a_range_occur_equally_often():
    sampler = make_sampler([SHAPES["even"]], nu_size=SupportSize(1, 4), de_size=SupportSize(3, 5))
    sizes = np.array([[len(support_nu), len(support_de)] for support_nu, support_de, *_ in draw(sampler, range(600))])
    for column, expected in zip(sizes.T, ([1, 2, 3, 4], [3, 4, 5]), strict=True):
        values, counts = np.unique(column, return_counts=True)
        assert values.tolist() == expected
        assert stats.chisquare(counts).pvalue > 1e-3  # the seed is fixed


def test_a_pool_smaller_than_the_range_gives_what_it_has():
    sampler = make_sampler([make_pools([3])], nu_size=SupportSize(1, 9), n_query=16)
    assert {len(support_nu) for support_nu, *_ in draw(sampler, range(100))} == {1, 2, 3}


@pytest.mark.slow
@pytest.mark.parametrize("size", [50, WINDOW + 476], ids=["small", "large"])
def test_every_row_is_drawn_equally_often(size):
    sampler = make_sampler([make_pools([size])], nu_size=SupportSize(5, 5), de_size=SupportSize(5, 5), n_query=25)
    episodes = list(draw(sampler, range(1500)))
    for column, per_episode in ((0, 5), (1, 5), (2, 25), (3, 25)):
        counts = np.bincount(np.concatenate([episode[column] for episode in episodes]), minlength=size)
        assert counts.sum() == per_episode * 1500
        # Without replacement counts vary less than multinomially; a factor puts the statistic back on its law.
        statistic = stats.chisquare(counts).statistic / (1 - per_episode / size)
        assert 1e-3 < stats.chi2(size - 1).sf(statistic) < 1 - 1e-3


def test_one_draw_from_a_large_pool_reaches_all_of_it():
    # Neighbours in a file are often alike. A window of unshuffled rows would meet two quarters at most.
    sampler = make_sampler([make_pools([4 * WINDOW])], n_query=128)
    for _, _, *queries in draw(sampler, range(10)):
        assert all({*query // WINDOW} == {0, 1, 2, 3} for query in queries)


def test_both_sides_are_drawn_apart():
    sampler = make_sampler([make_pools([50, 50, 50])], n_query=10)
    indices = np.array([[query[0] // 50 for query in episode[2:]] for episode in draw(sampler, range(900))])
    counts = np.bincount(3 * indices[:, 0] + indices[:, 1], minlength=9)
    assert stats.chisquare(counts).pvalue > 1e-3  # with replacement: a dataset meets itself as often as another


# ---------------------------------------------------------------- supports that are kept out


@pytest.mark.parametrize("sizes", [(40, 40), (40, 31), (1500, 1200)], ids=["even", "uneven", "windows"])
def test_a_dataset_that_meets_itself_keeps_both_supports_out_of_both_queries(sizes):
    size = SupportSize(1, 6)
    sampler = make_sampler([make_pools(sizes)], nu_size=size, de_size=size, n_query=20, held_out=(True, True))
    met_itself = 0
    for step in range(60):
        supports, queries = (sides(pair) for pair in sampler(torch.tensor(step)))
        assert not set(supports[0]) & set(supports[1])
        assert not {*supports[0], *supports[1]} & {*queries[0], *queries[1]}
        met_itself += len({*supports[0], *supports[1]} & set(range(sizes[0]))) not in (
            len(supports[0]),
            len(supports[1]),
        )
    assert met_itself > 10


@pytest.mark.parametrize("held_out", [(True, True), (True, False), (False, False)])
@pytest.mark.parametrize(
    "pools", [SHAPES["even"], SHAPES["uneven"], SHAPES["paired"]], ids=["even", "uneven", "paired"]
)
@pytest.mark.parametrize("n_query", [6, 16])
def test_rows_of_a_support_that_is_kept_out_have_no_share_in_the_query(pools, held_out, n_query):
    sizes = dict(nu_size=SupportSize(1, 4), de_size=SupportSize(2, 6))
    sampler = make_sampler([pools], **sizes, n_query=n_query, tasks_per_step=2, held_out=held_out)
    for step in range(40):
        episode = sampler(torch.tensor(step))
        for task in range(2):
            supports, queries = (sides(pair, task=task) for pair in episode)
            for support, query, kept_out in zip(supports, queries, held_out, strict=True):
                assert len(support) >= 1
                assert len(query) >= 1, "something is left to judge by"
                assert kept_out == (not set(support) & set(query))
            # A query row is either no row of the support, or the one that it says it is.
            own, rows = episode.support_index, episode.query.rows[0, task, :, 0]
            known = own >= 0
            assert torch.equal(rows[known], episode.support.rows[0, task, own[known], 0])
            assert sorted(own[known].tolist()) == list(range(episode.support.rows.shape[-2]))


def test_a_support_as_large_as_the_query_still_leaves_one_row():
    sampler = make_sampler([make_pools([40])], nu_size=SupportSize(9, 9), n_query=9, held_out=(True, True))
    for support_nu, _, query_nu, _ in draw(sampler, range(10)):
        assert (len(support_nu), len(query_nu)) == (9, 1)


def test_a_lone_row_cannot_be_kept_out():
    with pytest.raises(CollectionError, match="Dataset 'b' has 1 instance to draw from; at least 2 are needed"):
        make_sampler([make_pools([9, 9], de_sizes=[9, 1])], held_out=(True, True))


def test_each_task_has_an_alpha_of_the_range():
    options = dict(tasks_per_step=4, alphas=(0.2, 0.6))
    sampler = make_sampler([SHAPES["even"]] * 2, seeds=(0, 1), **options)
    drawn = torch.stack([sampler(torch.tensor(step)).alpha for step in range(200)])
    assert drawn.shape == (200, 2, 4)
    assert (drawn >= 0.2).all()
    assert (drawn < 0.6).all()
    for member in range(2):
        assert stats.kstest((drawn[:, member].flatten().numpy() - 0.2) / 0.4, "uniform").pvalue > 1e-3
    assert len(drawn.flatten().unique()) > 1500
    alone = make_sampler([SHAPES["even"]], seeds=(1,), **options)
    torch.testing.assert_close(alone(torch.tensor(7)).alpha[0], drawn[7, 1])
    assert make_sampler([SHAPES["even"]])(torch.tensor(0)).alpha is None


@pytest.mark.slow
@pytest.mark.parametrize("skew", [1.0, 3.0])
def test_skew_makes_small_sizes_the_more_frequent(skew):
    sampler = make_sampler([SHAPES["even"]], nu_size=SupportSize(1, 4), tasks_per_step=4, skew=skew)
    sizes = [len(episode[0]) for episode in draw(sampler, range(400), n_tasks=4)]
    # A share u of [0, 1) gives the size 1 + floor(4 u^skew).
    edges = (np.arange(5) / 4) ** (1 / skew)
    assert stats.chisquare(np.bincount(sizes, minlength=5)[1:], 1600 * np.diff(edges)).pvalue > 1e-3


# ---------------------------------------------------------------- a pure function of seed and step


def assert_same_draws(left, right):
    for mine, other in zip(left, right, strict=True):
        for a, b in zip(mine, other, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("n_tasks", [1, 3])
def test_order_of_calls_does_not_matter(n_tasks):
    pools = SHAPES["uneven"]
    steps = [70, 3, 4, 64, 3, 0, 100_000]
    jumping = make_sampler([pools], nu_size=SupportSize(1, 4), tasks_per_step=n_tasks)
    for step in steps:
        fresh = make_sampler([pools], nu_size=SupportSize(1, 4), tasks_per_step=n_tasks)
        assert_same_draws(draw(jumping, [step], n_tasks=n_tasks), draw(fresh, [step], n_tasks=n_tasks))


ENSEMBLES = {
    "equal sizes": [make_pools([40, 40]), make_pools([40, 40], first=80)],
    "other sizes": [make_pools([40, 30]), make_pools([90, 40, 6], first=70)],
    "one large": [make_pools([40, 30]), make_pools([WINDOW + 9, 50], first=70)],
    "both large": [make_pools([WINDOW + 5, 30]), make_pools([WINDOW + 900, 50], first=WINDOW + 35)],
    "paired": [make_pools([20, 9], de_sizes=[30, 30]), make_pools([7, 80], first=89, de_sizes=[5, 200])],
}


@pytest.mark.parametrize("pools", ENSEMBLES.values(), ids=ENSEMBLES)
def test_a_member_draws_in_an_ensemble_what_it_draws_alone(pools):
    options = dict(nu_size=SupportSize(1, 4), de_size=SupportSize(2, 5), n_query=16, tasks_per_step=2)
    together = make_sampler(pools, seeds=[7, 8], **options)
    for member, (mine, seed) in enumerate(zip(pools, [7, 8], strict=True)):
        alone = make_sampler([mine], seeds=[seed], **options)
        assert_same_draws(draw(together, range(40), member, n_tasks=2), draw(alone, range(40), n_tasks=2))


@pytest.mark.parametrize("pools", SHAPES.values(), ids=SHAPES)
def test_parts_of_the_tasks_are_those_of_the_whole(pools):
    options = dict(nu_size=SupportSize(1, 4), n_query=16, tasks_per_step=5, held_out=(True, True), alphas=(0.1, 0.9))
    pools = [pools] if min(map(len, pools.de)) > 4 else [make_pools([9, 12], de_sizes=[8, 20])]
    whole = make_sampler(pools, **options)
    for part in (slice(0, None, 3), slice(2, None, 3)):
        sampler = make_sampler(pools, part=part, **options)
        for step in range(4):
            mine, all_of_it = sampler(torch.tensor(step)), whole(torch.tensor(step)).tasks(part)
            torch.testing.assert_close(mine.rows, all_of_it.rows, rtol=0, atol=0)
            torch.testing.assert_close(mine.alpha, all_of_it.alpha, rtol=0, atol=0)
            for pair, other in zip(mine, all_of_it, strict=True):
                torch.testing.assert_close(pair.shares, other.shares, rtol=0, atol=0)


def test_seeds_steps_and_tasks_draw_differently():
    sampler = make_sampler([SHAPES["even"]] * 3, seeds=[0, 1, 2**64 + 5], n_query=16, tasks_per_step=2)
    drawn = [tuple(episode[2]) for m in range(3) for episode in draw(sampler, range(70), m, n_tasks=2)]
    assert len(set(drawn)) == len(drawn) == 3 * 70 * 2


def test_dataset_too_small_to_draw_from_is_named():
    with pytest.raises(CollectionError, match="Dataset 'b' has 3 instances to draw from; at least 4 are needed"):
        make_sampler([make_pools([9, 3])], nu_size=SupportSize(4, 4))
    with pytest.raises(CollectionError, match="Dataset 'a' has 2 instances to draw from; at least 3 are needed"):
        make_sampler([make_pools([2, 9])], de_size=THREE)
    with pytest.raises(CollectionError, match="Dataset 'b' has 2 instances to draw from; at least 3 are needed"):
        make_sampler([make_pools([9, 2], de_sizes=[9, 9])], nu_size=THREE)


def test_fewer_unlabelled_rows_than_asked_for_are_taken_as_they_are():
    sampler = make_sampler([make_pools([9, 9], de_sizes=[9, 2])], de_size=SupportSize(5, 5))
    assert {len(support_de) for _, support_de, *_ in draw(sampler, range(20))} == {5, 2}


# ---------------------------------------------------------------- evaluation


def evaluate(pools, seeds=(0,), nu_size=TWO, de_size=THREE, **options):
    """Evaluation episodes and, task by task of each member, their four lists of row numbers."""
    episodes = EvaluationEpisodes(numbered_rows(*pools), pools, seeds, [(nu_size, de_size)] * len(pools), **options)
    cuts = [[] for _ in pools]
    for batch in episodes.batches():
        for member in range(len(pools)):
            for task in range(batch.query.rows.shape[1]):
                cuts[member].append([numbers for pair in batch for numbers in sides(pair, member, task)])
    return episodes.tasks.tolist(), cuts


def test_every_ordered_pair_is_evaluated_on_rows_that_are_in_no_support():
    pools = make_pools([10, 7, 20])
    (tasks,), (cuts,) = evaluate([pools], n_draws=2)
    assert tasks == 2 * [[i, j] for i in range(3) for j in range(3)]
    for (i, j), (support_nu, support_de, query_nu, query_de) in zip(tasks, cuts, strict=True):
        assert (len(support_nu), len(support_de)) == (2, 3)
        own = {*support_nu} if i != j else {*support_nu, *support_de}
        other = {*support_de} if i != j else own
        assert len(own | other) == 5
        # All other rows of the pool, each once.
        assert sorted(query_nu) == sorted(set(pools.nu[i].tolist()) - own)
        assert sorted(query_de) == sorted(set(pools.de[j].tolist()) - other)
    assert cuts[0][0].tolist() != cuts[9][0].tolist(), "a second draw takes another support"


def test_the_query_can_be_limited():
    _, (cuts,) = evaluate([make_pools([10, 6])], n_query=4)
    # The second pool meets itself with one row left over.
    assert [[len(query) for query in cut[2:]] for cut in cuts] == [[4, 4], [4, 3], [4, 4], [1, 1]]


def test_paired_pools_judge_all_unlabelled_rows():
    pools = make_pools([6, 9], de_sizes=[12, 4])
    (tasks,), (cuts,) = evaluate([pools], de_size=SupportSize(5, 5))
    assert tasks == [[0, 0], [1, 1]]
    for i, (support_nu, support_de, query_nu, query_de) in enumerate(cuts):
        assert len(support_nu) == 2
        assert sorted([*support_nu, *query_nu]) == pools.nu[i].tolist()
        assert sorted(query_de) == pools.de[i].tolist()
        assert len(support_de) == min(5, len(pools.de[i]))
        assert set(support_de) <= set(query_de)


@pytest.mark.parametrize("n_query", [None, 3])
def test_query_rows_say_which_of_the_support_they_are(n_query):
    for pools in (make_pools([6, 9], de_sizes=[12, 4]), make_pools([10, 12])):
        sizes = [(TWO, SupportSize(5, 5))]
        episodes = EvaluationEpisodes(numbered_rows(pools), [pools], [0], sizes, n_query=n_query)
        for episode in episodes.batches():
            for task in range(episode.query.rows.shape[1]):
                numbers = [pair.rows[0, task, :, 0] for pair in episode]
                real = [pair.shares.expand(*pair.rows.shape[:2], 2, -1)[0, task].sum(0) > 0 for pair in episode]
                for row, own in enumerate(episode.support_index.tolist()):
                    if own >= 0 and real[0][own]:
                        assert numbers[1][row] == numbers[0][own]
                    elif real[1][row] and pools.paired:
                        assert numbers[1][row] not in numbers[0][real[0]]
                assert pools.paired == bool((episode.support_index >= 0).any())


def test_draws_run_through_the_range_of_sizes():
    _, (cuts,) = evaluate([make_pools([30, 30])], nu_size=SupportSize(1, 5), de_size=SupportSize(2, 2), n_draws=5)
    assert [len(cut[0]) for cut in cuts] == [n for n in range(1, 6) for _ in range(4)]
    assert {len(cut[1]) for cut in cuts} == {2}


@pytest.mark.parametrize("n_draws", [2, 3, 10])
def test_the_sizes_of_both_supports_vary_and_not_in_step(n_draws):
    size = SupportSize(1, 10)
    _, (cuts,) = evaluate([make_pools([40])], nu_size=size, de_size=size, n_draws=n_draws)
    sizes = [(len(cut[0]), len(cut[1])) for cut in cuts]
    assert len({n_nu for n_nu, _ in sizes}) == len({n_de for _, n_de in sizes}) == n_draws
    assert all(n_nu != n_de for n_nu, n_de in sizes)
    for side in zip(*sizes, strict=True):
        assert {min(side), max(side)} == {1, 10}


@pytest.mark.parametrize(
    ("nu_size", "de_size", "n"),
    [((5, 5), (1, 1), 7), ((1, 1), (5, 5), 7), ((1, 5), (1, 5), 7), ((4, 4), (1, 6), 6), ((1, 6), (4, 4), 6)],
)
def test_a_small_dataset_meets_itself_with_supports_within_the_range(nu_size, de_size, n):
    nu_size, de_size = SupportSize(*nu_size), SupportSize(*de_size)
    _, (cuts,) = evaluate([make_pools([n])], nu_size=nu_size, de_size=de_size, n_draws=6)
    for support_nu, support_de, query_nu, query_de in cuts:
        assert nu_size.low <= len(support_nu) <= nu_size.high
        assert de_size.low <= len(support_de) <= de_size.high
        assert len({*support_nu, *support_de, *query_nu}) == n
        np.testing.assert_array_equal(query_nu, query_de)


def test_a_dataset_too_small_to_meet_itself_still_meets_others():
    (tasks,), _ = evaluate([make_pools([5, 10])])
    assert tasks == [[0, 1], [1, 0], [1, 1]]


def test_no_task_at_all_is_an_error():
    with pytest.raises(CollectionError, match="Dataset 'a' is the only one and has 5 instances; 6 are needed"):
        evaluate([make_pools([5])])


def test_the_same_every_time_and_in_batches_of_any_size():
    pools = [make_pools([10, 7, 20])]
    _, first = evaluate(pools, seeds=[3], n_draws=2)
    _, again = evaluate(pools, seeds=[3], n_draws=2, tasks_per_batch=4)
    _, other = evaluate(pools, seeds=[4], n_draws=2)
    assert_same_draws(first[0], again[0])
    assert any(a[0].tolist() != b[0].tolist() for a, b in zip(first[0], other[0], strict=True))


def test_a_member_is_evaluated_on_the_same_episodes_alone():
    pools = [make_pools([10, 7]), make_pools([30, 40], first=17)]
    _, together = evaluate(pools, seeds=[3, 4])
    for member in range(2):
        _, alone = evaluate(pools[member : member + 1], seeds=[3 + member])
        assert_same_draws(together[member], alone[0])


def test_members_with_different_numbers_of_episodes_are_refused():
    with pytest.raises(CollectionError, match=r"different numbers of validation episodes \(\[4, 9\]\)"):
        evaluate([make_pools([10, 10]), make_pools([10, 10, 10])], seeds=[0, 0])


@pytest.mark.parametrize(
    ("pools", "name"),
    [
        (make_pools([10, 2]), "b"),
        (make_pools([3, 10]), "a"),
        (make_pools([2, 10], de_sizes=[10, 10]), "a"),
    ],
    ids=["numerator", "denominator", "known normals"],
)
def test_dataset_too_small_to_evaluate_on_is_named(pools, name):
    with pytest.raises(
        CollectionError, match=f"Dataset '{name}' has [23] instances to draw from; at least [34] are needed"
    ):
        evaluate([pools])


@pytest.mark.parametrize("side", ["nu_size", "de_size"])
def test_a_support_larger_than_the_window_is_refused_and_not_cut(side):
    large = SupportSize(2, WINDOW + 1)
    with pytest.raises(ParameterError, match=rf"up to {WINDOW + 1} instances per sample; .* draws {WINDOW} at most"):
        make_sampler([make_pools([5, WINDOW + 1])], **{side: large})
    # A smaller pool gives what it has.
    make_sampler([make_pools([5, WINDOW])], **{side: large})
    make_sampler([make_pools([5, WINDOW + 1])], **{side: SupportSize(2, WINDOW)})
