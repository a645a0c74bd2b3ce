"""Kernel mean matching: weight the denominator rows so that both samples have the same mean kernel."""

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from scipy.linalg.lapack import dpstrf
from scipy.spatial.distance import cdist
from scipy.special import softmax

from fewratio.core.blocks import row_blocks
from fewratio.core.draws import in_row_order
from fewratio.core.kernels import check_squares, gaussian_kernel
from fewratio.core.shapes import Floats
from fewratio.core.units import ColumnScaling
from fewratio.errors import InputError, TrainingError
from fewratio.estimators.base import RatioEstimator
from fewratio.estimators.kernel.selection import kernel_widths
from fewratio.estimators.parameters import NOT_NEGATIVE, POSITIVE, Interval, common
from fewratio.lazy import import_home

# A kernel (with values up to 1) is factorised until at most this is left, which is far below any useful `reg`.
FACTOR_TOLERANCE = 1e-10
TOLERANCE = 1e-10
# The programme has one unknown per denominator row; the kernel of this many rows takes 3 GB.
MAX_ROWS = 20_000


@dataclass(eq=False, repr=False, kw_only=True)
class KMM(RatioEstimator):
    """Kernel mean matching (Huang et al. 2007), for the plain ratio.

    The ratios b at the m denominator rows solve the quadratic programme ::

        minimise 1/2 b'(K + reg I)b - kappa'b    where 0 <= b <= bound, |sum(b) - m| <= m tolerance

    where K is the Gaussian kernel of the denominator rows and kappa_i = m mean_j k(de_i, nu_j). At other rows, the
    ratio is a mean of the b, weighted by ``k(x, de_i) / |x - de_i|^2``. It is continuous, equals b at the denominator
    rows, and stays between the smallest and the largest b.

    The solver is Clarabel (``pip install 'fewratio[kmm]'``). Time and memory grow fast with the number of denominator
    rows, which is limited to 20,000.

    Parameters
    ----------
    sigma : "median" or float, default="median"
        Kernel width; "median" is the median distance between the rows of both samples together.
    reg : float, default=0.1
        Added to the diagonal of K, to make the solution unique and smooth.
    bound : float, default=1000
        Largest ratio, at least 1.
    tolerance : float, default=0.01
        Largest difference between 1 and the mean ratio over the denominator.
    scale : {"columns", "none"}, default="none"
        Units of the columns, as in `RuLSIF`.
    random_state : int, numpy Generator or None
        Draws rows for the median if there are many.

    Attributes
    ----------
    sigma_ : float
        The width that was used.
    X_de_ : ndarray of shape (n_de, n_features)
        The denominator rows.
    weights_ : ndarray of shape (n_de,)
        The ratios b at these rows.
    ratio_nu_, ratio_de_ : ndarray of shape (n_nu,) and (n_de,)
        The ratio at the rows passed to `fit`.

    Examples
    --------
    >>> import numpy as np
    >>> from fewratio.estimators import KMM
    >>> rng = np.random.default_rng(0)
    >>> estimator = KMM().fit(rng.normal(0, 1, (10, 1)), rng.normal(1, 1, (12, 1)))
    >>> estimator.predict([[-1.0], [2.0]]).round(2)
    array([1.99, 0.1 ])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **common("sigma", "scale", "random_state"),
        "reg": [POSITIVE],
        "bound": [Interval(Real, 1, None, closed="left")],
        "tolerance": [NOT_NEGATIVE],
    }

    sigma: str | float = "median"
    reg: float = 0.1
    bound: float = 1000.0
    tolerance: float = 0.01
    scale: str = "none"
    random_state: int | np.random.Generator | None = None

    def _fit(self, X_nu: Floats, X_de: Floats) -> None:
        m = len(X_de)
        if m > MAX_ROWS:
            raise InputError(
                f"X_de has {m} rows; KMM solves for one number per row and accepts at most {MAX_ROWS}. Pass a "
                "sample of them, or use RuLSIF, which accepts any number."
            )
        check_squares(X_nu, X_de)
        scaling = ColumnScaling.of([X_nu, X_de], self.scale)
        rng = np.random.default_rng(self.random_state)
        sigma = float(kernel_widths(self.sigma, in_row_order(X_nu), in_row_order(X_de), scaling, rng)[0])
        nu, de = scaling(X_nu), scaling(X_de)
        blocks = (gaussian_kernel(de, nu[block], sigma) for block in row_blocks(len(nu), m))
        self.weights_ = _quadratic_programme(
            gaussian_kernel(de, de, sigma),
            m / len(nu) * np.sum([block.sum(-1) for block in blocks], 0),
            float(self.reg),
            float(self.bound),
            (m * (1 - self.tolerance), m * (1 + self.tolerance)),
        )
        self.sigma_, self.X_de_, self._scaling = sigma, X_de, scaling
        self.ratio_nu_, self.ratio_de_ = self._ratio(X_nu), self.weights_

    def _ratio(self, X: Floats) -> Floats:
        rows, x = (self._scaling(each) / self.sigma_ for each in (self.X_de_, X))
        ratios = []
        for block in row_blocks(len(x), len(rows)):
            # Use exact distances, so that a denominator row has a distance of zero from itself.
            square = cdist(x[block], rows, "sqeuclidean")
            # Use logarithms, so that far rows still have a nearest row; a row at distance zero has all the weight.
            share = softmax(-square - np.log(square.clip(min=1e-300)), axis=-1)
            ratios.append(share @ self.weights_)
        return np.concatenate(ratios)


def _quadratic_programme(
    kernel: Floats, target: Floats, reg: float, bound: float, total: tuple[float, float]
) -> Floats:
    """Minimise 1/2 b'(kernel + reg I)b - target'b where 0 <= b <= bound and total[0] <= sum(b) <= total[1].

    With kernel = LL' and additional unknowns y = L'b, the quadratic form is diagonal. With few features, kernel
    matrices have a low rank, so L has few columns and the solver is fast.
    """
    clarabel = import_home("clarabel", "KMM")
    m = len(kernel)
    factor = _factor(kernel)
    rank = factor.shape[1]
    quadratic = sparse.diags_array(np.repeat([reg, 1.0], [m, rank])).tocsc()
    linear = np.concatenate([-target, np.zeros(rank)])
    identity = sparse.eye_array(m)
    ones = np.ones((1, m))
    # Clarabel's form: A(b, y) + s = c, with s = 0 in the first rows and s >= 0 in the others.
    on_b = sparse.vstack([sparse.csc_array(factor.T), -identity, identity, sparse.csc_array(np.vstack([-ones, ones]))])
    on_y = sparse.vstack([-sparse.eye_array(rank), sparse.csc_array((2 * m + 2, rank))])
    limits = np.concatenate([np.zeros(rank + m), np.full(m, bound), [-total[0], total[1]]])
    cones = [clarabel.ZeroConeT(rank), clarabel.NonnegativeConeT(2 * m + 2)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = TOLERANCE
    constraints = sparse.csc_matrix(sparse.hstack([on_b, on_y]))
    solver = clarabel.DefaultSolver(sparse.csc_matrix(quadratic), linear, constraints, limits, cones, settings)
    solution = solver.solve()
    if str(solution.status) not in ("Solved", "AlmostSolved"):
        raise TrainingError(
            f"The quadratic programme ended as {solution.status}. Use a larger reg, or a larger tolerance."
        )
    return np.clip(solution.x[:m], 0, bound)


def _factor(kernel: Floats) -> Floats:
    """Return L with few columns and kernel = LL', by a pivoted Cholesky factorisation that stops once complete."""
    lower, pivots, rank, _ = dpstrf(kernel, tol=FACTOR_TOLERANCE, lower=1)
    factor = np.empty((len(kernel), rank))
    factor[pivots - 1] = np.tril(lower)[:, :rank]
    return factor
