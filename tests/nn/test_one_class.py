"""One-class networks: an error a row, whatever stands around it, and a training that lowers it on normal rows."""

import copy

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from fewratio.core.objectives import NumeratorMean
from fewratio.core.pair import Episode, Pair
from fewratio.nn import Autoencoder, DeepSVDD, Standardiser
from fewratio.nn.one_class import CENTRE_MARGIN
from fewratio.optim import Ensemble, TrainingPlan, train_in_stages
from tests.strategies import normal, quick, seeds, sizes, weights_of

KINDS = pytest.mark.parametrize("kind", [Autoencoder, DeepSVDD])
PLAN = TrainingPlan(learning_rate=1e-2)


def make(kind, seed=0, n_features=3, rows=None, dtype=torch.float64, scaler=None):
    """A small network that has begun on its rows, standard normal ones by default."""
    generator = torch.Generator().manual_seed(seed)
    network = kind(n_features, 2, width=8, generator=generator, scaler=scaler).to(dtype)
    network.begin(normal(seed, 6, n_features, dtype=dtype) if rows is None else rows)
    return network


def trained(networks, rows, n_steps, real=None):
    """Copies of the networks after some steps on rows (member, n, d)."""
    ensemble = Ensemble(copy.deepcopy(networks))
    episode = Episode.numerator_only(rows.unsqueeze(1), None if real is None else real.unsqueeze(1))
    list(train_in_stages(ensemble, lambda step: episode, NumeratorMean(), [n_steps], PLAN))
    ensemble.keep([True] * ensemble.size)
    ensemble.restore_best()
    return ensemble.models


# ---------------------------------------------------------------- errors


def test_the_autoencoders_error_is_the_squared_distance_to_the_reconstruction():
    network, rows = make(Autoencoder), normal(1, 5, 3)
    reconstruction = network.decoder(network.encoder(rows))
    expected = torch.linalg.vector_norm(rows - reconstruction, dim=-1) ** 2
    torch.testing.assert_close(network.errors(rows), expected)


def test_deep_svdds_error_is_the_squared_distance_to_the_centre():
    network, rows = make(DeepSVDD), normal(1, 5, 3)
    expected = torch.linalg.vector_norm(network.network(rows) - network.centre, dim=-1) ** 2
    torch.testing.assert_close(network.errors(rows), expected)


@KINDS
@pytest.mark.parametrize("depth", [1, 4])
def test_layers_are_as_many_as_asked_for(kind, depth):
    layers = [part for part in kind(3, 2, depth=depth).modules() if isinstance(part, nn.Linear)]
    assert len(layers) == (2 * depth if kind is Autoencoder else depth)
    assert all((layer.bias is None) == (kind is DeepSVDD) for layer in layers)
    if depth > 1:
        assert layers[0].out_features == 100


@KINDS
@quick
@given(seed=seeds, n=sizes, lead=st.lists(st.integers(1, 3), max_size=2), data=st.data())
def test_a_rows_error_depends_on_that_row_alone(kind, seed, n, lead, data):
    network, rows = make(kind), normal(seed, *lead, n, 3)
    errors = network.errors(rows)
    assert errors.shape == (*lead, n)
    assert (errors >= 0).all()
    order = data.draw(st.permutations(range(n)))
    torch.testing.assert_close(network.errors(rows[..., order, :]), errors[..., order])
    torch.testing.assert_close(network.errors(rows[..., :1, :]), errors[..., :1])


@KINDS
def test_forward_judges_the_query_and_not_the_support(kind):
    network = make(kind)
    query = Pair(normal(0, 2, 4, 3), normal(1, 2, 3, 3))
    for support in (Pair(normal(2, 2, 5, 3), normal(3, 2, 1, 3)), Pair(normal(4, 2, 1, 3), normal(5, 2, 2, 3))):
        torch.testing.assert_close(network(Episode(support, query)), network.errors(query.rows))


@KINDS
def test_rows_are_scaled_first(kind):
    mean, scale = normal(1, 3), normal(2, 3).exp()
    rows = normal(3, 6, 3)
    plain = make(kind, rows=rows)
    scaled = make(kind, rows=rows * scale + mean, scaler=Standardiser(mean, scale))
    torch.testing.assert_close(scaled.errors(rows * scale + mean), plain.errors(rows))


# ---------------------------------------------------------------- the centre


@quick
@given(seed=seeds, n=sizes)
def test_the_centre_is_the_mean_output_kept_away_from_zero(seed, n):
    rows = normal(seed, n, 3)
    network = make(DeepSVDD, seed, rows=rows)
    mean = network.network(rows).mean(0)
    far = mean.abs() >= CENTRE_MARGIN
    torch.testing.assert_close(network.centre[far], mean[far])
    torch.testing.assert_close(network.centre[~far].abs(), torch.full_like(mean, CENTRE_MARGIN)[~far])
    assert (network.centre * mean >= 0).all()


def test_a_centre_of_many_rows_is_computed_in_blocks(monkeypatch):
    rows = normal(0, 50, 3) * 30
    whole = make(DeepSVDD, rows=rows).centre
    monkeypatch.setattr("fewratio.nn.one_class._BLOCK_ROWS", 7)
    torch.testing.assert_close(make(DeepSVDD, rows=rows).centre, whole)


def test_an_output_of_zero_is_moved_too():
    assert make(DeepSVDD, rows=torch.zeros(4, 3, dtype=torch.float64)).centre.tolist() == [CENTRE_MARGIN] * 2


def test_without_a_beginning_deep_svdd_has_no_errors_to_give():
    assert DeepSVDD(3, 2).errors(torch.ones(2, 3)).isnan().all()


def test_the_centre_is_a_buffer_that_training_leaves_alone():
    network = make(DeepSVDD)
    assert "centre" in network.state_dict()
    assert "centre" not in dict(network.named_parameters())
    (after,) = trained([network], normal(7, 1, 6, 3), 5)
    assert torch.equal(after.centre, network.centre)
    assert not torch.equal(after.network[0].weight, network.network[0].weight)


# ---------------------------------------------------------------- training


@KINDS
def test_a_member_is_the_same_training_alone(kind):
    rows = normal(5, 3, 6, 3)
    networks = [make(kind, seed, rows=rows[seed]) for seed in range(3)]
    together = weights_of(trained(networks, rows, 8))
    for member, network in enumerate(networks):
        (alone,) = weights_of(trained([network], rows[member : member + 1], 8))
        torch.testing.assert_close(together[member], alone, rtol=0, atol=1e-9)


@KINDS
@pytest.mark.parametrize("n_members", [1, 2])
def test_padding_does_not_count(kind, n_members):
    rows = normal(5, n_members, 6, 3)
    networks = [make(kind, seed) for seed in range(n_members)]
    real = torch.tensor([True, False, True, True, False, False]).expand(n_members, 6)
    padded = weights_of(trained(networks, rows, 8, real))
    expected = weights_of(trained(networks, rows[:, [0, 2, 3]], 8))
    torch.testing.assert_close(padded, expected, rtol=0, atol=1e-9)


@KINDS
def test_the_order_of_the_training_rows_does_not_matter(kind):
    network, rows = make(kind), normal(5, 1, 6, 3)
    one, other = (weights_of(trained([network], part, 8)) for part in (rows, rows.flip(1)))
    torch.testing.assert_close(one, other, rtol=0, atol=1e-9)


@KINDS
@pytest.mark.parametrize("n", [1, 40])
def test_training_lowers_the_errors_of_normal_rows_below_those_of_far_ones(kind, n):
    rows = normal(1, 1, n, 3) * 0.3 + torch.tensor([1.0, -1.0, 0.5])
    network = make(kind, rows=rows[0])
    (after,) = trained([network], rows, 200)
    assert after.errors(rows).mean() < 0.2 * network.errors(rows).mean()
    far = rows * torch.tensor([-1.0, 1.0, 1.0]) + torch.tensor([0.0, 6.0, 6.0])
    assert after.errors(far).min() > after.errors(rows).max()


@KINDS
def test_constant_columns_work(kind):
    rows = normal(1, 1, 9, 3)
    rows[..., 1] = 4.0
    network = make(kind, rows=rows[0])
    (after,) = trained([network], rows, 50)
    assert after.errors(rows).mean() < network.errors(rows).mean()


@KINDS
@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("n_members", [1, 3])
def test_gpu_and_cpu_train_alike(kind, n_members):
    rows = normal(5, n_members, 6, 3)
    networks = [make(kind, seed, rows=rows[seed]) for seed in range(n_members)]
    errors = []
    for device in ("cpu", "cuda"):
        ensemble = Ensemble(copy.deepcopy(networks), device)
        episode = Episode.numerator_only(rows.unsqueeze(1).to(device))
        stages = train_in_stages(ensemble, lambda step, episode=episode: episode, NumeratorMean(), [1, 20], PLAN)
        errors.append([ensemble.judge(episode).detach().cpu() for _ in stages])
    torch.testing.assert_close(*errors, rtol=1e-6, atol=1e-9)
