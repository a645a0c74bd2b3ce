"""
Learn from sites that do not share their rows
=============================================

Thirty sites learn together, and no row leaves its site.

Each site summarises its own table. Only the summary leaves the site: the number of rows, the mean of some features
and their covariances. :class:`fewratio.DiscriminantRatioEstimator` learns from summaries as it does from rows. The
picture shows the error of the ratio of two new sites, with five rows each, as more sites take part.
"""

import matplotlib.pyplot as plt
import numpy as np

from fewratio import Collection, DiscriminantRatioEstimator, UniversalRatioEstimator
from fewratio.estimators import SourceMap, relative_squared_error

rng = np.random.default_rng(0)
n_columns = 6
mixing = rng.normal(size=(n_columns, n_columns))  # rows vary in the same way at all sites
directions = rng.normal(size=(2, n_columns))  # sites differ in two directions


def site(n):
    centre = rng.normal(0, 1.5, 2) @ directions
    return lambda n=n: centre + rng.normal(size=(n, n_columns)) @ mixing


tables = [site(80)() for _ in range(30)]

# %%
# The map fixes what all sites must do in the same way. Make it once, from an example that you may share.

example = rng.normal(0, 3, (50, n_columns))
source_map = SourceMap.from_table(example, dict.fromkeys(range(n_columns), (-20, 20)), n_components=0)
summaries = [source_map.summarise(table) for table in tables]
print(f"{len(summaries)} summaries of {sum(summaries).n_rows} rows")

# %%
# Measure the error on new pairs of sites. J is the squared error to the true ratio, less a constant. Lower is better.

new = [(site(5), site(5)) for _ in range(25)]
samples = [(first(5), second(5), first(200), second(200)) for first, second in new]


def error(estimator):
    errors = []
    for X_nu, X_de, new_nu, new_de in samples:
        fitted = estimator.fit(X_nu, X_de)
        errors.append(relative_squared_error(fitted.predict(new_nu), fitted.predict(new_de)))
    return np.mean(errors)


counts = (4, 10, 30)
by_rows = [
    error(DiscriminantRatioEstimator(features="columns").pretrain(Collection.from_arrays(tables[:n]))) for n in counts
]
by_summaries = [error(DiscriminantRatioEstimator().pretrain(summaries[:n])) for n in counts]
without = error(UniversalRatioEstimator())

figure, ax = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
ax.plot(counts, by_rows, "o-", color="#9a6fb0", lw=2, label="from all rows")
ax.plot(counts, by_summaries, "s--", color="#009e73", lw=2, label="from summaries alone")
ax.axhline(without, color="#6b7280", ls=":", lw=2, label="no sources")
ax.set(xlabel="number of sites", ylabel="error J of the ratio (lower is better)", xscale="log")
ax.set_xticks(counts, [str(n) for n in counts])
ax.minorticks_off()
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
plt.show()
