"""
How sure is a divergence?
=========================

With ten rows, a divergence is a rough guess. With hundreds, it is precise.

fewratio measures the divergence on rows that the model was not fitted to, so it is too small on average. ``at_least``
of :func:`fewratio.compare_datasets` is a lower limit for the true divergence (95 %, approximate). The samples come
from two Gaussians in three columns, whose true divergence is known. Each size is drawn eight times.
"""

import matplotlib.pyplot as plt
import numpy as np

from fewratio import compare_datasets
from fewratio.estimators import gaussian_relative_ratio

shift = np.array([0.9, 0.0, 0.4])
rng = np.random.default_rng(0)
# The true relative Pearson divergence at alpha = 0.5, from many rows: half the mean of (r - 1)^2 over both samples.
many = np.concatenate([rng.normal(shift, 1, (200_000, 3)), rng.normal(0, 1, (200_000, 3))])
true = 0.5 * np.mean((gaussian_relative_ratio(many, shift, 1, 0, 1) - 1) ** 2)
print(f"true divergence: {true:.3f}")

figure, ax = plt.subplots(figsize=(8, 4.4), layout="constrained")
sizes, below = (10, 30, 100, 300), []
for place, n in enumerate(sizes):
    for repeat in range(8):
        result = compare_datasets(
            rng.normal(shift, 1, (n, 3)), rng.normal(0, 1, (n, 3)), n_permutations=0, random_state=repeat
        )
        below.append(result.at_least <= true)
        x = place + 0.08 * (repeat - 3.5)
        colour = "#009e73" if below[-1] else "#d55e00"
        ax.vlines(x, result.at_least, result.divergence, color=colour, lw=2.5, alpha=0.7)
        ax.plot(x, result.divergence, "o", color=colour, ms=4)
ax.axhline(true, color="black", lw=1.5, ls="--", label=f"true divergence, {true:.2f}")
ax.set_xticks(range(len(sizes)), [f"{n:,}" for n in sizes])
ax.set(xlabel="rows per sample", ylabel="divergence and its lower limit", ylim=(-0.02, 0.52))
ax.set_title(f"{sum(below)} of {len(below)} limits are below the truth", loc="left", fontsize=11)
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
plt.show()
