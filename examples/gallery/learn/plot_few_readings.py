"""
Five readings from a new sensor
===============================

Forty older sensors help where five readings alone say little.

With five readings of each of two sensors, you cannot see in which directions sensors differ and in which directions
readings only vary at random. Older sensors show this. :class:`fewratio.DiscriminantRatioEstimator` learns it in
closed form, here from 40 sensors with 30 readings each.
"""

import matplotlib.pyplot as plt
import numpy as np

from fewratio import Collection, DiscriminantRatioEstimator, UniversalRatioEstimator

# Readings of one sensor vary along a diagonal; sensors differ across it.
rng = np.random.default_rng(3)
scatter = np.array([[1.0, 0.85], [0.85, 1.0]])


def readings(offset, n):
    return rng.multivariate_normal(offset * np.array([1, -1]), scatter, n)


older = Collection.from_arrays([readings(rng.normal(0, 0.6), 30) for _ in range(40)])
offsets = 0.45, -0.35
new, other = (readings(offset, 5) for offset in offsets)

estimators = {
    "without older sensors": UniversalRatioEstimator(),
    "learned from 40 older sensors": DiscriminantRatioEstimator().pretrain(older),
}

# %%
# The true ratio is known here. With the older sensors, five readings are enough to find its direction.

line = np.linspace(-3.5, 3.5, 80)
grid = np.stack(np.meshgrid(line, line), -1).reshape(-1, 2)
inverse = np.linalg.inv(scatter)


def log_density(offset):
    difference = grid - offset * np.array([1, -1])
    return -0.5 * np.einsum("ij,jk,ik->i", difference, inverse, difference)


true = 1 / (0.5 + 0.5 * np.exp(log_density(offsets[1]) - log_density(offsets[0])))
ratios = {"true ratio": true}
ratios |= {name: estimator.fit(new, other).predict(grid) for name, estimator in estimators.items()}

figure, axes = plt.subplots(1, 3, figsize=(11, 4), layout="constrained", sharex=True, sharey=True)
for ax, (name, ratio) in zip(axes, ratios.items(), strict=True):
    drawn = ax.contourf(line, line, ratio.reshape(80, 80), np.linspace(0, 2, 21), cmap="PRGn", extend="both")
    ax.plot(*new.T, "o", color="white", mec="black", ms=8, label="new sensor")
    ax.plot(*other.T, "^", color="black", mec="white", ms=9, label="other sensor")
    ax.set_title(name)
    ax.set_aspect("equal")
axes[0].legend(loc="upper left", fontsize=9)
figure.colorbar(drawn, ax=axes, label="ratio", ticks=[0, 0.5, 1, 1.5, 2], shrink=0.8)
plt.show()
