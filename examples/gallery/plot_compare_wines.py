"""
Compare two tables
==================

Twenty wines of one grower, ten of another: do they differ, and in what?
"""

from sklearn.datasets import load_wine

from fewratio import compare_datasets

wine = load_wine(as_frame=True)
first = wine.data[wine.target == 0][:20]
second = wine.data[wine.target == 1][:10]

result = compare_datasets(first, second, random_state=0)
print(f"p-value {result.p_value:.3f}")

# %%
# The picture shows the ratio at each row, the permutation test, and the columns that differ.
figure = result.plot()
