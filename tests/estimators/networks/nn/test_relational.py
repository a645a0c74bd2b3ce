"""Relational features: distances by another road, what must not matter, and that no instance sees itself."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fewratio.estimators.networks.nn import Space, relational
from fewratio.estimators.networks.nn.relational import DistanceScale, Relations, histogram_size, histogram_within
from fewratio.estimators.networks.pair import Episode, Pair
from tests.strategies import few, make_model, normal, pairs, quick, seeds

CLOSE = dict(rtol=1e-8, atol=1e-9)


def related(x, support, blocks=None, index=None):
    return Relations(x, support, DistanceScale.of(support, blocks), index)


def by_hand(x, nu, de):
    """Mean bumps of the distances from one instance to the rows of two samples; NumPy, one distance at a time."""
    rows = np.concatenate([nu, de])
    within = [np.linalg.norm(a - b) for i, a in enumerate(rows) for j, b in enumerate(rows) if i != j]
    mean = np.mean(within)
    deviation = np.sqrt(np.mean((np.array(within) / mean - 1) ** 2) + 1e-6)
    grids = [np.linspace(*grid) for grid in ((0.0, 2.4, 17), (-4.0, -0.5, 8), (-3.0, 3.0, 13))]

    def bumps(row):
        t = np.linalg.norm(x - row) / mean
        values = t, np.log(t), np.clip((t - 1) / deviation, -4, 4)
        parts = [np.exp(-0.5 * ((v - g) / (g[1] - g[0])) ** 2) for v, g in zip(values, grids, strict=True)]
        return np.concatenate(parts)

    return np.concatenate([np.mean([bumps(row) for row in sample], axis=0) for sample in (nu, de)])


@quick
@given(support=pairs(n_features=3), seed=seeds)
def test_the_histogram_is_that_of_the_distances(support, seed):
    x = normal(seed, 2, 3) + 5
    histogram = related(x, support).histogram()
    assert histogram.shape == (2, histogram_size(1))
    for row, found in zip(x, histogram, strict=True):
        np.testing.assert_allclose(
            found[:-2], by_hand(row.numpy(), support.nu.numpy(), support.de.numpy()), rtol=1e-6, atol=1e-8
        )
        assert found[-2:].tolist() == pytest.approx([1, 1])


def test_each_space_has_distances_of_its_own():
    support, x = Pair(normal(0, 3, 5), normal(1, 4, 5)), normal(2, 2, 5)
    both = related(x, support, (2, 3))
    for block, part in zip((slice(0, 2), slice(2, 5)), both.bumps.chunk(2, dim=-1), strict=True):
        alone = related(x[:, block], Pair(support.nu[:, block], support.de[:, block]))
        torch.testing.assert_close(part, alone.bumps, **CLOSE)


@pytest.mark.parametrize(
    ("raw", "n_learned", "blocks"),
    [(True, 0, (3,)), (False, 4, (4,)), (True, 4, (3, 4))],
    ids=["raw", "learned", "both"],
)
def test_where_distances_are_measured(raw, n_learned, blocks):
    space, x = Space(3, raw, n_learned, 8).double(), normal(0, 6, 3)
    assert space.blocks == blocks
    found = space(x)
    assert found.shape == (6, sum(blocks))
    if raw:
        assert torch.equal(found[:, :3], x)
    if n_learned:
        assert torch.equal(found[:, -n_learned:], space.map(x))


# ---------------------------------------------------------------- no instance sees itself


def simplex(n):
    """Rows that are all equally far from each other: taking one away changes no unit of distance."""
    return torch.eye(n, dtype=torch.float64)


@pytest.mark.parametrize(("n_nu", "n_de"), [(2, 1), (4, 3), (1, 5)])
def test_a_support_row_is_described_as_if_it_were_not_in_the_support(n_nu, n_de):
    rows = simplex(n_nu + n_de)
    support = Pair(rows[:n_nu], rows[n_nu:])
    within = related(rows, support, index=torch.arange(len(rows))).histogram()
    as_new = related(rows, support).histogram()
    half = (histogram_size(1) - 2) // 2
    for i in range(len(rows)):
        rest = [j for j in range(len(rows)) if j != i]
        without = related(rows[i : i + 1], Pair(rows[rest[:1]], rows[rest[1:]])).histogram()
        for side, numbers in enumerate((range(n_nu), range(n_nu, len(rows)))):
            part = slice(side * half, (side + 1) * half)
            if list(numbers) == [i]:
                assert not within[i, part].any(), "alone on its side it sees nothing there"
            else:
                torch.testing.assert_close(within[i, part], without[0, part], rtol=1e-6, atol=1e-9)
            assert torch.allclose(as_new[i, part], within[i, part]) == (i not in numbers)


@quick
@given(support=pairs(), data=st.data())
def test_an_own_row_has_no_weight_and_the_others_share_it(support, data):
    n = len(support.rows)
    own = torch.tensor(data.draw(st.lists(st.integers(-1, n - 1), min_size=1, max_size=6)))
    relations = related(normal(0, len(own), 2), support, index=own)
    weights = relations.weights.expand(len(own), 2, n)
    for i, number in enumerate(own.tolist()):
        for side, share in enumerate(support.shares):
            visible = [j for j in range(n) if share[j] > 0 and j != number]
            expected = torch.zeros(n, dtype=torch.float64)
            expected[visible] = 1 / max(1, len(visible))
            torch.testing.assert_close(weights[i, side], expected)
            seen = relations.sees.expand(len(own), 2)[i, side].item()
            assert seen == pytest.approx(len(visible) / (share > 0).sum().item())


@pytest.mark.parametrize("name", ["relational", "both spaces", "told alpha"])
def test_who_is_own_matters_to_these_rows_alone(name):
    adapted = make_model(name).adapt(Pair(normal(0, 4, 2), normal(1, 3, 2)))
    x = torch.cat([normal(0, 4, 2), normal(2, 3, 2)])
    own = torch.tensor([0, 1, 2, 3, -1, -1, -1])
    new, known = adapted(x), adapted(x, own)
    assert torch.equal(new, adapted(x, torch.full((7,), -1)))
    torch.testing.assert_close(known[4:], new[4:], **CLOSE)
    assert not torch.isclose(known[:4], new[:4]).any()
    torch.testing.assert_close(known[:4], adapted.at_support()[:4], **CLOSE)


@pytest.mark.parametrize("name", ["relational", "both spaces", "told alpha"])
@few
@given(support=pairs(), seed=seeds)
def test_a_query_that_names_its_own_rows_is_judged_without_them(name, support, seed):
    model, n = make_model(name), len(support.rows)
    new = normal(seed, 2, 2)
    own = torch.cat([torch.arange(n), torch.tensor([-1, -1])])
    episode = Episode(support, Pair(support.rows, new), support_index=own)
    adapted = model.adapt(support)
    torch.testing.assert_close(model(episode), torch.cat([adapted.at_support(), adapted(new)]), **CLOSE)


def test_an_equal_row_is_still_seen():
    row = torch.zeros(1, 2, dtype=torch.float64)
    far = normal(0, 3, 2) + 5
    twins, alone = Pair(torch.cat([row, row, far]), far), Pair(torch.cat([row, far]), far)
    seen = [related(row, pair, index=torch.tensor([0])).histogram()[0, 0].item() for pair in (twins, alone)]
    assert seen[0] == pytest.approx(1 / 4)  # a distance of zero to one of four others
    assert seen[1] < 1e-3


@pytest.mark.parametrize("name", ["relational", "both spaces", "told alpha"])
@pytest.mark.parametrize(("n_nu", "n_de"), [(1, 1), (3, 2)])
def test_rows_that_are_all_alike_give_finite_ratios_and_slopes(name, n_nu, n_de):
    model = make_model(name, dtype=torch.float32)
    support = Pair(torch.ones(n_nu, 2), torch.ones(n_de, 2))
    ratio = model(Episode(support, Pair(torch.ones(2, 2), torch.zeros(2, 2))))
    assert ratio.isfinite().all()
    ratio.sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters() if parameter.grad is not None)


# ---------------------------------------------------------------- what must not matter


def turned(x, seed):
    return x @ torch.linalg.qr(normal(seed, x.shape[-1], x.shape[-1])).Q


CHANGES = {
    "shift": lambda x, seed: x + normal(seed, x.shape[-1]),
    "rotation": turned,
    "scale": lambda x, seed: 37.0 * x,
    "constant column": lambda x, seed: torch.cat([x, torch.full_like(x[..., :1], 3.0)], dim=-1),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@few
@given(support=pairs(n_features=3), seed=seeds)
def test_distances_in_their_own_unit_are_all_that_counts(change, support, seed):
    model, x = make_model("relational"), normal(seed, 4, 3)
    changed = Pair(*(change(side, seed) for side in (support.nu, support.de)))
    torch.testing.assert_close(model.adapt(changed)(change(x, seed)), model.adapt(support)(x), rtol=1e-5, atol=1e-6)


def test_the_unit_counts_where_it_is_told():
    model, x = make_model("both spaces"), normal(2, 4, 2)
    nu, de = normal(0, 4, 2), normal(1, 3, 2)
    # The learned space is no multiple of itself either; the encoder alone tells.
    z, other = (model.encoder(Pair(factor * model.scaler(nu), factor * model.scaler(de))) for factor in (1, 37))
    assert not torch.allclose(z, other)
    assert not torch.allclose(model.adapt(Pair(37 * nu, 37 * de))(37 * x), model.adapt(Pair(nu, de))(x))


def test_blocks_of_rows_give_the_same():
    """Where gradients are kept all rows are taken at once, elsewhere fewer than these."""
    model, support, x = make_model("relational"), Pair(normal(0, 150, 2), normal(1, 120, 2)), normal(2, 260, 2)
    whole, histogram = model.adapt(support)(x), histogram_within(support, DistanceScale.of(support, None))
    assert whole.requires_grad
    with torch.no_grad():
        torch.testing.assert_close(model.adapt(support)(x), whole, **CLOSE)
        torch.testing.assert_close(histogram_within(support, DistanceScale.of(support, None)), histogram, **CLOSE)


def test_a_support_is_measured_once_unless_gradients_are_taken(monkeypatch):
    model, x, counted = make_model("relational"), normal(2, 7, 2), []
    monkeypatch.setattr(relational, "histogram_within", lambda *args: counted.append(args) or histogram_within(*args))
    with_gradients = model.adapt(Pair(normal(0, 5, 2), normal(1, 4, 2)))(x)
    assert len(counted) == 3
    with torch.no_grad():
        found = model.adapt(Pair(normal(0, 5, 2), normal(1, 4, 2)))(x)
    assert len(counted) == 4
    assert torch.equal(found, with_gradients)


# ---------------------------------------------------------------- told alpha


def test_each_task_of_a_batch_has_its_own_alpha():
    model = make_model("told alpha")
    support, x = Pair(normal(0, 3, 4, 2), normal(1, 3, 2, 2)), normal(2, 3, 5, 2)
    alpha = torch.tensor([0.1, 0.3, 0.9], dtype=torch.float64)
    adapted = model.adapt(support, alpha)
    ratio = adapted(x)
    assert (ratio <= 1 / alpha.unsqueeze(-1)).all()
    for i in range(3):
        alone = model.adapt(Pair(support.nu[i], support.de[i]), alpha[i])
        torch.testing.assert_close(ratio[i], alone(x[i]), **CLOSE)
    query = Pair(x[:, :2], x[:, 2:])
    torch.testing.assert_close(model(Episode(support, query, alpha)), ratio, **CLOSE)
    by_default = model.adapt(support)(x)
    torch.testing.assert_close(by_default[1], ratio[1], **CLOSE)
    assert not torch.allclose(by_default[0], ratio[0])


def test_within_its_range_a_ratio_is_clipped_at_both_ends():
    support, x = Pair(normal(0, 4, 2), normal(1, 5, 2)), normal(2, 50, 2)
    model = make_model("range")
    adapted = model.adapt(support)
    with torch.no_grad():
        raw = torch.linspace(-1, 4, 50, dtype=torch.float64)
        phi = raw.unsqueeze(-1) * adapted.weights / adapted.weights.square().sum()
    torch.testing.assert_close(adapted.combine(phi), raw.clamp(0, 2), **CLOSE)
    assert (adapted(x) <= 2).all()
