"""Heads: weights from the support in closed form, or learned ones that ignore it."""

import math

import pytest
import torch

from fewratio.core.ridge import ridge_weights
from fewratio.errors import ParameterError
from fewratio.estimators.networks.nn import RidgeHead, SharedHead
from fewratio.estimators.networks.nn.parts import SMALLEST_REG
from fewratio.estimators.networks.pair import Pair
from tests.strategies import normal

PHI = normal(0, 3, 5, 4).exp()
SHARES = Pair(PHI[:, :2], PHI[:, 2:]).shares


@pytest.mark.parametrize("alpha", [0.0, 0.3])
def test_ridge_head_solves_eq5(alpha):
    torch.testing.assert_close(RidgeHead(alpha, reg=0.2).double()(PHI, SHARES), ridge_weights(PHI, SHARES, alpha, 0.2))


def test_learned_alpha_starts_where_it_was_set():
    learned = RidgeHead(0.3, reg=0.2, learn_alpha=True).double()
    # The logit is kept in float32 until the head is made double.
    torch.testing.assert_close(learned(PHI, SHARES), ridge_weights(PHI, SHARES, 0.3, 0.2), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("learn_reg", "learn_alpha", "expected"),
    [(True, True, {"log_reg", "logit_alpha"}), (True, False, {"log_reg"}), (False, True, {"logit_alpha"})],
)
def test_what_is_learned_gets_a_gradient_and_nothing_else(learn_reg, learn_alpha, expected):
    head = RidgeHead(0.3, reg=0.2, learn_reg=learn_reg, learn_alpha=learn_alpha).double()
    head(PHI, SHARES).sum().backward()
    gradients = {name: parameter.grad for name, parameter in head.named_parameters() if parameter.grad is not None}
    assert gradients.keys() == expected
    assert all(gradient.isfinite() and gradient != 0 for gradient in gradients.values())


def test_a_learned_reg_cannot_fall_below_what_the_solve_stands():
    head = RidgeHead(reg=1e-30).double()
    torch.testing.assert_close(head(PHI, SHARES), ridge_weights(PHI, SHARES, 0.5, SMALLEST_REG))


def test_shared_head_ignores_the_support():
    head = SharedHead(4).double()
    weights = head(PHI, SHARES)
    assert weights.shape == (3, 4)
    assert torch.equal(weights, head(normal(1, 3, 5, 4), SHARES.flip(-1)))
    weights.sum().backward()
    assert torch.equal(head.weights.grad, torch.full((4,), 3.0, dtype=torch.float64))


def test_shared_head_starts_at_a_ratio_of_one():
    phi = torch.nn.functional.softplus(torch.zeros(5))
    assert (phi @ SharedHead(5)(phi.expand(1, 5), torch.ones(2, 1))).item() == pytest.approx(1)
    assert phi[0].item() == pytest.approx(math.log(2))


@pytest.mark.parametrize(
    "changes", [{"reg": 0.0}, {"alpha": 1.0}, {"alpha": -0.1}, {"alpha": 0.0, "learn_alpha": True}]
)
def test_a_parameter_out_of_range_is_named(changes):
    with pytest.raises(ParameterError, match=f"^{next(iter(changes))} is"):
        RidgeHead(**changes)
