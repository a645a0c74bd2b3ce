"""A table of columns of several kinds."""

import numpy as np
import pandas as pd


def mixed(n, seed, shift=0.0, lot=None):
    """Draw a table with an id, two numbers of different units, a category, a date, gaps, and maybe a constant lot."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "code": [f"r{seed}-{row}" for row in range(n)],
            "size": rng.normal(10 + shift, 1, n).round(3),
            "price": rng.normal(5000, 1000, n).round(1),
            "colour": rng.choice(["red", "blue", "green"], n),
            "day": np.datetime64("2024-01-01") + rng.integers(0, 90, n),
        }
    )
    frame["day"] = frame["day"].dt.strftime("%Y-%m-%d")
    frame.loc[1, "size"], frame.loc[2, "colour"] = None, None
    return frame if lot is None else frame.assign(lot=lot)
