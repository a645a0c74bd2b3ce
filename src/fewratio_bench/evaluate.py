"""Evaluations of methods, and their metrics."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from sklearn.metrics import roc_auc_score
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from fewratio.core.divergence import relative_pearson_divergence
from fewratio.core.objectives import RelativeSquaredError
from fewratio.core.true_ratio import gaussian_relative_ratio
from fewratio.data.collection import Collection
from fewratio.data.dataset import as_flags
from fewratio.estimators.networks.nn import AdaptedRatio, MeanRatio
from fewratio.estimators.networks.pair import Episode, Pair
from fewratio.estimators.networks.training.episodes import EvaluationEpisodes, SupportSize
from fewratio.estimators.networks.training.pools import RowTable, pair_pools

# Digits of a divergence; further ones are rounding errors in float32.
_DIGITS = 5


@dataclass(frozen=True)
class Judgement:
    """The results of a method for the tasks of an evaluation.

    Attributes
    ----------
    query : Tensor of shape (task, n) or None
        The ratio or another score of each query row; higher is more like the numerator.
    divergence : Tensor of shape (task,) or None
        The divergence of the two samples.
    alpha : float or None
        The relative parameter of the ratio in ``query``; None if it is another score.
    """

    query: Tensor | None
    divergence: Tensor | None = None
    alpha: float | None = None


class Evaluation(Protocol):
    """Tasks to evaluate, all in one batch."""

    @property
    def episode(self) -> Episode:
        """The tasks; one leading axis."""

    def metrics(self, judgement: Judgement) -> dict[str, float]:
        """Return the numbers that this judgement allows."""


def judge_ratio(ratio: AdaptedRatio | MeanRatio, episode: Episode, alpha: float) -> Judgement:
    """Judge with a ratio that is adapted to the episode's support."""
    return judge_values(ratio.at_support(), ratio(episode.query.rows, episode.support_index), episode, alpha)


def judge_values(support_ratio: Tensor, query_ratio: Tensor, episode: Episode, alpha: float) -> Judgement:
    """Judge with the values of a ratio at the query, and the divergence from its values at the support."""
    divergence = relative_pearson_divergence(support_ratio, episode.support.shares, alpha)
    return Judgement(query_ratio, divergence, alpha)


class PairEvaluation:
    """All ordered pairs of some datasets, with fixed supports; the other instances judge.

    Metrics: ``squared_error``, the mean of Eq. 8 over all pairs; ``auc``, how well the divergence tells pairs of two
    datasets from those of a dataset with itself, in per cent; ``regret`` to the true ratio where that is known.

    Parameters
    ----------
    collection : Collection
        The datasets.
    n_support : int
        Support instances per sample.
    seed : int
        Draws the supports.
    device : torch.device
        Device to store the rows on.
    moments : array of shape (n_datasets, 2), optional
        Mean and standard deviation of each dataset, if they are drawn from Gaussians.

    Attributes
    ----------
    tasks : int array of shape (task, 2)
        The datasets of the numerator and the denominator of each task.
    moments : array of shape (task, 4) or None
        Mean and standard deviation of both datasets.
    """

    def __init__(
        self, collection: Collection, n_support: int, seed: int, device: torch.device, moments: np.ndarray | None = None
    ) -> None:
        table = RowTable([collection], device)
        size = SupportSize(n_support, n_support)
        episodes = EvaluationEpisodes(
            table.rows, [pair_pools(collection, table)], [seed], [(size, size)], tasks_per_batch=len(collection) ** 2
        )
        (batch,) = episodes.batches()
        # There is one member.
        self.episode = Episode(batch.support[0], batch.query[0])
        self.tasks: np.ndarray = episodes.tasks[0]
        self.moments = None if moments is None else moments[self.tasks].reshape(-1, 4)

    def metrics(self, judgement: Judgement) -> dict[str, float]:
        """Return the numbers that this judgement allows."""
        numbers = {}
        if judgement.alpha is not None and judgement.query is not None:
            numbers["squared_error"] = _mean_squared_error(judgement.query, self.episode, judgement.alpha)
            if self.moments is not None:
                truth = self.true_ratio(judgement.alpha)
                numbers["regret"] = numbers["squared_error"] - _mean_squared_error(truth, self.episode, judgement.alpha)
        if judgement.divergence is not None:
            different = self.tasks[:, 0] != self.tasks[:, 1]
            # With one instance per sample, the median width makes all pairs equal to a kernel, up to rounding.
            divergence = judgement.divergence.double().cpu().numpy().round(_DIGITS)
            numbers["auc"] = 100 * roc_auc_score(different, divergence)
        return numbers

    def true_ratio(self, alpha: float) -> Tensor:
        """Return the true relative ratio at the query rows of Gaussians."""
        rows = self.episode.query.rows.double()
        nu_mean, nu_std, de_mean, de_std = torch.as_tensor(self.moments, device=rows.device)[..., None, None].unbind(1)
        return gaussian_relative_ratio(rows, nu_mean, nu_std, de_mean, de_std, alpha)


class OutlierEvaluation:
    """Datasets whose unlabelled instances are to be judged, given a few normal ones.

    The denominator's support is every unlabelled instance, and so is the query; the numerator's query is the known
    normals that are not in the support (where there are none, the support).

    Metrics: ``auc`` of normals against outliers among the unlabelled, in per cent, mean over the datasets; where there
    are known normals outside the support, ``squared_error`` (Eq. 8) of a ratio, and for other scores ``normal_score``,
    its mean over them.

    Parameters
    ----------
    collection : Collection
        Datasets with known outliers.
    n_support : int
        Normal instances in the support.
    n_known : int
        Number of known normal instances; the rest are unlabelled.
    seed : int
        Draws the known normals.
    device : torch.device
        Device to store the rows on.
    """

    def __init__(self, collection: Collection, n_support: int, n_known: int, seed: int, device: torch.device) -> None:
        rng = np.random.default_rng(seed)
        normals, known, unlabelled, self._outliers = [], [], [], []
        for dataset in collection:
            rows = torch.tensor(dataset.X, dtype=torch.float32, device=device)
            outlier = as_flags(dataset.is_outlier, f"is_outlier of {dataset.name!r}")
            order = rng.permutation(np.flatnonzero(~outlier))
            hidden = np.setdiff1d(np.arange(len(rows)), order[:n_known])
            normals.append(rows[order[:n_support]])
            known.append(rows[order[n_support:n_known]] if n_known > n_support else normals[-1])
            unlabelled.append(rows[hidden])
            self._outliers.append(outlier[hidden])
        self._has_query = n_known > n_support
        de, de_mask = pad_samples(unlabelled)
        support, query = (Pair(torch.stack(rows), de, None, de_mask) for rows in (normals, known))
        # The query is the support again, but for the known normals that are not in it.
        again = torch.arange(support.rows.shape[-2], device=device)[n_support:]
        first = torch.arange(n_support, device=device) if not self._has_query else again.new_full((query.n_nu,), -1)
        self.episode = Episode(support, query, support_index=torch.cat([first, again]))

    def metrics(self, judgement: Judgement) -> dict[str, float]:
        """Return the numbers that this judgement allows."""
        numbers: dict[str, float] = {}
        if judgement.query is None:
            return numbers
        scores = judgement.query[:, self.episode.query.n_nu :].cpu().numpy()
        aucs = [
            roc_auc_score(~outlier, score[: len(outlier)])
            for outlier, score in zip(self._outliers, scores, strict=True)
        ]
        numbers["auc"] = 100 * float(np.mean(aucs))
        if self._has_query and judgement.alpha is not None:
            numbers["squared_error"] = _mean_squared_error(judgement.query, self.episode, judgement.alpha)
        elif self._has_query:
            numbers["normal_score"] = judgement.query[:, : self.episode.query.n_nu].mean().item()
        return numbers


def _mean_squared_error(ratio: Tensor, episode: Episode, alpha: float) -> float:
    return RelativeSquaredError(alpha)(ratio.double(), episode.query.shares.double()).mean().item()


def pad_samples(samples: list[Tensor]) -> tuple[Tensor, Tensor]:
    """Stack samples of uneven sizes, and say which rows are real."""
    rows = pad_sequence(samples, batch_first=True)
    sizes = torch.tensor([len(sample) for sample in samples], device=rows.device)
    return rows, torch.arange(rows.shape[1], device=rows.device) < sizes[:, None]
