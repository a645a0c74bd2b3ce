"""The parts of a ratio model as ordinary modules of torch."""

# ruff: noqa: E402 - first of all, say what is missing where torch is
from fewratio.lazy import import_home

import_home("torch", "fewratio.estimators.networks.nn")

from fewratio.estimators.networks.nn.parts import GaussianFeatures as GaussianFeatures
from fewratio.estimators.networks.nn.parts import MLPFeatures as MLPFeatures
from fewratio.estimators.networks.nn.parts import NoEncoder as NoEncoder
from fewratio.estimators.networks.nn.parts import RidgeHead as RidgeHead
from fewratio.estimators.networks.nn.parts import SetEncoder as SetEncoder
from fewratio.estimators.networks.nn.parts import SharedHead as SharedHead
from fewratio.estimators.networks.nn.parts import Standardiser as Standardiser
from fewratio.estimators.networks.nn.ratio_model import AdaptedRatio as AdaptedRatio
from fewratio.estimators.networks.nn.ratio_model import MeanRatio as MeanRatio
from fewratio.estimators.networks.nn.ratio_model import RatioCommittee as RatioCommittee
from fewratio.estimators.networks.nn.ratio_model import RatioModel as RatioModel
from fewratio.estimators.networks.nn.ratio_model import SampleScaled as SampleScaled
from fewratio.estimators.networks.nn.relational import RelationalEncoder as RelationalEncoder
from fewratio.estimators.networks.nn.relational import RelationalFeatures as RelationalFeatures
from fewratio.estimators.networks.nn.relational import Space as Space
