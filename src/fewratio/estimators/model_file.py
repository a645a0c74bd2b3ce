"""The file of a trained estimator: its settings, weights, features and training record."""

import json
import os
from collections.abc import Callable
from numbers import Integral
from typing import Any

import torch
from numpy.typing import NDArray

from fewratio.core.tensorfile import read_tensors, write_tensors
from fewratio.data.encoding import Encoding
from fewratio.estimators.learned_file import check_kind, refused_if_unfit
from fewratio.estimators.networks import UNIVERSAL, Network, Trained, assembled, build
from fewratio.estimators.settings import Architecture, Inliers, Pairs, Settings, Training, architecture_of, grouped
from fewratio.estimators.universal import universal_with_units
from fewratio.nn import RatioModel, Standardiser
from fewratio.optim import History

_GROUPS: dict[str, type[Settings]] = {group.__name__: group for group in (Pairs, Inliers, Architecture, Training)}


def save(path: str | os.PathLike[str], estimator: str, trained: Trained) -> None:
    """Write what an estimator of this name has learned."""
    parameters = trained.parameters
    if not isinstance(parameters["random_state"], Integral | None):
        # A generator has moved on since, and means nothing elsewhere.
        parameters = parameters | {"random_state": None}
    header = {
        "estimator": estimator,
        "parameters": json.loads(json.dumps(parameters, default=_plain)),
        "n_features": trained.n_features,
        "feature_names": None if trained.feature_names is None else list(trained.feature_names),
        "encoding": None if trained.encoding is None else trained.encoding.to_dict(),
        "networks": [network.to_dict() for network in trained.networks],
    }
    state = assembled([network.model for network in trained.networks]).state_dict()
    write_tensors(path, "model", {name: tensor.cpu().numpy() for name, tensor in state.items()}, header)


def load(path: str | os.PathLike[str], estimator: str, check: Callable[[dict[str, Any]], None]) -> Trained:
    """Read what an estimator of this name has learned; ``check`` raises if its parameters are not valid."""
    arrays, header = read_tensors(path, "model", finite=True)
    with refused_if_unfit(path, estimator):
        check_kind(header, estimator)
        return _rebuild(arrays, header, check)


def _rebuild(
    arrays: dict[str, NDArray[Any]], header: dict[str, Any], check: Callable[[dict[str, Any]], None]
) -> Trained:
    parameters = header["parameters"]
    # Files of the first version hold one network.
    networks = header.get("networks") or [{"kind": parameters.get("features", "mlp"), "history": header["history"]}]
    parameters = grouped(parameters) if header["format"] < 3 else _settings(parameters)
    check(parameters)
    n_features, names = _features(header)
    architecture = architecture_of(parameters["network"])
    # Every layer has a tensor in the file: what does not fit is refused before it takes memory.
    if architecture.depth > len(arrays):
        raise ValueError(f"{architecture.depth} layers are not in it")
    with torch.device("meta"):
        models = [_empty(each, architecture, parameters, n_features) for each in networks]
    model = assembled(models)
    expected = {name: (tuple(tensor.shape), tensor.dtype) for name, tensor in model.state_dict().items()}
    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    if expected != {name: (tuple(tensor.shape), tensor.dtype) for name, tensor in tensors.items()}:
        raise ValueError("its tensors are not those of its settings")
    model.load_state_dict(tensors, assign=True)
    # Files of the first version know of no encoding.
    encoded = header.get("encoding")
    encoding = None if encoded is None else Encoding.from_dict(encoded)
    if encoding is not None and (encoding.n_features, encoding.feature_names) != (n_features, names):
        raise ValueError("its encoding is of other features")
    trained = [
        Network(each["kind"], model, History(**each["history"])) for each, model in zip(networks, models, strict=True)
    ]
    return Trained(parameters, trained, n_features, names, encoding)


def _empty(
    network: dict[str, Any], architecture: Architecture, parameters: dict[str, Any], n_features: int
) -> RatioModel:
    # Each its own: networks may have held out different sources.
    mean, deviation = (torch.empty(n_features, dtype=torch.float64) for _ in range(2))
    scaler = Standardiser(mean, deviation, torch.float32) if parameters["scale"] == "columns" else None
    alpha = float(parameters["alpha"])
    if network["kind"] == UNIVERSAL:
        # The width of the file, whatever the network has that comes with this version.
        return universal_with_units(alpha, scaler, int(network["width"]))
    return build(network["kind"], architecture, alpha, n_features, None, scaler)


def _features(header: dict[str, Any]) -> tuple[int, tuple[str, ...] | None]:
    n_features, names = header["n_features"], header["feature_names"]
    if not isinstance(n_features, int) or n_features < 1:
        raise ValueError(f"its number of features is {n_features!r}")
    if names is None:
        return n_features, None
    valid = isinstance(names, list) and all(isinstance(name, str) for name in names)
    if not valid or not len(names) == len(set(names)) == n_features:
        raise ValueError(f"its names of features are not {n_features} different names")
    return n_features, tuple(names)


def _plain(value: Any) -> Any:
    """Give settings as a dict with their class, and NumPy's numbers as Python's."""
    return {"class": type(value).__name__, **value.get_params()} if isinstance(value, Settings) else value.item()


def _settings(parameters: dict[str, Any]) -> dict[str, Any]:
    """Undo what `_plain` and JSON did."""
    found = dict(parameters)
    for name, value in parameters.items():
        if isinstance(value, dict):
            values = {key: tuple(given) if isinstance(given, list) else given for key, given in value.items()}
            found[name] = _GROUPS[str(values.pop("class"))](**values)
    return found
