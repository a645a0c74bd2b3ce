"""
A mean of several estimators
============================

Estimators with other random features, or of another kind, err in different ways. Their mean,
:class:`fewratio.EnsembleRatioEstimator`, is better than most of its members. Here are eight small ones in closed form,
learned from digits in rotations, and judged on rotations that were not among the sources.
"""

import matplotlib.pyplot as plt
import numpy as np

from fewratio import (
    DiscriminantRatioEstimator,
    EnsembleRatioEstimator,
    load_collection,
    relative_squared_error,
)

collection = load_collection("digits_r")
sources, targets = collection[:40], collection[40:]
members = [
    DiscriminantRatioEstimator(
        features="cosines", n_components=128, width=0.8, shrinkage=0.1, scale="none", random_state=seed
    )
    for seed in range(8)
]
ensemble = EnsembleRatioEstimator(members=members).pretrain(sources)

# %%
# The error J on 60 pairs of new datasets, three images per sample: lower is better.

rng = np.random.default_rng(0)
pairs = []
for _ in range(60):
    i, j = rng.choice(len(targets), 2, replace=False)
    pairs.append([rng.permutation(targets[number].X)[:60] for number in (i, j)])


def error(estimator):
    errors = []
    for nu, de in pairs:
        fitted = estimator.fit(nu[:3], de[:3])
        errors.append(relative_squared_error(fitted.predict(nu[3:]), fitted.predict(de[3:])))
    return np.mean(errors)


single = [error(member) for member in ensemble.members_]
counts = (1, 2, 4, 8)
means = [np.mean(single)]
for n in counts[1:]:
    part = EnsembleRatioEstimator(members=members[:n]).pretrain(sources)
    means.append(error(part))

figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
ax.plot(np.ones(8), single, "o", color="#9a6fb0", ms=8, alpha=0.7, label="single members")
ax.plot(counts, means, "s-", color="#009e73", lw=2, ms=8, label="mean of so many")
ax.set(xlabel="members", ylabel="error J (lower is better)", xscale="log")
ax.set_xticks(counts, [str(n) for n in counts])
ax.minorticks_off()
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
plt.show()
