"""
Compare two tables
==================

Do the wines of two growers differ, and in which columns?

One table holds 20 wines of one grower and 10 of another, with 13 measurements each.
:func:`fewratio.compare_datasets` returns an exact p-value, a divergence with a lower limit, the columns that differ,
and a ratio for each row.
"""

import pandas as pd
from sklearn.datasets import load_wine

from fewratio import compare_datasets

wine = load_wine(as_frame=True)
table = wine.data.assign(grower=wine.target + 1)
first = table[table["grower"] == 1].sample(20, random_state=0)
second = table[table["grower"] == 2].sample(10, random_state=0)

result = compare_datasets(pd.concat([first, second]), by="grower", random_state=0)
print(result.verdict)

# %%
# Two columns separate the growers by themselves. They count like all others, and the verdict also says what remains
# without them.

for column in result.non_overlapping:
    print(column.separates)

# %%
# The picture shows the ratio of each row, the test, and the effect of each column.

result.plot()
