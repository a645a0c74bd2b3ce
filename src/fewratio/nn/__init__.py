"""The parts of a ratio model as ordinary modules of torch."""

# ruff: noqa: E402 - first of all, say what is missing where torch is
from fewratio.lazy import import_home

import_home("torch", "fewratio.nn")

from fewratio.nn.parts import GaussianFeatures, MLPFeatures, NoEncoder, RidgeHead, SetEncoder, SharedHead, Standardiser
from fewratio.nn.ratio_model import AdaptedRatio, MeanRatio, RatioCommittee, RatioModel, SampleScaled
from fewratio.nn.relational import RelationalEncoder, RelationalFeatures, Space

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
