"""Baselines of outlier detection that know normal instances only: autoencoder and Deep SVDD."""

from copy import deepcopy
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions
from torch import Tensor

from fewratio.data.collection import Collection, Dataset
from fewratio.data.encoding import Encoding
from fewratio.data.tables import Table, as_table, check_same_features
from fewratio.errors import InputError
from fewratio.estimators.base import SEEDS, NotFittedError, TableEstimator
from fewratio.estimators.devices import resolve_device
from fewratio.estimators.one_class_training import check_usable, fit_in_stages, pretrain_one_class
from fewratio.estimators.sources import draw_seeds, feature_names, standardiser
from fewratio.nn import Autoencoder, DeepSVDD, OneClassNetwork, Standardiser
from fewratio.optim import Ensemble, History

_NETWORKS = {"autoencoder": Autoencoder, "deep svdd": DeepSVDD}
_TRAIN_ON = ("target", "sources", "sources then target")
_POSITIVE = Interval(Integral, 1, None, closed="left")
# Parameters that make the model what it is; the others only say how it is learned.
_SHAPING = ("network", "latent_dim", "width", "depth", "standardise")


class OneClassEstimator(TableEstimator):
    """How odd rows are to a network that has seen normal rows only.

    Not a ratio: there is no second sample. With ``train_on="target"`` call `fit` with normal rows, then `errors`;
    else call `pretrain` with related datasets first.

    Parameters
    ----------
    network : {"autoencoder", "deep svdd"}, default="autoencoder"
        The error of a row is its squared distance to its reconstruction, or of its output to a fixed centre.
    latent_dim : int, default=32
        Length of the autoencoder's code, or of Deep SVDD's output.
    width, depth : int, default=100, 4
        Hidden width, and layers of the network (of the encoder and of the decoder each).
    train_on : {"target", "sources", "sources then target"}, default="target"
        The normal rows given to `fit`, those of the related datasets, or the second and then the first. It may be
        changed after pretraining.
    n_steps : int, default=100
        Gradient steps of `fit`, each on all its rows.
    max_steps : int, default=10000
        Gradient steps of `pretrain` at most.
    batch_size : int, default=128
        Rows of a step of `pretrain`.
    learning_rate : float, default=1e-3
        Adam's learning rate.
    validate_every : int, default=100
        Steps between looks at the validation datasets.
    patience : int, optional
        Looks without improvement after which to stop; by default all steps are taken. Either way the weights of the
        best look are kept.
    standardise : bool, default=False
        Whether to centre and scale the columns by the means and deviations of the normal rows that are learned from
        first; these are kept from then on.
    device : str, default="auto"
        "auto" takes a CUDA device if there is one.
    progress : bool, optional
        Whether to show a progress bar in `pretrain`; by default on a terminal.
    random_state : int, numpy Generator or None
        Seed of everything random.

    Attributes
    ----------
    model_ : OneClassNetwork
        What gives the errors.
    source_model_ : OneClassNetwork
        What was learned from related datasets.
    history_ : History
        Losses of that by step.

    Examples
    --------
    >>> from fewratio.estimators import OneClassEstimator
    >>> estimator = OneClassEstimator(n_steps=200, random_state=0).fit([[1.0, 0.9], [1.1, 1.0], [0.9, 1.0]])
    >>> usual, odd = estimator.errors([[1.0, 1.0], [5.0, -3.0]])
    >>> bool(usual < odd)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "network": [StrOptions(set(_NETWORKS))],
        **{name: [_POSITIVE] for name in ("latent_dim", "width", "depth", "max_steps", "batch_size", "validate_every")},
        "train_on": [StrOptions(set(_TRAIN_ON))],
        "n_steps": [Interval(Integral, 0, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "patience": [None, _POSITIVE],
        "standardise": ["boolean"],
        "device": [str],
        "progress": [None, "boolean"],
        "random_state": SEEDS,
    }

    model_: OneClassNetwork
    source_model_: OneClassNetwork
    history_: History
    _sources: tuple[int, tuple[str, ...] | None, Encoding | None]
    _encoding: Encoding | None

    def __init__(
        self,
        network: str = "autoencoder",
        *,
        latent_dim: int = 32,
        width: int = 100,
        depth: int = 4,
        train_on: str = "target",
        n_steps: int = 100,
        max_steps: int = 10_000,
        batch_size: int = 128,
        learning_rate: float = 1e-3,
        validate_every: int = 100,
        patience: int | None = None,
        standardise: bool = False,
        device: str = "auto",
        progress: bool | None = None,
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        self.network = network
        self.latent_dim = latent_dim
        self.width = width
        self.depth = depth
        self.train_on = train_on
        self.n_steps = n_steps
        self.max_steps = max_steps
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.validate_every = validate_every
        self.patience = patience
        self.standardise = standardise
        self.device = device
        self.progress = progress
        self.random_state = random_state

    def pretrain(self, collection: Collection, validation: Collection | None = None) -> Self:
        """Learn from the normal instances of related datasets.

        Parameters
        ----------
        collection : Collection
            The source datasets, at least two. Their known outliers are left out; where nothing is known of outliers
            all instances count as normal.
        validation : Collection, optional
            Datasets to choose the best moment of the training by. By default a tenth of the sources (2 to 10) is kept
            aside for that; with fewer than six sources, all are used for both.

        Returns
        -------
        self
        """
        pretrain_one_class([self], [collection], [validation])
        return self

    def fit(self, X_normal: Any) -> Self:
        """Learn from the normal rows of a target, as far as ``train_on`` asks for it.

        Parameters
        ----------
        X_normal : array-like of shape (n, n_features)
            Normal rows, one or more.

        Returns
        -------
        self
        """
        self._check_parameters()
        n_features, source_names, encoding = None, None, None
        if self.train_on != "target":
            self._check_pretrained()
            n_features, source_names, encoding = self._sources
        table = as_table(X_normal, "X_normal") if encoding is None else encoding.open(X_normal, "X_normal")
        if n_features is not None:
            check_same_features(table, n_features, source_names, reference="the source collection")
        table.check_finite()
        model = self.new_model(table) if self.train_on == "target" else deepcopy(self.source_model_)
        if self.train_on != "sources":
            rows = _tensor(table.to_numpy(), model)
            list(fit_in_stages(Ensemble([model], rows.device), rows.unsqueeze(0), [self.n_steps], self.learning_rate))
            check_usable(model, rows)
        self.model_, self._encoding = model, encoding
        self._set_features(table.n_features, source_names or table.feature_names)
        return self

    def errors(self, X: Any) -> NDArray[np.float64]:
        """Give the error of each row of X, shape (n, n_features), as an array of shape (n,): the larger, the odder."""
        if not self.__sklearn_is_fitted__():
            raise NotFittedError("This OneClassEstimator has not seen normal rows yet. Call fit(X_normal) first.")
        with torch.no_grad():
            result = self._by_blocks(X, lambda rows: self.model_.errors(_tensor(rows, self.model_)).cpu().numpy())
        if not np.isfinite(result).all():
            raise InputError(
                "The errors of some rows of X are not finite: their values are too large for the network's arithmetic. "
                "Rescale the columns (to about unit size) before fitting."
            )
        return result

    def new_model(self, X_normal: Any) -> OneClassNetwork:
        """Make an untrained network for normal rows: standardised by them if asked for, its centre set by them."""
        X = as_table(X_normal, "X_normal").to_numpy()
        scaler = standardiser(Collection("X_normal", [Dataset("X_normal", None, X)])) if self.standardise else None
        model = self.build_model(X.shape[1], draw_seeds(self.random_state).start, scaler)
        model.to(resolve_device(self.device)).begin(_tensor(X, model))
        return model

    def build_model(self, n_features: int, seed: int, scaler: Standardiser | None) -> OneClassNetwork:
        """Put the network together as the parameters say, before it has seen anything."""
        generator = torch.Generator().manual_seed(seed)
        return _NETWORKS[self.network](n_features, self.latent_dim, self.width, self.depth, generator, scaler)

    def _set_source_model(self, model: OneClassNetwork, history: History, sources: Collection) -> None:
        """Take over what was learned from sources."""
        # What was fitted started from the model that is now replaced.
        self.__dict__.pop("model_", None)
        self.source_model_, self.history_ = model, history
        self._sources = sources.n_features, feature_names(sources), sources.encoding
        self._learned_with = self.get_params(deep=False)
        if self.train_on == "sources":
            self.model_, self._encoding = model, sources.encoding
        self._set_features(*self._sources[:2])

    def _check_pretrained(self) -> None:
        if not hasattr(self, "source_model_"):
            raise NotFittedError(
                f"This OneClassEstimator has train_on={self.train_on!r} and has learned nothing from sources yet. Call "
                'pretrain(collection) first, or use train_on="target".'
            )
        self._check_unchanged(_SHAPING, self._learned_with)

    def _open(self, X: Any, argument: str) -> Table:
        return as_table(X, argument) if self._encoding is None else self._encoding.open(X, argument)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")


def _tensor(X: NDArray[np.float64], model: OneClassNetwork) -> Tensor:
    return torch.from_numpy(X).to(next(model.parameters()).device, model.row_dtype)
