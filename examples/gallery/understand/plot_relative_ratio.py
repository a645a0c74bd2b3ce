r"""
Relative ratios, plain ratios and the truth
===========================================

What a relative ratio is, and why it is easier to estimate than a plain one.

The relative density ratio

.. math:: r_\alpha(x) = \frac{p_\mathrm{nu}(x)}{\alpha\, p_\mathrm{nu}(x) + (1 - \alpha)\, p_\mathrm{de}(x)}

is at most :math:`1 / \alpha`. At :math:`\alpha = 0` it is the plain ratio, which has no bound: in the tails, a few
rows decide everything. With a larger :math:`\alpha`, the ratio is flatter and easier to estimate. The picture shows
two Gaussians with a known ratio, and :class:`fewratio.RuLSIF` fitted to ten samples of 50 rows each.
"""

import matplotlib.pyplot as plt
import numpy as np

from fewratio import RuLSIF
from fewratio.estimators import gaussian_relative_ratio

moments = (1.0, 0.8, 0.0, 0.8)  # mean and deviation of the numerator, then of the denominator
grid = np.linspace(-2.5, 3.5, 300)[:, None]
rng = np.random.default_rng(0)

figure, axes = plt.subplots(1, 3, figsize=(11, 3.8), layout="constrained")
for ax, alpha in zip(axes, (0.0, 0.5, 0.9), strict=True):
    for _ in range(10):
        X_nu, X_de = (rng.normal(mean, deviation, (50, 1)) for mean, deviation in (moments[:2], moments[2:]))
        estimator = RuLSIF(alpha, sigma="cv", reg="cv", random_state=0).fit(X_nu, X_de)
        ax.plot(grid, estimator.predict(grid), color="#009e73", lw=1, alpha=0.6)
    ax.plot([], [], color="#009e73", label="estimated, ten times")
    ax.plot(grid, gaussian_relative_ratio(grid, *moments, alpha=alpha), color="black", lw=2.5, label="true")
    if alpha:
        ax.axhline(1 / alpha, color="#6b7280", ls="--", lw=1, label="bound 1 / alpha")
    ax.set(title=f"alpha = {alpha}", xlabel="x", ylim=(0, {0.0: 12, 0.5: 2.3, 0.9: 1.3}[alpha]))
    ax.legend(frameon=False, fontsize=9, loc="upper left" if not alpha else "lower right")
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("ratio")
plt.show()
