"""
One grower, twelve bottles, one afternoon
=========================================

You buy most of your wine from one grower. Twelve bottles arrive after lunch, and the laboratory has measured thirteen
properties of each. Are they the wine that you know? By the evening you will have an answer, the bottles behind it, and
a check that asks the same question every day. Reading takes ten minutes.

The wines are real: 178 Italian wines of three growers that come with scikit-learn. Which bottles arrive together is
our choice, so that you can see whether each answer is right.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_wine

from fewratio import DriftMonitor, InlierOutlierDetector, compare_all, compare_datasets

wine = load_wine(as_frame=True)
one, two, three = (wine.data[wine.target == grower].sample(frac=1, random_state=2) for grower in range(3))
known = one[:40]
delivery = pd.concat([one[40:46], two[:6]], ignore_index=True)

# %%
# ``known`` holds forty bottles that you have bought from grower 1 so far. ``delivery`` holds the twelve new ones. The
# last six of them come from grower 2. You do not know that yet.
#
# 1 p.m.: compare
# ---------------
# Start with one question: are the twelve bottles like the forty? :func:`fewratio.compare_datasets` answers it. You can
# pass two tables: ``compare_datasets(delivery, known)``. Here we pass one table with a column that names the group of
# each row, so the pictures show these names.

bottles = pd.concat([delivery.assign(wines="delivery"), known.assign(wines="known")], ignore_index=True)
result = compare_datasets(bottles, by="wines", random_state=0)
print(result.verdict)

# %%
# The p-value is small. If both groups came from one distribution, a difference like this would occur in about one of
# 500 cases. So the delivery differs. The picture shows the columns in which it differs. A coloured bar marks a column
# that differs by more than chance explains. The p-values are adjusted for the number of columns, so you can look at
# all thirteen; the picture shows the ten clearest.

result.plot()

# %%
# ``result.to_html("delivery.html")`` writes a report that you can send to the grower.
#
# 2 p.m.: find the region
# -----------------------
# Four columns differ. Do they differ together? A *region* is a simple rule that holds for many rows of one table and
# for few of the other.

for region in result.regions:
    print(region.write(["the delivery", "the known wines"]))

# %%
# One rule explains most of the difference. Draw it: the shaded part is the region.

figure, ax = plt.subplots(figsize=(7, 4.4), layout="constrained")
ax.plot(known["proline"], known["alcohol"], "o", color="#9a6fb0", ms=7, alpha=0.7, mew=0, label="known wines")
ax.plot(delivery["proline"], delivery["alcohol"], "D", color="#009e73", ms=8, mew=0, label="delivery")
ax.axvspan(ax.get_xlim()[0], result.regions[0].conditions[0].high, color="#009e73", alpha=0.12, lw=0)
ax.set(xlabel="proline", ylabel="alcohol", title="Most of the delivery is in a region that the known wines avoid")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
plt.show()

# %%
# 3 p.m.: find the bottles
# ------------------------
# A region describes many rows. Which single bottles are wrong? :class:`fewratio.InlierOutlierDetector` learns from the
# known wines what is normal, and scores each bottle of the delivery. You suspect that up to half of them are wrong.

detector = InlierOutlierDetector(contamination=0.5).fit(known)
found = detector.detect(delivery)
print("bottles to put aside:", sorted(int(bottle) for bottle in found.order[:6]))

# %%
# We asked for six bottles, and bottles 6 to 11 do come from grower 2: all six, and no bottle of grower 1. Why is the
# most unusual bottle so unusual?

print(detector.explain(delivery.iloc[[found.order[0]]]).largest(3).summary)

# %%
# It has far fewer flavanoids than the nearest known wines: almost four standard deviations fewer. The scores
# of all bottles are on the left. The columns that make the ten most unusual bottles unusual are on the right.

found.plot()

# %%
# 4 p.m.: five bottles of the next delivery
# -----------------------------------------
# The next truck brings only five bottles. But you have kept last year's deliveries: nineteen boxes of six bottles, each
# from one of three growers. They show how much boxes differ when nothing is wrong. :func:`fewratio.compare_all` uses
# them as the reference. It tests whether the new box is unlike *all* older ones.

older = {
    f"{name} {start // 6 + 1}": wines[start : start + 6]
    for name, wines in (("one", known), ("two", two[6:54]), ("three", three[:32]))
    for start in range(0, len(wines) - 5, 6)
}
five = one[46:51]
in_another_unit = five.assign(proline=five["proline"] / 10)
judged = compare_all(older, new={"five bottles": five, "proline / 10": in_another_unit}, random_state=0)
for name in judged.new:
    print(judged.verdict(name))

# %%
# The five bottles look like the older boxes. To show that the check can fail, we divided their proline by ten, as if
# the laboratory had used another unit. That box is unlike all others. With nineteen older boxes, 0.05 is the smallest
# possible p-value. The verdict names the column that is farthest outside the range of the older boxes. The picture
# shows the proline of every bottle, box by box.

figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
boxes = {**older, "five bottles": five, "proline / 10": in_another_unit}
for place, (name, wines) in enumerate(boxes.items()):
    colour = {"five bottles": "#009e73", "proline / 10": "#d55e00"}.get(name, "#9a6fb0")
    ax.plot([place] * len(wines), wines["proline"], "o", color=colour, ms=7, alpha=0.7, mew=0)
ax.set_xticks(range(len(boxes)), boxes, rotation=60, ha="right", rotation_mode="anchor")
ax.set(yscale="log", ylabel="proline", title="Five bottles are enough to see a wrong unit")
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# If you need the ratio of single bottles from so few rows, let a model learn from the boxes first:
# :doc:`/guides/related-datasets`.
#
# 5 p.m.: a gate
# --------------
# Tomorrow a program should ask the same question. Save the tables as files, and compare them in the shell. The command
# ends with exit code 3 if its condition holds, so a job in continuous integration (CI) fails at this line:
#
# .. code-block:: sh
#
#    fewratio compare delivery.csv known.csv --fail-if 'p < 0.01' --report delivery.html

folder = Path(tempfile.mkdtemp())
known.to_csv(folder / "known.csv", index=False)
delivery.to_csv(folder / "delivery.csv", index=False)
command = ["compare", "delivery.csv", "known.csv", "--report", "delivery.html", "--fail-if"]
gate = [sys.executable, "-m", "fewratio", *command, "p < 0.01"]
done = subprocess.run(gate, cwd=folder, capture_output=True, text=True)
print("\n".join(done.stdout.splitlines()[:2]))
print("exit code", done.returncode)

# %%
# :doc:`/guides/ci` shows how to run it in GitHub Actions.
#
# 6 p.m.: a monitor
# -----------------
# A gate that runs every day fails by chance now and then. A :class:`fewratio.DriftMonitor` does not have this problem.
# You may check it after each box, for years. The chance that it *ever* raises a false alarm is at most ``level``. Here
# it sees boxes of four bottles. The first four boxes come from grower 1, and all later ones from grower 2.

monitor = DriftMonitor(known, level=0.01)
arrivals = pd.concat([one[40:56], two[:32]], ignore_index=True)
for box, start in enumerate(range(0, len(arrivals), 4), start=1):
    state = monitor.update(arrivals[start : start + 4], f"box {box}")
    if state.alarm:
        print(state.summary)
        break

# %%
# The evidence stays low for four boxes, and then grows with each bottle until it crosses the line. Rows count from 0,
# so the first bottle of grower 2 is row 16: the range contains it.

monitor.plot()

# %%
# What you have now
# -----------------
# - A comparison, and a report that explains it: :doc:`/guides/compare`.
# - The bottles to put aside: :doc:`/guides/outliers`.
# - A check of five bottles against older boxes: :doc:`/guides/related-datasets`.
# - A gate and a monitor: :doc:`/guides/ci`, :doc:`/guides/monitor`.
#
# To do the same with your own tables, replace ``known`` and ``delivery``. Files work too: :doc:`/guides/own-data`.
