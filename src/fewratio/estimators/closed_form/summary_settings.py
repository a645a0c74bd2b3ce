"""Learn from summaries of sources whose rows are elsewhere, and choose settings by summaries that are held out."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fewratio.core.shapes import Floats
from fewratio.errors import CollectionError, InputError, ParameterError
from fewratio.estimators.closed_form.discriminant_choice import HeldOut, Learned
from fewratio.estimators.closed_form.discriminant_model import SIZES, Calibration, Settings, assembled
from fewratio.estimators.closed_form.summary import Summary

_N_FOLDS, _FEWEST_HELD_OUT, _MOST_HELD_OUT, _MOST_ROWS = 4, 4, 48, 256
# Where nothing can be held out: what is safe beside what was found where it could be (docs/how/summaries.md).
_SHRINKAGE = 0.3
# How much coordinates of columns are taken to have in common: K of them say as much as K / (1 + (K - 1) * this).
_IN_COMMON = 0.05
# What is tried besides where noise was added.
_OF_NOISY = (0.6, 0.9)
_OF_COSINES = Calibration(noise=1.6, signal=0.6, temperatures=(0.35, 0.27, 0.27))
_OF_COLUMNS = Calibration(noise=1.2, signal=0.8)


def learn_from_summaries(summaries: Sequence[Summary], candidates: Sequence[Settings], alpha: float) -> Learned:
    """Learn from summaries; those of one source each are held out in turn to choose settings by.

    Rows drawn from a Gaussian with the mean and the covariance of a summary stand in for its rows.

    Parameters
    ----------
    summaries : sequence of Summary
        All of one map, and of at least two sources together.
    candidates : sequence of Settings
        What to choose from.
    alpha : float
        Relative parameter of the squared error that settings are chosen by.
    """
    # In an order of their values: that in which they came must not matter.
    ordered = sorted(summaries, key=lambda each: tuple(np.round(each.mean_sum, 9)))
    single = [summary for summary in ordered if summary.n_sources == 1]
    merged = [summary for summary in ordered if summary.n_sources != 1]
    features = ordered[0].features
    # Gaussian rows say too much good of directions in which no sources differ, and of the lengths of cosines.
    candidates = [each for each in candidates if not (each.background or (each.power and features.n_components))]
    if len(single) < _FEWEST_HELD_OUT:
        total: Summary = sum(ordered[1:], ordered[0])
        chosen = min(candidates, key=lambda each: (abs(each.shrinkage - _SHRINKAGE), each.power))
        model = assembled(features, total, chosen, _OF_COSINES if features.n_components else _OF_COLUMNS)
        if not features.n_components:
            model = replace(model, calibration=_tempered(model.calibration, len(model.coordinates.signal)))
        return Learned(model, chosen, total, [])
    if any(each.mean_noise for each in ordered) and len(candidates) > 1:
        candidates += [candidates[0]._replace(shrinkage=more) for more in _OF_NOISY]
    held = _held_out(single, merged, candidates)
    found = {settings: held.calibrate(settings, alpha) for settings in candidates}
    chosen = min(found, key=lambda settings: found[settings][1])
    return Learned(assembled(features, held.total, chosen, found[chosen][0]), chosen, held.total, [])


def _tempered(calibration: Calibration, n_coordinates: int) -> Calibration:
    """Give the temperature that takes back what coordinates say more than once."""
    temperature = 1 / (1 + _IN_COMMON * max(n_coordinates - 1, 0))
    return calibration._replace(temperatures=(temperature,) * len(SIZES))


def _held_out(single: Sequence[Summary], merged: Sequence[Summary], candidates: Sequence[Settings]) -> HeldOut:
    """Give models of all summaries but some, and rows that stand in for those of the summaries held out."""
    n_folds = min(_N_FOLDS, len(single) // 2)
    parts: list[Summary] = [sum(single[number + n_folds :: n_folds], single[number]) for number in range(n_folds)]
    total: Summary = sum([*parts[1:], *merged], parts[0])
    rng = np.random.default_rng(total.features.seed)
    step = -(-len(single) // _MOST_HELD_OUT)
    learned = []
    for number, part in enumerate(parts):
        held_out = single[number :: n_folds * step]
        if total.mean_noise:
            held_out = _denoised(held_out, total, part.within)
        rows = [_stand_in(summary, rng) for summary in held_out]
        learned.append((total - part, np.concatenate(rows), list(map(len, rows))))
    return HeldOut(total, learned, candidates)


def _denoised(single: Sequence[Summary], total: Summary, within: Floats) -> list[Summary]:
    """Give summaries with the best guess of their means before noise, and this covariance."""
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


def _stand_in(summary: Summary, rng: np.random.Generator) -> Floats:
    """Draw rows of a Gaussian dataset, a random part of one that has this summary."""
    n, n_drawn = summary.n_rows, min(summary.n_rows, _MOST_ROWS)
    values, vectors = np.linalg.eigh(summary.scatter / (n - 1))
    root = (vectors * np.sqrt(values.clip(0.0))).T
    rows = rng.standard_normal((n_drawn + 1, len(root))) @ root
    # The mean of a part varies about that of the whole, and that of the whole is known.
    shift = rows[-1] * np.sqrt(1 / n_drawn - 1 / n)
    rows = rows[:-1]
    return np.asarray(rows - rows.mean(0) + shift + summary.mean_sum)


def check_summaries(given: Any, validation: Any) -> list[Summary] | None:
    """Give summaries as a list, all of one map and without validation datasets; None if it is something else."""
    found = [given] if isinstance(given, Summary) else given
    if not isinstance(found, list | tuple) or not any(isinstance(each, Summary) for each in found):
        return None
    if validation is not None:
        raise ParameterError(
            "validation is given with summaries, but some of them are held out to choose settings by. Leave it out."
        )
    for number, each in enumerate(found):
        if not isinstance(each, Summary):
            raise ParameterError(
                f"Source {number} is a {type(each).__name__}; with others that are summaries, all must be. Make it one "
                "with SourceMap.summarise."
            )
        if each.features.fingerprint != found[0].features.fingerprint:
            raise InputError(
                f"Summaries 0 and {number} were made with different maps, so that their numbers mean different things. "
                "Make all with one map."
            )
        if each.features.columns is None:
            raise InputError(
                f"Summary {number} does not know what its columns are: an estimator made it. Make it with a SourceMap."
            )
    n_sources = sum(each.n_sources for each in found)
    if n_sources < 2:
        raise CollectionError(
            "There is a summary of one source; at least two sources are needed to learn how datasets differ. Add more."
        )
    return list(found)
