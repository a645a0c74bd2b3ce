"""Methods: rows of parts and settings, each of which can judge the trials of a problem."""

from fewratio_bench.methods.base import Bench, Method, Verdict
from fewratio_bench.methods.kernels import Kernel, MeanDiscrepancy
from fewratio_bench.methods.learned import Learned
from fewratio_bench.methods.one_class import OneClass
from fewratio_bench.methods.pretrained import Pretrained
from fewratio_bench.methods.target import TargetTrained

__all__ = [
    "Bench",
    "Kernel",
    "Learned",
    "MeanDiscrepancy",
    "Method",
    "OneClass",
    "Pretrained",
    "TargetTrained",
    "Verdict",
]
