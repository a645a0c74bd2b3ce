"""How far a network's ratios are off: trials with few rows of pairs with a held-out dataset."""

from typing import NamedTuple

import numpy as np
import torch

from fewratio.core.arrays import equal_shares
from fewratio.core.divergence import relative_pearson_divergence
from fewratio.core.shapes import Floats
from fewratio.data.collection import Collection
from fewratio.estimators.certainty import LEVELS, SIZES, measure_angles
from fewratio.estimators.closed_form.discriminant import DiscriminantRatioEstimator
from fewratio.estimators.networks.network_estimator import as_rows
from fewratio.estimators.networks.nn import RatioModel
from fewratio.estimators.networks.pair import Pair

# At most this many pairs of different datasets; for every ten of them, one pair of a dataset with itself. Pairs share
# datasets, so more of them would only look like more evidence. Then the query rows per sample.
_N_PAIRS, _N_QUERY = 20, 30
# Datasets shorter than this part of the median length are left out: the shortest decides how many rows a trial has.
_SHORTEST = 0.5


class Trials(NamedTuple):
    """Pairs of datasets, at least one of which networks were not trained on.

    Attributes
    ----------
    pairs : list of (ndarray, ndarray, bool)
        The rows of both, and whether they are of one dataset.
    query : ndarray of shape (n_pairs, 2 * n_query, d)
        The first rows of both, at which ratios are compared.
    truths : ndarray of shape (n_pairs, 2 * n_query)
        The ratios there.
    """

    pairs: list[tuple[Floats, Floats, bool]]
    query: Floats
    truths: Floats


def draw_trials(sources: Collection, held_out: Collection, alpha: float) -> Trials | None:
    """Draw trials of networks that learned from the same sources; None if nothing was held out.

    The truth is not known. Its stand-in is what the closed form, learned from the same sources, finds with all rows
    but the query rows; of a dataset with itself the ratio is 1.
    """
    pairs = [] if held_out is sources else _draw_pairs(sources, held_out, np.random.default_rng(0))
    n_query = min(_N_QUERY, min((len(rows) for nu, de, _ in pairs for rows in (nu, de)), default=0) // 3)
    if not n_query:
        return None
    reference = DiscriminantRatioEstimator(alpha, features="columns").pretrain(sources)
    query = np.stack([np.concatenate([nu[:n_query], de[:n_query]]) for nu, de, _ in pairs])
    truths: Floats = np.ones(query.shape[:2])
    for number, (nu, de, is_same) in enumerate(pairs):
        if not is_same:
            reference._fit(nu[n_query:], de[n_query:])
            truths[number] = reference._ratio(query[number])
    return Trials(pairs, query, truths)


def measure_network(model: RatioModel, trials: Trials | None, alpha: float) -> Floats:
    """Return the angles of `CertainEstimator` for a network; without trials, nothing is certain."""
    if trials is None:
        return np.full((2, len(SIZES), len(LEVELS)), np.pi / 2)
    pairs, query, truths = trials
    n_query, shortest = query.shape[1] // 2, min(len(rows) for nu, de, _ in pairs for rows in (nu, de))
    most, found = (1 - alpha) / (2 * alpha), np.empty((2, len(SIZES), len(LEVELS)))
    for place, size in enumerate(SIZES):
        rows = slice(n_query, n_query + min(size, shortest - n_query))
        samples = (np.stack([nu[rows] for nu, _, _ in pairs]), np.stack([de[rows] for _, de, _ in pairs]))
        with torch.no_grad():
            ratio = model.adapt(Pair(*(as_rows(model, sample) for sample in samples)))
            ratios, at_samples = (
                each.double().cpu().numpy() for each in (ratio(as_rows(model, query)), ratio.at_support())
            )
        estimated, true = (_divergences(each, alpha) / most for each in (at_samples, truths))
        found[:, place] = (
            measure_angles(alpha * ratios, alpha * truths, len(pairs)),
            measure_angles(estimated, true, len(pairs)),
        )
    # More rows cannot make a ratio less certain.
    return np.maximum.accumulate(found[:, ::-1], axis=1)[:, ::-1].round(6)


def _divergences(ratios: Floats, alpha: float) -> Floats:
    """Return the divergences of pairs of equally long samples from the ratios at their rows."""
    n_rows = ratios.shape[1] // 2
    return relative_pearson_divergence(ratios, equal_shares(n_rows, n_rows, ratios), alpha)


def _draw_pairs(
    sources: Collection, held_out: Collection, rng: np.random.Generator
) -> list[tuple[Floats, Floats, bool]]:
    """Draw pairs of held-out datasets, and if these are few also of one of them with a source."""
    datasets = [np.asarray(dataset.X, np.float64) for dataset in [*held_out, *sources]]
    shortest = _SHORTEST * float(np.median(list(map(len, datasets))))
    new = [place for place in range(len(held_out)) if len(datasets[place]) >= shortest]
    old = [place for place in range(len(held_out), len(datasets)) if len(datasets[place]) >= shortest]
    among = rng.permutation([(a, b) for a in new for b in new if a != b]).tolist()
    beside = rng.permutation([pair for a in new for b in old for pair in ((a, b), (b, a))]).tolist()
    different = (among + beside)[:_N_PAIRS]
    found = []
    for a, b in different + [(a, a) for a in new[: len(different) // 10]]:
        nu, de = (rng.permutation(datasets[place]) for place in (a, b))
        found.append((nu[::2], nu[1::2], True) if a == b else (nu, de, False))
    return found
