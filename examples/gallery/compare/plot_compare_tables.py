"""
Compare two tables
==================

Two growers, thirty wines: do they differ, and in what?

Here are 20 wines of one grower and 10 of another, with 13 measurements each. :func:`fewratio.compare_datasets`
answers with an exact p-value, a divergence with a lower limit, the columns that differ, and a ratio for each row.
"""

import numpy as np
from sklearn.datasets import load_wine

from fewratio import compare_datasets

wine = load_wine(as_frame=True)
rng = np.random.default_rng(0)
first = wine.data[wine.target == 0].sample(20, random_state=0)
second = wine.data[wine.target == 1].sample(10, random_state=0)

result = compare_datasets(first, second, random_state=0)
print(result)
print(f"the true divergence is at least {result.at_least:.2f} (95 %, approximate)")

# %%
# Some columns separate the tables by themselves. They count like all others, and the verdict also says what remains
# without them.

for column in result.non_overlapping:
    print(column.separates)
print(result.verdict)

# %%
# The picture of the result: the ratio at the rows, the test, and the effect of each column.

result.plot()
