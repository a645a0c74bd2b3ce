"""The file of a learned estimator."""

from __future__ import annotations

import json
import os
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypeVar

import torch

from fewratio import __version__
from fewratio.core.tensorfile import read_tensors, write_tensors
from fewratio.data.encoding import Encoding
from fewratio.errors import ModelFileError
from fewratio.estimators.devices import resolve_device
from fewratio.estimators.networks import UNIVERSAL, Network, assembled, build
from fewratio.estimators.universal import universal_with_units
from fewratio.nn import Standardiser
from fewratio.optim import History

if TYPE_CHECKING:
    from fewratio.estimators.meta import MetaRatioEstimator

Estimator = TypeVar("Estimator", bound="MetaRatioEstimator")


def save(estimator: MetaRatioEstimator, path: str | os.PathLike[str]) -> None:
    """Write settings, weights, features and training record."""
    names = estimator._source_names
    parameters = dict(estimator._learned_with)
    if not isinstance(parameters["random_state"], Integral | None):
        # A generator has moved on since, and means nothing elsewhere.
        parameters["random_state"] = None
    header = {
        "version": __version__,
        "estimator": type(estimator).__name__,
        # JSON knows no numbers of NumPy's.
        "parameters": json.loads(json.dumps(parameters, default=lambda number: number.item())),
        "n_features": estimator.n_features_in_,
        "feature_names": None if names is None else list(names),
        "encoding": None if estimator.encoding_ is None else estimator.encoding_.to_dict(),
        "networks": [network.to_dict() for network in estimator.networks_],
    }
    write_tensors(path, "model", estimator.model_.state_dict(), header)


def load(cls: type[Estimator], path: str | os.PathLike[str], device: str) -> Estimator:
    """Rebuild an estimator from its file."""
    place = resolve_device(device)
    tensors, header = read_tensors(path, "model")
    try:
        estimator = _rebuild(cls, tensors, header, device)
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise ModelFileError(
            f"{path} does not fit together ({error}): it is damaged, or of another kind of estimator than "
            f"{cls.__name__}. Use another copy."
        ) from error
    estimator.model_.to(place)
    return estimator


def _rebuild(cls: type[Estimator], tensors: dict[str, torch.Tensor], header: dict[str, Any], device: str) -> Estimator:
    if header["estimator"] != cls.__name__:
        raise TypeError(f"it holds a {header['estimator']}")
    parameters = header["parameters"]
    # Files of the first version hold one network.
    networks = header.get("networks") or [{"kind": parameters.get("features", "mlp"), "history": header["history"]}]
    for name in ("n_support", "n_support_de"):
        # JSON knows no tuples.
        if isinstance(parameters[name], list):
            parameters[name] = tuple(parameters[name])
    estimator = cls(**(parameters | {"device": device}))
    estimator._check_parameters()
    n_features = int(header["n_features"])
    blank = torch.zeros(n_features, dtype=torch.float64)
    models = []
    for network in networks:
        # Each its own: networks may have kept different sources aside.
        scaler = Standardiser(blank.clone(), blank.clone(), torch.float32) if estimator.standardise else None
        if network["kind"] == UNIVERSAL:
            # The width of the file, whatever the network has that comes with this version.
            models.append(universal_with_units(float(estimator.alpha), scaler, int(network["width"])))
        else:
            models.append(build(estimator, network["kind"], n_features, None, scaler))
    assembled(models).load_state_dict(tensors)
    names = None if header["feature_names"] is None else tuple(header["feature_names"])
    # Files of the first version know of no encoding.
    words = header.get("encoding")
    encoding = None if words is None else Encoding.from_dict(words)
    if encoding is not None and (encoding.n_features, encoding.feature_names) != (n_features, names):
        raise ValueError("its encoding is of other features")
    learned = [
        Network(network["kind"], model, History(**network["history"]))
        for network, model in zip(networks, models, strict=True)
    ]
    estimator._set_networks(learned, n_features, names, encoding)
    return estimator
