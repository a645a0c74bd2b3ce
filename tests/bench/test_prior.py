"""The prior: what it is asked for, and a true ratio that agrees with formulas and with the instances themselves."""

import numpy as np
import pytest
import torch

from fewratio.errors import ParameterError
from fewratio_bench.prior import RELATIONS, SHAPES, draw_pairs


def test_shapes_and_names():
    pairs = draw_pairs(40, n_instances=7, max_columns=6, seed=3)
    assert len(pairs) == 40
    assert pairs.rows.shape == (40, 2, 7, 6)
    assert pairs.log_ratio.shape == (40, 2, 7)
    assert pairs.rows.isfinite().all()
    assert set(pairs.relations) <= set(RELATIONS)
    assert set(pairs.shapes) <= set(SHAPES)
    assert set(pairs.n_columns.tolist()) == {1, 2, 3, 4, 5, 6}
    # Columns that are not real are zero, and all others vary.
    varies = (pairs.rows.flatten(1, 2).std(1) > 0).sum(-1)
    assert ((pairs.rows != 0).any(1).any(1) <= (torch.arange(6) < pairs.n_columns[:, None])).all()
    assert (varies <= pairs.n_columns).all()
    assert (varies == pairs.n_columns).float().mean() > 0.9  # a binary column may be constant by chance


def test_the_seed_decides():
    first, again, other = (draw_pairs(20, 5, 4, seed) for seed in (0, 0, 1))
    assert torch.equal(first.rows, again.rows)
    assert torch.equal(first.log_ratio.nan_to_num(), again.log_ratio.nan_to_num())
    assert (first.relations, first.shapes) == (again.relations, again.shapes)
    assert not torch.equal(first.rows, other.rows)


def test_global_random_state_is_untouched():
    before = torch.get_rng_state()
    draw_pairs(4, 3, 2)
    assert torch.equal(torch.get_rng_state(), before)


def test_kinds_can_be_left_out():
    pairs = draw_pairs(60, 4, 3, relations=["equal", "classes"], shapes=["heavy", "sheet"])
    assert set(pairs.relations) == {"equal", "classes"}
    assert set(pairs.shapes) == {"heavy", "sheet"}


@pytest.mark.parametrize("kinds", [{"relations": ["same"]}, {"shapes": ["plain", "round"]}, {"relations": []}])
def test_an_unknown_kind_is_named(kinds):
    with pytest.raises(ParameterError, match=f"^{next(iter(kinds))} is"):
        draw_pairs(3, **kinds)


def test_pools_number_the_table():
    pairs = draw_pairs(5, n_instances=6, max_columns=3)
    pools = pairs.pools([1, 4])
    assert pools.paired
    assert pools.names == tuple(f"{pairs.shapes[i]} {pairs.relations[i]}" for i in (1, 4))
    for place, i in enumerate((1, 4)):
        for side, numbers in enumerate((pools.nu[place], pools.de[place])):
            assert torch.equal(pairs.table_with_truth()[torch.from_numpy(numbers), :-1], pairs.rows[i, side])
    assert len(pairs.pools().nu) == 5


# ---------------------------------------------------------------- the true ratio


def test_the_truth_is_lost_where_columns_are_rounded_and_nowhere_else():
    pairs = draw_pairs(80, 6, 5)
    lost = pairs.log_ratio.isnan().flatten(1)
    rounded = torch.tensor([shape == "discrete" for shape in pairs.shapes])
    assert rounded.any()
    assert torch.equal(lost.all(1), rounded)
    assert torch.equal(lost.any(1), rounded)
    assert pairs.with_truth() == (~rounded).nonzero().flatten().tolist()


def test_equal_distributions_have_a_ratio_of_one():
    pairs = draw_pairs(30, 10, 5, relations=["equal"], shapes=[shape for shape in SHAPES if shape != "discrete"])
    assert (pairs.log_ratio == 0).all()


@pytest.mark.parametrize("relation", ["classes", "subset", "reweighted", "shifted", "rescaled", "contaminated"])
@pytest.mark.parametrize("shape", ["plain", "heavy"])
def test_means_of_the_true_ratio_are_those_of_densities(relation, shape):
    # Of any two densities p and q, with r = p/q: E_q[f(r) r] = E_p[f(r)]. With f(r) = 1 / (1 + r)^2 both are bounded.
    pairs = draw_pairs(60, 4000, 3, seed=1, relations=[relation], shapes=[shape])
    nu, de = pairs.log_ratio.double().unbind(1)
    difference = (torch.sigmoid(de) * torch.sigmoid(-de)).mean(-1) - torch.sigmoid(-nu).square().mean(-1)
    # Each mean of 4,000 values in [0, 1] is off by 0.5 / sqrt(4000) = 0.008 at most, one deviation.
    assert difference.abs().max() < 4 * 2**0.5 * 0.008
    assert difference.square().mean().sqrt() < 0.008


@pytest.mark.parametrize("relation", ["classes", "shifted", "rescaled"])
def test_one_gaussian_against_another_by_their_moments(relation):
    # Of a plain pair the instances tell the densities: where both sides have one component, a formula of moments.
    pairs = draw_pairs(150, 3000, 1, seed=2, relations=[relation], shapes=["plain"])
    compared = 0
    for rows, truth in zip(pairs.rows[..., 0].double(), pairs.log_ratio.double(), strict=True):
        mean, std = rows.mean(-1), rows.std(-1)
        standard = (rows - mean[:, None]) / std[:, None]
        # A mixture has other third and fourth moments than a Gaussian.
        if (standard**3).mean(-1).abs().max() > 0.15 or ((standard**4).mean(-1) - 3).abs().max() > 0.3:
            continue
        nu, de = (-0.5 * ((rows - mean[side]) / std[side]) ** 2 - std[side].log() for side in (0, 1))
        middle = truth.abs() < 3
        if middle.sum() > 500:
            compared += 1
            assert (nu - de - truth)[middle].abs().mean() < 0.2
    assert compared > 10


def test_contamination_is_three_tenths_at_most():
    # With p_de = (1 - share) p_nu + share p_other, the ratio is at most 1 / (1 - share).
    pairs = draw_pairs(200, 100, 3, relations=["contaminated"], shapes=["plain"])
    highest = pairs.log_ratio.flatten(1).amax(1).exp()
    assert highest.max() <= 1 / 0.7 + 1e-3
    assert highest.max() > 1.3, "and not much less"


@pytest.mark.parametrize("shape", ["warped", "sheet"])
def test_where_the_truth_is_kept_no_two_points_meet(shape):
    # In one column an invertible shape keeps or turns the order; the ratio of neighbours then is nearly the same.
    pairs = draw_pairs(100, 200, 1, seed=4, relations=["shifted"], shapes=[shape])
    for rows, truth in zip(pairs.rows.flatten(1), pairs.log_ratio.flatten(1), strict=True):
        order = rows.argsort()
        jumps = truth[order].diff().abs()
        assert jumps.mean() < 0.2 * truth.std() + 1e-3
        assert len(rows.unique()) > 390  # float32 has its ties


def test_columns_are_few_more_often_than_an_even_draw_would_have_them():
    columns = draw_pairs(2000, 1, 64, seed=0).n_columns.numpy()
    even = np.log(4) / np.log(65)
    assert np.mean(columns <= 3) == pytest.approx(0.85 * even + 0.15, abs=0.04)
    assert columns.max() > 50
