"""How much each estimator counts in a mean of ratios: by datasets held out, and by what other collections say."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

from fewratio.core.discriminant import Support
from fewratio.core.shapes import Floats, Numbers
from fewratio.estimators.certainty import SIZES, measure_certainty
from fewratio.estimators.closed_form.discriminant_model import DiscriminantModel, ratio_of_log
from fewratio.estimators.closed_form.source_prior import SHARE_OF_SAME, read_prior

# `python benchmarks/constants.py` shows what each of these constants does to the error and to the time of learning.
# Pairs of different datasets per fold and size (beside one of a dataset with itself), and query rows per sample.
_N_PAIRS, _N_QUERY = 3, 24
# Other collections count as this many pairs; 1 to 30 are as good (benchmarks/source_prior.py --judge).
_PAIRS_OF_PRIOR = 10
# A heavy weight makes shares sum to one, and a little ridge decides between estimators that agree.
_SUM_WEIGHT, _RIDGE = 1e3, 1e-4

# Samples (pair, n, d) of numerators and denominators and rows (pair, q, d) -> ratios (pair, q).
Ratios = Callable[[Floats, Floats, Floats], Floats]
# Models that have learned from the same sources, and datasets that they have not learned from.
Fold = tuple[Sequence[DiscriminantModel], Sequence[Floats]]


class MixtureLoss(NamedTuple):
    """The squared error (Eq. 8) of a mean of ratios, as a function of the shares w: w' products w / 2 - means' w.

    Attributes
    ----------
    n_pairs : float
        How many pairs of datasets it counts as: smaller samples than asked for count less.
    products : ndarray of shape (m, m)
        Mean products of the ratios of two estimators.
    means : ndarray of shape (m,)
        Mean ratio of each at rows of the numerator.
    """

    n_pairs: float
    products: Floats
    means: Floats

    def error(self, shares: Floats) -> float:
        """Return the error of the mean with these shares."""
        return float(shares @ self.products @ shares / 2 - self.means @ shares)

    def best_shares(self) -> Floats:
        """Return the shares, none negative and one together, with the least error."""
        root = np.linalg.cholesky(self.products + _RIDGE * np.eye(len(self.means)))
        target = np.linalg.solve(root, self.means)
        shares, _ = nnls(np.vstack([root.T, np.full(len(root), _SUM_WEIGHT)]), np.append(target, _SUM_WEIGHT))
        return np.asarray(shares / shares.sum())


def choose_shares(
    learned: Sequence[str], folds: Sequence[Fold], others: dict[str, Ratios], alpha: float, n_sources: int
) -> tuple[Floats, float | None]:
    """Return the shares of learned models and of other estimators in the mean of their ratios, and how sure that is.

    They minimise the squared error (Eq. 8) on pairs of datasets that were held out, together with the error on pairs of
    other collections with about as many sources, which counts as ten pairs.

    Parameters
    ----------
    learned : sequence of str
        The names that the prior knows the models by.
    folds : sequence of (sequence of DiscriminantModel, sequence of ndarray)
        Models, and datasets that all of them have not learned from.
    others : dict of callable
        The ratios of estimators that learn nothing from sources, by the names that the prior knows them by.
    alpha : float
        Relative parameter.
    n_sources : int
        Number of datasets that the models have learned from.

    Returns
    -------
    shares : ndarray of shape (len(learned) + len(others), len(SIZES))
        Those of the models first.
    certainty : float or None
        As `measure_certainty` gives it.
    """
    prior, shares, errors, falls = read_prior(), [], [], []
    for place, size in enumerate(SIZES):
        measured = [(size, MixtureLoss(_PAIRS_OF_PRIOR, *prior.mixture_loss(n_sources, place, [*learned, *others])))]
        for models, datasets in folds:
            found = measure_mixture(models, datasets, list(others.values()), alpha, size, _N_PAIRS)
            measured += [] if found is None else [(_fit_size(size, datasets), found)]
        loss = pool_losses([each for _, each in measured])
        shares.append(loss.best_shares())
        errors.append(loss.error(shares[-1]))
        falls.append(sum(each.n_pairs / of_size**0.5 for of_size, each in measured) / loss.n_pairs)
    return np.array(shares).T.round(6), measure_certainty(falls, errors, alpha)


def pool_losses(losses: Sequence[MixtureLoss]) -> MixtureLoss:
    """Return the loss on all pairs that some losses were measured on."""
    weights = np.array([loss.n_pairs for loss in losses])
    products, means = (np.average([each[part] for each in losses], axis=0, weights=weights) for part in (1, 2))
    return MixtureLoss(float(weights.sum()), products, means)


def measure_mixture(
    models: Sequence[DiscriminantModel],
    datasets: Sequence[Floats],
    others: Sequence[Ratios],
    alpha: float,
    size: int,
    n_pairs: int,
) -> MixtureLoss | None:
    """Measure the error of all means of ratios on pairs of different datasets; None if these are too short."""
    asked, size = size, _fit_size(size, datasets)
    used = [rows for rows in datasets if len(rows) > 2 * size]
    if len(used) < 2:
        return None
    nu, de = _pairs(len(used), n_pairs)
    n_query = min(_N_QUERY, min(map(len, used)) - 2 * size)
    # The first rows of a dataset are its sample as a numerator, the next as a denominator, others are the query.
    query = slice(2 * size, 2 * size + n_query)
    samples = np.stack([used[a][:size] for a in nu]), np.stack([used[b][size : 2 * size] for b in de])
    rows = np.stack([np.concatenate([used[a][query], used[b][query]]) for a, b in zip(nu, de, strict=True)])
    ratios = [_learned_ratios(model, *samples, rows, alpha) for model in models]
    found = np.stack([*ratios, *(other(*samples, rows) for other in others)])
    at_nu, at_de = found[..., :n_query], found[..., n_query:]
    weights = np.where(nu == de, SHARE_OF_SAME, (1 - SHARE_OF_SAME) / (nu != de).sum())
    products = [np.einsum("ipq,jpq,p->ij", each, each, weights / n_query) for each in (at_nu, at_de)]
    loss = alpha * products[0] + (1 - alpha) * products[1]
    return MixtureLoss(len(nu) * size / asked, loss, at_nu.mean(-1) @ weights)


def _fit_size(size: int, datasets: Sequence[Floats]) -> int:
    """Return the size of samples of these datasets: of short ones a third is for each sample and for the query."""
    return min(size, max(1, int(np.median(list(map(len, datasets)))) // 3)) if datasets else size


def _pairs(n_datasets: int, n_pairs: int) -> tuple[Numbers, Numbers]:
    """Return pairs of different datasets, and one of a dataset with itself."""
    places = np.arange(min(n_pairs, n_datasets * (n_datasets - 1)))
    nu = places % n_datasets
    return np.append(nu, 0), np.append((nu + 1 + places // n_datasets) % n_datasets, 0)


def _learned_ratios(model: DiscriminantModel, nu: Floats, de: Floats, rows: Floats, alpha: float) -> Floats:
    coordinates = (model(X.reshape(-1, X.shape[-1])).reshape(*X.shape[:-1], -1) for X in (nu, de, rows))
    of_nu, of_de, at = coordinates
    return ratio_of_log(model.log_ratio(at, Support.of(of_nu).for_rows(), Support.of(of_de).for_rows()), alpha)
