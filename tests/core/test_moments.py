"""Moments against means over the rows themselves."""

import torch
from hypothesis import given

from fewratio.core.moments import Moments
from tests.strategies import normal, problems, quick


def moments_of(nu, de):
    return Moments.of(nu, de)


@quick
@given(problem=problems())
def test_moments_are_those_of_eq5(problem):
    moments = moments_of(problem.nu, problem.de)
    torch.testing.assert_close(moments.K(problem.alpha), problem.K)
    torch.testing.assert_close(moments.k, problem.k)


def test_blocks_add_up_and_can_be_taken_off():
    nu, de = normal(0, 9, 3), normal(1, 7, 3)
    part, rest, whole = moments_of(nu[:4], de[:2]), moments_of(nu[4:], de[2:]), moments_of(nu, de)
    joined = part + rest
    for found, expected in ((joined, whole), (whole - part, rest)):
        assert (found.n_nu, found.n_de) == (expected.n_nu, expected.n_de)
        torch.testing.assert_close(found.K(0.3), expected.K(0.3))
        torch.testing.assert_close(found.k, expected.k)
