# The public names: read by type checkers, and by `fewratio.lazy` when one is first used.
from .kullback_leibler import KLIEP as KLIEP
from .least_squares import ULSIF as ULSIF, RuLSIF as RuLSIF
from .moment_matching import KMM as KMM
