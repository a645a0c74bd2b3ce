"""The ridge solve: two roads to the same weights, and gradients against finite differences."""

import pytest
import torch
from hypothesis import given
from torch.func import grad, vmap

from fewratio.core.ridge import Moments, RidgePath, ridge_weights, ridge_weights_of_moments
from fewratio.errors import ParameterError
from fewratio.estimators.networks.pair import Pair
from tests.strategies import normal, pairs, problems, quick, regs, seeds, with_padding

FORMS = ("primal", "dual")
EPS = torch.finfo(torch.float64).eps

# Where two roads are compared number by number, K + reg I must not be too ill-conditioned to have one answer.
moderate_regs = regs.filter(lambda reg: reg > 1e-3)


@pytest.mark.parametrize("form", [None, *FORMS])
@quick
@given(problem=problems())
def test_gradient_of_eq4_vanishes_at_the_weights(problem, form):
    w = ridge_weights(problem.phi, problem.shares, problem.alpha, problem.reg, form)
    gradient = grad(problem.eq4)(w)
    # Rounding of a solve grows with the condition number; at w = 0 the gradient is -k, whose terms may cancel.
    assert gradient.norm() <= 100 * EPS * problem.condition * problem.nu.abs().mean(0).norm()


@pytest.mark.parametrize("form", FORMS)
@quick
@given(problem=problems(regs=moderate_regs))
def test_both_forms_give_the_textbook_weights(problem, form):
    w = ridge_weights(problem.phi, problem.shares, problem.alpha, problem.reg, form)
    textbook = torch.linalg.solve(problem.K + problem.reg * torch.eye(len(w), dtype=torch.float64), problem.k)
    # Condition numbers reach 1e5: eleven digits are left, and the dual may lose some more on the way back to w.
    torch.testing.assert_close(w, textbook, rtol=1e-8, atol=1e-8 * float(textbook.norm()))


@pytest.mark.parametrize("alpha", [0.0, 0.01, 0.5, 0.9])
@pytest.mark.parametrize("reg", [1e-6, 1e-3, 1.0])
@pytest.mark.parametrize(("n_nu", "n_de", "t"), [(5, 3, 100), (40, 60, 20)], ids=["dual", "primal"])
@pytest.mark.parametrize("repeated", [False, True], ids=["distinct", "repeated"])
def test_float32_features_give_nearly_the_weights_of_float64(alpha, reg, n_nu, n_de, t, repeated):
    rows = normal(0, n_nu + n_de, 4)
    if repeated:  # within each side and across
        rows[1] = rows[0]
        rows[-1] = rows[-2] = rows[2]
    phi = torch.nn.functional.softplus(rows @ normal(1, 4, t))
    exact = ridge_weights(phi, Pair(rows[:n_nu], rows[n_nu:]).shares, alpha, reg)
    phi, rows = phi.float(), rows.float()
    w = ridge_weights(phi, Pair(rows[:n_nu], rows[n_nu:]).shares, alpha, reg)
    assert w.dtype == torch.float32
    # The features and shares themselves are rounded by 6e-8; the rest is how much the solution feels that.
    assert (w - exact).norm() <= 1e-5 * exact.norm()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("lead", [(3,), (2, 3)])
@pytest.mark.parametrize("alpha", [0.0, 0.4])
def test_batch_equals_loop_over_tasks(form, lead, alpha):
    phi, reg = normal(0, *lead, 7, 4), normal(1, *lead).exp()
    shares = Pair(phi[..., :2, :], phi[..., 2:, :]).shares
    w = ridge_weights(phi, shares, alpha, reg, form)
    assert w.shape == (*lead, 4)
    for task in torch.cartesian_prod(*map(torch.arange, lead)).view(-1, len(lead)).tolist():
        alone = ridge_weights(phi[*task], shares, alpha, float(reg[*task]), form)
        # Only the order of sums differs, times a condition number of about 100.
        torch.testing.assert_close(w[*task], alone, rtol=1e-11, atol=1e-12)


def test_one_support_can_be_solved_for_many_regs():
    phi, reg = normal(0, 5, 3), torch.tensor([0.01, 1.0], dtype=torch.float64)
    shares = Pair(phi[:2], phi[2:]).shares
    for form in FORMS:
        path = ridge_weights(phi, shares, 0.0, reg, form)
        alone = [ridge_weights(phi, shares, 0.0, float(value), form) for value in reg]
        torch.testing.assert_close(path, torch.stack(alone))


@quick
@given(problem=problems())
def test_weights_of_moments_are_those_of_the_rows(problem):
    expected = ridge_weights(problem.phi, problem.shares, problem.alpha, problem.reg, "primal")
    found = ridge_weights_of_moments(problem.K, problem.k, problem.reg)
    # K itself is rounded at 1e-16 either way; the solution feels that as much as its condition says.
    torch.testing.assert_close(found, expected, rtol=0, atol=100 * EPS * problem.condition * float(expected.norm()))


@quick
@given(problem=problems(regs=moderate_regs))
def test_a_path_is_its_single_solves(problem):
    regs = torch.tensor([problem.reg, 0.1, 30.0], dtype=torch.float64)
    path = RidgePath.of(problem.K, regs).solve(problem.k)
    for found, reg in zip(path, regs.tolist(), strict=True):
        expected = ridge_weights_of_moments(problem.K, problem.k, reg)
        torch.testing.assert_close(found, expected, rtol=1e-8, atol=1e-8 * float(expected.norm()))


def test_a_path_of_a_singular_matrix_with_tiny_regs():
    phi = normal(0, 1, 6).expand(4, 6)
    K, k = phi.T @ phi / 4, phi.mean(0)
    path = RidgePath.of(K, torch.tensor([1e-300, 1e-12], dtype=torch.float64)).solve(k)
    # In the one direction there is, of squared length l, the ratio is l / (l + reg); in the others all is rounding.
    torch.testing.assert_close(path @ k, torch.ones(2, dtype=torch.float64), rtol=1e-9, atol=0)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("alpha", [0.0, 0.4])
@quick
@given(pair=pairs(n_features=4), seed=seeds)
def test_padding_changes_nothing(form, alpha, pair, seed):
    padded = with_padding(pair, seed)
    bare = ridge_weights(pair.rows, pair.shares, alpha, 0.1, form)
    w = ridge_weights(padded.rows, padded.shares, alpha, 0.1, form)
    torch.testing.assert_close(w, bare, rtol=1e-9, atol=1e-10)


# ---------------------------------------------------------------- gradients


def masked_pair():
    """Two tasks, two features more than rows, one row of each task padding."""
    rows = normal(0, 2, 5, 7)
    return Pair(rows[:, :3], rows[:, 3:], torch.tensor([[True, True, False], [True, True, True]]), None)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("alpha", [0.0, 0.3])
def test_gradients_to_features_and_reg_equal_finite_differences(form, alpha):
    pair, log_reg = masked_pair(), torch.tensor([-1.0, 0.5], dtype=torch.float64)

    def solve(phi, log_reg):
        return ridge_weights(phi, pair.shares, alpha, log_reg.exp(), form)

    assert torch.autograd.gradcheck(solve, (pair.rows.requires_grad_(), log_reg.requires_grad_()))


@pytest.mark.parametrize("form", FORMS)
def test_gradient_to_a_learned_alpha_equals_finite_differences(form):
    # With padding: the root of a padded row's zero share must not turn the gradient into NaN.
    pair, logit = masked_pair(), torch.tensor(-0.7, dtype=torch.float64, requires_grad=True)

    def solve(logit):
        return ridge_weights(pair.rows, pair.shares, logit.sigmoid(), 0.2, form)

    assert torch.autograd.gradcheck(solve, (logit,))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("in_dims", [(0, 0, 0), (1, None, None), (None, 0, None)])
def test_weights_and_gradients_under_vmap_equal_the_loop(form, in_dims):
    n = 3
    shapes = [(5, 7), (), ()]
    mapped = [(*shape[:d], n, *shape[d:]) if d is not None else shape for d, shape in zip(in_dims, shapes, strict=True)]
    arguments = [normal(seed, *shape) for seed, shape in enumerate(mapped)]
    shares = Pair(normal(9, 2, 1), normal(9, 3, 1)).shares

    def loss(phi, log_reg, logit):
        w = ridge_weights(phi, shares, logit.sigmoid(), log_reg.exp(), form)
        return w.square().sum(), w

    step = grad(loss, argnums=(0, 1, 2), has_aux=True)
    gradients, w = vmap(step, in_dims)(*arguments)
    for i in range(n):
        one = [a if d is None else a.select(d, i) for d, a in zip(in_dims, arguments, strict=True)]
        alone_gradients, alone_w = step(*one)
        torch.testing.assert_close(w[i], alone_w)
        torch.testing.assert_close(tuple(gradient[i] for gradient in gradients), alone_gradients)


def test_second_derivatives_are_right_too():
    shares = Pair(normal(1, 2, 3), normal(2, 3, 3)).shares
    assert torch.autograd.gradgradcheck(
        lambda phi: ridge_weights(phi, shares, 0.5, 0.1), normal(0, 5, 3).requires_grad_()
    )


def test_an_unknown_form_is_refused():
    with pytest.raises(ParameterError, match="form is 'duall'"):
        ridge_weights(torch.ones(2, 3), torch.eye(2), 0.5, 1.0, form="duall")


@quick
@given(problem=problems())
def test_moments_are_those_of_eq5(problem):
    moments = Moments.of(problem.nu, problem.de)
    torch.testing.assert_close(moments.K(problem.alpha), problem.K)
    torch.testing.assert_close(moments.k, problem.k)


def test_blocks_add_up_and_can_be_taken_off():
    nu, de = normal(0, 9, 3), normal(1, 7, 3)
    part, rest, whole = Moments.of(nu[:4], de[:2]), Moments.of(nu[4:], de[2:]), Moments.of(nu, de)
    joined = part + rest
    for found, expected in ((joined, whole), (whole - part, rest)):
        assert (found.n_nu, found.n_de) == (expected.n_nu, expected.n_de)
        torch.testing.assert_close(found.K(0.3), expected.K(0.3))
        torch.testing.assert_close(found.k, expected.k)
