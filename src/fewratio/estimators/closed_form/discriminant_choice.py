"""How the settings of a closed-form learner are chosen, and what datasets held out say of it."""

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from fewratio.core.arguments import check_finite_result
from fewratio.core.discriminant import Coordinates, DatasetPosterior, Support
from fewratio.core.draws import row_order
from fewratio.core.shapes import Floats, Numbers
from fewratio.core.threads import one_thread
from fewratio.core.units import ColumnScaling
from fewratio.estimators.closed_form.discriminant_model import (
    SIZES,
    Calibration,
    DiscriminantModel,
    Settings,
    assembled,
    coordinates_of,
    ratio_of_log,
    scaled,
)
from fewratio.estimators.closed_form.feature_map import FeatureMap
from fewratio.estimators.closed_form.summary import Summary
from fewratio.progress import tracked

TEMPERATURES = np.array([0.03, 0.05, 0.07, 0.1, 0.14, 0.2, 0.27, 0.35, 0.45, 0.6, 0.8, 1.0, 1.2])
# Of a dataset held out at most so many rows count, and so many of them are the query; losses are of so many datasets,
# moments of as many as a block of this many values holds, but not fewer.
_MOST_ROWS, _N_QUERY, _MOST_DATASETS, _BLOCK_VALUES = 256, 64, 16, 2**21
_N_FOLDS, _FEWEST = 4, 4
# Fewer sources than this are each held out twice, with others: else the pairs that choose are too few.
_FEW_SOURCES = 32
# Means of sources differ: what says that they do not is chance.
_LEAST_SIGNAL = 1e-3
# Columns that rows are put in order by: enough to tell them apart.
_ORDERED_COLUMNS = 24
# Settings are chosen with so many random features, sources, and rows of each, at most.
_CHOOSE_COMPONENTS, _CHOOSE_SOURCES, _CHOOSE_ROWS = 512, 48, 128
# Without validation datasets so many with columns and so many with cosines, the best with few random features, are
# compared with more.
_FINALISTS, _FINAL_COMPONENTS, _SIFT_COMPONENTS = 2, 1024, 256
# Share of the median number of rows below which a dataset held out is too short to count.
_SHORTEST = 0.75
# Of ten pairs one is of a dataset with itself: where few are held out, it would be every other.
_SHARE_OF_SAME = 0.1
# Where nothing can be held out: what is safe beside what was found where it could be (docs/decisions/0006).
_OF_FEW = Calibration(
    noise=10.0, signal=0.02, background_noise=1.5, background_signal=0.1, temperatures=(0.14,) * len(SIZES)
)


Item = TypeVar("Item")


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
    groups: Sequence[str | None],
    validation: Sequence[Floats],
    scaling: ColumnScaling,
    candidates: Sequence[Settings],
    alpha: float,
    seed: int,
    n_workers: int = 1,
) -> Learned:
    """Learn from datasets: choose settings by the squared error (Eq. 8) on datasets held out, then use all sources.

    Parameters
    ----------
    sources, validation : sequence of ndarray of shape (n, d)
        Datasets to learn from, and to choose by; where the latter are too few, sources are held out in turn.
    groups : sequence of str or None
        The group of each source: those of one are held out together.
    scaling : ColumnScaling
        Origin and units of the columns.
    candidates : sequence of Settings
        What to choose from.
    alpha : float
        Relative parameter of the squared error.
    seed : int
        Seed of the random features.
    n_workers : int
        Number of threads that try settings.
    """
    sources = _dealt(sources, groups)
    # Fewer datasets say less than sources held out, and choose at random.
    validation = validation if len(validation) >= _FEWEST or len(sources) < _FEWEST else ()
    distance = _distance(sources, scaling)

    def feature_map(settings: Settings, most: int | None = None) -> FeatureMap:
        n_components = min(settings.n_components, most or settings.n_components)
        return FeatureMap(scaling, n_components, settings.width * distance, seed)

    if not validation and len(sources) < _FEWEST:
        # They choose nothing: what counts all directions is safe, and comes last.
        chosen = candidates[-1] if candidates[-1].background else candidates[0]
        features, calibration = feature_map(chosen), _OF_FEW if chosen.background else Calibration()
        summary = Summary.of_many(sources, features)
        return Learned(assembled(features, summary, chosen, calibration), chosen, summary, [])
    some = [_some_rows(rows, _CHOOSE_ROWS) for rows in _some_sources(sources, _CHOOSE_SOURCES)]

    def by_loss(settings: Sequence[Settings], components: int) -> list[tuple[Settings, _HeldOutRows]]:
        by_map = groupby(settings, lambda each: (min(each.n_components, components), each.width))
        groups = [list(group) for _, group in by_map]

        def tried(alike: list[Settings]) -> list[tuple[float, Settings, _HeldOutRows]]:
            # Some builds of BLAS count threads for each that calls them. Answers must not depend on their number.
            with one_thread():
                held = _HeldOutRows(feature_map(alike[0], components), some, validation, alike)
                return [(held.calibrate(each, alpha, TEMPERATURES[::2])[1], each, held) for each in alike]

        with ThreadPoolExecutor(n_workers) as workers:
            done = tracked(workers.map(tried, groups), len(groups), "choosing", unit="settings")
            found = [part for parts in done for part in parts]
        return [(each, held) for _, each, held in sorted(found, key=lambda part: part[0])]

    chosen, held = candidates[0], None
    if len(candidates) > 1 and validation:
        chosen, held = by_loss(candidates, _CHOOSE_COMPONENTS)[0]
    elif len(candidates) > 1:
        # Most are far from the best of their kind, which shows on few features. Columns and
        # cosines are compared only where cosines are many: few do less well.
        ranked = [each for each, _ in by_loss(candidates, _SIFT_COMPONENTS)]
        of_kinds = ([each for each in ranked if bool(each.n_components) is kind] for kind in (False, True))
        best = {each for of_kind in of_kinds for each in of_kind[:_FINALISTS]}
        finalists = [each for each in candidates if each in best]
        chosen, held = by_loss(finalists, _FINAL_COMPONENTS)[0]
    is_all = len(some) == len(sources) and max(map(len, sources)) <= _CHOOSE_ROWS
    if held is None or not is_all or held.total.features.n_components < chosen.n_components:
        held = _HeldOutRows(feature_map(chosen), sources, validation, [chosen], show=None)
    calibration = held.calibrate(chosen, alpha)[0]
    model = assembled(held.total.features, held.total, chosen, calibration)
    return Learned(model, chosen, held.total, held.folds(chosen, calibration))


class HeldOut:
    """Models of all sources but some, and the datasets that they have not learned from.

    Parameters
    ----------
    total : Summary
        All sources.
    parts : iterable of (Summary, ndarray of shape (n, H), sequence of int)
        What is learned from, the features of what is held out, one dataset after the other, and their numbers of rows.
    candidates : sequence of Settings
        What `calibrate` will be asked for.
    """

    def __init__(
        self, total: Summary, parts: Iterable[tuple[Summary, Floats, Sequence[int]]], candidates: Sequence[Settings]
    ) -> None:
        self.total = total
        self._summaries: list[Summary] = []
        self._projected: dict[tuple[float, bool], list[tuple[Coordinates, list[Floats]]]] = {}
        # One factorisation for all that have the shrinkage; with a background, other coordinates follow.
        largest = {each.shrinkage: each for each in sorted(candidates, key=lambda each: each.background)}
        for summary, values, sizes in parts:
            self._summaries.append(summary)
            ends = np.cumsum(sizes)[:-1]
            found = {shrinkage: coordinates_of(summary, settings) for shrinkage, settings in largest.items()}
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

    def calibrate(
        self, settings: Settings, alpha: float, temperatures: Floats = TEMPERATURES
    ) -> tuple[Calibration, float]:
        """Give what the datasets held out say of a model with these settings, and its loss on them (Eq. D8)."""
        known = self._projected[_coordinate_settings(settings)]
        noise, of_means = _moments([(each, coordinates.signal > 0) for coordinates, each in known])
        learned = float(np.mean([coordinates.signal.sum() for coordinates, _ in known])) or 1.0
        first = Calibration(noise, max(of_means / learned, _LEAST_SIGNAL))
        if settings.background:
            noise, of_means = _moments([(each, coordinates.signal == 0) for coordinates, each in known])
            per_axis = settings.background * of_means / self.total.scatter.shape[0]
            first = first._replace(background_noise=noise, background_signal=per_axis)
        held_out = [
            ([scaled(rows, coordinates.signal, settings.power, first) for rows in each], coordinates.signal)
            for coordinates, each in known
        ]
        signals = [first.signals(signal) for _, signal in held_out]
        scaled_noise, of_means = _moments([(each, signal > 0) for each, signal in held_out])
        expected = float(np.mean([each[signal > 0].sum() for each, (_, signal) in zip(signals, held_out, strict=True)]))
        scaled_signal = max(of_means / (expected or 1.0), _LEAST_SIGNAL)
        losses = np.zeros((len(SIZES), len(temperatures)))
        for (each, _), signal, summary in zip(held_out, signals, self._summaries, strict=True):
            posterior = DatasetPosterior(
                signal * scaled_signal / scaled_noise, summary.spread_quantiles(settings.n_spreads)
            )
            losses += _losses([rows / np.sqrt(scaled_noise) for rows in each], posterior, alpha, temperatures)
        # Datasets of one or two rows measure none.
        best = temperatures[losses.argmin(1)] if losses.any() else np.ones(len(SIZES))
        found = first._replace(
            scaled_noise=scaled_noise, scaled_signal=scaled_signal, temperatures=tuple(best.tolist())
        )
        return found, float(losses.min(1).mean() / len(self._summaries))


class _HeldOutRows(HeldOut):
    """The same of datasets whose rows are known.

    Parameters
    ----------
    features : FeatureMap
        What rows become.
    sources, validation : sequence of ndarray of shape (n, d)
        What is learned from, and what is held out; without the latter, sources are held out in turn.
    candidates : sequence of Settings
        What `calibrate` will be asked for.
    show : bool, optional
        As in `progress_bar`.
    """

    def __init__(
        self,
        features: FeatureMap,
        sources: Sequence[Floats],
        validation: Sequence[Floats],
        candidates: Sequence[Settings],
        show: bool | None = False,
    ) -> None:
        parts, n_together = ([sources], 0) if validation else _parts_held_out(sources)
        of_parts = [Summary.of_many(part, features) for part in tracked(parts, len(parts), "learning", show, "parts")]
        total: Summary = sum(of_parts[1:], of_parts[0])
        # Sums of the others, not the total less some: nothing cancels.
        turns = [_rotated(number, parts)[:n_together] for number in range(len(parts))]
        others = [_rotated(number, of_parts)[n_together:] for number in range(len(parts))]
        summaries = [sum(rest, first) for first, *rest in others]
        held_out = [validation] if validation else [[rows for part in turn for rows in part] for turn in turns]
        most = max(_MOST_DATASETS, _BLOCK_VALUES // (_MOST_ROWS * features.n_outputs))
        self._held_out = [[_some_rows(rows, _MOST_ROWS) for rows in _evenly(each, most)] for each in held_out]
        # One at a time: the features of all would be much memory.
        learned = (
            (summary, features(np.concatenate(rows)), list(map(len, rows)))
            for summary, rows in zip(summaries, self._held_out, strict=True)
        )
        super().__init__(total, learned, candidates)

    def folds(self, settings: Settings, calibration: Calibration) -> list[tuple[DiscriminantModel, list[Floats]]]:
        """Give the models, and rows of the datasets that each has not learned from."""
        found = []
        for summary, (coordinates, _), rows in zip(
            self._summaries, self._projected[_coordinate_settings(settings)], self._held_out, strict=True
        ):
            spreads = summary.spread_quantiles(settings.n_spreads)
            found.append(
                (DiscriminantModel(self.total.features, coordinates, spreads, settings.power, calibration), rows)
            )
        return found


def _coordinate_settings(settings: Settings) -> tuple[float, bool]:
    """Give what coordinates depend on, besides the features."""
    return settings.shrinkage, settings.background > 0


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


def weights_of_pairs(nu: Numbers, de: Numbers, n_datasets: int) -> Floats:
    """Give what pairs of datasets, by their numbers, count for: those of a dataset with itself one in ten."""
    return np.where(nu == de, max(n_datasets - 1, 1) * _SHARE_OF_SAME / (1 - _SHARE_OF_SAME), 1.0)


def _losses(datasets: Sequence[Floats], posterior: DatasetPosterior, alpha: float, temperatures: Floats) -> Floats:
    """Give the mean squared error (Eq. 8) over pairs of datasets, for every support size and temperature.

    The first rows of a dataset are its support as a numerator, the next as a denominator, and others are the query.
    """
    losses = np.zeros((len(SIZES), len(temperatures)))
    # One short dataset must not take the rows of all others away, nor a little shorter ones be left out.
    wanted = max(3, min(2 * SIZES[-1] + _N_QUERY, _SHORTEST * float(np.median(list(map(len, datasets))))))
    kept = _evenly([rows for rows in datasets if len(rows) >= wanted], _MOST_DATASETS)
    if not kept:
        return losses
    shortest = min(map(len, kept))
    for place, size in enumerate(SIZES):
        n = min(size, (shortest - 1) // 2)
        query = np.concatenate([rows[2 * n : 2 * n + min(_N_QUERY, shortest - 2 * n)] for rows in kept])
        # Densities of the query of each dataset (first axis) given the support of each (last axis). In single
        # precision, which is enough for a mean and four times as fast.
        supports = [rows[part] for part in (slice(n), slice(n, 2 * n)) for rows in kept]
        found = posterior.log_densities(query, Support.of(np.stack(supports))).astype(np.float32)
        as_nu, as_de = np.split(found.reshape(len(kept), -1, 2 * len(kept)), 2, axis=2)
        same = np.arange(len(kept))
        at_nu = as_nu[same, :, same][:, :, None] - as_de
        at_de = as_nu - as_de[same, :, same][:, :, None]
        weights = weights_of_pairs(same[:, None], same, len(kept))
        weights /= weights.sum()
        tempered = temperatures.astype(np.float32)[:, None, None, None, None] * np.stack([at_nu, at_de])
        nu, de = ratio_of_log(tempered, alpha).swapaxes(0, 1)
        squares = alpha * np.square(nu) + (1 - alpha) * np.square(de)
        losses[place] = np.tensordot((squares / 2 - nu).mean(2), weights)
    return losses


def _n_folds(n_sources: int) -> int:
    return max(1, min(_N_FOLDS, n_sources // 2))


def _parts_held_out(sources: Sequence[Floats]) -> tuple[list[Sequence[Floats]], int]:
    """Give sources that were dealt in parts, and how many parts in a row are held out together."""
    n_folds = _n_folds(len(sources))
    parts = [sources[number::n_folds] for number in range(n_folds)]
    if len(sources) >= _FEW_SOURCES:
        return parts, 1
    return [half for part in parts for half in (part[: len(part) // 2], part[len(part) // 2 :])], 2


def _rotated(number: int, items: list[Item]) -> list[Item]:
    """Give items in their order, from this one on and round."""
    return items[number:] + items[:number]


def _dealt(sources: Sequence[Floats], groups: Sequence[str | None]) -> list[Floats]:
    """Give the sources in an order in which every so many, one for each turn, are of one group as far as can be.

    New datasets are of a group that no source is of, and are compared with each other. Within a group the order is as
    good as chance, but does not depend on that in which the sources came: in an order of values those held out together
    would be far apart, and easy to tell.
    """
    means = np.array([rows.mean(0, dtype=np.float64) for rows in sources])
    order = row_order(np.round(means / np.maximum(np.abs(means).max(0), np.finfo(np.float64).tiny), 9))
    parts = np.array_split(sorted(order, key=lambda number: groups[number] or ""), _n_folds(len(sources)))
    return [sources[parts[place % len(parts)][place // len(parts)]] for place in range(len(sources))]


def _some_sources(sources: Sequence[Floats], most: int) -> list[Floats]:
    """Give at most so many sources, evenly spaced in each turn."""
    n_folds = _n_folds(len(sources))
    if len(sources) <= most:
        return list(sources)
    starts = np.linspace(0, len(sources) // n_folds - 1, most // n_folds).round().astype(int) * n_folds
    return [sources[start + turn] for start in starts for turn in range(n_folds)]


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
    with np.errstate(over="ignore"):
        scaled_sums = [(rows.sum(0), np.square(rows).sum(0)) for rows in map(scaling, sources)]
    check_finite_result("The spread of the source datasets", *(squares for _, squares in scaled_sums))
    first, second = (sum(part) / n for part in zip(*scaled_sums, strict=True))
    return float(np.sqrt(2 * np.maximum(second - first**2, 0.0).sum())) or 1.0
