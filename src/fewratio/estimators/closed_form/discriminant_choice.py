"""Choose the settings of a closed-form learner: try candidates on held-out datasets, and use the best."""

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property, lru_cache
from itertools import groupby
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from fewratio.core.arguments import check_finite_result
from fewratio.core.discriminant import Coordinates, DatasetPosterior, Support
from fewratio.core.draws import row_order
from fewratio.core.shapes import Floats, Numbers
from fewratio.core.units import ColumnScaling, RankScaling
from fewratio.estimators.certainty import measure_certainty
from fewratio.estimators.closed_form.discriminant_model import (
    SIZES,
    Calibration,
    DiscriminantModel,
    Settings,
    assemble_model,
    find_coordinates,
    ratio_of_log,
    scale_rows,
)
from fewratio.estimators.closed_form.feature_map import FeatureMap
from fewratio.estimators.closed_form.source_prior import SHARE_OF_SAME, read_prior
from fewratio.estimators.closed_form.summary import Summary
from fewratio.progress import track

# `python benchmarks/constants.py` shows what each of these constants does to the error and to the time of learning.
# Factors of log-ratios to try.
TEMPERATURES = np.array([0.03, 0.05, 0.07, 0.1, 0.14, 0.2, 0.27, 0.35, 0.45, 0.6, 0.8, 1.0, 1.2])
# Most rows of a held-out dataset, query rows among them, and datasets for losses.
_MOST_ROWS, _N_QUERY, _MOST_DATASETS = 256, 64, 16
# Values in memory for moments, which use at least as many datasets as losses do.
_BLOCK_VALUES = 2**21
# Values of all sources up to which scaled rows are kept.
_KEPT_VALUES = 2**23
# Sources are held out in so many parts; fewer sources, or validation datasets, than this choose nothing.
_N_FOLDS, FEWEST = 4, 4
# Fewer sources than this are each held out twice, with different others: otherwise too few pairs would choose.
_FEW_SOURCES = 32
# Means of sources differ; a smaller estimate is chance.
_LEAST_SIGNAL = 1e-3
# Columns to sort rows by: enough to distinguish them.
_ORDERED_COLUMNS = 24
# Most sources (or summaries to hold out), and rows of each source, for choosing settings.
_CHOOSE_SOURCES, _CHOOSE_ROWS = 48, 128
# Settings of cosines are compared with at most so many random features.
_SIFT_COMPONENTS = 256
# Share of the median number of rows below which a held-out dataset is too short to count.
SHORTEST = 0.75
# For summaries, if nothing can be held out; chosen on the data of benchmarks/summaries.py (docs/how/summaries.md):
# the nearest shrinkage to this, and the share that coordinates of columns are assumed to have in common: K of them say
# as much as K / (1 + (K - 1) * share).
_SHRINKAGE_OF_FEW, _IN_COMMON = 0.3, 0.05
_FEW_OF_COSINES = Calibration(noise=1.6, signal=0.6, temperatures=(0.35, 0.27, 0.27))
_FEW_OF_COLUMNS = Calibration(noise=1.2, signal=0.8)
# Additional shrinkages to try if noise was added to summaries (benchmarks/summaries.py --private).
_SHRINKAGES_OF_NOISE = (0.6, 0.9)

Item = TypeVar("Item")


class Learned(NamedTuple):
    """The result of learning from sources.

    Attributes
    ----------
    model : DiscriminantModel
        The model of all sources.
    settings : Settings
        The settings of the model.
    summary : Summary
        Sums over the sources.
    folds : sequence of (DiscriminantModel, sequence of ndarray)
        Models with the same settings, and datasets that each has not learned from.
    """

    model: DiscriminantModel
    settings: Settings
    summary: Summary
    folds: Sequence[tuple[DiscriminantModel, Sequence[Floats]]]


class Source:
    """A dataset to learn from, and some of its rows, drawn when they are first needed."""

    def __init__(self, rows: Floats) -> None:
        self.rows = rows
        self._scaled: dict[ColumnScaling | RankScaling, Floats] = {}
        self._samples: dict[int, Source] = {}

    @cached_property
    def some(self) -> Floats:
        """At most 256 rows in random order."""
        return _some_rows(self.rows, _MOST_ROWS)

    def some_scaled(self, scaling: ColumnScaling | RankScaling) -> Floats:
        """Return `some` in these units, computed once: ranks take longer than most features."""
        if scaling not in self._scaled:
            self._scaled[scaling] = scaling(self.some)
        return self._scaled[scaling]

    def sample(self, most: int) -> "Source":
        """Return a source of at most so many of these rows, always the same."""
        if len(self.rows) <= most:
            return self
        return self._samples.setdefault(most, Source(self.some[:most]))


class Tried(NamedTuple):
    """The loss of a setting on held-out datasets."""

    loss: float
    settings: Settings
    held: "HeldOut"


def learn(
    sources: Sequence[Source],
    validation: Sequence[Source],
    scaling: ColumnScaling | RankScaling,
    candidates: Sequence[Settings],
    alpha: float,
    seed: int,
    n_workers: int = 1,
    show: bool | None = None,
) -> Learned:
    """Learn from datasets: choose settings by the squared error (Eq. 8) on held-out datasets, then use all sources.

    Parameters
    ----------
    sources, validation : sequence of Source
        Datasets to learn from, in the order of `order_sources`, and to choose by; if the latter are too few, sources
        are held out in turn.
    scaling : ColumnScaling or RankScaling
        Units of the columns.
    candidates : sequence of Settings
        The settings to choose from.
    alpha : float
        Relative parameter of the squared error.
    seed : int
        Seed of the random features.
    n_workers : int
        Number of threads for trying settings.
    show : bool, optional
        As in `progress_bar`.
    """
    # Fewer datasets say less than held-out sources, and would choose at random.
    validation = validation if len(validation) >= FEWEST or len(sources) < FEWEST else ()
    distance = _distance(sources, scaling)

    def feature_map(settings: Settings) -> FeatureMap:
        return FeatureMap(scaling, settings.n_components, settings.width * distance, seed)

    if not validation and len(sources) < FEWEST:
        # Too few to choose by: use what did best on other collections, if it is allowed.
        few, calibration = read_prior().few[_name_kind(candidates[-1].n_components)]
        allowed = [each for each in candidates if each == few._replace(n_components=each.n_components)]
        chosen, calibration = (allowed[0], calibration) if allowed else (candidates[0], Calibration())
        calibration = _borrow_certainty(calibration, chosen.n_components, len(sources))
        features = feature_map(chosen)
        summary = Summary.of_many([each.rows for each in sources], features)
        return Learned(assemble_model(features, summary, chosen, calibration), chosen, summary, [])
    some = [each.sample(_CHOOSE_ROWS) for each in _some_sources(sources, _CHOOSE_SOURCES)]

    def score(alike: list[Settings]) -> list[Tried]:
        held = HeldOut.of_rows(feature_map(alike[0]), some, validation, alike)
        return [Tried(held.calibrate(each, alpha, step=3)[1], each, held) for each in alike]

    def rank(settings: Iterable[Settings]) -> list[Tried]:
        by_map = [list(group) for _, group in groupby(settings, lambda each: (each.n_components, each.width))]
        with ThreadPoolExecutor(n_workers) as workers:
            done = track(workers.map(score, by_map), len(by_map), "choosing", show, "settings")
            return sorted((each for found in done for each in found), key=lambda each: each.loss)

    chosen, held = candidates[0], None
    is_all = len(some) == len(sources) and max(len(each.rows) for each in sources) <= _CHOOSE_ROWS
    if len(candidates) > 1:
        # Few features show which cosines are best, but all are needed to compare them with columns.
        of_few = {each._replace(n_components=min(each.n_components, _SIFT_COMPONENTS)): each for each in candidates}
        ranked = rank(of_few)
        columns = [each for each in ranked if not each.settings.n_components][:1]
        cosines = [of_few[each.settings] for each in ranked if each.settings.n_components][:1]
        # What was held out needs memory.
        del ranked
        chosen = (cosines or [each.settings for each in columns])[0]
        if is_all or columns:
            _, chosen, held = min([*columns, *rank(cosines)], key=lambda each: each.loss)
    if held is None or not is_all:
        held = HeldOut.of_rows(feature_map(chosen), sources, validation, [chosen], show)
    return held.learn(chosen, alpha)


def learn_from_summaries(summaries: Sequence[Summary], candidates: Sequence[Settings], alpha: float) -> Learned:
    """Learn from summaries; those of one source each are held out in turn to choose settings.

    Rows drawn from a Gaussian with the mean and covariance of a summary replace its rows.

    Parameters
    ----------
    summaries : sequence of Summary
        Summaries with one map, of at least two sources in all.
    candidates : sequence of Settings
        The settings to choose from.
    alpha : float
        Relative parameter of the squared error for choosing settings.
    """
    # Sorted by value: their original order must not matter.
    ordered = sorted(summaries, key=lambda each: tuple(np.round(each.mean_sum, 9)))
    single = [summary for summary in ordered if summary.n_sources == 1]
    merged = [summary for summary in ordered if summary.n_sources != 1]
    features = ordered[0].features
    # Gaussian rows are too favourable to directions in which no sources differ, and to the lengths of cosines.
    candidates = [each for each in candidates if not (each.background or (each.power and features.n_components))]
    if len(single) < FEWEST:
        total: Summary = sum(ordered[1:], ordered[0])
        chosen = min(candidates, key=lambda each: (abs(each.shrinkage - _SHRINKAGE_OF_FEW), each.power))
        few = _FEW_OF_COSINES if features.n_components else _FEW_OF_COLUMNS
        few = _borrow_certainty(few, features.n_components, total.n_sources)
        model = assemble_model(features, total, chosen, few)
        if not features.n_components:
            temperature = 1 / (1 + _IN_COMMON * max(len(model.coordinates.signal) - 1, 0))
            calibration = model.calibration._replace(temperatures=(temperature,) * len(SIZES))
            model = replace(model, calibration=calibration)
        return Learned(model, chosen, total, [])
    if any(each.mean_noise for each in ordered) and len(candidates) > 1:
        candidates += [candidates[0]._replace(shrinkage=more) for more in _SHRINKAGES_OF_NOISE]
    held = HeldOut.of_summaries(single, merged, candidates)
    return held.learn(min(candidates, key=lambda settings: held.calibrate(settings, alpha)[1]), alpha)


class HeldOut:
    """Models of all sources but some, and the datasets held out from them.

    Parameters
    ----------
    total : Summary
        All sources.
    parts : iterable of (Summary, ndarray of shape (n, H), sequence of int)
        The summary to learn from, the features of the held-out datasets, stacked, and their numbers of rows.
    candidates : sequence of Settings
        The settings that `calibrate` will be called with.
    rows : sequence of sequence of ndarray of shape (n, d)
        The rows of the held-out datasets, if they are known.
    """

    def __init__(
        self,
        total: Summary,
        parts: Iterable[tuple[Summary, Floats, Sequence[int]]],
        candidates: Sequence[Settings],
        rows: Sequence[Sequence[Floats]] = (),
    ) -> None:
        self.total, self._rows = total, rows
        self._summaries: list[Summary] = []
        self._projected: dict[tuple[float, bool], list[tuple[Coordinates, list[Floats]]]] = {}
        # One factorisation per shrinkage; a background only adds coordinates at the end.
        largest = {each.shrinkage: each for each in sorted(candidates, key=lambda each: each.background)}
        for summary, values, sizes in parts:
            self._summaries.append(summary)
            ends = np.cumsum(sizes)[:-1]
            found = {shrinkage: find_coordinates(summary, settings) for shrinkage, settings in largest.items()}
            # Cosines stay in single precision, which is enough for means of losses and twice as fast.
            projected = {
                shrinkage: values @ each.axes.astype(values.dtype) - (each.centre @ each.axes).astype(values.dtype)
                for shrinkage, each in found.items()
            }
            for shrinkage, complete in {_coordinate_settings(each) for each in candidates}:
                centre, axes, signal = found[shrinkage]
                kept = slice(None if complete else np.count_nonzero(signal))
                part = Coordinates(centre, axes[:, kept], signal[kept]), np.split(projected[shrinkage][:, kept], ends)
                self._projected.setdefault((shrinkage, complete), []).append(part)

    @classmethod
    def of_rows(
        cls,
        features: FeatureMap,
        sources: Sequence[Source],
        validation: Sequence[Source],
        candidates: Sequence[Settings],
        show: bool | None = False,
    ) -> "HeldOut":
        """Hold out the validation datasets, or, without these, sources in turn; ``show`` is as in `progress_bar`."""
        parts, n_together = ([sources], 0) if validation else _parts_held_out(sources)
        tracked = track(parts, len(parts), "learning", show, "parts")
        # Scaled rows are kept only if they are few: those of many sources would take as much memory as the sources.
        is_small = sum(each.rows.size for each in sources) <= _KEPT_VALUES
        is_whole = is_small and all(len(each.rows) <= _MOST_ROWS for each in sources)
        of_parts = [
            Summary.of_many(
                (each.some_scaled(features.scaling) if is_whole else each.rows for each in part), features, is_whole
            )
            for part in tracked
        ]
        total: Summary = sum(of_parts[1:], of_parts[0])
        # Sums of the others, not the total less some: nothing cancels.
        turns = [_rotate(number, parts)[:n_together] for number in range(len(parts))]
        others = [_rotate(number, of_parts)[n_together:] for number in range(len(parts))]
        summaries = [sum(rest, first) for first, *rest in others]
        held_out = [validation] if validation else [[each for part in turn for each in part] for turn in turns]
        most = max(_MOST_DATASETS, _BLOCK_VALUES // (_MOST_ROWS * features.n_outputs))
        some = [_take_evenly(part, most) for part in held_out]
        # One at a time: the features of all would need much memory.
        learned = (
            (
                summary,
                features(np.concatenate([each.some_scaled(features.scaling) for each in part]), is_scaled=True),
                [len(each.some) for each in part],
            )
            for summary, part in zip(summaries, some, strict=True)
        )
        return cls(total, learned, candidates, [[each.some for each in part] for part in some])

    @classmethod
    def of_summaries(
        cls, single: Sequence[Summary], merged: Sequence[Summary], candidates: Sequence[Settings]
    ) -> "HeldOut":
        """Hold out summaries of one source each in turn; drawn rows replace theirs."""
        n_folds = _n_folds(len(single))
        parts: list[Summary] = [sum(single[number + n_folds :: n_folds], single[number]) for number in range(n_folds)]
        total: Summary = sum([*parts[1:], *merged], parts[0])
        rng = np.random.default_rng(total.features.seed)
        step = -(-len(single) // _CHOOSE_SOURCES)
        learned = []
        for number, part in enumerate(parts):
            held_out = single[number :: n_folds * step]
            if total.mean_noise:
                held_out = _denoise(held_out, total, part.within)
            rows = [_draw_rows(summary, rng) for summary in held_out]
            learned.append((total - part, np.concatenate(rows), list(map(len, rows))))
        return cls(total, learned, candidates)

    def learn(self, settings: Settings, alpha: float) -> Learned:
        """Learn from all sources with these settings."""
        calibration, features = self.calibrate(settings, alpha)[0], self.total.features
        known, folds = self._projected[_coordinate_settings(settings)], []
        # Without rows there are no folds.
        for summary, (coordinates, _), rows in zip(self._summaries, known, self._rows, strict=False):
            spreads = summary.spread_quantiles(settings.n_spreads)
            folds.append((DiscriminantModel(features, coordinates, spreads, settings.power, calibration), rows))
        return Learned(assemble_model(features, self.total, settings, calibration), settings, self.total, folds)

    def calibrate(self, settings: Settings, alpha: float, step: int = 1) -> tuple[Calibration, float]:
        """Return the calibration of a model with these settings on the held-out datasets, and its loss (Eq. D8).

        With a step of 3 every third temperature is tried.
        """
        temperatures = TEMPERATURES[::step]
        known = self._projected[_coordinate_settings(settings)]
        noise, of_means = _moments([(each, coordinates.signal > 0) for coordinates, each in known])
        learned = float(np.mean([coordinates.signal.sum() for coordinates, _ in known])) or 1.0
        first = Calibration(noise, max(of_means / learned, _LEAST_SIGNAL))
        if settings.background:
            noise, of_means = _moments([(each, coordinates.signal == 0) for coordinates, each in known])
            per_axis = settings.background * of_means / self.total.scatter.shape[0]
            first = first._replace(background_noise=noise, background_signal=per_axis)
        held_out = [
            ([scale_rows(rows, coordinates.signal, settings.power, first) for rows in each], coordinates.signal)
            for coordinates, each in known
        ]
        signals = [first.signals(signal) for _, signal in held_out]
        scaled_noise, of_means = _moments([(each, signal > 0) for each, signal in held_out])
        expected = float(np.mean([each[signal > 0].sum() for each, (_, signal) in zip(signals, held_out, strict=True)]))
        scaled_signal = max(of_means / (expected or 1.0), _LEAST_SIGNAL)
        measured = []
        for (each, _), signal, summary in zip(held_out, signals, self._summaries, strict=True):
            posterior = DatasetPosterior(
                signal * scaled_signal / scaled_noise, summary.spread_quantiles(settings.n_spreads)
            )
            measured.append(_losses([rows / np.sqrt(scaled_noise) for rows in each], posterior, alpha, temperatures))
        found = first._replace(scaled_noise=scaled_noise, scaled_signal=scaled_signal)
        if not any(sizes for _, sizes in measured):
            # Datasets of one or two rows allow no measurement.
            return _borrow_certainty(found, settings.n_components, self.total.n_sources), 0.0
        losses = np.mean([each for each, sizes in measured if sizes], axis=0)
        falls = np.mean([1 / np.sqrt(sizes) for _, sizes in measured if sizes], axis=0)
        certainty = measure_certainty(falls, losses.min(1), alpha)
        best = tuple(temperatures[losses.argmin(1)].tolist())
        return found._replace(temperatures=best, certainty=certainty), float(losses.min(1).mean())


def _name_kind(n_components: int) -> str:
    return "cosines" if n_components else "columns"


def _borrow_certainty(calibration: Calibration, n_components: int, n_sources: int) -> Calibration:
    """Use the certainty from other collections if nothing can be held out."""
    return calibration._replace(certainty=read_prior().certainty(_name_kind(n_components), n_sources))


def _coordinate_settings(settings: Settings) -> tuple[float, bool]:
    """Return the settings that coordinates depend on, in addition to the features."""
    return settings.shrinkage, settings.background > 0


def _moments(parts: Iterable[tuple[Sequence[Floats], NDArray[np.bool_]]]) -> tuple[float, float]:
    """Return the variances of held-out rows about their means and of the means, summed over some coordinates."""
    noises, of_means = [], []
    for datasets, used in parts:
        # Copies of all coordinates would take most of the time.
        rows = datasets if used.all() else [each[:, used] for each in datasets]
        squares = sum(np.square(each - each.mean(0)).sum() for each in rows)
        free = sum(len(each) - 1 for each in rows) * int(used.sum())
        noise = float(squares / free) if free and squares else 1.0
        inverse_size = float(np.mean([1 / len(each) for each in rows]))
        total = float(np.mean([np.square(each.mean(0)).sum() for each in rows]))
        noises.append(noise)
        of_means.append(max(total - noise * int(used.sum()) * inverse_size, 0.0))
    return float(np.mean(noises)), float(np.mean(of_means))


def _weigh_pairs(nu: Numbers, de: Numbers, n_datasets: int) -> Floats:
    """Return the weights of pairs of datasets, given their numbers: a dataset with itself counts one in ten."""
    return np.where(nu == de, max(n_datasets - 1, 1) * SHARE_OF_SAME / (1 - SHARE_OF_SAME), 1.0)


def _losses(
    datasets: Sequence[Floats], posterior: DatasetPosterior, alpha: float, temperatures: Floats
) -> tuple[Floats, list[int]]:
    """Return the mean squared error (Eq. 8) over pairs of datasets, for every support size and temperature.

    Short datasets have smaller supports; their sizes are returned too, none if the datasets are too short.
    The first rows of a dataset are its support as a numerator, the next as a denominator, and others are the query.
    """
    losses = np.zeros((len(SIZES), len(temperatures)))
    # One short dataset must not limit the rows of all others, nor must slightly shorter ones be left out.
    wanted = max(3, min(2 * SIZES[-1] + _N_QUERY, SHORTEST * float(np.median(list(map(len, datasets))))))
    kept = _take_evenly([rows for rows in datasets if len(rows) >= wanted], _MOST_DATASETS)
    if not kept:
        return losses, []
    shortest = min(map(len, kept))
    sizes = [min(size, (shortest - 1) // 2) for size in SIZES]
    for place, n in enumerate(sizes):
        query = np.concatenate([rows[2 * n : 2 * n + min(_N_QUERY, shortest - 2 * n)] for rows in kept])
        # Densities of the query of each dataset (first axis) given the support of each (last axis). In single
        # precision, which is enough for a mean and four times as fast.
        supports = [rows[part] for part in (slice(n), slice(n, 2 * n)) for rows in kept]
        found = posterior.log_densities(query, Support.of(np.stack(supports))).astype(np.float32)
        as_nu, as_de = np.split(found.reshape(len(kept), -1, 2 * len(kept)), 2, axis=2)
        same = np.arange(len(kept))
        at_nu = as_nu[same, :, same][:, :, None] - as_de
        at_de = as_nu - as_de[same, :, same][:, :, None]
        weights = _weigh_pairs(same[:, None], same, len(kept))
        weights /= weights.sum()
        tempered = temperatures.astype(np.float32)[:, None, None, None, None] * np.stack([at_nu, at_de])
        nu, de = ratio_of_log(tempered, alpha).swapaxes(0, 1)
        squares = alpha * np.square(nu) + (1 - alpha) * np.square(de)
        losses[place] = np.tensordot((squares / 2 - nu).mean(2), weights)
    return losses, sizes


def _n_folds(n_sources: int) -> int:
    return max(1, min(_N_FOLDS, n_sources // 2))


def _parts_held_out(sources: Sequence[Source]) -> tuple[list[Sequence[Source]], int]:
    """Return the sources in parts, and how many consecutive parts are held out together."""
    n_folds = _n_folds(len(sources))
    parts = [sources[number::n_folds] for number in range(n_folds)]
    if len(sources) >= _FEW_SOURCES:
        return parts, 1
    return [half for part in parts for half in (part[: len(part) // 2], part[len(part) // 2 :])], 2


def _rotate(number: int, items: list[Item]) -> list[Item]:
    """Rotate items so that this one comes first."""
    return items[number:] + items[:number]


def order_sources(sources: Sequence[Floats], groups: Sequence[str | None]) -> list[Source]:
    """Order the sources so that those of one turn belong to one group, as far as possible.

    New datasets come from a group without sources, and are compared with each other. Within a group the order is as
    good as random, but does not depend on the original order: if sorted by value, sources held out together would be
    far apart, and easy to separate.
    """
    means = np.array([rows.mean(0, dtype=np.float64) for rows in sources])
    order = row_order(np.round(means / np.maximum(np.abs(means).max(0), np.finfo(np.float64).tiny), 9))
    parts = np.array_split(sorted(order, key=lambda number: groups[number] or ""), _n_folds(len(sources)))
    return [Source(sources[parts[place % len(parts)][place // len(parts)]]) for place in range(len(sources))]


def _some_sources(sources: Sequence[Source], most: int) -> list[Source]:
    """Return at most `most` sources, evenly spaced in each turn."""
    n_folds = _n_folds(len(sources))
    if len(sources) <= most:
        return list(sources)
    starts = np.linspace(0, len(sources) // n_folds - 1, most // n_folds).round().astype(int) * n_folds
    return [sources[start + turn] for start in starts for turn in range(n_folds)]


def _take_evenly(items: Sequence[Item], most: int) -> list[Item]:
    """Return at most `most` items, evenly spaced in their order."""
    return [items[number] for number in np.linspace(0, len(items) - 1, min(len(items), most)).round().astype(int)]


def _some_rows(rows: Floats, most: int) -> Floats:
    """Return at most `most` rows, drawn in an order of their values, in which equal rows are neighbours."""
    columns = np.unique(np.linspace(0, rows.shape[1] - 1, _ORDERED_COLUMNS).round().astype(int))
    return rows[row_order(rows[:, columns])[_draw_places(len(rows), most)]]


@lru_cache(maxsize=64)
def _draw_places(n: int, most: int) -> Numbers:
    # A new generator takes as long as ordering a hundred rows.
    return np.random.RandomState(0).permutation(n)[:most].copy()


def _distance(sources: Sequence[Source], scaling: ColumnScaling | RankScaling) -> float:
    """Return the root mean square distance of two rows of any sources, from some rows of some sources."""
    with np.errstate(over="ignore", invalid="ignore"):
        rows = np.concatenate([each.some_scaled(scaling) for each in _some_sources(sources, _CHOOSE_SOURCES)])
        variances = rows.var(0)
    check_finite_result("The spread of the source datasets", variances)
    return float(np.sqrt(2 * variances.sum())) or 1.0


def _denoise(single: Sequence[Summary], total: Summary, within: Floats) -> list[Summary]:
    """Return summaries with the best estimate of their means before noise, and this covariance."""
    n = total.n_sources
    centre, noise = total.mean_sum / n, total.mean_noise / n
    outer = (total.factor.T * total.signs) @ total.factor / n - np.outer(centre, centre)
    values, vectors = np.linalg.eigh(outer)
    shares = values.clip(0.0) / (values.clip(0.0) + noise)
    return [
        replace(
            each,
            mean_sum=centre + (vectors * shares) @ (vectors.T @ (each.mean_sum - centre)),
            scatter=(each.n_rows - 1) * within,
        )
        for each in single
    ]


def _draw_rows(summary: Summary, rng: np.random.Generator) -> Floats:
    """Draw rows of a Gaussian dataset, as a random part of one with this summary."""
    n, n_drawn = summary.n_rows, min(summary.n_rows, _MOST_ROWS)
    values, vectors = np.linalg.eigh(summary.scatter / (n - 1))
    root = (vectors * np.sqrt(values.clip(0.0))).T
    rows = rng.standard_normal((n_drawn + 1, len(root))) @ root
    # The mean of a part varies about the mean of the whole, which is known.
    shift = rows[-1] * np.sqrt(1 / n_drawn - 1 / n)
    rows = rows[:-1]
    return np.asarray(rows - rows.mean(0) + shift + summary.mean_sum)
