"""
Which columns differ
====================

Which of thirty measurements of tumours differ by more than chance?

The samples are fifteen benign and fifteen malignant tumours. The p-values of
:attr:`fewratio.ComparisonResult.columns` are adjusted for the number of columns, so you can look at all thirty. For
the strongest columns, *alone* is the divergence of that column alone, and *without* is the divergence of all other
columns. A lot remains without any one of them, because many of these measurements carry the same information.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer

from fewratio import compare_datasets

cancer = load_breast_cancer(as_frame=True)
malignant = cancer.data[cancer.target == 0].sample(15, random_state=1)
benign = cancer.data[cancer.target == 1].sample(15, random_state=1)

result = compare_datasets(malignant, benign, random_state=0)
columns = pd.DataFrame(result.columns)
columns[["column", "effect", "p_value", "alone", "without"]].head(8).round(3)

# %%
# The picture shows the eight strongest columns, with a point for every row.

figure, axes = plt.subplots(2, 4, figsize=(10, 5), layout="constrained")
rng = np.random.default_rng(0)
for ax, row in zip(axes.flat, columns.itertuples(), strict=False):
    for place, (table, colour) in enumerate([(malignant, "#009e73"), (benign, "#9a6fb0")]):
        values = table[row.column]
        ax.plot(place + rng.uniform(-0.15, 0.15, len(values)), values, "o", ms=5, alpha=0.7, mew=0, color=colour)
        ax.hlines(values.mean(), place - 0.3, place + 0.3, color=colour, lw=2)
    ax.set_title(f"{row.column}\nd = {row.effect:+.1f}, p = {row.p_value:.3f}", fontsize=9)
    ax.set_xticks([0, 1], ["malignant", "benign"])
    ax.set_xlim(-0.6, 1.6)
    ax.spines[["top", "right"]].set_visible(False)
figure.suptitle("The eight columns that differ most, of thirty")
plt.show()
