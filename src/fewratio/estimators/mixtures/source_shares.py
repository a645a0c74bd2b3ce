"""How much an estimator that learned from sources counts beside one that did not: by datasets held out."""

from collections.abc import Callable, Sequence

import numpy as np

from fewratio.core.discriminant import Support
from fewratio.core.shapes import Floats
from fewratio.estimators.closed_form.discriminant_choice import weigh_pairs
from fewratio.estimators.closed_form.discriminant_model import SIZES, DiscriminantModel, ratio_of_log

# Pairs of datasets per fold and size, and query rows per sample, at most.
_N_PAIRS, _N_QUERY = 36, 24
# All shares of columns, of cosines and of the other estimator, in tenths.
_SHARES = np.array([(a, b, 10 - a - b) for a in range(11) for b in range(11 - a)]) / 10
# What is taken together for each of `SIZES` where nothing can be measured, and how much of it columns have where they
# were measured. Chosen on the five collections of benchmarks/sources.py --gaps (docs/decisions/0006).
_UNMEASURED, _OF_COLUMNS = (0.9, 0.4, 0.1), 0.25

# Samples (pair, n, d) of numerators and denominators and rows (pair, q, d) -> ratios (pair, q).
Ratios = Callable[[Floats, Floats, Floats], Floats]
# Models that have learned from the same sources, and datasets that they have not learned from.
Fold = tuple[Sequence[DiscriminantModel], Sequence[Floats]]


def measure_shares(folds: Sequence[Fold], others: Ratios, alpha: float) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Give the shares of two learned models in their mean with another estimator, for each of `SIZES`.

    Of the shares whose squared error (Eq. 8) on pairs of datasets that were held out is within a standard error of
    the best they are the nearest to a guess: with few sources the measured error is noisy.

    Parameters
    ----------
    folds : sequence of (pair of DiscriminantModel, sequence of ndarray)
        Models of columns and of cosines, and datasets that both have not learned from.
    others : callable
        The ratios of the other one.
    alpha : float
        Relative parameter.
    """
    found = [_shares(folds, others, alpha, size, guess) for size, guess in zip(SIZES, _UNMEASURED, strict=True)]
    of_columns, of_cosines = zip(*found, strict=True)
    return of_columns, of_cosines


def are_measured(shares: Sequence[Sequence[float]]) -> bool:
    """Check that shares of columns and of cosines were measured, and are not those used where nothing can be."""
    return [tuple(of_sizes) for of_sizes in shares] != [(0.0,) * len(SIZES), _UNMEASURED]


def _shares(folds: Sequence[Fold], others: Ratios, alpha: float, size: int, guess: float) -> tuple[float, float]:
    losses, groups, weights = [], [], []
    lengths = [len(rows) for _, datasets in folds for rows in datasets]
    # Of short datasets, a third for each sample and for the query.
    size = min(size, max(1, int(np.median(lengths)) // 3)) if lengths else size
    for number, (models, datasets) in enumerate(folds):
        used = [rows for rows in datasets if len(rows) > 2 * size]
        if len(used) < 2:
            continue
        nu, de = _pairs(len(used))
        n_query = min(_N_QUERY, min(map(len, used)) - 2 * size)
        # The first rows of a dataset are its sample as a numerator, the next as a denominator, others are the query.
        query = slice(2 * size, 2 * size + n_query)
        samples = np.stack([used[a][:size] for a in nu]), np.stack([used[b][size : 2 * size] for b in de])
        rows = np.stack([np.concatenate([used[a][query], used[b][query]]) for a, b in zip(nu, de, strict=True)])
        ratios = [_learned_ratios(model, *samples, rows, alpha) for model in models]
        mixed = np.tensordot(_SHARES, np.stack([*ratios, others(*samples, rows)]), 1)
        at_nu, at_de = mixed[..., :n_query], mixed[..., n_query:]
        squares = alpha * np.square(at_nu).mean(-1) + (1 - alpha) * np.square(at_de).mean(-1)
        losses.append(squares / 2 - at_nu.mean(-1))
        groups += [(number, int(a)) for a in nu]
        weights.append(weigh_pairs(nu, de, len(used)))
    if not losses:
        # Columns that nothing was held out for are too sure.
        return 0.0, guess
    # A loss per numerator's dataset: pairs that share one are not independent.
    weight = np.concatenate(weights)
    of_pairs = np.concatenate(losses, axis=1) * weight
    _, numbers = np.unique(np.array(groups), axis=0, return_inverse=True)
    totals = np.bincount(numbers.ravel(), weight)
    of_datasets = np.stack([np.bincount(numbers.ravel(), each) / totals for each in of_pairs])
    excess = of_datasets - of_datasets[of_datasets.mean(1).argmin()]
    error = excess.std(1, ddof=1) / np.sqrt(len(totals))
    good = _SHARES[excess.mean(1) <= error]
    wanted = _OF_COLUMNS * guess, (1 - _OF_COLUMNS) * guess, 1 - guess
    of_columns, of_cosines, _ = good[np.square(good - wanted).sum(1).argmin()]
    return float(of_columns), float(of_cosines)


def _pairs(n_datasets: int) -> tuple[np.ndarray, np.ndarray]:
    """Give ordered pairs of datasets, evenly over all, each with itself included."""
    nu, de = (places.ravel() for places in np.indices((n_datasets, n_datasets)))
    kept = np.unique(np.linspace(0, len(nu) - 1, min(len(nu), _N_PAIRS)).round().astype(int))
    return nu[kept], de[kept]


def _learned_ratios(model: DiscriminantModel, nu: Floats, de: Floats, rows: Floats, alpha: float) -> Floats:
    coordinates = (model(X.reshape(-1, X.shape[-1])).reshape(*X.shape[:-1], -1) for X in (nu, de, rows))
    of_nu, of_de, at = coordinates
    return ratio_of_log(model.log_ratio(at, Support.of(of_nu).for_rows(), Support.of(of_de).for_rows()), alpha)
