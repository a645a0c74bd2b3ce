"""What other collections say about learning from few sources: `source_prior.json`, by benchmarks/source_prior.py."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from fewratio.core.shapes import Floats
from fewratio.estimators.certainty import SIZES, measure_certainty
from fewratio.estimators.closed_form.discriminant_model import Calibration, Settings

# The file, beside this module.
FILE = "source_prior.json"
# One pair in ten is a dataset with itself. If few datasets are held out, it would otherwise be every second pair
# (benchmarks/constants.py shows what that does).
SHARE_OF_SAME = 0.1
# Estimators in a mean of ratios, in the order of the file: learned of ranks, learned in one unit for all columns, and
# others. If the network does not know the alpha, RuLSIF stands in.
LEARNED = "columns", "cosines", "columns in one unit", "cosines in one unit"
_MEMBERS = {name: place for place, name in enumerate((*LEARNED, "network", "classifier"))} | {"RuLSIF": 4}
# The same without sources.
WITHOUT = "network", "network in one unit", "classifier"


@dataclass(frozen=True, eq=False)
class SourcePrior:
    """Settings and losses that were measured on other collections.

    Attributes
    ----------
    few : dict of str to (Settings, Calibration)
        For "columns" and "cosines": how to learn where too few sources are there to hold any out.
    n_sources : ndarray of shape (c,)
        Numbers of sources that losses were measured for.
    products, means : ndarray of shape (c, n_sizes, 6, 6) and (c, n_sizes, 6)
        Losses of mixtures, as in `MixtureLoss`: means over the collections.
    products_without, means_without : ndarray of shape (n_sizes, 3, 3) and (n_sizes, 3)
        The same without sources, for the estimators `WITHOUT`.
    """

    few: dict[str, tuple[Settings, Calibration]]
    n_sources: Floats
    products: Floats
    means: Floats
    products_without: Floats
    means_without: Floats

    def mixture_loss(self, n_sources: int, size: int, names: Sequence[str]) -> tuple[Floats, Floats]:
        """Return products and means of some estimators, for the place of a size in `SIZES`."""
        if not n_sources:
            members = [WITHOUT.index(name) for name in names]
            return self.products_without[size][np.ix_(members, members)], self.means_without[size][members]
        members = [_MEMBERS[name] for name in names]
        at = np.interp(np.log(n_sources), np.log(self.n_sources), np.arange(len(self.n_sources)))
        low, high = int(at), int(np.ceil(at))
        parts = (
            each[low, size] * (low + 1 - at) + each[high, size] * (at - low) for each in (self.products, self.means)
        )
        products, means = parts
        return products[np.ix_(members, members)], means[members]

    def certainty(self, kind: str, n_sources: int) -> float | None:
        """Return how sure ratios of "columns" or "cosines" were, learned from about as many sources."""
        losses = (self.mixture_loss(n_sources, place, [kind]) for place in range(len(SIZES)))
        errors = [float(products[0, 0] / 2 - means[0]) for products, means in losses]
        return measure_certainty(1 / np.sqrt(SIZES), errors, 0.5)


@cache
def read_prior() -> SourcePrior:
    """Read the file."""
    content = json.loads((files(__package__) / FILE).read_text())
    few = {
        kind: (Settings(**each["settings"]), _calibration(each["calibration"])) for kind, each in content["few"].items()
    }
    names = "n_sources", "products", "means", "products_without", "means_without"
    return SourcePrior(few, *(np.array(content[name], dtype=np.float64) for name in names))


def _calibration(values: dict[str, Any]) -> Calibration:
    return Calibration(**values | {"temperatures": tuple(values["temperatures"])})
