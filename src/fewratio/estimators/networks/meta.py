"""The paper's method: learn from related datasets how to estimate a ratio from few rows."""

import os
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
import torch
from sklearn.base import clone

from fewratio.core.container import Arrays, read_tensors
from fewratio.data.collection import Collection
from fewratio.errors import ParameterError, warn
from fewratio.estimators.certainty import CertainEstimator, read_angles
from fewratio.estimators.learned_file import LearnedEstimator, make_header, read_source_columns
from fewratio.estimators.networks import members
from fewratio.estimators.networks.network_estimator import Model, NetworkEstimator, resolve_device
from fewratio.estimators.networks.nn import RatioModel, SampleScaled, Standardiser
from fewratio.estimators.networks.optim import History
from fewratio.estimators.networks.pretraining import raise_if_diverged
from fewratio.estimators.networks.settings import Architecture, Episodes, Inliers, Pairs, Training, as_architecture
from fewratio.estimators.networks.universal import check_known_alpha, shipped_parts, universal_with_units
from fewratio.estimators.parameters import Parameters, StrOptions, common
from fewratio.estimators.source_columns import SourceColumns

_GROUPS: dict[str, type[Parameters]] = {group.__name__: group for group in (Pairs, Inliers, Architecture, Training)}


@dataclass(eq=False, repr=False)
class MetaRatioEstimator(CertainEstimator, NetworkEstimator, LearnedEstimator):
    """Estimate the relative density ratio from few rows, with a network trained on related datasets.

    Call `pretrain` once with the related datasets, then `fit` with two small samples and `predict` as often as you
    like: fitting is one pass through a network and one small linear system. If the source collection was encoded, pass
    data frames with the original columns, or arrays of the encoded ones.

    Parameters
    ----------
    alpha : float, default=0.5
        Relative parameter, 0 <= alpha < 1; the true ratio is at most 1 / alpha.
    episodes : Pairs or Inliers, optional
        The training tasks and their sample sizes; ``Pairs()`` by default.
    network : {"mlp", "relational", "both"} or Architecture, default="mlp"
        The network or networks; a name is short for ``Architecture(name)``.
    training : Training, optional
        Settings of the training; ``Training()`` by default.
    init : {"random", "universal"}, default="random"
        Initial weights. With "universal", the network of `UniversalRatioEstimator` is trained further, or used
        unchanged if you call `fit` without `pretrain`. It has its own architecture, supports alpha from 0.1 to 0.9, and
        is of no use for inlier episodes.
    scale : {"columns", "none"}, default="columns"
        Whether to standardise the columns by the means and deviations of the sources, which the model stores.
    device : str, default="auto"
        Device that computes; "auto" uses a CUDA device if there is one.
    random_state : int, numpy Generator or None
        Random seed.
    progress : bool, optional
        Whether to show a progress bar; by default on a terminal.

    Attributes
    ----------
    model_ : RatioModel, RatioCommittee or SampleScaled
        The trained model, an ordinary ``torch.nn.Module``.
    networks_ : list of Network
        The kind, the model and the history of each network that was trained.
    history_ : History
        Losses by step, the chosen step and its standard error, for the first network.
    angles_ : ndarray of shape (2, 4, 4) or None
        Errors of ratios and divergences on held-out datasets, for `interval`; None if alpha is 0, after inlier
        episodes, or if no validation was finite.
    encoding_ : Encoding or None
        The encoding of categories and missing values in the source collection, applied to all samples.
    ratio_nu_, ratio_de_ : ndarray of shape (n_nu,) and (n_de,)
        The ratio at the rows passed to `fit`. Networks with relational features leave each row out of its own features;
        `predict` treats every row as new.

    Examples
    --------
    >>> from fewratio import MetaRatioEstimator
    >>> from fewratio.estimators.networks import Pairs, Training
    >>> from fewratio.data.sources.gaussian import gaussian_family
    >>> sources = gaussian_family(20, n_instances=50, random_state=0).collection
    >>> estimator = MetaRatioEstimator(episodes=Pairs(n_support=5), training=Training(max_steps=5), random_state=0)
    >>> estimator.pretrain(sources).fit([[0.1], [0.3], [-0.2]], [[1.0], [1.4]]).predict([[0.0], [1.2]]).shape
    (2,)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **common("alpha", "device", "random_state"),
        "episodes": [Episodes],
        "network": [*Architecture._parameter_constraints["features"], Architecture],
        "training": [Training],
        "init": [StrOptions({"random", members.UNIVERSAL})],
        "scale": [StrOptions({"columns", "none"})],
        "progress": [None, "boolean"],
    }

    alpha: float = 0.5
    _: KW_ONLY
    episodes: Episodes = None  # type: ignore[assignment] # until __post_init__
    network: str | Architecture = "mlp"
    training: Training = None  # type: ignore[assignment]
    init: str = "random"
    scale: str = "columns"
    device: str = "auto"
    random_state: int | np.random.Generator | None = None
    progress: bool | None = None
    networks_: list[members.Network] = field(init=False)
    history_: History = field(init=False)
    # The networks trained on sources, if any.
    _trained: members.Trained | None = field(default=None, init=False)

    @property
    def only_finds_outliers(self) -> bool:  # type: ignore[override]
        """Whether its networks learn from marked outliers."""
        return isinstance(self.episodes, Inliers)

    def __post_init__(self) -> None:
        # A separate object for each estimator, since set_params(training__max_steps=...) changes it.
        self.episodes = Pairs() if self.episodes is None else self.episodes
        self.training = Training() if self.training is None else self.training

    def pretrain(
        self,
        collection: Collection,
        validation: Collection | None = None,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Learn from related datasets.

        Ctrl-C stops after the current step and keeps the best model so far, with a warning; pressing it again aborts.
        With several kinds of networks, those that have not started are left out.

        Parameters
        ----------
        collection : Collection
            The source datasets, at least two.
        validation : Collection, optional
            Datasets for early stopping. By default a tenth of the sources (2 to 10) are held out; with fewer than six
            sources, all are used for both.
        checkpoint : path, optional
            File to save the state of the training to. If it exists, the training resumes from it, which needs a
            ``random_state``. Each kind of network has its own file, with the kind at the end of its name.

        Returns
        -------
        self
        """
        pretrain_together([self], [collection], [validation], checkpoint=checkpoint)
        return self

    @classmethod
    def load(cls, path: str | os.PathLike[str], device: str = "auto") -> Self:
        """Load a model from a file written by `save`. Nothing in the file is executed.

        Parameters
        ----------
        path : path
            The file.
        device : str
            Device of the model.
        """
        # Check the device first, so that a wrong name is not blamed on the file.
        resolve_device(device)
        return cls._of_file(path, *read_tensors(path, "model", finite=True), device=device)

    def _payload(self) -> tuple[Arrays, dict[str, Any]]:
        assert self._trained is not None
        parameters = {
            name: {"class": type(value).__name__, **value.get_params()} if isinstance(value, Parameters) else value
            for name, value in self._trained.parameters.items()
        }
        header = make_header(type(self).__name__, self._source_columns, parameters)
        arrays = {name: tensor.cpu().numpy() for name, tensor in self.model_.state_dict().items()}
        return arrays, header | {"networks": [network.to_dict() for network in self.networks_]}

    @staticmethod
    def _parameters_of(header: dict[str, Any]) -> dict[str, Any]:
        found = dict(header["parameters"])
        for name, value in found.items():
            if isinstance(value, dict):
                values = {key: tuple(given) if isinstance(given, list) else given for key, given in value.items()}
                found[name] = _GROUPS[str(values.pop("class"))](**values)
        # The device of the training may not exist here.
        return found | {"device": "auto"}

    def _restore(self, arrays: Arrays, header: dict[str, Any]) -> None:
        networks, columns = header["networks"], read_source_columns(header)
        # A copy, so that changed settings differ visibly from those of the training.
        parameters = clone(self).get_params(deep=False)
        architecture = as_architecture(parameters["network"])
        # Every layer has a tensor in the file: refuse files that do not fit before they use memory.
        if architecture.depth > len(arrays):
            raise ValueError(f"{architecture.depth} layers are not in it")
        with torch.device("meta"):
            models = [_empty(each, architecture, parameters, columns.n_features) for each in networks]
        model = members.join_networks(models)
        expected = {name: (tuple(tensor.shape), tensor.dtype) for name, tensor in model.state_dict().items()}
        tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
        if expected != {name: (tuple(tensor.shape), tensor.dtype) for name, tensor in tensors.items()}:
            raise ValueError("its tensors are not those of its settings")
        model.load_state_dict(tensors, assign=True)
        trained = [
            members.Network(each["kind"], model, History(**each["history"]), read_angles(each["angles"]))
            for each, model in zip(networks, models, strict=True)
        ]
        self._set_trained(members.Trained(parameters, trained, columns))
        self.model_.to(resolve_device(self.device))

    def set_params(self, **params: Any) -> Self:
        """Set parameters as in scikit-learn; ``network__`` parameters turn a name into an `Architecture`."""
        if isinstance(self.network, str) and any(name.startswith("network__") for name in params):
            self.network = Architecture(self.network)
        return super().set_params(**params)

    def _set_trained(self, trained: members.Trained) -> None:
        """Set the networks trained on sources."""
        self._trained, self.networks_ = trained, trained.networks
        self.model_ = members.join_networks([network.model for network in trained.networks])
        self.history_ = trained.networks[0].history
        # The error of a mean of networks is at most the average of their errors.
        angles = [network.angles for network in trained.networks]
        self.angles_ = None if any(each is None for each in angles) else np.mean(angles, axis=0)  # type: ignore[arg-type]
        self._keep_columns(trained.columns)

    def _check_parameters(self, owner: str | None = None, prefix: str = "") -> None:
        super()._check_parameters(owner, prefix)
        architecture = as_architecture(self.network)
        for name, settings in (("episodes", self.episodes), ("network", architecture), ("training", self.training)):
            settings._check_parameters(owner or type(self).__name__, f"{prefix}{name}__")
        if architecture.learn_alpha and self.alpha == 0:
            raise ParameterError(
                "alpha is 0, but it must be positive to be learned. Give it a positive value to start from, or use "
                "learn_alpha=False."
            )

    def _model(self) -> Model:
        return self._learned()

    def _learned(self) -> Any:
        if self._trained is None:
            if self.init != members.UNIVERSAL:
                return super()._learned()
            check_known_alpha(self.alpha)
            model, _ = shipped_parts(str(resolve_device(self.device)))
            return SampleScaled(model, float(self.alpha), self.scale)
        now, then = (_shape(parameters) for parameters in (self.get_params(deep=False), self._trained.parameters))
        for name, value in now.items():
            if value != then[name]:
                raise ParameterError(
                    f"{name} is {value!r}, but the model was trained with {then[name]!r}. Call pretrain again, or set "
                    "it back."
                )
        return self.model_


def _empty(
    network: dict[str, Any], architecture: Architecture, parameters: dict[str, Any], n_features: int
) -> RatioModel:
    """Build a network from a file, without values."""
    # Networks may have held out different sources, so each has its own units.
    mean, deviation = (torch.empty(n_features, dtype=torch.float64) for _ in range(2))
    scaler = Standardiser(mean, deviation, torch.float32) if parameters["scale"] == "columns" else None
    alpha = float(parameters["alpha"])
    if network["kind"] == members.UNIVERSAL:
        # Use the width in the file, which may differ from that of the network in this version.
        return universal_with_units(alpha, scaler, int(network["width"]))
    return members.build(network["kind"], architecture, alpha, n_features, None, scaler)


def _shape(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters that define the model, without those of the training."""
    architecture = as_architecture(parameters["network"]).get_params()
    kept = {name: parameters[name] for name in ("alpha", "init", "scale")}
    return kept | architecture | {"episodes": type(parameters["episodes"]).__name__}


def pretrain_together(
    estimators: Sequence[MetaRatioEstimator],
    collections: Sequence[Collection],
    validations: Sequence[Collection | None],
    *,
    checkpoint: str | os.PathLike[str] | None = None,
) -> None:
    """Train several estimators with the same settings as one batched program, each on its own sources.

    This is much faster than one by one, with the same result up to rounding.

    Parameters
    ----------
    estimators : sequence of MetaRatioEstimator
        Estimators that differ at most in ``random_state`` and in ``n_support`` and ``n_support_de`` of the episodes.
    collections : sequence of Collection
        The sources of each estimator.
    validations : sequence of Collection or None
        The validation datasets of each estimator.
    checkpoint : path, optional
        As in `MetaRatioEstimator.pretrain`.
    """
    if not estimators or not len(estimators) == len(collections) == len(validations):
        raise ParameterError(
            f"Got {len(estimators)} estimators, {len(collections)} collections and {len(validations)} validations; "
            "each estimator needs one of both (None for no validation). Pass lists of equal lengths."
        )
    for estimator in estimators:
        estimator._check_parameters()
        if _common(estimator) != _common(estimators[0]):
            raise ParameterError(
                "Estimators that are trained together have different settings; only random_state, n_support and "
                "n_support_de may differ. Train them in groups of equal settings."
            )
    parameters = [estimator.get_params(deep=False) for estimator in estimators]
    networks = members.train_networks(parameters, collections, validations, checkpoint)
    diverged, incomplete = [], []
    for estimator, collection, found in zip(estimators, collections, networks, strict=True):
        # Keep the other networks if one has diverged.
        kept = [network for network in found if np.isfinite(network.history.best_validation)]
        if not kept:
            diverged.append(collection.name)
            continue
        settings = clone(estimator).get_params(deep=False)
        estimator._set_trained(members.Trained(settings, kept, SourceColumns.of(collection)))
        kinds = members.number_networks(as_architecture(estimator.network), estimator.init)
        if len(kept) < (n_networks := sum(map(len, kinds.values()))):
            kept_kinds = ", ".join(network.kind for network in kept)
            incomplete.append(
                f"Of {n_networks} networks {len(kept)} were trained ({kept_kinds}) on {collection.name!r}; the "
                "model consists of these."
            )
    raise_if_diverged(diverged)
    histories = [network.history for found in networks for network in found]
    for history in [history for history in histories if history.stopped == "interrupted"][:1]:
        incomplete.insert(
            0,
            f"Training was interrupted at step {history.step[-1] if history.step else 0} of "
            f"{estimators[0].training.max_steps}; the best model so far, of step {history.best_step}, is kept.",
        )
    for message in incomplete:
        warn(message, RuntimeWarning)


def _common(estimator: MetaRatioEstimator) -> dict[str, Any]:
    """Return the settings that estimators must share to be trained together."""
    episodes = clone(estimator.episodes).set_params(n_support=1, n_support_de=1)
    changed = {"episodes": episodes, "network": as_architecture(estimator.network), "random_state": None}
    return estimator.get_params(deep=False) | changed
