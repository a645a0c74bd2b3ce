"""The parts of a ratio model as ordinary modules of torch."""

# ruff: noqa: E402 - first of all, say what is missing where torch is
from fewratio.lazy import import_home

import_home("torch", "fewratio.estimators.networks.nn")

from fewratio.estimators.networks.nn.parts import (
    GaussianFeatures,
    MLPFeatures,
    NoEncoder,
    RidgeHead,
    SetEncoder,
    SharedHead,
    Standardiser,
)
from fewratio.estimators.networks.nn.ratio_model import (
    AdaptedRatio,
    MeanRatio,
    RatioCommittee,
    RatioModel,
    SampleScaled,
)
from fewratio.estimators.networks.nn.relational import RelationalEncoder, RelationalFeatures, Space

__all__ = [
    "AdaptedRatio",
    "GaussianFeatures",
    "MLPFeatures",
    "MeanRatio",
    "NoEncoder",
    "RatioCommittee",
    "RatioModel",
    "RelationalEncoder",
    "RelationalFeatures",
    "RidgeHead",
    "SampleScaled",
    "SetEncoder",
    "SharedHead",
    "Space",
    "Standardiser",
]
