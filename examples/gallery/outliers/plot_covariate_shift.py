"""
A regression corrected for covariate shift
==========================================

Give more weight to training rows that look like the target.

A straight line fits a curve only near the rows that it was fitted to. If you use the line elsewhere, rows that are
typical of the new place should count more. :func:`fewratio.importance_weights` computes such weights for
``sample_weight``. If you pass ``y``, it also measures whether the weights lower the error of a model.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LinearRegression

from fewratio import importance_weights

rng = np.random.default_rng(0)
X, X_target = rng.normal(1, 0.5, (500, 1)), rng.normal(2, 0.3, (300, 1))
y = np.sinc(X[:, 0]) + rng.normal(0, 0.08, 500)
y_target = np.sinc(X_target[:, 0])

weights = importance_weights(X, X_target, y=y, random_state=0)
print(weights.summary)

# %%
# The picture shows two lines through the same rows. Both use only the labels of the training rows. The second line uses
# the weights.

plain = LinearRegression().fit(X, y)
weighted = LinearRegression().fit(X, y, sample_weight=weights)

figure, ax = plt.subplots(figsize=(8, 4.6), layout="constrained")
grid = np.linspace(-0.5, 3, 200)[:, None]
ax.plot(grid, np.sinc(grid), color="black", lw=1, ls=":", label="truth")
size = 6 + 25 * np.asarray(weights)
ax.scatter(X, y, size, color="#9a6fb0", alpha=0.4, lw=0, label="training rows, size by weight")
ax.plot(X_target, np.full(300, -0.75), "|", color="#009e73", ms=9, label="target rows, no labels")
for model, name, style, colour in ((plain, "plain", "--", "#d55e00"), (weighted, "weighted", "-", "#009e73")):
    error = np.mean((model.predict(X_target) - y_target) ** 2)
    ax.plot(grid, model.predict(grid), style, color=colour, lw=2.2, label=f"{name}: error on the target {error:.3f}")
ax.set(ylim=(-0.85, 1.2), xlim=(-0.5, 3), xlabel="x", ylabel="y")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, loc="upper right")
plt.show()
