"""The parts of a ratio model, as ordinary ``nn.Module`` s."""

from fewratio.nn.features import GaussianFeatures, MLPFeatures, Standardiser
from fewratio.nn.heads import RidgeHead, SharedHead
from fewratio.nn.ratio_model import AdaptedRatio, RatioModel
from fewratio.nn.set_encoder import NoEncoder, SetEncoder

__all__ = [
    "AdaptedRatio",
    "GaussianFeatures",
    "MLPFeatures",
    "NoEncoder",
    "RatioModel",
    "RidgeHead",
    "SetEncoder",
    "SharedHead",
    "Standardiser",
]
