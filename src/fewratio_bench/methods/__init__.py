"""Methods, which combine parts and settings and can be evaluated on the trials of a problem."""

from fewratio_bench.methods.base import Bench as Bench
from fewratio_bench.methods.base import Method as Method
from fewratio_bench.methods.base import Verdict as Verdict
from fewratio_bench.methods.learned import Learned as Learned
from fewratio_bench.methods.one_class import OneClass as OneClass
from fewratio_bench.methods.pooled import Pooled as Pooled
from fewratio_bench.methods.pretrained import Pretrained as Pretrained
from fewratio_bench.methods.target import TargetTrained as TargetTrained
from fewratio_bench.methods.untrained import Kernel as Kernel
from fewratio_bench.methods.untrained import MeanDiscrepancy as MeanDiscrepancy
