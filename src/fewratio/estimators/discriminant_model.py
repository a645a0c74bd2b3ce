"""What a closed-form learner knows of a family of datasets, and how its settings are chosen."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from fewratio.core.discriminant import Coordinates, DatasetPosterior, Support, discriminant_coordinates
from fewratio.core.exact import relative_ratio
from fewratio.core.shapes import Floats
from fewratio.estimators.randomness import row_order
from fewratio.estimators.scaling import ColumnScaling
from fewratio.estimators.summary import FeatureMap, Summary

# Beyond these the relative ratio is at its bounds, and an exponential would overflow.
_LARGEST_LOG_RATIO = 60.0
TEMPERATURES = np.array([0.03, 0.05, 0.07, 0.1, 0.14, 0.2, 0.27, 0.35, 0.45, 0.6, 0.8, 1.0, 1.2])
# Support sizes that settings are chosen for.
SIZES = (1, 3, 10)
# Of a dataset held out at most so many rows count, and so many of them are the query; losses are of so many datasets,
# moments of as many as a block of this many values holds, but not fewer.
_MOST_ROWS, _N_QUERY, _MOST_DATASETS, _BLOCK_VALUES = 256, 64, 16, 2**22
_N_FOLDS, _FEWEST = 4, 4
# Columns that rows are put in order by: enough to tell them apart.
_ORDERED_COLUMNS = 24
# Settings are chosen with so many random features, sources, and rows of each, at most.
_CHOOSE_COMPONENTS, _CHOOSE_SOURCES, _CHOOSE_ROWS = 512, 48, 128


class Settings(NamedTuple):
    """How a model is made of moments.

    Attributes
    ----------
    n_components : int
        Number of random features; 0 for the columns themselves.
    width : float
        Width of their kernel, in units of the root mean square distance of rows.
    shrinkage : float
        How far the covariance within datasets is drawn to a multiple of the identity.
    power : float
        Coordinates of a row are divided by their length to this power: 1 keeps their direction alone.
    n_spreads : int
        Number of variances of rows about their mean that datasets may have; 1 if all are alike.
    """

    n_components: int
    width: float
    shrinkage: float
    power: float
    n_spreads: int


class Calibration(NamedTuple):
    """What datasets that a model has not learned from say of it.

    In coordinates that are learned from a few datasets, new ones scatter more and their means differ less.

    Attributes
    ----------
    noise, signal : float
        Variance of rows about their mean, and factor of the variance of means; before lengths are taken off.
    scaled_noise, scaled_signal : float
        The same after that.
    temperatures : tuple of float
        Factors of log-ratios, for each of `SIZES`: coordinates are not independent.
    """

    noise: float = 1.0
    signal: float = 1.0
    scaled_noise: float = 1.0
    scaled_signal: float = 1.0
    temperatures: tuple[float, ...] = (1.0,) * len(SIZES)

    def temperature(self, n_nu: int, n_de: int) -> float:
        """Give the factor for samples of these sizes."""
        size = 2 / (1 / max(n_nu, 1) + 1 / max(n_de, 1))
        return float(np.interp(np.log(size), np.log(SIZES), self.temperatures))


@dataclass(frozen=True, eq=False)
class DiscriminantModel:
    """Coordinates of rows in which datasets are Gaussians about their means, and the ratio of two such datasets."""

    features: FeatureMap
    coordinates: Coordinates
    spreads: Floats
    power: float
    calibration: Calibration

    @cached_property
    def posterior(self) -> DatasetPosterior:
        """The posterior of a dataset in these coordinates."""
        factor = self.calibration.scaled_signal / self.calibration.scaled_noise
        return DatasetPosterior(self.coordinates.signal * factor, self.spreads)

    @cached_property
    def _axes(self) -> tuple[np.ndarray, np.ndarray]:
        axes = self.coordinates.axes.astype(self.features.dtype)
        return axes, (self.coordinates.centre @ self.coordinates.axes).astype(self.features.dtype)

    def __call__(self, rows: Floats) -> Floats:
        """Give the coordinates of rows."""
        axes, centre = self._axes
        found = np.empty((len(rows), axes.shape[1]))
        start = 0
        for block in self.features.blocks(rows):
            found[start : start + len(block)] = block @ axes - centre
            start += len(block)
        return scaled(found, self.coordinates.signal, self.power, self.calibration)

    def log_ratio(self, rows: Floats, nu: Support, de: Support) -> Floats:
        """Give the plain log-ratio at coordinates of rows."""
        difference = self.posterior.log_density(rows, nu) - self.posterior.log_density(rows, de)
        return self.calibration.temperature(nu.n, de.n) * difference

    def fitted_log_ratios(self, nu: Floats, de: Floats) -> tuple[Floats, Floats]:
        """Give the log-ratio at the rows of both samples, each left out of its own; shapes (..., n, K)."""
        supports = Support.of(nu), Support.of(de)
        at_nu = self.log_ratio(nu, supports[0].without_each(nu), supports[1].for_rows())
        at_de = self.log_ratio(de, supports[0].for_rows(), supports[1].without_each(de))
        return at_nu, at_de


def scaled(rows: Floats, signal: Floats, power: float, calibration: Calibration) -> Floats:
    """Divide coordinates by their length to a power, and bring their scatter to one."""
    if power:
        expected = calibration.noise + calibration.signal * signal
        length = np.square(rows / np.sqrt(expected)).mean(-1, keepdims=True)
        # A row at the very centre has no direction, and stays there.
        rows = rows / np.where(length > 0, length, 1.0) ** (power / 2)
    return rows / np.sqrt(calibration.scaled_noise)


def ratio_of_log(log_ratio: Floats, alpha: float) -> Floats:
    """Give the relative ratio of a plain log-ratio."""
    return np.asarray(relative_ratio(log_ratio.clip(-_LARGEST_LOG_RATIO, _LARGEST_LOG_RATIO), 0.0, alpha))


def learn(
    sources: Sequence[Floats],
    validation: Sequence[Floats],
    scaling: ColumnScaling,
    candidates: Sequence[Settings],
    alpha: float,
    seed: int,
) -> tuple[DiscriminantModel, Settings, Summary]:
    """Learn from datasets: choose settings by the squared error (Eq. 8) on datasets held out, then use all sources.

    Parameters
    ----------
    sources, validation : sequence of ndarray of shape (n, d)
        Datasets to learn from, and to choose by; where the latter are too few, sources are held out in turn.
    scaling : ColumnScaling
        Origin and units of the columns.
    candidates : sequence of Settings
        What to choose from.
    alpha : float
        Relative parameter of the squared error.
    seed : int
        Seed of the random features.
    """
    sources = _in_order(sources)
    # Fewer datasets say less than sources held out, and choose at random.
    validation = validation if len(validation) >= _FEWEST or len(sources) < _FEWEST else ()
    distance = _distance(sources, scaling)

    def feature_map(settings: Settings, most: int | None = None) -> FeatureMap:
        n_components = min(settings.n_components, most or settings.n_components)
        return FeatureMap(scaling, n_components, settings.width * distance, seed)

    chosen = candidates[0]
    can_choose = bool(validation) or len(sources) >= _FEWEST
    if len(candidates) > 1 and can_choose:
        some = [_some_rows(rows, _CHOOSE_ROWS) for rows in _evenly(sources, _CHOOSE_SOURCES)]
        losses: dict[Settings, float] = {}
        for _, group in groupby(candidates, key=lambda each: each[:2]):
            alike = list(group)
            held = _HeldOut(feature_map(alike[0], _CHOOSE_COMPONENTS), some, validation, alike)
            losses |= {settings: held.calibrate(settings, alpha)[1] for settings in alike}
        chosen = min(losses, key=losses.__getitem__)
    features = feature_map(chosen)
    if not can_choose:
        summary = Summary.of_many(sources, features)
        return assembled(features, summary, chosen, Calibration()), chosen, summary
    held = _HeldOut(features, sources, validation, [chosen])
    return assembled(features, held.total, chosen, held.calibrate(chosen, alpha)[0]), chosen, held.total


def assembled(
    features: FeatureMap, summary: Summary, settings: Settings, calibration: Calibration
) -> DiscriminantModel:
    """Make the model of a summary."""
    coordinates = _coordinates(summary, settings.shrinkage)
    spreads = summary.spread_quantiles(settings.n_spreads)
    return DiscriminantModel(features, coordinates, spreads, settings.power, calibration)


class _HeldOut:
    """Models of all sources but some, and the datasets that they have not learned from.

    Parameters
    ----------
    features : FeatureMap
        What rows become.
    sources, validation : sequence of ndarray of shape (n, d)
        What is learned from, and what is held out; without the latter, sources are held out in turn.
    candidates : sequence of Settings
        What `calibrate` will be asked for.
    """

    def __init__(
        self,
        features: FeatureMap,
        sources: Sequence[Floats],
        validation: Sequence[Floats],
        candidates: Sequence[Settings],
    ) -> None:
        n_folds = 1 if validation else min(_N_FOLDS, len(sources) // 2)
        parts = [Summary.of_many(sources[number::n_folds], features) for number in range(n_folds)]
        self.total: Summary = sum(parts[1:], parts[0])
        self._summaries = [self.total] if validation else [self.total - part for part in parts]
        self._moved: dict[float, list[tuple[Floats, list[Floats]]]] = {each.shrinkage: [] for each in candidates}
        most = max(_MOST_DATASETS, _BLOCK_VALUES // (_MOST_ROWS * features.n_outputs))
        for number, summary in enumerate(self._summaries):
            chosen = _evenly(validation or sources[number::n_folds], most)
            rows = [_some_rows(each, _MOST_ROWS) for each in chosen]
            # One product for all of them.
            found = [_coordinates(summary, shrinkage) for shrinkage in self._moved]
            axes = np.concatenate([each.axes for each in found], axis=1)
            held_out = features(np.concatenate(rows)) @ axes.astype(features.dtype) - found[0].centre @ axes
            ends = np.cumsum([len(each.signal) for each in found])
            for known, each, moved in zip(self._moved.values(), found, np.split(held_out, ends, 1), strict=False):
                known.append((each.signal, np.split(moved, np.cumsum(list(map(len, rows)))[:-1])))

    def calibrate(self, settings: Settings, alpha: float) -> tuple[Calibration, float]:
        """Give what the datasets held out say of a model with these settings, and its loss on them (Eq. D8)."""
        known = self._moved[settings.shrinkage]
        noise, signal = _moments(known)
        first = Calibration(noise, signal)
        moved = [
            (learned, [scaled(rows, learned, settings.power, first) for rows in datasets])
            for learned, datasets in known
        ]
        scaled_noise, scaled_signal = _moments(moved)
        losses = np.zeros((len(SIZES), len(TEMPERATURES)))
        for (learned, datasets), summary in zip(moved, self._summaries, strict=True):
            spreads = summary.spread_quantiles(settings.n_spreads)
            posterior = DatasetPosterior(learned * scaled_signal / scaled_noise, spreads)
            losses += _losses([rows / np.sqrt(scaled_noise) for rows in datasets], posterior, alpha)
        # Datasets of one or two rows measure none.
        temperatures = TEMPERATURES[losses.argmin(1)] if losses.any() else np.ones(len(SIZES))
        found = Calibration(noise, signal, scaled_noise, scaled_signal, tuple(temperatures.tolist()))
        return found, float(losses.min(1).sum())


def _coordinates(summary: Summary, shrinkage: float) -> Coordinates:
    """Give the discriminant coordinates of a summary."""
    n = max(summary.n_sources, 1)
    centre = summary.mean_sum / n
    # The covariance of the means is the mean of their outer products less that of the centre.
    factor = np.concatenate([summary.factor, np.sqrt(n) * centre[None]]) / np.sqrt(max(n - 1, 1))
    signs = np.append(summary.signs, -1.0)
    return discriminant_coordinates(summary.within, centre, factor, signs, summary.inverse_sizes / n, shrinkage)


def _moments(parts: Iterable[tuple[Floats, Sequence[Floats]]]) -> tuple[float, float]:
    """Give the variance of held-out rows about their means, and that of the means as a multiple of what was learned."""
    noises, signals = [], []
    for signal, datasets in parts:
        squares = sum(np.square(rows - rows.mean(0)).sum() for rows in datasets)
        free = sum(len(rows) - 1 for rows in datasets) * len(signal)
        noise = squares / free if free and squares else 1.0
        means = np.array([rows.mean(0) for rows in datasets])
        of_means = np.square(means).sum(1).mean() - noise * len(signal) * np.mean([1 / len(rows) for rows in datasets])
        noises.append(noise)
        signals.append(max(of_means, 0.0) / signal.sum() if signal.sum() else 0.0)
    return float(np.mean(noises)), max(float(np.mean(signals)), 1e-3)


def _losses(datasets: Sequence[Floats], posterior: DatasetPosterior, alpha: float) -> Floats:
    """Give the mean squared error (Eq. 8) over all pairs of datasets, for every support size and temperature.

    The first rows of a dataset are its support as a numerator, the next as a denominator, and others are the query.
    """
    losses = np.zeros((len(SIZES), len(TEMPERATURES)))
    # One short dataset must not take the rows of all others away.
    wanted = max(3, min(2 * SIZES[-1] + _N_QUERY, float(np.median(list(map(len, datasets))))))
    kept = _evenly([rows for rows in datasets if len(rows) >= wanted], _MOST_DATASETS)
    if not kept:
        return losses
    shortest = min(map(len, kept))
    for place, size in enumerate(SIZES):
        n = min(size, (shortest - 1) // 2)
        query = np.concatenate([rows[2 * n : 2 * n + min(_N_QUERY, shortest - 2 * n)] for rows in kept])
        # Densities of the query of each dataset (first axis) given the support of each (last axis). In single
        # precision, which is enough for a mean and four times as fast.
        as_nu, as_de = (
            posterior.log_densities(query, Support.of(np.stack([rows[part] for rows in kept])))
            .reshape(len(kept), -1, len(kept))
            .astype(np.float32)
            for part in (slice(n), slice(n, 2 * n))
        )
        own = np.arange(len(kept))
        at_nu = as_nu[own, :, own][:, :, None] - as_de
        at_de = as_nu - as_de[own, :, own][:, :, None]
        for number, temperature in enumerate(TEMPERATURES.astype(np.float32)):
            nu, de = ratio_of_log(temperature * at_nu, alpha), ratio_of_log(temperature * at_de, alpha)
            squares = alpha * np.vdot(nu, nu) + (1 - alpha) * np.vdot(de, de)
            losses[place, number] = (squares / 2 - nu.sum()) / nu.size
    return losses


def _in_order(sources: Sequence[Floats]) -> list[Floats]:
    """Give the sources in an order of their values, which does not depend on the order that they came in."""
    keys: list[Any] = [tuple(np.round(rows.mean(0, dtype=np.float64), 9)) for rows in sources]
    return [sources[number] for number in sorted(range(len(sources)), key=keys.__getitem__)]


def _evenly(items: Sequence[Floats], most: int) -> list[Floats]:
    """Give at most so many items, evenly spaced in their order."""
    return [items[number] for number in np.linspace(0, len(items) - 1, min(len(items), most)).round().astype(int)]


def _some_rows(rows: Floats, most: int) -> Floats:
    """Give rows in an order of their values, at most so many."""
    columns = np.unique(np.linspace(0, rows.shape[1] - 1, _ORDERED_COLUMNS).round().astype(int))
    return rows[row_order(rows[:, columns])[:most]]


def _distance(sources: Sequence[Floats], scaling: ColumnScaling) -> float:
    """Give the root mean square distance of two rows of any sources."""
    n = sum(map(len, sources))
    scaled_sums = [(rows.sum(0), np.square(rows).sum(0)) for rows in map(scaling, sources)]
    first, second = (sum(part) / n for part in zip(*scaled_sums, strict=True))
    return float(np.sqrt(2 * np.maximum(second - first**2, 0.0).sum())) or 1.0
