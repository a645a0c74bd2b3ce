"""Parts of the paper's other methods: descent heads, the nnPU risk, vectors of several lengths, one-class networks."""

import copy

import numpy as np
import pytest
import torch

from fewratio.core.objectives import RelativeSquaredError
from fewratio.core.ridge import ridge_weights
from fewratio.data.collection import Collection
from fewratio.estimators.networks.nn import MLPFeatures, NoEncoder, RatioModel, RidgeHead, SetEncoder
from fewratio.estimators.networks.optim import TrainingPlan
from fewratio.estimators.networks.pair import Pair, equal_shares
from fewratio_bench.methods.one_class import (
    CENTRE_MARGIN,
    NETWORKS,
    DeepSVDD,
    NormalBlocks,
    errors_by_stage,
    new_network,
    train_on_sources,
)
from fewratio_bench.methods.parts import DescentHead, NonNegativePU, set_latent_dim
from fewratio_bench.splits import Split
from tests.strategies import normal

# ---------------------------------------------------------------- heads and losses


def test_descent_goes_where_the_closed_form_is_without_a_regulariser():
    phi = normal(0, 6, 3).exp()
    shares = equal_shares(2, 4, phi)
    weights = ridge_weights(phi, shares, 0.5, 1e-9)
    assert (phi @ weights > 0).all()  # where the ratio is not clipped
    head = DescentHead(weights + 0.01, RelativeSquaredError(0.5), n_steps=300, step_size=1.0).double()
    torch.testing.assert_close(head(phi, shares), weights, atol=1e-6, rtol=1e-6)
    assert torch.equal(DescentHead(weights, RelativeSquaredError(0.5), n_steps=0)(phi, shares), weights)


@pytest.mark.parametrize("shift", [-3.0, 9.0])
def test_the_risk_of_positive_and_unlabelled_instances_is_that_of_the_formula(shift):
    nu, de = normal(0, 5) + shift, normal(1, 8) - abs(shift)

    def loss(g):
        return 1 / (1 + np.exp(-g.numpy()))

    found = NonNegativePU(0.4)(torch.cat([nu, de]), equal_shares(5, 8, nu)).item()
    positive, negative = 0.4 * loss(-nu).mean(), loss(de).mean() - 0.4 * loss(nu).mean()
    assert (negative < 0) == (shift > 0)
    assert found == pytest.approx(-negative if negative < 0 else positive + negative, rel=1e-9)


# ---------------------------------------------------------------- vectors of several lengths


def model(latent_dim):
    generator = torch.Generator().manual_seed(0)
    encoder = SetEncoder(2, latent_dim, generator=generator) if latent_dim else NoEncoder()
    return RatioModel(encoder, MLPFeatures(2, encoder.n_outputs, width=8, generator=generator), RidgeHead())


@pytest.mark.parametrize("latent_dim", [0, 3, 5])
def test_vectors_filled_up_change_nothing_and_are_cut_back(latent_dim):
    each = model(latent_dim)
    before = copy.deepcopy(each.state_dict())
    support, x = Pair(normal(0, 4, 2).float(), normal(1, 3, 2).float()), normal(2, 6, 2).float()
    expected = each.adapt(support)(x)
    set_latent_dim(each, 5)
    assert not latent_dim or each.encoder.latent_dim == 5
    torch.testing.assert_close(each.adapt(support)(x), expected)
    set_latent_dim(each, latent_dim)
    torch.testing.assert_close(each.state_dict(), before, rtol=0, atol=0)


# ---------------------------------------------------------------- one-class networks


def ring(rng, n):
    """Rows near a circle in a plane."""
    angle = rng.uniform(0, 2 * np.pi, n)
    return np.column_stack([np.cos(angle), np.sin(angle), np.ones(n)]) + rng.normal(0, 0.05, (n, 3))


@pytest.fixture(scope="module")
def sources():
    """Rings with flagged outliers far above them."""
    rng = np.random.default_rng(0)
    arrays = [ring(rng, 30) for _ in range(4)]
    for X in arrays:
        X[:4, 2] += 50
    return Collection.from_arrays(arrays, outliers=[np.arange(30) < 4] * 4)


@pytest.mark.parametrize("network", NETWORKS)
def test_known_outliers_are_not_trained_on_and_outliers_have_larger_errors(network, sources):
    without = Collection.from_arrays([each.X[~each.is_outlier] for each in sources])
    plan = TrainingPlan(40, validate_every=20, show_progress=False)
    trained = [
        train_on_sources(network, 8, [Split(each, each, each)] * 2, [0, 1], plan, "cpu") for each in (sources, without)
    ]
    rows = torch.tensor(ring(np.random.default_rng(5), 40), dtype=torch.float32)
    with torch.no_grad():
        (mine, other), again = ([found.errors(rows) for found, _ in both] for both in trained)
        anomalous = trained[0][0][0].errors(rows + torch.tensor([4.0, 4.0, -6.0]))
    assert torch.equal(mine, again[0])
    assert not torch.allclose(mine, other)
    assert (mine[:, None] < anomalous).float().mean() > 0.9


@pytest.mark.parametrize("network", NETWORKS)
def test_targets_trained_together_are_what_they_are_alone_and_the_start_stays(network):
    support = torch.tensor(np.stack([ring(np.random.default_rng(seed), 6) for seed in range(2)]), dtype=torch.float32)
    models = [new_network(network, 2, rows, seed) for seed, rows in enumerate(support)]
    start = copy.deepcopy([each.state_dict() for each in models])
    real = torch.tensor([[True] * 6, [True] * 4 + [False] * 2])
    together = dict(errors_by_stage(models, support, support, [0, 5], real))
    for member, n in enumerate((6, 4)):
        part = slice(member, member + 1)
        alone = dict(errors_by_stage(models[part], support[part, :n], support[part], [0, 5]))
        for stage, errors in alone.items():
            torch.testing.assert_close(together[stage][part], errors, atol=1e-4, rtol=1e-3)
        torch.testing.assert_close(models[member].state_dict(), start[member], rtol=0, atol=0)
    assert together[5].mean() < together[0].mean()


def test_the_centre_is_the_mean_output_and_kept_from_zero():
    rows = torch.tensor(ring(np.random.default_rng(0), 20), dtype=torch.float32)
    network = DeepSVDD(3, 5, torch.Generator().manual_seed(0))
    network.begin(rows)
    mean = network.network(rows).mean(0)
    far = mean.abs() > CENTRE_MARGIN
    torch.testing.assert_close(network.centre[far], mean[far].detach())
    assert (network.centre.abs() >= CENTRE_MARGIN).all()


def test_every_validation_row_is_in_one_block():
    rows = torch.arange(23.0)[:, None]
    blocks = [each.query for each in NormalBlocks(rows, [np.arange(23)], [0]).batches()]
    found = [block.rows[0, 0, block.shares[0, 0, 0] > 0, 0] for block in blocks]
    assert {len(block) for block in found} == {2, 3}
    assert sorted(torch.cat(found).tolist()) == list(range(23))
