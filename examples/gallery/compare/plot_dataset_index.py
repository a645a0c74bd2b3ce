"""
Find the nearest of many datasets
=================================

Which known datasets are five images of unknown origin most like?

:class:`fewratio.DatasetIndex` finds the nearest of sixty datasets without comparing all of them, so it also works for
a million.
"""

import matplotlib.pyplot as plt
import numpy as np

from fewratio import Collection, DatasetIndex, RuLSIF
from fewratio.data import load_collection

collection = load_collection("digits_r")
# The last 20 images of each dataset are kept for queries.
known = Collection.from_arrays({dataset.name: dataset.X[:-20] for dataset in collection})
# Pixels have one unit, so columns are compared as they are.
index = DatasetIndex.build(known, estimator=RuLSIF())
print(f"{len(index)} datasets")

# %%
# Three queries of five images, and the mean image of each of the four nearest datasets.

queries = "15deg-3", "60deg-7", "0deg-0"
figure = plt.figure(figsize=(10, 4.4), layout="constrained")
left, right = figure.subfigures(1, 2, width_ratios=[5, 4])
asked, found = left.subplots(3, 5), right.subplots(3, 4)
for name, images, nearest in zip(queries, asked, found, strict=True):
    rows = collection[name].X[-5:]
    neighbours = index.search(rows, k=4)
    for ax, row in zip(images, rows, strict=True):
        ax.imshow(row.reshape(8, 8), cmap="gray_r")
    images[0].set_ylabel(f"five of\n{name}", rotation=0, ha="right", va="center")
    for ax, neighbour, divergence in zip(nearest, neighbours.names, neighbours.divergences, strict=True):
        ax.imshow(known[neighbour].X.mean(0).reshape(8, 8), cmap="Greens")
        ax.set_title(f"{neighbour}\n{divergence:.2f}", fontsize=9)
for ax in np.concatenate([asked.ravel(), found.ravel()]):
    ax.set_xticks([])
    ax.set_yticks([])
left.suptitle("query")
right.suptitle("nearest datasets, with their divergence")
plt.show()
