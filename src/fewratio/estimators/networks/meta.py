"""The paper's method: learn from related datasets how to estimate a ratio from a handful of instances."""

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
    """Relative density ratio from a handful of instances, learned from related datasets.

    Call `pretrain` once with the related datasets, then `fit` with two small samples and `predict`, as often as
    you like: fitting is one pass through a network and one small linear system. If the source collection was encoded,
    samples are data frames of the original columns, or arrays of the encoded ones.

    Parameters
    ----------
    alpha : float, default=0.5
        Relative parameter, 0 <= alpha < 1; the true ratio is at most 1 / alpha.
    episodes : Pairs or Inliers, optional
        What to train on, and for which sample sizes; ``Pairs()`` by default.
    network : {"mlp", "relational", "both"} or Architecture, default="mlp"
        The network, or networks; a name is short for ``Architecture(name)``.
    training : Training, optional
        How it is trained; ``Training()`` by default.
    init : {"random", "universal"}, default="random"
        Where the training starts. With "universal" the network of `UniversalRatioEstimator` is trained further;
        without any sources (`fit` at once) it is used as it is. It has an architecture of its own, and knows alpha from
        0.1 to 0.9. It is of no use for inlier episodes.
    scale : {"columns", "none"}, default="columns"
        Whether to centre and scale the columns by the sources' means and deviations, which the model then keeps.
    device : str, default="auto"
        "auto" uses a CUDA device if there is one.
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
        Losses by step, the chosen step and its standard error, of the first network.
    angles_ : ndarray of shape (2, 4, 4) or None
        How far ratios and divergences were off on held-out datasets, for `interval`; None if alpha is 0, after inlier
        episodes, and if no validation was finite.
    encoding_ : Encoding or None
        The source collection's encoding of categories and missing values, applied to all samples.
    ratio_nu_, ratio_de_ : ndarray of shape (n_nu,) and (n_de,)
        The ratio at the rows given to `fit`. Networks of relational features leave each row out of its own features;
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
    # What was learned from sources; nothing at first.
    _trained: members.Trained | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        # Not shared between estimators: set_params(training__max_steps=...) changes the object.
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

        Ctrl-C stops after the current step and keeps the best model so far, with a warning; a second one aborts. Of
        several networks those of another kind that have not begun are left out then.

        Parameters
        ----------
        collection : Collection
            The source datasets, at least two.
        validation : Collection, optional
            Datasets for early stopping. By default a tenth of the sources (2 to 10) is held out for that; with fewer
            than six sources, all are used for both.
        checkpoint : path, optional
            File to keep the state of the training in. If it is there, the training resumes from it; that needs a
            ``random_state``. Networks of several kinds have a file each, with the kind at the end of its name.

        Returns
        -------
        self
        """
        pretrain_together([self], [collection], [validation], checkpoint=checkpoint)
        return self

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
        # First, so that a wrong name is not blamed on the file.
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
        # That of the training may not be here.
        return found | {"device": "auto"}

    def _restore(self, arrays: Arrays, header: dict[str, Any]) -> None:
        networks, columns = header["networks"], read_source_columns(header)
        # A copy, so that changed settings differ visibly from those of the training.
        parameters = clone(self).get_params(deep=False)
        architecture = as_architecture(parameters["network"])
        # Every layer has a tensor in the file: refuse what does not fit before it uses memory.
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
        """Set parameters as in scikit-learn; ``network__`` ones turn a network's name into an `Architecture`."""
        if isinstance(self.network, str) and any(name.startswith("network__") for name in params):
            self.network = Architecture(self.network)
        return super().set_params(**params)

    def _set_trained(self, trained: members.Trained) -> None:
        """Take over what was learned from sources."""
        self._trained, self.networks_ = trained, trained.networks
        self.model_ = members.join_networks([network.model for network in trained.networks])
        self.history_ = trained.networks[0].history
        # The mean of several networks is at most as far off as they are on average.
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
    """Put a network of a file together, without values."""
    # Each its own: networks may have held out different sources.
    mean, deviation = (torch.empty(n_features, dtype=torch.float64) for _ in range(2))
    scaler = Standardiser(mean, deviation, torch.float32) if parameters["scale"] == "columns" else None
    alpha = float(parameters["alpha"])
    if network["kind"] == members.UNIVERSAL:
        # The width of the file, whatever the network has that comes with this version.
        return universal_with_units(alpha, scaler, int(network["width"]))
    return members.build(network["kind"], architecture, alpha, n_features, None, scaler)


def _shape(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters that make a model what it is; the others only say how it is trained."""
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
    """Train several estimators of the same settings as one batched program, each on its own sources.

    Much faster than one by one, and with the same result up to rounding.

    Parameters
    ----------
    estimators : sequence of MetaRatioEstimator
        They may differ in ``random_state`` and in the episodes' ``n_support`` and ``n_support_de`` only.
    collections : sequence of Collection
        The sources of each.
    validations : sequence of Collection or None
        The validation datasets of each.
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
        # A network that has diverged is no reason to lose the others.
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
