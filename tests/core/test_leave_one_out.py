"""Leave-one-out against solving again without the pair, as a textbook would."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fewratio.core.leave_one_out import LeaveOneOut
from fewratio.core.ridge import Moments
from tests.strategies import alphas, normal, quick, seeds

CLIPS = ("ratio", "weights")
REGS = torch.tensor([1e-3, 0.1, 10.0], dtype=torch.float64)


def moments_of(nu, de):
    return Moments.of(nu, de)


def by_brute_force(nu, de, pair, alpha, reg, clip):
    """The ratio at the pair's two instances, the weights solved for without them."""
    left = nu[pair], de[pair]
    nu, de = (torch.cat([phi[:pair], phi[pair + 1 :]]) for phi in (nu, de))
    K = alpha * nu.T @ nu / len(nu) + (1 - alpha) * de.T @ de / len(de)
    w = torch.linalg.solve(K + reg * torch.eye(len(K), dtype=K.dtype), nu.mean(0))
    if clip == "weights":
        w = w.clamp_min(0)
    return torch.stack([w @ phi for phi in left]).clamp_min(0)


def check(nu, de, alpha, clip, regs=REGS, rtol=1e-9):
    p = min(len(nu), len(de))
    found = LeaveOneOut(moments_of(nu, de), alpha, regs, clip).ratios(nu[:p], de[:p])
    assert found.shape == (len(regs), 2, p)
    for each, reg in enumerate(regs.tolist()):
        expected = torch.stack([by_brute_force(nu, de, pair, alpha, reg, clip) for pair in range(p)], 1)
        torch.testing.assert_close(found[each], expected, rtol=rtol, atol=rtol * float(expected.max()) + 1e-300)


@pytest.mark.parametrize("clip", CLIPS)
@pytest.mark.parametrize("alpha", [0.0, 0.1, 0.5, 0.95])
@pytest.mark.parametrize(("n_nu", "n_de", "t"), [(12, 30, 5), (30, 12, 5), (8, 8, 20), (2, 9, 3), (9, 2, 3), (2, 2, 1)])
def test_equals_brute_force(n_nu, n_de, t, alpha, clip):
    nu, de = normal(0, n_nu, t).abs(), normal(1, n_de, t).abs()
    check(nu, de, alpha, clip)


@pytest.mark.parametrize("clip", CLIPS)
@quick
@given(sizes=st.tuples(*[st.integers(2, 9)] * 2, st.integers(1, 9)), seed=seeds, alpha=alphas)
def test_equals_brute_force_for_any_sizes(sizes, seed, alpha, clip):
    n_nu, n_de, t = sizes
    # Positive features, as the clipping of weights needs them.
    nu, de = normal(seed, n_nu, t).abs(), normal(seed + 1, n_de, t).abs()
    # Leaving out a row that alone holds up a direction costs the downdate as many digits as reg is small.
    check(nu, de, alpha, clip, torch.tensor([0.01, 1.0]).double(), 1e-7)


@pytest.mark.parametrize("clip", CLIPS)
def test_equal_rows_do_no_harm(clip):
    check(normal(0, 1, 4).abs().expand(5, 4), normal(1, 1, 4).abs().expand(7, 4), 0.3, clip)


def test_pairs_in_blocks_equal_pairs_at_once():
    nu, de = normal(0, 10, 4), normal(1, 13, 4)
    for clip in CLIPS:
        without = LeaveOneOut(moments_of(nu, de), 0.4, REGS, clip)
        blocks = [without.ratios(nu[rows], de[rows]) for rows in (slice(0, 3), slice(3, 10))]
        torch.testing.assert_close(torch.cat(blocks, -1), without.ratios(nu, de[:10]))
