"""
What the p-value of a comparison means
======================================

Shuffle the rows many times, and count how often the difference is as large.

The test shuffles the rows of both samples into two new samples of the same sizes, many times. If both samples come
from one distribution, the observed statistic looks like the others. The p-value is the share of permutations that are
at least as extreme. It makes no assumption about the distribution, and is exact for any number of rows.
"""

import matplotlib.pyplot as plt
import numpy as np

from fewratio import compare_datasets

rng = np.random.default_rng(1)
same = compare_datasets(rng.normal(0, 1, (12, 4)), rng.normal(0, 1, (15, 4)), random_state=0)
other = compare_datasets(rng.normal(0, 1, (12, 4)), rng.normal(0.9, 1, (15, 4)), random_state=0)

# %%
# If nothing differs, p-values are spread evenly: 5 % of them are below 0.05. Here are 100 pairs of each kind, with
# eight rows per sample.

p_values = {}
for name, shift in (("same distribution", 0.0), ("shifted by one deviation", 1.0)):
    p_values[name] = [
        compare_datasets(
            rng.normal(0, 1, (8, 4)), rng.normal(shift, 1, (8, 4)), estimator=None, n_permutations=99, random_state=seed
        ).p_value
        for seed in range(100)
    ]

figure, axes = plt.subplots(1, 3, figsize=(11.5, 3.8), layout="constrained")
for ax, result, title in ((axes[0], same, "same distribution"), (axes[1], other, "another distribution")):
    ax.hist(result.null_distribution, bins=40, color="#e5e7eb", edgecolor="#6b7280", lw=0.5, label="permutations")
    ax.axvline(result.statistic, color="#009e73", lw=2.5, label="observed")
    ax.set(title=f"{title}: p = {result.p_value:.3f}", xlabel="test statistic")
    ax.legend(frameon=False, fontsize=9)
for (name, values), colour, style in zip(p_values.items(), ("#6b7280", "#009e73"), ("--", "-"), strict=True):
    axes[2].step(np.sort(values), np.arange(1, 101) / 100, style, color=colour, lw=2, label=name)
axes[2].plot([0, 1], [0, 1], color="black", lw=0.8)
axes[2].set(title="p-values of 100 pairs", xlabel="p-value", ylabel="share of pairs below", xlim=(0, 1), ylim=(0, 1.02))
axes[2].legend(frameon=False, fontsize=9, loc="lower right")
for ax in axes:
    ax.spines[["top", "right"]].set_visible(False)
plt.show()
