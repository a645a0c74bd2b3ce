"""
The paper's network, in small
=============================

Train the network of the paper on 200 Gaussians, in seconds.

:class:`fewratio.MetaRatioEstimator` is the method of Kumagai, Iwata and Fujiwara (NeurIPS 2021). It trains a network
on pairs of related datasets. The network then estimates the ratio of two new datasets from a few rows. Here it trains
for a few seconds on 200 one-dimensional Gaussians with different means and deviations. A real training lasts minutes.
"""

import matplotlib.pyplot as plt
import numpy as np

from fewratio import MetaRatioEstimator, RuLSIF
from fewratio.data.sources.gaussian import gaussian_family
from fewratio.estimators import gaussian_relative_ratio
from fewratio.estimators.networks import Pairs, Training

sources = gaussian_family(200, n_instances=100, random_state=0).collection
network = MetaRatioEstimator(
    episodes=Pairs(n_support=10), training=Training(max_steps=400, tasks_per_step=4), progress=False, random_state=0
)
network.pretrain(sources)
print(f"{network.history_.seconds:.0f} seconds, best validation at step {network.history_.best_step}")

# %%
# The picture shows three new pairs, with ten rows per sample. None of these datasets was among the sources.

rng = np.random.default_rng(7)
grid = np.linspace(-4, 4, 300)[:, None]
figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained", sharey=True)
for ax, moments in zip(axes, [(-1.0, 0.5, 0.5, 0.8), (0.0, 0.4, 0.0, 1.6), (0.8, 1.2, -0.6, 1.0)], strict=True):
    X_nu, X_de = rng.normal(*moments[:2], (10, 1)), rng.normal(*moments[2:], (10, 1))
    ax.plot(grid, gaussian_relative_ratio(grid, *moments), color="black", lw=2.2, label="true")
    ax.plot(grid, network.fit(X_nu, X_de).predict(grid), color="#009e73", lw=2, label="network, learned")
    ax.plot(grid, RuLSIF().fit(X_nu, X_de).predict(grid), color="#d55e00", lw=2, ls="--", label="RuLSIF")
    ax.plot(X_nu, np.full(10, -0.1), "|", ms=10, mew=1.6, color="#009e73")
    ax.plot(X_de, np.full(10, -0.22), "|", ms=10, mew=1.6, color="#9a6fb0")
    ax.set(title="N({}, {}²) over N({}, {}²)".format(*moments), xlabel="x", ylim=(-0.3, 2.2))
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("relative ratio")
axes[0].legend(frameon=False, fontsize=9)
plt.show()
