"""Our one-class networks against PyOD's of the same shape, on the same rows (extra ``peers-outliers``)."""

import warnings

import numpy as np
import pytest
import torch
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.metrics import roc_auc_score

from fewratio.estimators import OneClassEstimator

pytest.importorskip("pyod", reason="needs the extra peers-outliers")

LAYERS = [100, 100, 100, 32]


def peer(network, n_features, seed):
    """PyOD's, with our layers, and without what ours do not have (batch normalisation and dropout)."""
    if network == "deep svdd":
        from pyod.models.deep_svdd import DeepSVDD

        return DeepSVDD(n_features, hidden_neurons=LAYERS, dropout_rate=0.0, epochs=50, verbose=0, random_state=seed)
    from pyod.models.auto_encoder import AutoEncoder

    return AutoEncoder(
        hidden_neuron_list=LAYERS,
        batch_norm=False,
        dropout_rate=0.0,
        epoch_num=50,
        verbose=0,
        random_state=seed,
        device=torch.device("cpu"),
    )


def problem(name):
    """Give rows, and which of them are outliers: tumours that are malignant, digits that are no 3."""
    data = load_breast_cancer() if name == "tumours" else load_digits()
    return data.data, data.target == 0 if name == "tumours" else data.target != 3


@pytest.mark.parametrize("name", ["tumours", "digits"])
@pytest.mark.parametrize("network", ["autoencoder", "deep svdd"])
def test_they_find_outliers_as_well_as_pyods(network, name):
    X, is_outlier = problem(name)
    aucs = []
    for seed in range(5):
        normal = np.random.default_rng(seed).permutation(np.flatnonzero(~is_outlier))
        known = normal[: len(normal) // 2]
        rest = np.setdiff1d(np.arange(len(X)), known)
        ours = OneClassEstimator(
            network, latent_dim=LAYERS[-1], n_steps=100, standardise=True, device="cpu", random_state=seed
        )
        with warnings.catch_warnings(), torch.random.fork_rng():
            warnings.simplefilter("ignore")
            theirs = peer(network, X.shape[1], seed).fit(X[known]).decision_function(X[rest])
        scores = ours.fit(X[known]).errors(X[rest]), theirs
        aucs.append([roc_auc_score(is_outlier[rest], score) for score in scores])
    ours, theirs = np.mean(aucs, axis=0)
    # An AUC has a deviation of 0.01 to 0.03 over seeds, so the difference of two means over five has 0.02 at most.
    assert ours == pytest.approx(theirs, abs=0.05)
    assert ours > 0.85
