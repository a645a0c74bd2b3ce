"""The estimator to take, with related datasets or without: a mean of several, in shares that are measured."""

import warnings
from collections.abc import Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from fewratio.core.shapes import Floats
from fewratio.core.units import ColumnScaling
from fewratio.data.collection import Collection
from fewratio.estimators.base import RatioEstimator, fit_to_drawn
from fewratio.estimators.classifier.classifier import ClassifierRatio
from fewratio.estimators.closed_form.discriminant import DiscriminantRatioEstimator
from fewratio.estimators.closed_form.discriminant_model import SIZES, at_size, harmonic_size, ratio_of_log
from fewratio.estimators.kernel.least_squares import RuLSIF
from fewratio.estimators.learned_file import SavedEstimator, joined, part_of, stored
from fewratio.estimators.mixtures.source_shares import learned_shares
from fewratio.estimators.parameters import common
from fewratio.estimators.source_columns import check_collection
from fewratio.lazy import torch_is_installed

# The network's share up to so many rows per sample, and from where on it has none (docs/decisions/0008).
_SHARE, _FEW, _MANY = 2 / 3, 50, 400
# The factor of the network's log-ratio at one row per sample: a single distance does not tell it how far is far, and
# pairs that people compare are further apart than those it was trained on (docs/decisions/0008).
_SHARPER = 2.0
_ROUNDING = 1e-6
# The relative parameters that the network was trained for.
_ALPHAS = (0.1, 0.9)
# Rows per sample that the network, and RuLSIF, are fitted to at most; the classifier has its own limit.
_MAX_ROWS_NETWORK, _MAX_ROWS = 200, 5_000


class _Part(NamedTuple):
    """An estimator, its share in the mean, the most rows per sample to fit it to, and the factor of its log-ratio."""

    estimator: RatioEstimator
    share: float
    most_rows: int = _MAX_ROWS
    sharpness: float = 1.0


@dataclass(eq=False, repr=False)
class AutoRatioEstimator(SavedEstimator):
    """Relative density ratio, with related datasets or without: a mean of the best for the samples at hand.

    After `pretrain` with related datasets, what they say (`DiscriminantRatioEstimator`) counts as much as it helps on
    pairs of those datasets that were held out, the more the more there are; what is below counts for the rest.

    Without related datasets it is two thirds `UniversalRatioEstimator` and one third `ClassifierRatio` up to 50 rows
    per sample, and `ClassifierRatio` from 400 on; in between, the shares change with the logarithm of the size. Of
    samples of different sizes the harmonic mean counts. Of large samples rows are drawn to fit to: 200 for the network,
    5,000 for the others. At one row per sample, where the network is too cautious, its log-ratio is doubled.

    Without torch (``pip install 'fewratio[networks]'``) it is `ClassifierRatio` at all sizes, with a warning.

    Parameters
    ----------
    alpha : float, default=0.5
        Relative parameter, 0 <= alpha < 1. The network knows 0.1 to 0.9; for any other RuLSIF is taken at all sizes.
    scale : {"columns", "none"}, default="columns"
        Units of the columns, as in `RuLSIF`; those of `ClassifierRatio` never matter.
    random_state : int, numpy Generator or None
        Draws rows of large samples, and seeds the estimators.

    Attributes
    ----------
    learned_ : list of DiscriminantRatioEstimator
        What was learned from related datasets, if there were any: of columns, and of cosines.
    learned_shares_ : tuple of float
        Their share together in the mean for samples of 1, 3 and 10 rows. From 50 rows on it falls, to none at 400.
    estimators_ : list of RatioEstimator
        What was fitted.
    shares_ : list of float
        The share of each in the mean.
    ratio_nu_, ratio_de_ : ndarray of shape (n_nu,) and (n_de,)
        The ratio at the rows given to `fit`.

    Examples
    --------
    >>> import numpy as np
    >>> from fewratio import AutoRatioEstimator
    >>> rng = np.random.default_rng(0)
    >>> AutoRatioEstimator(random_state=0).fit(rng.normal(size=(5, 3)), rng.normal(1, 1, (8, 3))).estimators_
    [UniversalRatioEstimator(), ClassifierRatio(random_state=0)]
    >>> from fewratio.data.sources.gaussian import gaussian_family
    >>> sources = gaussian_family(20, n_instances=50, random_state=0).collection
    >>> len(AutoRatioEstimator(random_state=0).pretrain(sources).learned_shares_)
    3
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = common("alpha", "scale", "random_state")

    alpha: float = 0.5
    _: KW_ONLY
    scale: str = "columns"
    random_state: int | np.random.Generator | None = None
    learned_: list[DiscriminantRatioEstimator] = field(init=False)
    learned_shares_: tuple[float, ...] = field(init=False)

    def pretrain(self, collection: Collection, validation: Collection | None = None) -> Self:
        """Learn from related datasets, in seconds.

        Parameters
        ----------
        collection : Collection
            The source datasets, at least two.
        validation : Collection, optional
            Datasets to choose settings and shares by. By default sources are held out in turn for that.

        Returns
        -------
        self
        """
        self._check_parameters()
        check_collection(collection, "collection", at_least=2)
        check_collection(validation, "validation", optional=True)
        seed = int(self.random_state) if isinstance(self.random_state, Integral) else 0
        learned = [
            DiscriminantRatioEstimator(self.alpha, features=kind, scale=self.scale, random_state=seed % 2**32)
            for kind in ("columns", "cosines")
        ]
        of_columns, of_cosines = (each._learn(collection, validation) for each in learned)
        # Both have held out the same; of many datasets cosines keep fewer.
        folds = [
            ((with_columns, with_cosines), datasets)
            for (with_columns, _), (with_cosines, datasets) in zip(of_columns.folds, of_cosines.folds, strict=True)
        ]
        scaling = of_cosines.model.features.scaling
        without = partial(_ratios_without_sources, alpha=float(self.alpha), scaling=scaling)
        self._set_learned(learned, learned_shares(folds, without, float(self.alpha)))
        return self

    def _payload(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        parts = [each._payload() for each in self.learned_]
        parameters = stored(self.get_params(deep=False))
        around = {"estimator": type(self).__name__, "parameters": parameters, "shares": self._shares_of_learned}
        return joined([arrays for arrays, _ in parts]), {**around, "learned": [header for _, header in parts]}

    def _restore(self, arrays: dict[str, NDArray[Any]], header: dict[str, Any]) -> None:
        shares = [tuple(map(float, of_sizes)) for of_sizes in header["shares"]]
        valid = shares and {len(of_sizes) for of_sizes in shares} == {len(SIZES)}
        valid = valid and all(min(of_size) >= 0 and sum(of_size) <= 1 + 1e-9 for of_size in zip(*shares, strict=True))
        if not valid:
            raise ValueError(f"its shares are {shares}")
        parts = enumerate(header["learned"])
        learned = [DiscriminantRatioEstimator._of_payload(part_of(arrays, number), part) for number, part in parts]
        if len(learned) != len(shares) or any(each._source_columns != learned[0]._source_columns for each in learned):
            raise ValueError("what was learned is not of its shares, or of other columns than each other")
        self._set_learned(learned, shares)

    def _set_learned(self, learned: list[DiscriminantRatioEstimator], shares: Sequence[tuple[float, ...]]) -> None:
        self.learned_, self._shares_of_learned = learned, list(shares)
        self.learned_shares_ = tuple(round(sum(of_size), 9) for of_size in zip(*shares, strict=True))
        assert learned[0]._source_columns is not None
        self._keep_columns(learned[0]._source_columns)

    def _fit(self, X_nu: Floats, X_de: Floats) -> None:
        rng = np.random.default_rng(self.random_state)
        known = self.learned_[0].model_.features.scaling if self.has_sources else self.scale
        scaling = ColumnScaling.of([X_nu, X_de], known)
        self.estimators_, self.shares_, self._scalings, self._sharpness = [], [], [], []
        ratios = [np.zeros(len(X)) for X in (X_nu, X_de)]
        for estimator, share, most, sharpness in self._parts(len(X_nu), len(X_de)):
            # What was learned from sources scales rows itself.
            part_scaling = ColumnScaling(0.0, 1.0) if estimator.has_sources else scaling
            samples = part_scaling(X_nu), part_scaling(X_de)
            at_rows = fit_to_drawn(estimator._fit, estimator, samples, most, rng)
            if not estimator.has_sources:
                estimator._set_features(X_nu.shape[1], None)
            for total, ratio in zip(ratios, at_rows, strict=True):
                total += share * _sharpened(ratio, sharpness, self.alpha)
            self.estimators_.append(estimator)
            self.shares_.append(share)
            self._scalings.append(part_scaling)
            self._sharpness.append(sharpness)
        self.ratio_nu_, self.ratio_de_ = ratios

    def _for_many_pairs(self) -> RatioEstimator:
        # A classifier would be fitted anew for each. A test is exact whatever it goes by.
        if not self.has_sources or not any(self.learned_shares_):
            return self
        shares = [sum(of_sizes) for of_sizes in self._shares_of_learned]
        return self._learned_parts()[shares.index(max(shares))]

    def _learned_parts(self) -> list[DiscriminantRatioEstimator]:
        return [copy(each).set_params(alpha=self.alpha) for each in self.learned_]

    @property
    def finds_outliers(self) -> bool:
        """Whether what was taken tells outliers from other rows, which the network does not."""
        return all(getattr(estimator, "finds_outliers", True) for estimator in self.estimators_)

    def _ratio(self, X: Floats) -> NDArray[Any]:
        parts = zip(self.estimators_, self._scalings, self._sharpness, strict=True)
        ratios = [_sharpened(part._ratio(scaling(X)), sharpness, self.alpha) for part, scaling, sharpness in parts]
        return np.tensordot(self.shares_, ratios, 1)

    def _parts(self, n_nu: int, n_de: int) -> list[_Part]:
        if not self.has_sources:
            return self._parts_without_sources(n_nu, n_de)
        size = harmonic_size(n_nu, n_de)
        shares = [at_size(of_sizes, size) * _falling(size) for of_sizes in self._shares_of_learned]
        parts = [_Part(each, share) for each, share in zip(self._learned_parts(), shares, strict=True) if share]
        left = round(1 - sum(shares), 9)
        rest = self._parts_without_sources(n_nu, n_de) if left else []
        return [*parts, *(part._replace(share=left * part.share) for part in rest)]

    def _parts_without_sources(self, n_nu: int, n_de: int) -> list[_Part]:
        if not _ALPHAS[0] <= self.alpha <= _ALPHAS[1]:
            return [_Part(RuLSIF(self.alpha, sigma="cv", reg="cv", random_state=self.random_state), 1.0)]
        classifier = ClassifierRatio(alpha=self.alpha, random_state=self.random_state)
        size = harmonic_size(n_nu, n_de)
        share = _SHARE * _falling(size)
        if share and torch_is_installed():
            from fewratio.estimators.networks.universal import UniversalRatioEstimator

            network = _Part(UniversalRatioEstimator(self.alpha), share, _MAX_ROWS_NETWORK, _sharpness(size))
            return [network, _Part(classifier, 1 - share)]
        if share and not self.has_sources:
            warnings.warn(
                "torch is not installed, so a classifier stands in for the universal network, which is better for "
                "samples this small. To use it: pip install 'fewratio[networks]'.",
                stacklevel=2,
            )
        return [_Part(classifier, 1.0)]


def _falling(size: float) -> float:
    """Give the share of what is made for few rows: all up to 50, none from 400 on."""
    return float(np.clip(np.log(_MANY / size) / np.log(_MANY / _FEW), 0, 1))


def _sharpness(size: float) -> float:
    """Give the factor of the network's log-ratio: 2 at one row per sample, 1 from two rows on."""
    return float(np.interp(size, (1, 2), (_SHARPER, 1)))


def _sharpened(ratio: Floats, factor: float, alpha: float) -> Floats:
    """Multiply the log of the plain ratio that a relative one stands for."""
    if factor == 1:
        return ratio
    # Rounding may take a ratio to its bounds, 0 and 1 / alpha.
    inner = np.clip(alpha * ratio, _ROUNDING, 1 - _ROUNDING)
    return ratio_of_log(factor * (np.log(inner / (1 - inner)) - np.log(alpha / (1 - alpha))), alpha)


def _ratios_without_sources(nu: Floats, de: Floats, rows: Floats, alpha: float, scaling: ColumnScaling) -> Floats:
    """Give the ratios of many pairs of samples at rows of each, by an estimator that learns nothing from sources."""
    nu, de, rows = scaling(nu), scaling(de), scaling(rows)
    if _ALPHAS[0] <= alpha <= _ALPHAS[1] and torch_is_installed():
        from fewratio.estimators.networks.universal import UniversalRatioEstimator

        ratios = UniversalRatioEstimator(alpha)._ratios_of_pairs(nu, de, rows)
        return _sharpened(ratios, _sharpness(harmonic_size(nu.shape[1], de.shape[1])), alpha)
    # Its settings are fixed, so that hundreds of pairs take a second.
    estimator, found = RuLSIF(alpha), []
    for numerator, denominator, at in zip(nu, de, rows, strict=True):
        estimator._fit(numerator, denominator)
        found.append(estimator._ratio(at))
    return np.array(found)
