"""
Many datasets at once
=====================

Compare all pairs of sixty small datasets, and draw a map.

Each dataset holds 40 images of one digit in one of six rotations, 8 x 8 pixels each. :func:`fewratio.compare_all`
compares every ordered pair.
"""

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt
from matplotlib.offsetbox import AnnotationBbox, OffsetImage
from sklearn.manifold import MDS

from fewratio import RuLSIF, compare_all
from fewratio.data import load_collection

collection = load_collection("digits_r")
print(collection.summary)

# Pixels have one unit, so columns are compared as they are.
result = compare_all(collection, estimator=RuLSIF(), n_rows=40, random_state=0)
for name, divergence in result.nearest("30deg-4", k=3):
    print(f"{name}: divergence {divergence:.2f} from 30deg-4")

# %%
# The heat map shows all divergences, with similar datasets side by side.

result.plot()

# %%
# The map shows the same divergences. Each dataset is drawn as its mean image, near similar datasets. The colour of a
# frame is the rotation.

distances = (result.divergences + result.divergences.T) / 2
scaling = MDS(metric="precomputed", metric_mds=False, n_init=4, init="random", random_state=0)
places = scaling.fit_transform(distances)
figure, ax = plt.subplots(figsize=(8, 7), layout="constrained")
angles = sorted({dataset.group for dataset in collection}, key=lambda group: int(group.removesuffix("deg")))
for dataset, place in zip(collection, places, strict=True):
    image = OffsetImage(1 - dataset.X.mean(0).reshape(8, 8), zoom=3.6, cmap="gray")
    colour = plt.colormaps["viridis"](angles.index(dataset.group) / 5)
    frame = {"edgecolor": colour, "linewidth": 2.5, "boxstyle": "square,pad=0.05"}
    ax.add_artist(AnnotationBbox(image, place, bboxprops=frame))
low, high = places.min(0), places.max(0)
margin = 0.08 * (high - low)
(left, bottom), (right, top) = low - margin, high + margin
ax.set(xlim=(left, right), ylim=(bottom, top))
for number, angle in enumerate(angles):
    ax.plot([], [], "s", color=plt.colormaps["viridis"](number / 5), label=angle)
ax.legend(frameon=False, ncols=6, loc="lower center", bbox_to_anchor=(0.5, 1.0), handletextpad=0.2)
ax.axis("off")
plt.show()
