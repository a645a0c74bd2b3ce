# The public names: read by type checkers, and by `fewratio.lazy` when one is first used.
from .evaluate import Evaluation as Evaluation, Judgement as Judgement, judge_values as judge_values
from .experiments import EXPERIMENTS as EXPERIMENTS, Experiment as Experiment, Panel as Panel
from .methods.base import Bench as Bench, Method as Method, Verdict as Verdict
from .methods.learned import Learned as Learned
from .methods.untrained import Kernel as Kernel
from .problems import OutlierProblem as OutlierProblem, PairProblem as PairProblem, Problem as Problem, Trial as Trial
from .run import run_experiment as run_experiment
from .splits import Protocol as Protocol, Split as Split
from .tables import write_table as write_table
