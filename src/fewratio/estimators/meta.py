"""The paper's method: learn from related datasets how to estimate a ratio from a handful of instances."""

import os
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import Interval, StrOptions
from torch import Tensor

from fewratio.core.divergence import relative_pearson_divergence
from fewratio.core.pair import Pair
from fewratio.data.collection import Collection
from fewratio.data.encoding import Encoding
from fewratio.data.tables import Table, as_table, check_same_features
from fewratio.errors import InputError, ParameterError
from fewratio.estimators import model_file
from fewratio.estimators.base import SEEDS, NotFittedError, RatioEstimator
from fewratio.estimators.learning import row_dtype
from fewratio.estimators.many_pairs import adapted_divergences
from fewratio.estimators.networks import KINDS, UNIVERSAL, Network, assembled, build, network_kinds
from fewratio.estimators.own_rows import OwnRows
from fewratio.estimators.pretraining import pretrain_together
from fewratio.estimators.universal import UniversalRatioEstimator, check_known_alpha
from fewratio.nn import AdaptedRatio, MeanRatio, RatioCommittee, RatioModel, Standardiser
from fewratio.nn.ratio_model import CLIPS, WITHIN_RANGE
from fewratio.nn.relational import SPACES
from fewratio.nn.set_encoder import POOLINGS
from fewratio.optim import History

_POSITIVE = Interval(Integral, 1, None, closed="left")
# Parameters that make the model what it is; the others only say how it is learned.
_SHAPING = (
    "alpha",
    "episodes",
    "latent_dim",
    "init",
    "features",
    "n_networks",
    "space",
    "pooling",
    "width",
    "depth",
    "n_outputs",
    "clip",
    "learn_alpha",
    "standardise",
)


class MetaRatioEstimator(RatioEstimator):
    """Relative density ratio from a handful of instances, learned from related datasets.

    Call `pretrain` once with the related datasets, then `fit` with two small samples and `predict`, as often as
    you like: fitting is one pass through a network and one small linear system.

    Parameters
    ----------
    alpha : float, default=0.5
        Relative parameter, 0 <= alpha < 1; the true ratio is at most 1 / alpha.
    n_support : int or (int, int), default=(1, 10)
        Size of the samples to prepare for, or a range of sizes.
    n_support_de : int or (int, int), optional
        The same for the denominator where it differs; for inlier episodes 100 by default, as in the paper.
    episodes : {"pairs", "inliers"}, default="pairs"
        What is practised on: two datasets against each other (Alg. 1), or the normal instances of one dataset against
        its unlabelled ones (Alg. 2; the datasets must then say which instances are outliers).
    n_inliers : int, optional
        For inlier episodes: how many normals of a dataset count as known; half of them by default.
    latent_dim : int, default=32
        Length K of a dataset's vector.
    init : {"random", "universal"}, default="random"
        Where the training starts. With "universal" sources are a dial: without any (`fit` at once) the network of
        `UniversalRatioEstimator` is used as it is, a few datasets train it further, from 20 on its mean with networks
        that learn from nothing but them is taken, and from 40 on these alone. What follows, from ``latent_dim`` to
        ``learn_alpha``, shapes these; the universal network has a shape of its own, and knows alpha from 0.1 to 0.9.
        It is of no use for inlier episodes.
    features : {"mlp", "relational", "both"}, default="mlp"
        What the ratio is linear in: a network of the instance and of the dataset vectors (Eq. 2), or one of the
        instance's distances to the support instances. With "both" the ratio is the mean of two networks'.
    n_networks : int, default=1
        Number of networks of each kind, trained from different starts; the ratio is their mean.
    space : {"both", "learned", "raw"}, default="both"
        Where relational features measure distances: in a learned space, in that of the columns, or in both.
    pooling : {"mean", "sum", "attention"}, default="mean"
        How instances make a dataset's vector; not for relational features, which take means.
    width, depth, n_outputs : int, default=100, 3, 100
        Hidden width of all networks, layers of the feature network (relational ones have three), and its number of
        outputs T.
    clip : {"range", "ratio", "weights"}, default="range"
        What keeps the ratio where it must be: ``r = max(0, w'phi)`` and at most 1 / alpha; the same without an upper
        bound; or ``w = max(0, w)`` (the paper's form).
    learn_alpha : bool, default=False
        Whether the alpha used in adapting (not in judging) is learned.
    standardise : bool, default=False
        Whether to centre and scale the columns by the sources' means and deviations, which the model then keeps.
    tasks_per_step : int, default=16
        Pairs of datasets in a gradient step; the paper's recipe is 1.
    n_query : int, default=64
        Instances a side that judge an adapted ratio in training; at least as many as the largest support.
    max_steps : int, default=5000
        Gradient steps at most.
    calibration : float, default=0.3
        Weight of a term of the training loss that makes the divergence, which is read off the samples themselves, agree
        with what other instances say (for networks of relational features).
    learning_rate : float, default=1e-3
        Adam's learning rate.
    weight_decay : float, default=0.3
        Share of each weight, times the learning rate, that a step takes off it.
    averaging : float, default=0.99
        Decay of a running average of the weights, over about 1 / (1 - averaging) steps, that is judged and kept instead
        of the weights themselves; 0 for none.
    validate_every : int, default=100
        Steps between looks at the validation pairs.
    patience : int, optional
        Looks without improvement after which to stop; by default all steps are taken. Either way the weights of the
        best look are kept.
    device : str, default="auto"
        "auto" takes a CUDA device if there is one.
    progress : bool, optional
        Whether to show a progress bar; by default on a terminal.
    random_state : int, numpy Generator or None
        Seed of everything random.

    Attributes
    ----------
    model_ : RatioModel or RatioCommittee
        The learned model, an ordinary ``torch.nn.Module``.
    networks_ : list of Network
        The kind, the model and the history of each network.
    history_ : History
        Losses by step, the chosen step and its standard error, of the first network.
    encoding_ : Encoding or None
        The source collection's encoding of categories and missing values, applied to all samples.

    Examples
    --------
    >>> from fewratio import MetaRatioEstimator
    >>> from fewratio.data.sources.gaussian import gaussian_family
    >>> sources = gaussian_family(20, n_instances=50, random_state=0).collection
    >>> estimator = MetaRatioEstimator(n_support=5, max_steps=5, random_state=0).pretrain(sources)
    >>> estimator.fit([[0.1], [0.3], [-0.2]], [[1.0], [1.4]]).predict([[0.0], [1.2]]).shape
    (2,)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "alpha": [Interval(Real, 0, 1, closed="left")],
        "n_support": [_POSITIVE, tuple, list],
        "n_support_de": [None, _POSITIVE, tuple, list],
        "episodes": [StrOptions({"pairs", "inliers"})],
        "n_inliers": [None, _POSITIVE],
        "latent_dim": [_POSITIVE],
        "init": [StrOptions({"random", UNIVERSAL})],
        "features": [StrOptions(set(KINDS))],
        "n_networks": [_POSITIVE],
        "space": [StrOptions(set(SPACES))],
        "pooling": [StrOptions(set(POOLINGS))],
        "width": [_POSITIVE],
        "depth": [_POSITIVE],
        "n_outputs": [_POSITIVE],
        "clip": [StrOptions({*CLIPS, WITHIN_RANGE})],
        "learn_alpha": ["boolean"],
        "standardise": ["boolean"],
        "tasks_per_step": [_POSITIVE],
        "n_query": [_POSITIVE],
        "max_steps": [_POSITIVE],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "calibration": [Interval(Real, 0, None, closed="left")],
        "weight_decay": [Interval(Real, 0, None, closed="left")],
        "averaging": [Interval(Real, 0, 1, closed="left")],
        "validate_every": [_POSITIVE],
        "patience": [None, _POSITIVE],
        "device": [str],
        "progress": [None, "boolean"],
        "random_state": SEEDS,
    }

    # Set while there are no sources; a new estimator has none either.
    _stand_in: UniversalRatioEstimator | None = None

    ratio_: AdaptedRatio | MeanRatio
    model_: RatioModel | RatioCommittee
    networks_: list[Network]
    history_: History
    encoding_: Encoding | None

    def __init__(
        self,
        alpha: float = 0.5,
        *,
        n_support: int | tuple[int, int] = (1, 10),
        n_support_de: int | tuple[int, int] | None = None,
        episodes: str = "pairs",
        n_inliers: int | None = None,
        latent_dim: int = 32,
        init: str = "random",
        features: str = "mlp",
        n_networks: int = 1,
        space: str = "both",
        pooling: str = "mean",
        width: int = 100,
        depth: int = 3,
        n_outputs: int = 100,
        clip: str = "range",
        learn_alpha: bool = False,
        standardise: bool = False,
        tasks_per_step: int = 16,
        n_query: int = 64,
        max_steps: int = 5000,
        calibration: float = 0.3,
        learning_rate: float = 1e-3,
        weight_decay: float = 0.3,
        averaging: float = 0.99,
        validate_every: int = 100,
        patience: int | None = None,
        device: str = "auto",
        progress: bool | None = None,
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        self.alpha = alpha
        self.n_support = n_support
        self.n_support_de = n_support_de
        self.episodes = episodes
        self.n_inliers = n_inliers
        self.latent_dim = latent_dim
        self.init = init
        self.features = features
        self.n_networks = n_networks
        self.space = space
        self.pooling = pooling
        self.width = width
        self.depth = depth
        self.n_outputs = n_outputs
        self.clip = clip
        self.learn_alpha = learn_alpha
        self.standardise = standardise
        self.tasks_per_step = tasks_per_step
        self.n_query = n_query
        self.max_steps = max_steps
        self.calibration = calibration
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.averaging = averaging
        self.validate_every = validate_every
        self.patience = patience
        self.device = device
        self.progress = progress
        self.random_state = random_state

    def pretrain(
        self,
        collection: Collection,
        validation: Collection | None = None,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Learn from related datasets.

        Ctrl-C stops after the step at hand and keeps the best model so far, with a warning; a second one aborts. Of
        several networks those of another kind that have not begun are left out then.

        Parameters
        ----------
        collection : Collection
            The source datasets, at least two.
        validation : Collection, optional
            Datasets to choose the best moment of the training by. By default a tenth of the sources (2 to 10) is kept
            aside for that; with fewer than six sources, all are used for both.
        checkpoint : path, optional
            File to keep the state of the training in. If it is there, the training goes on from it; that needs a
            ``random_state``. Networks of several kinds have a file each, with the kind at the end of its name.

        Returns
        -------
        self
        """
        pretrain_together([self], [collection], [validation], checkpoint=checkpoint)
        return self

    def fit(self, X_nu: Any, X_de: Any) -> Self:
        """Adapt the learned model to two samples.

        Parameters
        ----------
        X_nu : array-like of shape (n_nu, n_features)
            The numerator's sample, one instance or more. If the source collection was encoded, a data frame of the
            original columns, or an array of the encoded ones; the same holds for `predict`.
        X_de : array-like of shape (n_de, n_features)
            The denominator's sample.

        Returns
        -------
        self
        """
        self._check_parameters()
        self._check_learned()
        nu, de = self._read_pair(X_nu, X_de)
        names = nu.feature_names
        if hasattr(self, "model_"):
            check_same_features(nu, self.n_features_in_, self._source_names, reference="the source collection")
            # Where the sources had no names, the samples' own must still be those of what is predicted on.
            names = self._source_names or names
        self._fit(nu.to_numpy(), de.to_numpy())
        self._set_features(nu.n_features, names)
        return self

    def divergence(self) -> float:
        """Give the relative Pearson divergence (the plain one at alpha = 0) of the fitted samples."""
        self._check_fitted()
        return self._divergence

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the learned model to a file: safetensors with a JSON header.

        The samples given to `fit` are not stored.

        Parameters
        ----------
        path : path
            Where to; a file that is there is replaced once the new one is complete.
        """
        if not hasattr(self, "model_"):
            raise NotFittedError("There is no learned model to save. Call pretrain(collection) first.")
        model_file.save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], device: str = "auto") -> Self:
        """Read a model that `save` wrote. Nothing in the file is executed.

        Parameters
        ----------
        path : path
            The file.
        device : str
            Where to put the model.
        """
        return model_file.load(cls, path, device)

    def _set_networks(
        self,
        networks: list[Network],
        n_features: int,
        names: tuple[str, ...] | None,
        encoding: Encoding | None = None,
    ) -> None:
        """Take over learned networks, the features that their sources had, and the encoding of these."""
        # What was adapted to belongs to the model that is now replaced.
        self.__dict__.pop("ratio_", None)
        self._stand_in = None
        self.networks_, self.model_ = networks, assembled([network.model for network in networks])
        self.history_, self._source_names, self.encoding_ = networks[0].history, names, encoding
        self._learned_with = self.get_params(deep=False)
        self._set_features(n_features, names)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.learn_alpha and self.alpha == 0:
            raise ParameterError(
                "alpha is 0, but it must be positive to be learned. Give it a positive value to start from, or use "
                "learn_alpha=False."
            )

    def _check_learned(self) -> None:
        if not hasattr(self, "model_"):
            if self.init == UNIVERSAL:
                return
            raise NotFittedError(
                "This MetaRatioEstimator has learned nothing yet. Call pretrain(collection) with related datasets, or "
                "load a model with MetaRatioEstimator.load(path)."
            )
        self._check_unchanged(_SHAPING, self._learned_with)

    def _without_sources(self) -> UniversalRatioEstimator:
        """Give what is used as long as there were no sources."""
        check_known_alpha(self.alpha)
        return UniversalRatioEstimator(self.alpha, scale="columns" if self.standardise else "none", device=self.device)

    def _open(self, X: Any, argument: str) -> Table:
        self._check_learned()
        encoding = getattr(self, "encoding_", None)
        table = as_table(X, argument) if encoding is None else encoding.open(X, argument)
        if hasattr(self, "model_"):
            check_same_features(table, self.n_features_in_, self._source_names, reference="the source collection")
        return table

    def _fit(self, X_nu: NDArray[np.float64], X_de: NDArray[np.float64]) -> None:
        if not hasattr(self, "model_"):
            self._stand_in = self._without_sources().fit(X_nu, X_de)
            self.ratio_, self._divergence = self._stand_in.ratio_, self._stand_in.divergence()
            return
        pair = Pair(self._tensor(X_nu), self._tensor(X_de))
        with torch.no_grad():
            ratio = self.model_.adapt(pair)
            divergence = relative_pearson_divergence(ratio.of_support(), pair.shares, float(self.alpha)).item()
        if not np.isfinite(divergence):
            raise InputError(
                "The ratio of these samples is not finite: their values are too large for the model's arithmetic. "
                "Pretrain with standardise=True, or rescale the columns of sources and samples alike."
            )
        self.ratio_, self._divergence = ratio, divergence
        # To most networks an instance of the samples is like any other.
        self._own = OwnRows(np.concatenate([X_nu, X_de])) if self.model_.leaves_out_own else None

    def divergences(self, X: Any, nu: ArrayLike, de: ArrayLike) -> NDArray[np.float64]:
        """Give the divergences of many pairs of samples from one table, as `fit` and `divergence` would for each.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            All rows.
        nu, de : array-like of int, shapes (n_pairs, n_nu) and (n_pairs, n_de)
            Numbers of the rows that make the two samples of each pair.

        Returns
        -------
        ndarray of shape (n_pairs,)
        """
        self._check_learned()
        if not hasattr(self, "model_"):
            return self._without_sources().divergences(X, nu, de)
        # Checked here, for the base class knows no features before `fit`.
        check_same_features(self._open(X, "X"), self.n_features_in_, self._source_names, "the source collection")
        return super().divergences(X, nu, de)

    def _divergences(
        self, rows: NDArray[np.float64], nu: NDArray[np.intp], de: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        if not hasattr(self, "model_"):
            return self._without_sources()._divergences(rows, nu, de)
        place, dtype = next(self.model_.parameters()).device, row_dtype(self._learned_with["standardise"])
        return adapted_divergences(self.model_, self.alpha, rows, nu, de, dtype, place)

    def _ratio(self, X: NDArray[np.float64]) -> NDArray[Any]:
        if self._stand_in is not None:
            return self._stand_in._ratio(X)

        def of_new(rows: NDArray[np.float64]) -> NDArray[np.float32]:
            found: NDArray[np.float32] = self.ratio_(self._tensor(rows)).cpu().numpy()
            return found

        with torch.no_grad():
            if self._own is None:
                return of_new(X)
            return self._own.values(X, of_new, lambda: self.ratio_.of_support().cpu().numpy())

    def _tensor(self, X: NDArray[np.float64]) -> Tensor:
        device = next(self.model_.parameters()).device
        return torch.from_numpy(X).to(device, row_dtype(self._learned_with["standardise"]))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "ratio_")

    def build_model(
        self, n_features: int, generator: torch.Generator | None, scaler: Standardiser | None
    ) -> RatioModel:
        """Put the parts of the first network together as the parameters say, untrained."""
        return build(self, next(iter(network_kinds(self, 0))), n_features, generator, scaler)
