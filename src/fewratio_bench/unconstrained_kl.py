"""KLIEP's relative, regularised form."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

from fewratio.estimators import KLIEP
from fewratio.estimators.parameters import NOT_NEGATIVE, common


@dataclass(eq=False, repr=False)
class UnconstrainedKL(KLIEP):
    """Relative ratio that minimises the unnormalised Kullback-Leibler loss plus ``reg/2 |w|^2`` on Gaussian kernels.

    Parameters
    ----------
    alpha : float, default=0.5
        Relative parameter, 0 <= alpha < 1; the true ratio is at most 1 / alpha.
    reg : float, default=0.001
        The regulariser lambda.
    sigma, centres, n_folds, scale, random_state
        As in `KLIEP`; kernels sit on the instances of both samples by default.

    Attributes
    ----------
    sigma_, centres_, weights_, ratio_nu_, ratio_de_
        As in `KLIEP`.

    Examples
    --------
    >>> import numpy as np
    >>> from fewratio_bench.unconstrained_kl import UnconstrainedKL
    >>> rng = np.random.default_rng(0)
    >>> estimator = UnconstrainedKL().fit(rng.normal(0, 1, (10, 1)), rng.normal(1, 1, (12, 1)))
    >>> estimator.predict([[-1.0], [2.0]]).round(2)
    array([1.55, 0.23])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **KLIEP._parameter_constraints,
        **common("alpha"),
        "reg": [NOT_NEGATIVE],
    }

    alpha: float = 0.5
    _: KW_ONLY
    reg: float = 0.001
    centres: str | int = "both"
