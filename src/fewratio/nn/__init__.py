"""The parts of a ratio model, as ordinary ``nn.Module`` s."""

from fewratio.nn.features import GaussianFeatures, MLPFeatures, Standardiser
from fewratio.nn.heads import DescentHead, RidgeHead, SharedHead
from fewratio.nn.ratio_model import AdaptedRatio, RatioModel
from fewratio.nn.set_encoder import NoEncoder, SetEncoder

__all__ = [
    "AdaptedRatio",
    "DescentHead",
    "GaussianFeatures",
    "MLPFeatures",
    "NoEncoder",
    "RatioModel",
    "RidgeHead",
    "SetEncoder",
    "SharedHead",
    "Standardiser",
]
