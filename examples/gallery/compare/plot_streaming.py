"""
Ratios of a file that need not fit in memory
============================================

Evaluate a ratio at half a million rows, piece by piece.

``predict`` accepts a table that is not in memory. It returns a table that is computed when you read it. Here the ratio
is fitted to 300 rows from each of two weeks, and evaluated at half a million rows of a Parquet file.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import polars as pl

from fewratio import ClassifierRatio

rng = np.random.default_rng(0)


def ring(n, radius, centre):
    angle = rng.uniform(0, 2 * np.pi, n)
    place = np.stack([np.cos(angle), np.sin(angle)], 1) * rng.normal(radius, 0.25, (n, 1))
    return pl.DataFrame(place + centre, schema=["x", "y"])


folder = Path(tempfile.mkdtemp())
this_week, last_week = ring(300, 1.0, [0.6, 0.0]), ring(300, 1.6, [-0.3, 0.0])
pl.concat([ring(250_000, 1.0, [0.6, 0.0]), ring(250_000, 1.6, [-0.3, 0.0])]).write_parquet(folder / "rows.parquet")

model = ClassifierRatio(random_state=0).fit(this_week, last_week)
model.predict(pl.scan_parquet(folder / "rows.parquet")).sink_parquet(folder / "ratios.parquet")

# %%
# The shell does the same: ``fewratio ratio this.csv last.csv rows.parquet -o ratios.parquet``.
#
# The picture shows all half million rows. Each cell has the colour of the mean ratio of its rows.

rows, ratios = pl.read_parquet(folder / "rows.parquet"), pl.read_parquet(folder / "ratios.parquet")["ratio"]
figure, ax = plt.subplots(figsize=(7, 5.4), layout="constrained")
drawn = ax.hexbin(rows["x"], rows["y"], C=ratios, gridsize=110, cmap="PRGn", vmin=0, vmax=2, mincnt=3, lw=0)
ax.set(aspect="equal", xlabel="x", ylabel="y")
ax.set_title(f"{len(rows):,} rows, this week over last week", loc="left", fontsize=11)
ax.spines[["top", "right"]].set_visible(False)
figure.colorbar(drawn, label="mean ratio", ticks=[0, 0.5, 1, 1.5, 2], shrink=0.8)
plt.show()
