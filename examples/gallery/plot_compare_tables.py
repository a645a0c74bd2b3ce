"""
Compare two tables
==================

Do two tables come from one distribution, and if not, in which columns and rows do they differ?

Here are 20 wines of one grower and 10 of another, with 13 measurements each. :func:`fewratio.compare_datasets`
gives a divergence with a lower limit, an exact p-value, the columns that differ and the ratio at each row.
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
# Some columns separate the tables by themselves. They count like all others, and the result without them is one
# attribute away.

for column in result.non_overlapping:
    print(column.separates)
print(result.rest)

# %%
# The picture of the result: the ratio at the rows, the test, and the effect of each column.

result.plot()
