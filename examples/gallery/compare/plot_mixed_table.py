"""
A table with categories, dates and missing values
=================================================

Compare orders of two shops, with text, dates and empty cells.

You can pass such tables as they are. :func:`fewratio.compare_datasets` says how it used each column. It finds three
differences: the south shop has later dates, more orders that are collected, and more missing ages.
"""

import numpy as np
import pandas as pd

from fewratio import compare_datasets

rng = np.random.default_rng(0)


def orders(n, delivery, start, missing):
    return pd.DataFrame(
        {
            "order_id": rng.permutation(10_000)[:n],
            "placed": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(start, start + 150, n), unit="D"),
            "amount": rng.gamma(3, 20, n).round(2),
            "delivery": rng.choice(["post", "courier", "collected"], n, p=delivery),
            "age": np.where(rng.random(n) < missing, np.nan, rng.normal(42, 12, n).round()),
            "items": rng.poisson(2, n) + 1,
        }
    )


north = orders(60, delivery=[0.6, 0.3, 0.1], start=0, missing=0.05)
south = orders(40, delivery=[0.3, 0.2, 0.5], start=60, missing=0.35)

shops = pd.concat([north.assign(shop="north"), south.assign(shop="south")], ignore_index=True)
result = compare_datasets(shops, by="shop", random_state=0)
print(result.verdict)
print(result.encoding.summary)

# %%
# One effect per original column or category; "age is missing" is a column of its own.

pd.DataFrame(result.columns)[["column", "effect", "p_value"]].round(3)

# %%

result.plot()
