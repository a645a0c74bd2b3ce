"""What the file of trained networks holds: settings, weights, columns and training record."""

from typing import Any

import torch

from fewratio.core.container import Arrays
from fewratio.estimators.learned_file import columns_of, header_of
from fewratio.estimators.networks.members import UNIVERSAL, Network, Trained, build, join_networks
from fewratio.estimators.networks.nn import RatioModel, Standardiser
from fewratio.estimators.networks.optim import History
from fewratio.estimators.networks.settings import Architecture, Inliers, Pairs, Training, architecture_of
from fewratio.estimators.networks.universal import universal_with_units
from fewratio.estimators.parameters import Parameters

_GROUPS: dict[str, type[Parameters]] = {group.__name__: group for group in (Pairs, Inliers, Architecture, Training)}


def payload_of(estimator: str, trained: Trained) -> tuple[Arrays, dict[str, Any]]:
    """Give what an estimator of this name has learned as arrays and a header."""
    parameters = {name: _plain(value) for name, value in trained.parameters.items()}
    header = header_of(estimator, trained.columns, parameters)
    state = join_networks([network.model for network in trained.networks]).state_dict()
    arrays = {name: tensor.cpu().numpy() for name, tensor in state.items()}
    return arrays, header | {"networks": [network.to_dict() for network in trained.networks]}


def parameters_of(header: dict[str, Any]) -> dict[str, Any]:
    """Give the parameters in a header."""
    found = dict(header["parameters"])
    for name, value in found.items():
        if isinstance(value, dict):
            values = {key: tuple(given) if isinstance(given, list) else given for key, given in value.items()}
            found[name] = _GROUPS[str(values.pop("class"))](**values)
    return found


def trained_of(arrays: Arrays, header: dict[str, Any], parameters: dict[str, Any]) -> Trained:
    """Undo `payload_of` with parameters that are known to be valid."""
    networks, columns = header["networks"], columns_of(header)
    architecture = architecture_of(parameters["network"])
    # Every layer has a tensor in the file: what does not fit is refused before it takes memory.
    if architecture.depth > len(arrays):
        raise ValueError(f"{architecture.depth} layers are not in it")
    with torch.device("meta"):
        models = [_empty(each, architecture, parameters, columns.n_features) for each in networks]
    model = join_networks(models)
    expected = {name: (tuple(tensor.shape), tensor.dtype) for name, tensor in model.state_dict().items()}
    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    if expected != {name: (tuple(tensor.shape), tensor.dtype) for name, tensor in tensors.items()}:
        raise ValueError("its tensors are not those of its settings")
    model.load_state_dict(tensors, assign=True)
    trained = [
        Network(each["kind"], model, History(**each["history"])) for each, model in zip(networks, models, strict=True)
    ]
    return Trained(parameters, trained, columns)


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


def _plain(value: Any) -> Any:
    """Give settings as a dict with their class."""
    return {"class": type(value).__name__, **value.get_params()} if isinstance(value, Parameters) else value
