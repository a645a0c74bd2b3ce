"""
Outliers with five known normals
================================

You know five images of a 0. Which of sixty other images are not a 0?

:class:`fewratio.InlierOutlierDetector` scores the whole batch at once. This helps if you know few normal rows,
because the batch shows where most rows are. With ``contamination`` the detector flags that share of the batch.
Without it, the detector flags rows that score lower than nearly all normal rows would.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from fewratio import InlierOutlierDetector

digits = load_digits()
rng = np.random.default_rng(0)
zeros = rng.permutation(np.flatnonzero(digits.target == 0))
known, batch = zeros[:5], zeros[5:59]
strangers = rng.choice(np.flatnonzero(digits.target > 0), 6, replace=False)
batch = np.concatenate([batch, strangers])

detector = InlierOutlierDetector(contamination=0.1).fit(digits.data[known])
result = detector.detect(digits.data[batch])
found = digits.target[batch][result.is_outlier]
print(
    f"{(found > 0).sum()} of the {len(found)} flagged images are other digits; the batch has {len(strangers)} of them"
)

# %%
# The picture shows the five known images, and the batch from the most anomalous to the most normal. Flagged images have
# a frame.

figure = plt.figure(figsize=(10, 5.2), layout="constrained")
top, below = figure.subfigures(2, 1, height_ratios=[1, 5])
for ax, row in zip(top.subplots(1, 12).flat, [*known, *[None] * 7], strict=True):
    ax.axis("off")
    if row is not None:
        ax.imshow(digits.images[row], cmap="gray_r")
top.suptitle("known to be normal", x=0.02, ha="left", fontsize=11)
for ax, place in zip(below.subplots(5, 12).flat, result.order, strict=True):
    ax.imshow(digits.images[batch[place]], cmap="gray_r")
    ax.set_xticks([])
    ax.set_yticks([])
    flagged = result.is_outlier[place]
    ax.spines[:].set(color="#d55e00" if flagged else "#e5e7eb", linewidth=3 if flagged else 1)
below.suptitle("the batch, the most anomalous first", x=0.02, ha="left", fontsize=11)
plt.show()
