"""
No related datasets: the universal network
==========================================

A network that comes with the package, with intervals for every ratio.

:class:`fewratio.UniversalRatioEstimator` was trained once, on random distributions of many kinds. It accepts any
columns and needs no training. Its intervals contain the true ratio in about nine of ten cases, if your data are like
those that it was trained on.
"""

import matplotlib.pyplot as plt
import numpy as np

from fewratio import UniversalRatioEstimator
from fewratio.estimators import gaussian_relative_ratio

rng = np.random.default_rng(1)
moments = (0.8, 0.7, -0.5, 1.0)
grid = np.linspace(-4, 4, 200)[:, None]

figure, axes = plt.subplots(1, 3, figsize=(11, 3.8), layout="constrained", sharey=True)
for ax, n in zip(axes, (4, 15, 100), strict=True):
    X_nu, X_de = rng.normal(*moments[:2], (n, 1)), rng.normal(*moments[2:], (n, 1))
    model = UniversalRatioEstimator().fit(X_nu, X_de)
    low, high = model.interval(grid, level=0.9).T
    ax.fill_between(grid[:, 0], low, high, color="#009e73", alpha=0.18, lw=0, label="90 % interval")
    ax.plot(grid, model.predict(grid), color="#009e73", lw=2, label="estimate")
    ax.plot(grid, gaussian_relative_ratio(grid, *moments), color="black", lw=2, ls="--", label="true")
    ax.plot(X_nu, np.full(n, -0.1), "|", ms=9, color="#009e73")
    ax.plot(X_de, np.full(n, -0.22), "|", ms=9, color="#9a6fb0")
    ax.set(title=f"{n} rows per sample", xlabel="x", ylim=(-0.3, 2.2))
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("relative ratio")
axes[2].legend(frameon=False, fontsize=9, loc="upper left")
plt.show()
