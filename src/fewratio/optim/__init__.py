"""The one training loop, for one model or many at once."""

from fewratio.optim.ensemble import Ensemble
from fewratio.optim.loop import TrainingPlan, train, train_in_stages
from fewratio.optim.processes import Processes
from fewratio.optim.stopping import History

__all__ = ["Ensemble", "History", "Processes", "TrainingPlan", "train", "train_in_stages"]
