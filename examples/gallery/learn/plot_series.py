"""
One day of a new sensor
=======================

Older pedestrian counters help to understand one day of a new one.

Thirty-two sensors in Melbourne count the people who pass, every hour. Two new sensors have a single day of data,
which is too little to see what is typical of either. The 22 older sensors show how the days of one place vary, and
how places differ. ``window=24`` makes a row of each day. The row holds the hourly values, the size of the steps
between them, and their spectrum. A model that learned from such rows cuts new series itself.

The data are four weeks of September 2014 from the `Pedestrian Counting System <https://data.melbourne.vic.gov.au>`_
of the City of Melbourne (CC BY 4.0), sensors without gaps.
"""

from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.colors import LinearSegmentedColormap

from fewratio import AutoRatioEstimator, Collection
from fewratio.estimators import relative_squared_error

counts = pd.read_csv("melbourne_pedestrians.csv.gz", index_col="when", parse_dates=True)
# The deviation of a count grows with its root, so roots vary alike at busy and at quiet places.
roots = np.sqrt(counts)
names = np.random.default_rng(0).permutation(counts.columns)
older, new = names[:22], names[22:]

sources = Collection.from_arrays({name: roots[name].rename("people") for name in older}, window=24)
with_older = AutoRatioEstimator(random_state=0).pretrain(sources)
print(sources.summary)
print(sources.encoding.summary)

# %%
# Both estimators see the same days of two new sensors. The error J is measured on all other days. It is -1 if no day of
# one sensor looks like a day of the other, and -0.5 for a ratio of 1 everywhere. The table has means of many pairs:

rows = {name: sources.encoding.encode(roots[name].rename("people"), name).to_numpy() for name in new}
estimators = {"without older sensors": AutoRatioEstimator(random_state=0), "with 22 older sensors": with_older}
n_days, errors = (1, 2, 3, 5), {name: [] for name in estimators}
for first, second in list(combinations(new, 2))[::2]:
    for name, estimator in estimators.items():
        found = []
        for n in n_days:
            fitted = estimator.fit(rows[first][:n], rows[second][:n])
            found.append(relative_squared_error(*(fitted.predict(rows[each][n:]) for each in (first, second))))
        errors[name].append(found)
pd.DataFrame({name: np.mean(found, 0).round(3) for name, found in errors.items()}, index=pd.Index(n_days, name="days"))

# %%
# Two places whose days differ in shape more than in number: a street, and a station for commuters. Each estimator saw
# the Monday that is drawn in black. The other days have the colour of their ratio: green if they look like the street,
# purple if they look like the station. With older sensors even its empty weekends are recognised.

pair = "Bourke St-Russell St (West)", "Southern Cross Station"
figure, axes = plt.subplots(1, 3, figsize=(11.5, 4), layout="constrained", width_ratios=[1, 1, 0.9])
axes[1].sharey(axes[0])
colour = LinearSegmentedColormap.from_list("ratio", ["#762a83", "#c4c4c4", "#1b7837"])
for ax, (name, estimator) in zip(axes, estimators.items(), strict=False):
    estimator.fit(*(rows[place][:1] for place in pair))
    for place, line in zip(pair, ("-", "--"), strict=True):
        days = counts[place].to_numpy().reshape(-1, 24)
        for day, ratio in zip(days[1:], estimator.predict(rows[place][1:]), strict=True):
            ax.plot(day, line, color=colour(0.5 * ratio), lw=1)
        ax.plot(days[0], line, color="black", lw=2, label=place)
    ax.set(title=name, xlabel="hour", xticks=range(0, 25, 6))
axes[0].set(ylabel="people per hour", ylim=(0, 3600))
axes[0].legend(frameon=False, fontsize=9, loc="upper left")
figure.colorbar(plt.cm.ScalarMappable(plt.Normalize(0, 2), colour), ax=axes[1], label="ratio", ticks=[0, 1, 2])
for (name, found), marker, shade in zip(errors.items(), "o^", ("#9a6fb0", "#009e73"), strict=True):
    axes[2].plot(n_days, np.mean(found, 0), f"{marker}-", color=shade, lw=2, ms=8, label=name)
axes[2].set(title="error J at other days", xlabel="days of each new sensor", xticks=n_days)
axes[2].legend(frameon=False)
for ax in axes:
    ax.spines[["top", "right"]].set_visible(False)
plt.show()
