"""The one training loop, for one model or many at once."""

from fewratio.estimators.networks.optim.ensemble import Ensemble
from fewratio.estimators.networks.optim.loop import TrainingPlan, train, train_in_stages
from fewratio.estimators.networks.optim.processes import Processes
from fewratio.estimators.networks.optim.stopping import History

__all__ = ["Ensemble", "History", "Processes", "TrainingPlan", "train", "train_in_stages"]
