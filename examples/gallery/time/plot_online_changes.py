"""
Check a stream for changes
==========================

Read a stream row by row, and report a change soon after it happens.

:class:`fewratio.changes.ChangeDetector` reads one row at a time. It compares the last window of rows with the window
before it. The threshold comes from a part of the stream without changes, so a series without changes rarely raises an
alarm.
"""

import matplotlib.pyplot as plt
import numpy as np

from fewratio import detect_changes
from fewratio.changes import ChangeDetector

rng = np.random.default_rng(0)
calm = rng.normal(0, 1, (200, 2))
threshold = detect_changes(calm, window=30, level=0.05, n_permutations=99, random_state=0)

# Two columns: first a shift, then only the correlation changes, which no column shows by itself.
shifted = rng.normal([2, 0], 1, (100, 2))
correlated = rng.multivariate_normal([2, 0], [[1, 0.98], [0.98, 1]], 100)
stream = np.concatenate([rng.normal(0, 1, (100, 2)), shifted, correlated])

detector = ChangeDetector(30, threshold.threshold, estimator=threshold.estimator)
scores, alarms = [], []
for number, row in enumerate(stream):
    if detector.update(row):
        alarms.append(number)
    scores.append(detector.score_)
print("alarms at rows", alarms, "for changes at rows", detector.changes_)

# %%

figure, (above, below) = plt.subplots(2, 1, figsize=(9, 4.8), layout="constrained", sharex=True)
above.plot(stream[:, 0], color="#009e73", lw=0.9, label="first column")
above.plot(stream[:, 1] - 6, color="#9a6fb0", lw=0.9, label="second column")
above.set_yticks([])
below.plot(scores, color="#1f2328", lw=1.5, label="score")
below.axhline(threshold.threshold, color="#6b7280", ls="--", lw=1, label="threshold")
below.set(xlabel="row", ylabel="divergence of two windows")
for ax in (above, below):
    for true in (100, 200):
        ax.axvline(true, color="#6b7280", lw=1, ls=":")
    for alarm in alarms:
        ax.axvline(alarm, color="#d55e00", lw=1.8)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=9, loc="upper left", ncols=2)
above.set_title("dotted: true changes; orange: alarms", loc="left", fontsize=10)
plt.show()
