"""Shape annotations: checked here, harmless where jaxtyping is not imported."""

import runpy
import sys

import jaxtyping
import pytest
import torch

from fewratio.core import shapes
from fewratio.core.objectives import RelativeSquaredError


def test_shapes_are_checked_in_tests():
    # Three shares for four values; without the check torch would only complain where the two meet.
    with pytest.raises(jaxtyping.TypeCheckError):
        RelativeSquaredError()(torch.ones(4), torch.full((2, 3), 1 / 3))


def test_without_jaxtyping_an_annotation_is_the_tensor_alone(monkeypatch):
    monkeypatch.delitem(sys.modules, "jaxtyping")
    names = runpy.run_path(shapes.__file__)
    for name in ("Float", "Int", "Bool"):
        assert names[name][torch.Tensor, "... n d"] is torch.Tensor
