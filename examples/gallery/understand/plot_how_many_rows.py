"""
Which estimator for how many rows
=================================

Compare four estimators on 4, 15 and 40 rows.

Which estimator should you use if you have no related datasets? Here a kernel method, a classifier and the universal
network estimate the ratio of two moons. :class:`fewratio.AutoRatioEstimator` is the mean of the last two. Start with
it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from fewratio import AutoRatioEstimator, ClassifierRatio, RuLSIF, UniversalRatioEstimator
from fewratio.estimators import relative_squared_error

estimators = {
    "RuLSIF": RuLSIF(sigma="cv", reg="cv", random_state=0),
    "ClassifierRatio": ClassifierRatio(random_state=0),
    "UniversalRatioEstimator": UniversalRatioEstimator(),
    "AutoRatioEstimator": AutoRatioEstimator(random_state=0),
}
new, label = make_moons(4000, noise=0.2, random_state=1)
line_x, line_y = np.linspace(-1.8, 2.8, 70), np.linspace(-1.3, 1.8, 50)
grid = np.stack(np.meshgrid(line_x, line_y), -1).reshape(-1, 2)

figure, axes = plt.subplots(3, 4, figsize=(11.5, 6.6), layout="constrained", sharex=True, sharey=True)
for line, n in zip(axes, (4, 15, 40), strict=True):
    X, moon = make_moons(2 * n, noise=0.2, random_state=5)
    for ax, (name, estimator) in zip(line, estimators.items(), strict=True):
        fitted = estimator.fit(X[moon == 0], X[moon == 1])
        J = relative_squared_error(fitted.predict(new[label == 0]), fitted.predict(new[label == 1]))
        drawn = ax.contourf(
            line_x, line_y, fitted.predict(grid).reshape(50, 70), np.linspace(0, 2, 21), cmap="PRGn", extend="both"
        )
        ax.plot(*X[moon == 0].T, "o", color="white", mec="black", ms=5, mew=0.8)
        ax.plot(*X[moon == 1].T, "^", color="black", mec="white", ms=6, mew=0.7)
        ax.set_title(f"{name if n == 4 else ''}\nJ = {J:.2f}".strip(), fontsize=10)
        ax.set_xticks([])
        ax.set_yticks([])
    line[0].set_ylabel(f"{n} rows each")
figure.colorbar(drawn, ax=axes, label="ratio", ticks=[0, 0.5, 1, 1.5, 2], shrink=0.6)
plt.show()
