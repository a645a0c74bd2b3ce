"""A committee is the mean of its members, whatever these are made of."""

import pytest
import torch
from hypothesis import given

from fewratio.estimators.networks.nn import RatioCommittee
from tests.strategies import make_model, pairs, quick


@pytest.mark.slow
@quick
@given(pair=pairs(n_features=2))
def test_it_is_the_mean_of_its_members(pair):
    members = [make_model(name, 2, seed) for seed, name in enumerate(("mean", "mean", "range"))]
    x = torch.linspace(-1, 1, 8, dtype=torch.float64).reshape(4, 2)
    with torch.no_grad():
        together, alone = RatioCommittee(members).adapt(pair), [member.adapt(pair) for member in members]
        torch.testing.assert_close(together(x), sum(ratio(x) for ratio in alone) / 3)
        torch.testing.assert_close(together.at_support(), sum(ratio.at_support() for ratio in alone) / 3)
