"""Settings of `MetaRatioEstimator` in groups: training tasks, network and training.

They are plain values that do not need torch.
"""

from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from fewratio.errors import ParameterError
from fewratio.estimators.parameters import COUNT, NOT_NEGATIVE, Interval, Parameters, StrOptions, common

# Kinds of networks that an architecture with these features consists of.
KINDS = {"both": ("mlp", "relational"), "mlp": ("mlp",), "relational": ("relational",)}


@dataclass(repr=False)
class Episodes(Parameters):
    """Base of training tasks: small estimation tasks cut from the source datasets."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_support": [COUNT, tuple, list],
        "n_support_de": [None, COUNT, tuple, list],
        "n_query": [COUNT],
    }
    # Whether numerators are only paired with the denominator of the same dataset.
    paired: ClassVar[bool]

    n_support: int | tuple[int, int] = (1, 10)
    _: KW_ONLY
    n_support_de: int | tuple[int, int] | None = None
    n_query: int = 64

    @property
    def sizes(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The range (low, high) of sizes of the two samples."""
        nu = _size_range(self.n_support)
        return nu, nu if self.n_support_de is None else _size_range(self.n_support_de)

    def _check_parameters(self, owner: str | None = None, prefix: str = "") -> None:
        super()._check_parameters(owner, prefix)
        for name in ("n_support", "n_support_de"):
            value = getattr(self, name)
            if value is None:
                continue
            sizes = _size_range(value)
            valid = len(sizes) == 2 and all(isinstance(size, int | np.integer) for size in sizes)
            if not valid or not 1 <= sizes[0] <= sizes[1]:
                raise ParameterError(
                    f"{prefix}{name} is {value}; a number of at least 1, or a range (low, high) of such, is needed. "
                    "Choose such sizes."
                )


@dataclass(repr=False)
class Pairs(Episodes):
    """Train on pairs of datasets, one against the other.

    These are the episodes of Algorithm 1 of the paper.

    Parameters
    ----------
    n_support : int or (int, int), default=(1, 10)
        Number of rows per sample to train for, or a range of numbers.
    n_support_de : int or (int, int), optional
        Number of rows of the denominator, if it differs.
    n_query : int, default=64
        Rows per sample at which an adapted ratio is evaluated in training; at least as many as the largest support.

    Examples
    --------
    >>> from fewratio.estimators.networks import Pairs
    >>> Pairs(n_support=5)
    Pairs(n_support=5)
    """

    paired = False


@dataclass(repr=False)
class Inliers(Episodes):
    """Train on the normal rows of a dataset against its unlabelled rows, for outlier detection.

    These are the episodes of Algorithm 2 of the paper. The outliers of the source datasets must be marked.

    Parameters
    ----------
    n_support : int or (int, int), default=(1, 10)
        Number of normal rows to train for, or a range of numbers.
    n_support_de : int or (int, int), default=100
        Number of unlabelled rows, or a range of numbers; the paper uses 100.
    n_query : int, default=64
        As in `Pairs`.
    n_inliers : int, optional
        How many normal rows of a dataset count as known; half of them by default.

    Examples
    --------
    >>> from fewratio.estimators.networks import Inliers
    >>> Inliers(n_support=5).n_support_de
    100
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {**Episodes._parameter_constraints, "n_inliers": [None, COUNT]}
    paired = True

    _: KW_ONLY
    n_support_de: int | tuple[int, int] | None = 100
    n_inliers: int | None = None


@dataclass(repr=False)
class Architecture(Parameters):
    """The kinds and sizes of the networks of a model.

    Parameters
    ----------
    features : {"mlp", "relational", "both"}, default="mlp"
        Features of the ratio, which is linear in them: a network of the row and of the dataset vectors (Eq. 2), or a
        network of the distances of the row to the support rows. With "both", the ratio is the mean of two networks.
    n_networks : int, default=1
        Number of networks of each kind, with different initial weights; the ratio is their mean.
    latent_dim : int, default=32
        Length K of the vector of a dataset.
    width, depth, n_outputs : int, default=100, 3, 100
        Hidden width of all networks, number of layers of the feature network (three for relational features), and its
        number of outputs T.
    pooling : {"mean", "sum", "attention"}, default="mean"
        How rows are pooled to the vector of a dataset; relational features always use means.
    space : {"both", "learned", "raw"}, default="both"
        Space in which relational features measure distances: a learned space, that of the columns, or both.
    clip : {"range", "ratio", "weights"}, default="range"
        How to bound the ratio: ``r = max(0, w'phi)`` and at most 1 / alpha ("range"), the same without an upper bound
        ("ratio"), or ``w = max(0, w)`` as in the paper ("weights").
    learn_alpha : bool, default=False
        Whether the alpha used in adapting (not in evaluating) is learned.

    Examples
    --------
    >>> from fewratio.estimators.networks import Architecture
    >>> Architecture("both", n_networks=2)
    Architecture(features='both', n_networks=2)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "features": [StrOptions(set(KINDS))],
        **{name: [COUNT] for name in ("n_networks", "latent_dim", "width", "depth", "n_outputs")},
        "pooling": [StrOptions({"mean", "sum", "attention"})],
        "space": [StrOptions({"both", "learned", "raw"})],
        "clip": [StrOptions({"range", "ratio", "weights"})],
        "learn_alpha": ["boolean"],
    }

    features: str = "mlp"
    _: KW_ONLY
    n_networks: int = 1
    latent_dim: int = 32
    width: int = 100
    depth: int = 3
    n_outputs: int = 100
    pooling: str = "mean"
    space: str = "both"
    clip: str = "range"
    learn_alpha: bool = False


@dataclass(repr=False)
class Training(Parameters):
    """Settings of the training: AdamW on batches of episodes, with early stopping on validation datasets.

    Parameters
    ----------
    max_steps : int, default=5000
        The most gradient steps.
    tasks_per_step : int, default=16
        Episodes per gradient step; the paper uses 1.
    learning_rate : float, default=1e-3
        Adam's learning rate.
    weight_decay : float, default=0.3
        Share of each weight matrix, times the learning rate, that a step subtracts. Biases, lambda and a learned
        alpha do not decay.
    averaging : float, default=0.99
        Decay of a running average of the weights, over about 1 / (1 - averaging) steps, which is validated and used as
        the model; 0 for no average.
    calibration : float, default=0.3
        Weight of a term of the training loss that makes the divergence of the samples agree with that of other rows
        (for networks with relational features).
    validate_every : int, default=100
        Steps between validations.
    patience : int, optional
        Validations without improvement before stopping; by default all steps are taken. In both cases, the weights of
        the best validation are kept.

    Examples
    --------
    >>> from fewratio import MetaRatioEstimator
    >>> from fewratio.estimators.networks import Training
    >>> MetaRatioEstimator(training=Training(max_steps=100)).set_params(training__patience=5).training
    Training(max_steps=100, patience=5)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **common("learning_rate"),
        **{name: [COUNT] for name in ("max_steps", "tasks_per_step", "validate_every")},
        **{name: [NOT_NEGATIVE] for name in ("weight_decay", "calibration")},
        "averaging": [Interval(Real, 0, 1, closed="left")],
        "patience": [None, COUNT],
    }

    _: KW_ONLY
    max_steps: int = 5000
    tasks_per_step: int = 16
    learning_rate: float = 1e-3
    weight_decay: float = 0.3
    averaging: float = 0.99
    calibration: float = 0.3
    validate_every: int = 100
    patience: int | None = None


def as_architecture(network: str | Architecture) -> Architecture:
    """Return the architecture that a name is short for."""
    return Architecture(network) if isinstance(network, str) else network


def _size_range(value: int | tuple[int, int]) -> tuple[int, ...]:
    return (value, value) if isinstance(value, int | np.integer) else tuple(value)
