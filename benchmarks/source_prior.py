"""What other collections say of learning from few sources: makes `source_prior.json`, which is part of the package.

First the settings and calibrations for two or three sources, which cannot be held out: those with the least mean error
(Eq. 8) on other datasets of the same family. Then the error of every mean of the six estimators that
`AutoRatioEstimator` averages, as a quadratic form of their shares, for samples of 1, 3, 10 and 30 rows and 2 to 40
sources; half of it with columns as they are, half with columns multiplied by exp(N(0, 2)). The same of the three
without sources, to which pairs of classes of tables and random pairs count as much as either half. `--judge` reads
these records again, and prints the mean error on the families if what all others say counts as so many pairs.

    python benchmarks/source_prior.py --jobs 16 > results/benchmarks/source_prior.jsonl
    python benchmarks/source_prior.py --judge
"""

import argparse
import json
import sys
import warnings
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import torch

from everyday.families import FAMILIES, split_family
from everyday.ratios import class_pairs, prior_pairs
from fewratio import Collection, DiscriminantRatioEstimator
from fewratio.core.units import ColumnScaling, RankScaling
from fewratio.estimators.certainty import SIZES
from fewratio.estimators.closed_form import discriminant_choice, source_prior
from fewratio.estimators.closed_form.discriminant import learn_together
from fewratio.estimators.closed_form.discriminant_model import Calibration
from fewratio.estimators.closed_form.feature_map import FeatureMap
from fewratio.estimators.mixtures import source_shares
from fewratio.estimators.mixtures.auto import _ratios_of_pairs
from fewratio.estimators.mixtures.source_shares import MixtureLoss, measure_mixture, pool_losses
from fewratio_bench.records import circumstances

RECORDS = Path(__file__).parents[1] / "results" / "benchmarks" / "source_prior.jsonl"
PRIOR = Path(source_prior.__file__).with_name(source_prior.FILE)
COUNTS, KINDS, OTHERS = (2, 3, 5, 10, 20, 40), ("columns", "cosines"), ("network", "classifier")
WITHOUT = source_prior.WITHOUT
_ALPHA, _N_PAIRS = 0.5, 20


def few_records(family: str, split: int) -> list[dict[str, Any]]:
    """Calibrate every setting of models of two and three sources, by other datasets of the family."""
    sources, targets = split_family(family, split)
    found = []
    for n_sources in (2, 3):
        some, others = sources[:n_sources], [*sources[n_sources:], *targets]
        scaling = RankScaling.of(some)
        parts = [[discriminant_choice.Source(rows) for rows in part] for part in (some, others)]
        distance = discriminant_choice._distance(parts[0], scaling)
        for kind in KINDS:
            for settings in DiscriminantRatioEstimator(features=kind)._candidates():
                features = FeatureMap(scaling, min(settings.n_components, 256), settings.width * distance)
                held = discriminant_choice.HeldOut.of_rows(features, *parts, [settings])
                calibration, loss = held.calibrate(settings, _ALPHA)
                found.append(
                    {"kind": kind, "settings": settings._asdict(), "calibration": calibration._asdict()}
                    | {"loss": loss}
                )
    return [{"part": "few", "family": family, "split": split, **each} for each in found]


def mixture_records(family: str, split: int, n_sources: int, rescaled: bool) -> list[dict[str, Any]]:
    """Measure the error of means of ratios on pairs of targets, and on pairs of sources that were held out."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    sources, targets = split_family(family, split, rescaled)
    cell = {"part": "mixture", "family": family, "split": split, "n_sources": n_sources, "rescaled": rescaled}
    if len(sources) < n_sources:
        return []
    if not n_sources:
        losses = ((size, measure_mixture([([], targets)], OF_PAIRS, _ALPHA, size, _N_PAIRS)) for size in SIZES)
        return [cell | to_record("target", size, loss) for size, loss in losses if loss]
    collection = Collection.from_arrays(sources[:n_sources])
    estimators = [DiscriminantRatioEstimator(features=kind, scale=unit) for unit in ("ranks", "none") for kind in KINDS]
    learned = learn_together(estimators, collection, None)
    scaling = learned[0].model.features.scaling
    others = [partial(_ratios_of_pairs, name=name, alpha=_ALPHA, scaling=scaling) for name in OTHERS]
    folds = [
        ([model for model, _ in fold], fold[-1][1]) for fold in zip(*(each.folds for each in learned), strict=True)
    ]
    found = []
    for size in SIZES:
        models = [each.model for each in learned]
        losses = {
            "target": measure_mixture([(models, targets)], others, _ALPHA, size, _N_PAIRS),
            "held out": measure_mixture(folds, others, _ALPHA, size, source_shares._N_PAIRS),
        }
        found += [cell | to_record(role, size, each) for role, each in losses.items() if each]
    return found


def without_sources(nu: np.ndarray, de: np.ndarray, rows: np.ndarray, name: str) -> np.ndarray:
    """Give the ratios of pairs by an estimator without sources, in the units of each pair."""
    found = []
    for pair in zip(nu, de, rows, strict=True):
        own = ColumnScaling.of(pair[:2], "columns")
        scaling = own.in_one_unit() if name == WITHOUT[1] else own
        found.append(_ratios_of_pairs(*(X[None] for X in pair), name=name, alpha=_ALPHA, scaling=scaling)[0])
    return np.array(found)


OF_PAIRS = [partial(without_sources, name=name) for name in WITHOUT]
# Pairs that belong to no family of datasets, without sources.
PAIRS = {"tables": partial(class_pairs, "development"), "random pairs": prior_pairs}


def pair_records(name: str, split: int) -> list[dict[str, Any]]:
    """Measure the error of means of ratios on other pairs, without sources."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    pairs, found = list(PAIRS[name](range(split, split + 1))), []
    for size in SIZES:
        losses = []
        for nu, de, at_nu, at_de in pairs:
            if min(len(nu), len(de)) >= size:
                samples = nu[None, :size], de[None, :size], np.concatenate([at_nu, at_de])[None]
                ratios = np.concatenate([ratio(*samples) for ratio in OF_PAIRS])
                of_nu, of_de = ratios[:, : len(at_nu)], ratios[:, len(at_nu) :]
                products = (of_nu @ of_nu.T / len(at_nu) + of_de @ of_de.T / len(at_de)) / 2
                losses.append(MixtureLoss(1, products, of_nu.mean(1)))
        found.append(to_record("target", size, pool_losses(losses)))
    cell = {"part": "mixture", "family": name, "split": split, "n_sources": 0, "rescaled": False}
    return [cell | each | {"n_pairs": len(pairs)} for each in found]


def to_record(role: str, size: int, loss: MixtureLoss) -> dict[str, Any]:
    values = {"products": loss.products.round(5).tolist(), "means": loss.means.round(5).tolist()}
    return {"role": role, "n_support": size, "n_pairs": loss.n_pairs} | values


def choose_few(records: list[dict[str, Any]]) -> dict[str, Any]:
    """Take the settings with the least mean loss over families, and the geometric mean of their calibrations."""
    chosen = {}
    for kind in KINDS:
        by_settings: dict[str, list[dict[str, Any]]] = {}
        for record in records:
            if record["part"] == "few" and record["kind"] == kind:
                by_settings.setdefault(json.dumps(record["settings"]), []).append(record)
        settings, best = min(by_settings.items(), key=lambda item: np.mean([each["loss"] for each in item[1]]))
        values = {
            name: np.exp(np.mean([np.log(np.maximum(each["calibration"][name], 1e-3)) for each in best], axis=0)).round(
                4
            )
            for name in Calibration._fields
        }
        if not json.loads(settings)["background"]:
            values["background_signal"] = np.zeros(())
        chosen[kind] = {"settings": json.loads(settings), "calibration": {k: v.tolist() for k, v in values.items()}}
    return chosen


def mean_losses(records: list[dict[str, Any]], n_sources: int, size: int, without: str = "") -> MixtureLoss:
    """Give the mean loss: families count alike, and without sources as they are, rescaled, tables and random pairs."""
    kinds: dict[str, dict[str, list[MixtureLoss]]] = {}
    for each in records:
        if each["part"] == "mixture" and (each["role"], each["n_sources"], each["n_support"]) == (
            "target",
            n_sources,
            size,
        ):
            name = each["family"]
            kind = name if name in PAIRS else f"rescaled: {each['rescaled']}" if not n_sources else "all"
            loss = MixtureLoss(1, np.array(each["products"]), np.array(each["means"]))
            kinds.setdefault(kind, {}).setdefault(name, []).append(loss)

    def mean(losses: Iterable[MixtureLoss]) -> MixtureLoss:
        return pool_losses([loss._replace(n_pairs=1) for loss in losses])

    return mean(mean(mean(each) for name, each in kind.items() if name != without) for kind in kinds.values())


def write_prior(few: dict[str, Any], records: list[dict[str, Any]]) -> None:
    # To make the records, settings for few sources are needed, and losses are not.
    counts = {n: len(WITHOUT) if not n else len(KINDS) * 2 + len(OTHERS) for n in (0, *COUNTS)}
    without, *losses = (
        [mean_losses(records, n, size) if records else MixtureLoss(0, np.eye(m), np.zeros(m)) for size in SIZES]
        for n, m in counts.items()
    )
    content = {
        "made_by": "python benchmarks/source_prior.py",
        "families": list(FAMILIES),
        "few": few,
        "n_sources": COUNTS,
        "products": [[each.products.round(5).tolist() for each in of_count] for of_count in losses],
        "means": [[each.means.round(5).tolist() for each in of_count] for of_count in losses],
        "products_without": [each.products.round(5).tolist() for each in without],
        "means_without": [each.means.round(5).tolist() for each in without],
    }
    PRIOR.write_text(json.dumps(content) + "\n")


def judge() -> None:
    """Print the mean error on the targets of each family, with shares by held-out sources and all other families."""
    records = list(map(json.loads, RECORDS.read_text().splitlines()))
    mixtures = [each for each in records if each["part"] == "mixture"]
    held = {
        (each["family"], each["split"], each["rescaled"], each["n_sources"], each["n_support"]): each
        for each in mixtures
        if each["role"] == "held out"
    }
    for n_pairs in (1, 3, 10, 30, 100, 1000):
        errors: dict[int, list[float]] = {}
        for each in mixtures:
            if each["role"] != "target" or not each["n_sources"]:
                continue
            key = each["family"], each["split"], each["rescaled"], each["n_sources"], each["n_support"]
            losses = [mean_losses(records, *key[3:], without=key[0])._replace(n_pairs=n_pairs)]
            if own := held.get(key):
                losses.append(MixtureLoss(own["n_pairs"], np.array(own["products"]), np.array(own["means"])))
            shares = pool_losses(losses).best_shares()
            error = shares @ np.array(each["products"]) @ shares / 2 - np.array(each["means"]) @ shares
            errors.setdefault(key[4], []).append(float(error))
        shown = "  ".join(f"{size} rows {np.mean(found):.4f}" for size, found in errors.items())
        sys.stdout.write(f"{n_pairs:5} pairs: {shown}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--families", nargs="+", choices=list(FAMILIES), default=list(FAMILIES))
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--judge", action="store_true", help="print how much the prior should count, by the records")
    args = parser.parse_args()
    if args.judge:
        return judge()
    parallel = joblib.Parallel(args.jobs)
    cells = [(family, split) for split in range(args.splits) for family in args.families]
    few = [each for found in parallel(joblib.delayed(few_records)(*cell) for cell in cells) for each in found]
    chosen = choose_few(few)
    write_prior(chosen, [])
    tasks = [(*cell, n, rescaled) for n in (*reversed(COUNTS), 0) for cell in cells for rescaled in (False, True)]
    found = parallel(joblib.delayed(mixture_records)(*task) for task in tasks)
    found += parallel(joblib.delayed(pair_records)(name, split) for split in range(2 * args.splits) for name in PAIRS)
    records = [*few, *(each for some in found for each in some)]
    write_prior(chosen, records)
    where = circumstances(torch.device("cpu"))
    for record in records:
        sys.stdout.write(json.dumps(record | where) + "\n")
    return None


if __name__ == "__main__":
    main()
