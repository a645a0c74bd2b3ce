"""What a closed-form learner knows of a family of datasets, and how its settings are chosen."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewratio.core.discriminant import Coordinates, DatasetPosterior, Support, discriminant_coordinates
from fewratio.core.exact import relative_ratio
from fewratio.core.shapes import Floats
from fewratio.estimators.feature_map import FeatureMap
from fewratio.estimators.randomness import row_order
from fewratio.estimators.scaling import ColumnScaling
from fewratio.estimators.summary import Summary

# Beyond these the relative ratio is at its bounds, and an exponential would overflow.
_LARGEST_LOG_RATIO = 60.0
TEMPERATURES = np.array([0.03, 0.05, 0.07, 0.1, 0.14, 0.2, 0.27, 0.35, 0.45, 0.6, 0.8, 1.0, 1.2])
# Support sizes that settings are chosen for.
SIZES = (1, 3, 10)
# Of a dataset held out at most so many rows count, and so many of them are the query; of a fold, so many datasets.
_MOST_ROWS, _N_QUERY, _MOST_DATASETS = 256, 64, 16
_N_FOLDS, _FEWEST_FOR_FOLDS = 4, 4
# Means of sources differ: what says that they do not is chance.
_LEAST_SIGNAL = 1e-3
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
    background : float
        Share of the variance of held-out means, in directions in which no sources differ, that counts; 0 for none.
    """

    n_components: int
    width: float
    shrinkage: float
    power: float
    n_spreads: int
    background: float = 0.0


class Calibration(NamedTuple):
    """What datasets that a model has not learned from say of it.

    In coordinates that are learned from a few datasets, new ones scatter more and their means differ less.

    Attributes
    ----------
    noise, signal : float
        Variance of rows about their mean, and factor of the variance of means, along the axes of the sources.
    other_noise, other_signal : float
        Variance of rows, and of means, along all others.
    scaled_noise, scaled_signal : float
        Variance of rows about their mean, and factor of the variance of means, after lengths are taken off.
    temperatures : tuple of float
        Factors of log-ratios, for each of `SIZES`: coordinates are not independent.
    """

    noise: float = 1.0
    signal: float = 1.0
    other_noise: float = 1.0
    other_signal: float = 0.0
    scaled_noise: float = 1.0
    scaled_signal: float = 1.0
    temperatures: tuple[float, ...] = (1.0,) * len(SIZES)

    def noises(self, learned: Floats) -> Floats:
        """Give the variance of rows about their mean in each coordinate."""
        return np.where(learned > 0, self.noise, self.other_noise)

    def signals(self, learned: Floats) -> Floats:
        """Give the variance of means in each coordinate, in units of that of rows, from that of the sources."""
        return np.where(learned > 0, self.signal * learned / self.noise, self.other_signal / self.other_noise)

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
        return DatasetPosterior(self.calibration.signals(self.coordinates.signal) * factor, self.spreads)

    @cached_property
    def _axes(self) -> tuple[np.ndarray, np.ndarray]:
        # In the precision of the features: float32 for cosines.
        kind = np.float32 if self.features.n_components else np.float64
        axes = self.coordinates.axes.astype(kind)
        return axes, (self.coordinates.centre @ self.coordinates.axes).astype(kind)

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


def scaled(rows: Floats, learned: Floats, power: float, calibration: Calibration) -> Floats:
    """Bring the scatter of coordinates to one, and divide them by their length to a power."""
    rows = rows / np.sqrt(calibration.noises(learned))
    if power:
        length = np.square(rows / np.sqrt(1 + calibration.signals(learned))).mean(-1, keepdims=True)
        # A row at the very centre has no direction, and stays there.
        rows = rows / np.where(length > 0, length, 1.0) ** (power / 2)
    return rows / np.sqrt(calibration.scaled_noise)


def ratio_of_log(log_ratio: Floats, alpha: float) -> Floats:
    """Give the relative ratio of a plain log-ratio."""
    return np.asarray(relative_ratio(log_ratio.clip(-_LARGEST_LOG_RATIO, _LARGEST_LOG_RATIO), 0.0, alpha))


class Learned(NamedTuple):
    """What was learned from sources.

    Attributes
    ----------
    model : DiscriminantModel
        The model of all sources.
    settings : Settings
        How it was made.
    summary : Summary
        Sums over the sources.
    folds : sequence of (DiscriminantModel, sequence of ndarray)
        Models with the same settings, and datasets that each has not learned from.
    """

    model: DiscriminantModel
    settings: Settings
    summary: Summary
    folds: Sequence[tuple[DiscriminantModel, Sequence[Floats]]]


def learn(
    sources: Sequence[Floats],
    validation: Sequence[Floats],
    scaling: ColumnScaling,
    candidates: Sequence[Settings],
    alpha: float,
    seed: int,
) -> "Learned":
    """Learn from datasets: choose settings by the squared error (Eq. 8) on datasets held out, then use all sources.

    Parameters
    ----------
    sources, validation : sequence of ndarray of shape (n, d)
        Datasets to learn from, and to choose by; without the latter, sources are held out in turn.
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
    held_out = [_some_rows(rows, _MOST_ROWS) for rows in validation or sources]
    distance = _distance(sources, scaling)

    def feature_map(settings: Settings, most: int | None = None) -> FeatureMap:
        n_components = min(settings.n_components, most or settings.n_components)
        return FeatureMap(scaling, n_components, settings.width * distance, seed)

    chosen = candidates[0]
    can_choose = bool(validation) or len(sources) >= _FEWEST_FOR_FOLDS
    if len(candidates) > 1 and can_choose:
        # As many sources as count, evenly spaced in their order; a few rows of each.
        few = np.unique(np.linspace(0, len(sources) - 1, min(len(sources), _CHOOSE_SOURCES)).round().astype(int))
        some = [_some_rows(sources[number], _CHOOSE_ROWS) for number in few]
        some_held_out = held_out if validation else some
        losses: dict[Settings, float] = {}
        for _, group in groupby(candidates, key=lambda each: each[:2]):
            alike = list(group)
            held = HeldOut(feature_map(alike[0], _CHOOSE_COMPONENTS), some, some_held_out, bool(validation))
            losses |= {settings: held.calibrate(settings, alpha)[1] for settings in alike}
        chosen = min(losses, key=losses.__getitem__)
    features = feature_map(chosen)
    if not can_choose:
        summary = Summary.of_many(sources, features)
        return Learned(assembled(features, summary, chosen, Calibration()), chosen, summary, [])
    held = HeldOut(features, sources, held_out, bool(validation))
    calibration = held.calibrate(chosen, alpha)[0]
    folds = [
        (assembled(features, summary, chosen, calibration), held_out[number :: len(held.parts)])
        for number, (summary, _) in enumerate(held.parts)
    ]
    return Learned(assembled(features, held.total, chosen, calibration), chosen, held.total, folds)


def assembled(
    features: FeatureMap, summary: Summary, settings: Settings, calibration: Calibration
) -> DiscriminantModel:
    """Make the model of a summary."""
    coordinates = _coordinates(summary, settings)
    spreads = summary.spread_quantiles(settings.n_spreads)
    return DiscriminantModel(features, coordinates, spreads, settings.power, calibration)


class HeldOut:
    """Models of all sources but some, and the datasets that they have not learned from."""

    def __init__(
        self, features: FeatureMap, sources: Sequence[Floats], held_out: Sequence[Floats], is_other: bool
    ) -> None:
        n_folds = 1 if is_other else min(_N_FOLDS, len(sources) // 2)
        parts = [Summary.of_many(sources[number::n_folds], features) for number in range(n_folds)]
        self.total: Summary = sum(parts[1:], parts[0])
        # What is learned from, and the features of what is held out.
        self.parts = [
            (self.total if is_other else self.total - part, [features(rows) for rows in held_out[number::n_folds]])
            for number, part in enumerate(parts)
        ]
        self._coordinates: dict[tuple[float, bool], list[tuple[Coordinates, list[Floats]]]] = {}

    def calibrate(self, settings: Settings, alpha: float) -> tuple[Calibration, float]:
        """Give what the datasets held out say of a model with these settings, and its loss on them."""
        known = self._of(settings)
        noise, of_means = _moments([(each, coordinates.signal > 0) for coordinates, each in known])
        learned = float(np.mean([coordinates.signal.sum() for coordinates, _ in known])) or 1.0
        first = Calibration(noise, max(of_means / learned, _LEAST_SIGNAL))
        if settings.background:
            noise, of_means = _moments([(each, coordinates.signal == 0) for coordinates, each in known])
            per_axis = settings.background * of_means / self.total.scatter.shape[0]
            first = first._replace(other_noise=noise, other_signal=per_axis)
        moved = [
            ([scaled(rows, coordinates.signal, settings.power, first) for rows in each], coordinates.signal)
            for coordinates, each in known
        ]
        signals = [first.signals(signal) for _, signal in moved]
        scaled_noise, of_means = _moments([(each, signal > 0) for each, signal in moved])
        expected = float(np.mean([each[signal > 0].sum() for each, (_, signal) in zip(signals, moved, strict=True)]))
        scaled_signal = max(of_means / (expected or 1.0), _LEAST_SIGNAL)
        losses = np.zeros((len(SIZES), len(TEMPERATURES)))
        for (each, _), signal, (summary, _) in zip(moved, signals, self.parts, strict=True):
            posterior = DatasetPosterior(
                signal * scaled_signal / scaled_noise, summary.spread_quantiles(settings.n_spreads)
            )
            losses += _losses([rows / np.sqrt(scaled_noise) for rows in each], posterior, alpha)
        temperatures = tuple(TEMPERATURES[losses.argmin(1)].tolist())
        found = first._replace(scaled_noise=scaled_noise, scaled_signal=scaled_signal, temperatures=temperatures)
        return found, float(losses.min(1).sum())

    def _of(self, settings: Settings) -> list[tuple[Coordinates, list[Floats]]]:
        key = settings.shrinkage, settings.background > 0
        if key not in self._coordinates:
            known = []
            for summary, held_out in self.parts:
                coordinates = _coordinates(summary, settings)
                centre = coordinates.centre @ coordinates.axes
                known.append((coordinates, [features @ coordinates.axes - centre for features in held_out]))
            self._coordinates[key] = known
        return self._coordinates[key]


def _coordinates(summary: Summary, settings: Settings) -> Coordinates:
    """Give the discriminant coordinates of a summary."""
    n = max(summary.n_sources, 1)
    centre = summary.mean_sum / n
    # The covariance of the means is the mean of their outer products less that of the centre.
    factor = np.concatenate([summary.factor, np.sqrt(n) * centre[None]]) / np.sqrt(max(n - 1, 1))
    signs = np.append(summary.signs, -1.0)
    noise = summary.inverse_sizes / n
    return discriminant_coordinates(
        summary.within, centre, factor, signs, noise, settings.shrinkage, complete=settings.background > 0
    )


def _moments(parts: Iterable[tuple[Sequence[Floats], NDArray[np.bool_]]]) -> tuple[float, float]:
    """Give the variance of held-out rows about their means, and that of the means, summed over some coordinates."""
    noises, of_means = [], []
    for datasets, used in parts:
        rows = [each[:, used] for each in datasets]
        squares = sum(np.square(each - each.mean(0)).sum() for each in rows)
        free = sum(len(each) - 1 for each in rows) * int(used.sum())
        noise = float(squares / free) if free and squares else 1.0
        inverse_size = float(np.mean([1 / len(each) for each in rows]))
        total = float(np.mean([np.square(each.mean(0)).sum() for each in rows]))
        noises.append(noise)
        of_means.append(max(total - noise * int(used.sum()) * inverse_size, 0.0))
    return float(np.mean(noises)), float(np.mean(of_means))


def _losses(datasets: Sequence[Floats], posterior: DatasetPosterior, alpha: float) -> Floats:
    """Give the mean squared error (Eq. 8) over all pairs of datasets, for every support size and temperature.

    The first rows of a dataset are its support as a numerator, the next as a denominator, and others are the query.
    """
    kept = [rows for rows in datasets if len(rows) > 2][:_MOST_DATASETS]
    losses = np.zeros((len(SIZES), len(TEMPERATURES)))
    if not kept:
        return losses
    shortest = min(map(len, kept))
    for place, size in enumerate(SIZES):
        n = min(size, (shortest - 1) // 2)
        query = np.stack([rows[2 * n : 2 * n + min(_N_QUERY, shortest - 2 * n)] for rows in kept])
        # Densities of the query of each dataset (first axis) given the support of each (last axis).
        as_nu, as_de = (
            posterior.log_density(query[:, :, None], Support.of(np.stack([rows[part] for rows in kept])))
            for part in (slice(n), slice(n, 2 * n))
        )
        own = np.arange(len(kept))
        at_nu = as_nu[own, :, own][:, :, None] - as_de
        at_de = as_nu.transpose(2, 1, 0) - as_de[own, :, own].T[None]
        for number, temperature in enumerate(TEMPERATURES):
            nu, de = ratio_of_log(temperature * at_nu, alpha), ratio_of_log(temperature * at_de, alpha)
            losses[place, number] = (alpha * np.square(nu).mean() + (1 - alpha) * np.square(de).mean()) / 2 - nu.mean()
    return losses


def _in_order(sources: Sequence[Floats]) -> list[Floats]:
    """Give the sources in an order of their values, which does not depend on the order that they came in."""
    keys: list[Any] = [tuple(np.round(rows.mean(0, dtype=np.float64), 9)) for rows in sources]
    return [sources[number] for number in sorted(range(len(sources)), key=keys.__getitem__)]


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
