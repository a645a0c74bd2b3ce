"""
A mean of several estimators
============================

The mean of eight estimators is better than most of them.

Estimators with different random features make different errors. ``AutoRatioEstimator(members=...)`` averages them.
Here, eight small estimators in closed form learn from rotated digits. They are scored on rotations that were not
among the sources.
"""

import matplotlib.pyplot as plt
import numpy as np

from fewratio import AutoRatioEstimator, DiscriminantRatioEstimator
from fewratio.data import load_collection
from fewratio.estimators import relative_squared_error

collection = load_collection("digits_r")
sources, targets = collection[:40], collection[40:]
members = [
    DiscriminantRatioEstimator(
        features="cosines", n_components=128, width=0.8, shrinkage=0.1, scale="none", random_state=seed
    )
    for seed in range(8)
]
ensemble = AutoRatioEstimator(members=members).pretrain(sources)

# %%
# The picture shows the error J on 50 pairs of new datasets, with three images per sample. Lower is better. The ratio of
# an ensemble is the mean of the ratios of its members, so smaller ensembles can use the same members.

rng = np.random.default_rng(0)
errors = []
for _ in range(50):
    nu, de = (rng.permutation(targets[int(i)].X)[:60] for i in rng.choice(len(targets), 2, replace=False))
    fitted = [member.fit(nu[:3], de[:3]) for member in ensemble.learned_]
    of_nu, of_de = (np.array([member.predict(sample[3:]) for member in fitted]) for sample in (nu, de))
    parts = [[i] for i in range(len(members))] + [range(n) for n in (2, 4, 8)]
    errors.append([relative_squared_error(of_nu[part].mean(0), of_de[part].mean(0)) for part in map(list, parts)])
*single, two, four, eight = np.mean(errors, axis=0)

figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
ax.plot(np.ones(8), single, "o", color="#9a6fb0", ms=8, alpha=0.7, label="single members")
ax.plot(
    (1, 2, 4, 8), (np.mean(single), two, four, eight), "s-", color="#009e73", lw=2, ms=8, label="mean of 1 to 8 members"
)
ax.set(xlabel="members", ylabel="error J (lower is better)", xscale="log")
ax.set_xticks((1, 2, 4, 8), ("1", "2", "4", "8"))
ax.minorticks_off()
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
plt.show()
