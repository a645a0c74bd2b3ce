"""A mean of ratios: the estimator to start with, with related datasets or without."""

import os
import sys
from collections import Counter
from collections.abc import Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from importlib import import_module
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from fewratio.core.arguments import show_value
from fewratio.core.arrays import equal_shares
from fewratio.core.container import Arrays
from fewratio.core.divergence import relative_pearson_divergence
from fewratio.core.draws import draw_rows
from fewratio.core.shapes import Floats, Numbers
from fewratio.core.units import ColumnScaling, RankScaling
from fewratio.data.collection import Collection
from fewratio.errors import ParameterError, warn
from fewratio.estimators.base import NotFittedError, RatioEstimator, fit_to_drawn
from fewratio.estimators.certainty import SIZES, CertainEstimator, harmonic_size, read_certainty
from fewratio.estimators.classifier.classifier import ClassifierRatio
from fewratio.estimators.classifier.kernel_logistic import KernelLogisticRegression
from fewratio.estimators.closed_form.discriminant import DiscriminantRatioEstimator, learn_together
from fewratio.estimators.closed_form.discriminant_model import ratio_of_log
from fewratio.estimators.closed_form.source_prior import LEARNED
from fewratio.estimators.kernel.least_squares import RuLSIF
from fewratio.estimators.learned_file import SavedEstimator, join_parts, select_part, select_stored
from fewratio.estimators.mixtures.source_shares import (
    ALPHA,
    MOST_ROWS,
    MixtureLoss,
    Ratios,
    loss_at_size,
    measure_samples,
    measure_sources,
    pool_losses,
    prior_losses,
)
from fewratio.estimators.parameters import StrOptions, common
from fewratio.estimators.source_columns import check_collection
from fewratio.lazy import torch_is_installed

# Possible `members`; the first is the default.
_KINDS = "DiscriminantRatioEstimator", "MetaRatioEstimator"
# Up to the first number of rows per sample, shares are those of few rows; from the second on, only the classifier is
# used. Chosen on random pairs and the tables of the development half (benchmarks/answers.py --only prior tables;
# docs/decisions/0008); benchmarks/constants.py shows their effect without sources.
_FEW, _MANY = 50, 400
# The factor of the network's log-ratio at one row per sample, since a single distance has no scale, and pairs that
# people compare are further apart than those it was trained on. It lowers J of 12 families by .018, and a factor of 3
# hardly lowers it further (benchmarks/defaults.py --one-row).
_SHARPER = 2.0
_ROUNDING = 1e-6
# The relative parameters that the network was trained for.
_ALPHAS = (0.1, 0.9)
# The most rows per sample to fit the network, and RuLSIF, to (benchmarks/constants.py); the classifier has its own
# limit.
_MAX_ROWS_NETWORK, _MAX_ROWS = 200, 5_000


class _Part(NamedTuple):
    """An estimator, its share, the most rows per sample to fit it to, the factor of its log-ratio, and its units."""

    estimator: RatioEstimator
    share: float = 0.0
    most_rows: int = _MAX_ROWS
    sharpness: float = 1.0
    scaling: ColumnScaling | RankScaling = ColumnScaling(0.0, 1.0)

    @property
    def is_in_one_unit(self) -> bool:
        """Whether all columns have the same unit."""
        if isinstance(self.estimator, DiscriminantRatioEstimator):
            return self.estimator.scale == "none"
        has_units = isinstance(self.scaling, ColumnScaling) and np.ndim(self.scaling.scale) == 0
        return has_units and not isinstance(self.estimator, ClassifierRatio | RuLSIF)

    def sharpen(self, ratio: Floats, alpha: float) -> Floats:
        """Multiply the log of the plain ratio that corresponds to a relative one."""
        if self.sharpness == 1:
            return ratio
        # Rounding errors may turn a ratio into 0 or 1 / alpha.
        inner = np.clip(alpha * ratio, _ROUNDING, 1 - _ROUNDING)
        return ratio_of_log(self.sharpness * (np.log(inner / (1 - inner)) - np.log(alpha / (1 - alpha))), alpha)


@dataclass(eq=False, repr=False)
class AutoRatioEstimator(CertainEstimator, SavedEstimator):
    """Estimate the relative density ratio by a mean of several estimators, with or without related datasets.

    Without related datasets, it averages `UniversalRatioEstimator` in two units (one unit per column, and one for all
    columns) and `ClassifierRatio`. After `pretrain` with related datasets, it averages `DiscriminantRatioEstimator`,
    which learns from them, `UniversalRatioEstimator` and `ClassifierRatio`.

    The weights of the estimators minimise the error at left-out parts of the two samples, on held-out pairs of related
    datasets, and on other collections. From 50 rows per sample on, the share of `ClassifierRatio` rises with the
    logarithm of the size; from 400 rows on, it is used alone. For samples of different sizes, the harmonic mean counts.
    From large samples, random rows are used: 200 for the network, 5,000 for the others. At one row per sample, where
    the network is too cautious, its log-ratio is doubled.

    Without torch (``pip install 'fewratio[networks]'``), `ClassifierRatio` is used at all sizes, with a warning.

    You can also pass the estimators to average. Networks and closed forms make different errors, so their mean is
    better than either: ``members=make_best_members()`` had the best ratios in the benchmark, but takes an hour or more
    to train without a GPU.

    Parameters
    ----------
    alpha : float, default=0.5
        Relative parameter of all members, 0 <= alpha < 1. The network supports 0.1 to 0.9; for other values, RuLSIF is
        used instead.
    members : sequence of DiscriminantRatioEstimator and MetaRatioEstimator, optional
        The estimators to train on related datasets and to average, instead of those above.
    shares : sequence of float, optional
        The share of each of ``members`` in the mean. By default both kinds have the same total share.
    scale : {"auto", "ranks", "columns", "none"}, default="auto"
        Units of the columns. With related datasets, "auto" learns twice, with "ranks" as in
        `DiscriminantRatioEstimator`, and with "none", one unit for all columns. Without related datasets, it uses
        "columns" as in `RuLSIF`, and "none". Their shares are chosen by the error at left-out or held-out data.
        `ClassifierRatio` and ``members`` have their own units.
    random_state : int, numpy Generator or None
        Draws rows of large samples, and seeds the estimators.

    Attributes
    ----------
    learned_ : list of DiscriminantRatioEstimator and MetaRatioEstimator
        The estimators that learned from related datasets, if any; by default from columns and from cosines, with ranks
        and with one unit.
    learned_shares_ : tuple of float
        Their total share for samples of 1, 3, 10 and 30 rows, before it is adapted to the two samples. It falls from
        50 rows on, to 0 at 400.
    certainty_ : float or None
        The certainty of ratios: from samples of n rows, they are as certain as with this times sqrt(n) labelled rows.
    networks_ : list of Network
        All networks in ``learned_``.
    members_ : list of RatioEstimator
        The fitted estimators.
    shares_ : list of float
        The share of each fitted estimator in the mean.
    share_of_one_unit_ : float
        The share of the estimators with one unit for all columns. If it is above 0, the result depends on the units of
        the columns.
    ratio_nu_, ratio_de_ : ndarray of shape (n_nu,) and (n_de,)
        The ratio at the rows passed to `fit`.

    Examples
    --------
    >>> import numpy as np
    >>> from fewratio import AutoRatioEstimator, DiscriminantRatioEstimator
    >>> rng = np.random.default_rng(0)
    >>> AutoRatioEstimator(random_state=0).fit(rng.normal(size=(5, 3)), rng.normal(1, 1, (8, 3))).members_
    [UniversalRatioEstimator(scale='none'), UniversalRatioEstimator(scale='none'), ClassifierRatio(random_state=0)]
    >>> from fewratio.data.sources.gaussian import gaussian_family
    >>> sources = gaussian_family(6, n_instances=20, random_state=0).collection
    >>> len(AutoRatioEstimator(random_state=0).pretrain(sources).learned_shares_)
    4
    >>> members = [DiscriminantRatioEstimator("columns"), DiscriminantRatioEstimator("cosines")]
    >>> AutoRatioEstimator(members=members).pretrain(sources).fit([[0.1]], [[1.4]]).shares_
    [0.5, 0.5]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **common("alpha", "random_state"),
        "members": ["array-like", None],
        "shares": ["array-like", None],
        "scale": [StrOptions({"auto", "ranks", "columns", "none"}), ColumnScaling],
    }

    alpha: float = 0.5
    _: KW_ONLY
    members: Sequence[SavedEstimator] | None = None
    shares: Sequence[float] | None = None
    scale: str | ColumnScaling = "auto"
    random_state: int | np.random.Generator | None = None
    learned_: list[Any] = field(init=False)
    learned_shares_: tuple[float, ...] = field(init=False)

    def pretrain(
        self,
        collection: Collection,
        validation: Collection | None = None,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Learn from related datasets; this takes seconds unless there are networks among the members.

        Parameters
        ----------
        collection : Collection
            The source datasets, at least two.
        validation : Collection, optional
            Datasets for choosing settings and shares, and for early stopping. By default, sources are held out.
        checkpoint : path, optional
            File to save the training of networks to, as in `MetaRatioEstimator.pretrain`.

        Returns
        -------
        self
        """
        self._check_parameters()
        check_collection(collection, "collection", at_least=2)
        check_collection(validation, "validation", optional=True)
        if self.members is None:
            self._set_learned(*self._learn(collection, validation))
            return self
        members = [clone(member).set_params(alpha=self.alpha) for member in self.members]
        for number, member in enumerate(members):
            # Only networks have a training state to save.
            is_kept = checkpoint is not None and hasattr(member, "training")
            file = {"checkpoint": f"{os.fspath(checkpoint)}{f'.{number}' * (number > 0)}"} if is_kept else {}  # type: ignore[arg-type]
            member.pretrain(collection, validation, **file)
        kinds = Counter(map(type, members))
        by_kind = [1 / (len(kinds) * kinds[type(member)]) for member in members]
        of_members = by_kind if self.shares is None else map(float, self.shares)
        self._set_members(members, list(of_members))
        return self

    def _learn(
        self, collection: Collection, validation: Collection | None
    ) -> tuple[list[Any], list[str], list[MixtureLoss], float | None]:
        """Learn in closed form, and choose the shares of learned estimators and others."""
        if self.scale not in ("auto", "ranks", "columns", "none"):
            raise ParameterError("scale has units of its own. With related datasets use 'ranks', 'columns' or 'none'.")
        seed = self.random_state if isinstance(self.random_state, Integral) else 0
        # One unit suits similar columns, such as pixels; ranks suit all others.
        units = ("ranks", "none") if self.scale == "auto" else (self.scale,)
        learned = [
            DiscriminantRatioEstimator(self.alpha, features=kind, scale=unit, random_state=seed)
            for unit in units
            for kind in ("columns", "cosines")
        ]
        found = learn_together(learned, collection, validation)
        # All have held out the same datasets; if there are many, cosines keep fewer of them.
        folds = [
            ([model for model, _ in fold], fold[-1][1]) for fold in zip(*(each.folds for each in found), strict=True)
        ]
        alpha, scaling = float(self.alpha), found[0].model.features.scaling
        others: dict[str, Ratios] = {
            name: partial(_ratios_of_pairs, name=name, alpha=alpha, scaling=scaling) for name in _others(alpha)
        }
        names = LEARNED[: len(learned)]
        losses, certainty = measure_sources(names, folds, others, alpha, len(collection))
        return learned, [*names, *others], losses, certainty

    def _known_ranges(self) -> tuple[Floats, Floats] | None:
        """Return the known ranges of the sources from one of the learned estimators."""
        found = (each._known_ranges() for each in self.learned_)
        return next((each for each in found if each is not None), None)

    @property
    def networks_(self) -> list[Any]:
        """All networks among the learned estimators."""
        return [network for each in self.learned_ for network in getattr(each, "networks_", [])]

    @property
    def history_(self) -> Any:
        """The history of the first network."""
        return self.networks_[0].history

    @property
    def finds_outliers(self) -> bool:
        """Whether all fitted estimators recognise outliers, which the universal network does not."""
        return all(getattr(member, "finds_outliers", True) for member in self.members_)

    def _check_parameters(self, owner: str | None = None, prefix: str = "") -> None:
        super()._check_parameters(owner, prefix)
        members, shares = self.members, self.shares
        if members is None and shares is not None:
            raise ParameterError("shares is given without members. Give the members that they are of.")
        if members is None:
            return
        others = [type(member).__name__ for member in members if type(member).__name__ not in _KINDS]
        if others or not len(members):
            raise ParameterError(
                f"members has {', '.join(others) or 'nothing in it'}; estimators of the kinds {' and '.join(_KINDS)} "
                "are needed. Give one or more of these."
            )
        if shares is not None and not (
            len(shares) == len(members) and min(shares) >= 0 and abs(sum(shares) - 1) < _ROUNDING
        ):
            raise ParameterError(
                f"shares is {show_value(list(shares))} for {len(members)} members; expected a share for each, none "
                "negative, with the sum 1. Pass these, or None."
            )

    def _read(self, *args: Any, **kwargs: Any) -> Any:
        if self.members is not None and not self.has_sources:
            raise NotFittedError(
                "The members of this AutoRatioEstimator have learned nothing yet. Call pretrain(collection) with "
                "related datasets, or load a model with AutoRatioEstimator.load(path)."
            )
        return super()._read(*args, **kwargs)

    def _payload(self) -> tuple[Arrays, dict[str, Any]]:
        parts = [each._payload() for each in self._copy_learned()]
        parameters = select_stored(self.get_params(deep=False) | {"members": None, "shares": None})
        header = {"estimator": type(self).__name__, "parameters": parameters, "has_members": self.members is not None}
        header |= {"learned": [header for _, header in parts], "certainty": self.certainty_}
        if self.members is None:
            header["names"] = self._names
            header["losses"] = [loss.to_list() for loss in self._losses]
        else:
            header["shares"] = self._shares
        return join_parts([arrays for arrays, _ in parts]), header

    def _restore(self, arrays: Arrays, header: dict[str, Any]) -> None:
        kinds, learned = _KINDS if header["has_members"] else _KINDS[:1], []
        for number, part in enumerate(header["learned"]):
            if part["estimator"] not in kinds:
                raise ValueError(f"it has learned a {part['estimator']}")
            kind = getattr(import_module("fewratio.estimators"), part["estimator"])
            learned.append(kind._of_payload(select_part(arrays, number), part))
        if not learned or any(each._source_columns != learned[0]._source_columns for each in learned):
            raise ValueError("what was learned is of other columns than each other")
        certainty = read_certainty(header["certainty"])
        if not header["has_members"]:
            names, losses = list(map(str, header["names"])), list(map(MixtureLoss.of_list, header["losses"]))
            if (
                len(losses) != len(SIZES)
                or names[: len(learned)] != list(LEARNED[: len(learned)])
                or any(len(loss.means) != len(names) for loss in losses)
            ):
                raise ValueError("the errors that shares follow from are not those of what was learned")
            return self._set_learned(learned, names, losses, certainty)
        shares = [float(share) for share in header["shares"]]
        if len(shares) != len(learned) or min(shares) < 0 or abs(sum(shares) - 1) > _ROUNDING:
            raise ValueError(f"its shares are {shares}")
        self.members, self.shares = [clone(each) for each in learned], shares
        return self._set_members(learned, shares, certainty)

    def _set_learned(
        self, learned: list[Any], names: list[str], losses: list[MixtureLoss], certainty: float | None
    ) -> None:
        self.learned_, self._names, self._losses = learned, names, losses
        self.certainty_, self.angles_ = certainty, None
        by_size = [loss.best_shares()[: len(learned)] for loss in losses]
        self._shares, self.learned_shares_ = np.sum(by_size, axis=0), tuple(float(each.sum()) for each in by_size)
        self._keep_columns(learned[0]._source_columns)

    def _set_members(self, learned: list[Any], shares: list[float], certainty: float | None = None) -> None:
        self.learned_, self._shares, self.certainty_, self.angles_ = learned, shares, certainty, None
        self.learned_shares_ = (1.0,) * len(SIZES)
        self._join_certainties(list(zip(learned, shares, strict=True)))
        self._keep_columns(learned[0]._source_columns)

    def _join_certainties(self, parts: Sequence[tuple[Any, float]]) -> None:
        """Set the certainty of the mean: that of its networks, or if there are none, the average of its members."""
        of_networks = [(share, each.angles_) for each, share in parts if share and each.angles_ is not None]
        certainties = [(share, each.certainty_) for each, share in parts if share]
        if of_networks:
            self.angles_ = sum(share * angles for share, angles in of_networks) / sum(share for share, _ in of_networks)
        elif all(certainty is not None for _, certainty in certainties):
            # The squared error, proportional to 1 / k, is for a mean at most the mean of the squared errors.
            self.certainty_ = 1 / sum(share / certainty for share, certainty in certainties)

    def _copy_learned(self) -> list[Any]:
        # Use copies, since a copy of this estimator shares its members.
        return [copy(each).set_params(alpha=self.alpha) for each in self.learned_]

    def _fit(self, X_nu: Floats, X_de: Floats) -> None:
        rng = np.random.default_rng(self.random_state)
        parts = self._parts(X_nu, X_de)
        ratios = [np.zeros(len(X)) for X in (X_nu, X_de)]
        for part in parts:
            samples = part.scaling(X_nu), part.scaling(X_de)
            at_rows = fit_to_drawn(part.estimator._fit, part.estimator, samples, part.most_rows, rng)
            if not part.estimator.has_sources:
                part.estimator._set_features(X_nu.shape[1], None)
            for total, ratio in zip(ratios, at_rows, strict=True):
                total += part.share * part.sharpen(ratio, self.alpha)
        self._fitted, self.members_ = parts, [part.estimator for part in parts]
        self.shares_ = [part.share for part in parts]
        self.share_of_one_unit_ = sum(part.share for part in parts if part.is_in_one_unit)
        self.ratio_nu_, self.ratio_de_ = ratios

    def _ratio(self, X: Floats) -> NDArray[Any]:
        ratios = [part.sharpen(part.estimator._ratio(part.scaling(X)), self.alpha) for part in self._fitted]
        return np.tensordot(self.shares_, ratios, 1)

    def _divergences(self, rows: Floats, nu: Numbers, de: Numbers) -> Floats:
        if self.members is None:
            return super()._divergences(rows, nu, de)
        ratios = np.tensordot(self._shares, [each._ratios_at_samples(rows, nu, de) for each in self._copy_learned()], 1)
        return relative_pearson_divergence(ratios, equal_shares(nu.shape[1], de.shape[1], ratios), float(self.alpha))

    def _for_many_pairs(self) -> RatioEstimator:
        # Fitting most members to each pair would be slow, and a test is exact with any estimator.
        if self.members is not None:
            return self
        if self.has_sources and any(self.learned_shares_):
            return self._copy_learned()[int(np.argmax(self._shares))]
        if _others(float(self.alpha))[0] != "network" or isinstance(self.scale, ColumnScaling):
            return self
        from fewratio.estimators.networks.universal import UniversalRatioEstimator

        return UniversalRatioEstimator(self.alpha, scale="none" if self.scale == "none" else "columns")

    def _parts(self, X_nu: Floats, X_de: Floats) -> list[_Part]:
        """Return the estimators to fit to samples like these."""
        # Estimators with sources scale rows themselves.
        learned = [_Part(each) for each in self._copy_learned()] if self.has_sources else []
        if self.members is not None:
            given = zip(learned, self._shares, strict=True)
            return [part._replace(share=share, most_rows=sys.maxsize) for part, share in given if share]
        size = harmonic_size(len(X_nu), len(X_de))
        others = self._parts_without_sources(X_nu, X_de, size)
        parts, fading = [*learned, *others.values()], _fade(size)
        if len(parts) == 1 or not fading:
            return [parts[-1]._replace(share=1.0)]
        shares = fading * self._choose_shares(X_nu, X_de, size, others)
        shares[-1] += 1 - fading
        return [part._replace(share=share) for part, share in zip(parts, shares.tolist(), strict=True) if share]

    def _parts_without_sources(self, X_nu: Floats, X_de: Floats, size: float) -> dict[str, _Part]:
        """Return the estimators that do not learn from sources, by the names of losses; the last is for many rows."""
        alpha = float(self.alpha)
        units: dict[str, ColumnScaling | RankScaling]
        if self.has_sources:
            units = {"network": self.learned_[0].model_.features.scaling}
        elif self.scale == "none":
            units = {"network in one unit": ColumnScaling(0.0, 1.0)}
        else:
            own = ColumnScaling.of([X_nu, X_de], self.scale if isinstance(self.scale, ColumnScaling) else "columns")
            units = {"network": own}
            if self.scale == "auto":
                units["network in one unit"] = own.in_one_unit()
        names = _others(alpha)
        if names == ["RuLSIF"]:
            kernel = RuLSIF(alpha, sigma="cv", reg="cv", random_state=self.random_state)
            return {"RuLSIF": _Part(kernel, scaling=next(iter(units.values())))}
        found = {}
        if "network" in names:
            from fewratio.estimators.networks.universal import UniversalRatioEstimator

            for name, scaling in units.items():
                network = UniversalRatioEstimator(self.alpha, scale="none")
                found[name] = _Part(network, 0.0, _MAX_ROWS_NETWORK, _find_sharpness(size), scaling)
        elif (not self.has_sources or "network" in self._names) and _fade(size):
            warn(
                "torch is not installed, so a classifier replaces the universal network. For samples this small the "
                "network is better. To use it: pip install 'fewratio[networks]'."
            )
        # The classifier scales columns itself.
        return found | {"classifier": _Part(ClassifierRatio(alpha=self.alpha, random_state=self.random_state))}

    def _choose_shares(self, X_nu: Floats, X_de: Floats, size: float, others: dict[str, _Part]) -> Floats:
        """Choose the shares with the smallest error on held-out datasets, other collections and parts of samples."""
        models = [each.model_ for each in self.learned_] if self.has_sources else []
        names = [*LEARNED[: len(models)], *others]
        if self.has_sources and set(names) <= set(self._names):
            losses = [loss.select([self._names.index(name) for name in names]) for loss in self._losses]
        else:
            # There are no sources, or a different alpha needs another estimator.
            losses = prior_losses(names, self.learned_[0].n_sources_ if models else 0)
        known, rng, most = [loss_at_size(losses, size)], np.random.default_rng(0), min(len(X_nu), len(X_de), MOST_ROWS)
        ratios = [
            partial(_ratios_of_pairs, name=name, alpha=ALPHA, scaling=each.scaling) for name, each in others.items()
        ]
        if most > 1:
            known.append(measure_samples(models, ratios, *(X[draw_rows(X, most, rng)] for X in (X_nu, X_de))))
        return pool_losses(known).best_shares()


def _fade(size: float) -> float:
    """Return the share of estimators for few rows: 1 up to 50 rows, 0 from 400 on."""
    return float(np.clip(np.log(_MANY / size) / np.log(_MANY / _FEW), 0, 1))


def _find_sharpness(size: float) -> float:
    """Return the factor of the network's log-ratio: 2 at one row per sample, 1 from two rows on."""
    return float(np.interp(size, (1, 2), (_SHARPER, 1)))


def _others(alpha: float) -> list[str]:
    """Name the estimators that do not learn from sources, in the order of `_parts_without_sources`."""
    if not _ALPHAS[0] <= alpha <= _ALPHAS[1]:
        return ["RuLSIF"]
    return ["network", "classifier"] if torch_is_installed() else ["classifier"]


def _ratios_of_pairs(
    nu: Floats, de: Floats, rows: Floats, name: str, alpha: float, scaling: ColumnScaling | RankScaling
) -> Floats:
    """Return the ratios of many pairs of samples at rows of each, from one of `_others`."""
    if name.startswith("network"):
        from fewratio.estimators.networks.universal import UniversalRatioEstimator

        network = UniversalRatioEstimator(alpha, scale="none")
        sharpness = _find_sharpness(harmonic_size(nu.shape[1], de.shape[1]))
        ratios = network._ratios_of_pairs(scaling(nu), scaling(de), scaling(rows))
        return _Part(network, 1.0, sharpness=sharpness).sharpen(ratios, alpha)
    # Fixed settings, so that hundreds of pairs take a second; `fit` chooses them.
    is_classifier = name == "classifier"
    fixed = KernelLogisticRegression(C=1.0)
    estimator = ClassifierRatio(fixed, alpha=alpha, calibrate=False, random_state=0) if is_classifier else RuLSIF(alpha)
    units = ColumnScaling(0.0, 1.0) if is_classifier else scaling
    found = []
    for numerator, denominator, at in zip(units(nu), units(de), units(rows), strict=True):
        estimator._fit(numerator, denominator)
        found.append(estimator._ratio(at))
    return np.array(found)
