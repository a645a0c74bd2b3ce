"""Choose the shares in a mean of ratios from held-out datasets, other collections and the two samples."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import nnls

from fewratio.core.discriminant import Support
from fewratio.core.shapes import Floats
from fewratio.core.threads import n_threads, one_thread
from fewratio.estimators.certainty import SIZES, measure_certainty
from fewratio.estimators.closed_form.discriminant_choice import SHORTEST
from fewratio.estimators.closed_form.discriminant_model import DiscriminantModel, ratio_of_log
from fewratio.estimators.closed_form.source_prior import SHARE_OF_SAME, read_prior
from fewratio.progress import track

# `python benchmarks/constants.py` shows what each of these constants does to the error and to the time of learning.
# At least this many pairs of different datasets per size, in all folds together, and query rows per sample.
_N_PAIRS, _N_QUERY = 12, 24
# The same for parts of two samples.
_N_PAIRS_OF_SAMPLES = 6
# Other collections count as this many pairs; 1 to 30 are as good (benchmarks/source_prior.py --judge).
_PAIRS_OF_PRIOR = 10
# The error of two samples' parts is measured at the relative parameter that other collections have.
ALPHA = 0.5
# Rows of a sample that are enough to measure an error on: a third of them is for the query.
MOST_ROWS = SIZES[-1] * 3 // 2
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
        Number of pairs of datasets that it counts as; smaller samples count less.
    products : ndarray of shape (m, m)
        Mean products of the ratios of two estimators.
    means : ndarray of shape (m,)
        Mean ratio of each at rows of the numerator.
    """

    n_pairs: float
    products: Floats
    means: Floats

    @classmethod
    def of_list(cls, values: Any) -> "MixtureLoss":
        """Restore from the output of `to_list`; raise ``ValueError`` if it is invalid."""
        n_pairs, products, means = (np.array(each, dtype=np.float64) for each in values)
        found = cls(float(n_pairs), products, means)
        if not (n_pairs > 0 and means.ndim == 1 and products.shape == means.shape * 2 and np.isfinite(products).all()):
            raise ValueError("an error of means of ratios is invalid")
        try:
            found.best_shares()
        except np.linalg.LinAlgError as error:
            raise ValueError(str(error)) from error
        return found

    def to_list(self) -> list[Any]:
        """Return plain values for a file."""
        return [self.n_pairs, self.products.tolist(), self.means.tolist()]

    def error(self, shares: Floats) -> float:
        """Return the error of the mean with these shares."""
        return float(shares @ self.products @ shares / 2 - self.means @ shares)

    def select(self, places: Sequence[int]) -> "MixtureLoss":
        """Return the loss of means of some of the estimators."""
        return MixtureLoss(self.n_pairs, self.products[np.ix_(places, places)], self.means[list(places)])

    def best_shares(self) -> Floats:
        """Return the shares, none negative and one together, with the least error."""
        root = np.linalg.cholesky(self.products + _RIDGE * np.eye(len(self.means)))
        target = np.linalg.solve(root, self.means)
        shares, _ = nnls(np.vstack([root.T, np.full(len(root), _SUM_WEIGHT)]), np.append(target, _SUM_WEIGHT))
        return np.asarray(shares / shares.sum()).round(6)


def measure_sources(
    learned: Sequence[str], folds: Sequence[Fold], others: dict[str, Ratios], alpha: float, n_sources: int
) -> tuple[list[MixtureLoss], float | None]:
    """Return the error of means of learned models and other estimators, and the certainty of the best means.

    It is measured on pairs of datasets that were held out, together with the error on pairs of other collections with
    about as many sources, which counts as ten pairs.

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
    losses : list of MixtureLoss
        For each of `SIZES`, with the models first.
    certainty : float or None
        Result of `measure_certainty`.
    """
    datasets = [rows for _, held_out in folds for rows in held_out]

    def measure(size: int) -> list[tuple[float, MixtureLoss]]:
        found = measure_mixture(folds, list(others.values()), alpha, size, _N_PAIRS)
        return [] if found is None else [(_fit_size(size, datasets), found)]

    losses, errors, falls = [], [], []
    with one_thread(), ThreadPoolExecutor(n_threads()) as workers:
        measured = list(track(workers.map(measure, SIZES), len(SIZES), "choosing shares", unit="sizes"))
    for size, prior, found in zip(SIZES, prior_losses([*learned, *others], n_sources), measured, strict=True):
        known = [(size, prior), *found]
        losses.append(pool_losses([each for _, each in known]))
        errors.append(losses[-1].error(losses[-1].best_shares()))
        falls.append(sum(each.n_pairs / of_size**0.5 for of_size, each in known) / losses[-1].n_pairs)
    return losses, measure_certainty(falls, errors, alpha)


def prior_losses(names: Sequence[str], n_sources: int) -> list[MixtureLoss]:
    """Return the error of means of some estimators on other collections, for each of `SIZES`."""
    prior = read_prior()
    return [MixtureLoss(_PAIRS_OF_PRIOR, *prior.mixture_loss(n_sources, place, names)) for place in range(len(SIZES))]


def loss_at_size(losses: Sequence[MixtureLoss], size: float) -> MixtureLoss:
    """Interpolate losses for each of `SIZES`, over the logarithm of the size."""
    at = float(np.interp(np.log(size), np.log(SIZES), np.arange(len(SIZES))))
    low, high, share = losses[int(at)], losses[int(np.ceil(at))], at - int(at)
    return MixtureLoss(
        low.n_pairs + share * (high.n_pairs - low.n_pairs),
        low.products + share * (high.products - low.products),
        low.means + share * (high.means - low.means),
    )


def measure_samples(
    models: Sequence[DiscriminantModel], others: Sequence[Ratios], nu: Floats, de: Floats
) -> MixtureLoss:
    """Measure the error of means of ratios on parts of two samples, as if these were two datasets.

    All parts share the same rows, so together they count only as many pairs as each sample has rows left out.

    Parameters
    ----------
    models, others : sequence
        As in `measure_mixture`.
    nu, de : ndarray of shape (n, d)
        As many rows of each sample, two at least, in random order.
    """
    found = measure_mixture([(models, [nu, de])], others, ALPHA, len(nu), _N_PAIRS_OF_SAMPLES)
    assert found is not None
    return found._replace(n_pairs=len(nu) - _fit_size(len(nu), [nu, de]))


def pool_losses(losses: Sequence[MixtureLoss]) -> MixtureLoss:
    """Return the loss on all pairs that some losses were measured on."""
    weights = np.array([loss.n_pairs for loss in losses])
    products, means = (np.average([each[part] for each in losses], axis=0, weights=weights) for part in (1, 2))
    return MixtureLoss(float(weights.sum()), products, means)


def measure_mixture(
    folds: Sequence[Fold], others: Sequence[Ratios], alpha: float, size: int, n_pairs: int
) -> MixtureLoss | None:
    """Measure the error of all means of ratios on at least so many pairs of datasets, the same number in each fold.

    A third as many pairs of a dataset with itself are measured, too. If there are few datasets, their pairs are drawn
    again, with other rows. Return None if all datasets are too short.
    """
    found, everything = [], [rows for _, datasets in folds for rows in datasets]
    n_pairs = -(-n_pairs // max(len(folds), 1))
    for same, share in ((False, 1 - SHARE_OF_SAME), (True, SHARE_OF_SAME)):
        n, count = _fit_size(size, everything, same), -(-n_pairs // 3) if same else n_pairs
        n_sampled = (1 + same) * n
        # One short dataset must not limit the query rows of all others.
        typical = int(SHORTEST * float(np.median(list(map(len, everything))))) if everything else 0
        least = max(n_sampled + 1, min(n_sampled + _N_QUERY, typical))
        long_enough = [(models, [rows for rows in datasets if len(rows) >= least]) for models, datasets in folds]
        used = [(models, datasets) for models, datasets in long_enough if len(datasets) > 1]
        if not used:
            continue
        n_query = min(_N_QUERY, min(len(rows) for _, datasets in used for rows in datasets) - n_sampled)
        of_folds = []
        for _, datasets in used:
            pairs = [_draw_pair(datasets, number, n, n_query, same) for number in range(count)]
            of_folds.append([np.stack(part) for part in zip(*pairs, strict=True)])
        of_models = [
            [_learned_ratios(model, nu, de, rows, alpha) for model in models]
            for (models, _), (nu, de, rows) in zip(used, of_folds, strict=True)
        ]
        # Estimators without sources are the same in every fold.
        of_all = [np.concatenate(part) for part in zip(*of_folds, strict=True)]
        learned = [np.concatenate(of_model) for of_model in zip(*of_models, strict=True)]
        ratios = np.stack([*learned, *(other(*of_all) for other in others)])
        at_nu, at_de = ratios[..., :n_query], ratios[..., n_query:]
        of_nu, of_de = (np.einsum("ipq,jpq->ij", at, at) / at[0].size for at in (at_nu, at_de))
        loss = alpha * of_nu + (1 - alpha) * of_de
        n_measured = len(used) * n_pairs * n / size
        found.append(MixtureLoss(share * n_measured, loss, at_nu.mean((1, 2))))
    return pool_losses(found) if found else None


def _fit_size(size: int, datasets: Sequence[Floats], same: bool = False) -> int:
    """Return the size of samples of these datasets: of short ones a third is for the query, and the rest for samples.

    Those are one of each dataset, or two of the same.
    """
    return min(size, max(1, int(np.median(list(map(len, datasets)))) * (2 - same) // 3)) if datasets else size


def _draw_pair(datasets: Sequence[Floats], number: int, size: int, n_query: int, same: bool) -> tuple[Floats, ...]:
    """Draw samples of a numerator and a denominator, and query rows of both, which are in neither.

    Every dataset is paired with the next one, then with the one after that, and so on (or always with itself), and then
    again with rows that come later.
    """
    again, nu = divmod(number, len(datasets))
    again, apart = (again, 0) if same else divmod(again, len(datasets) - 1)
    de = nu if same else (nu + apart + 1) % len(datasets)
    of_nu, of_de = (np.roll(datasets[place], -again * size, axis=0) for place in (nu, de))
    # The first rows are the sample as a numerator, the last as a denominator.
    query_nu, query_de = (of_nu[size:-size],) * 2 if same else (of_nu[size:], of_de[:-size])
    return of_nu[:size], of_de[-size:], np.concatenate([query_nu[:n_query], query_de[-n_query:]])


def _learned_ratios(model: DiscriminantModel, nu: Floats, de: Floats, rows: Floats, alpha: float) -> Floats:
    coordinates = (model(X.reshape(-1, X.shape[-1])).reshape(*X.shape[:-1], -1) for X in (nu, de, rows))
    of_nu, of_de, at = coordinates
    return ratio_of_log(model.log_ratio(at, Support.of(of_nu).for_rows(), Support.of(of_de).for_rows()), alpha)
