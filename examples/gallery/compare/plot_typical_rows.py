"""
The rows most typical of each table
===================================

Which images are most typical of a 3, which of an 8, and which of both?

A density ratio is a number for every row. It is above 1 if the row is more typical of the first sample, below 1 if it
is more typical of the second, and near 1 if it fits both equally well. Here the samples are 40 images each of the
digits 3 and 8.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from fewratio import compare_datasets

digits = load_digits()
threes, eights = (digits.data[digits.target == digit][:40] for digit in (3, 8))
result = compare_datasets(threes, eights, random_state=0)
print(result.verdict)

# %%
# ``rows_a`` and ``rows_b`` list the most typical rows first. The middle row of pictures shows the images whose ratio is
# nearest to 1.

images = np.concatenate([threes, eights])
ratios = np.concatenate([result.ratios_a, result.ratios_b])
between = np.argsort(np.abs(ratios - 1))[:8]
shown = {
    "most typical of 3": result.rows_a[:8],
    "hard to tell": between[np.argsort(-ratios[between])],
    "most typical of 8": 40 + result.rows_b[:8],
}
figure, axes = plt.subplots(3, 8, figsize=(9, 4.2), layout="constrained")
for line, (title, rows) in zip(axes, shown.items(), strict=True):
    for ax, row in zip(line, rows, strict=True):
        ax.imshow(images[row].reshape(8, 8), cmap="gray_r")
        ax.set_title(f"{ratios[row]:.2f}", fontsize=9)
        ax.set_xticks([])
        ax.set_yticks([])
        ax.spines[:].set_color("#e5e7eb")
    line[0].set_ylabel(title, fontsize=10)
figure.suptitle("Images and their ratios, 3 over 8")
plt.show()
