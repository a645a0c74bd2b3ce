"""
Changes in a series with dates
==============================

Find two changes in two years of data, ignoring the seasons.

A machine reports its temperature, vibration and power use every day. The temperature follows the seasons. The
vibration rises in August of the first year, and the power use drops in June of the second.
:func:`fewratio.detect_changes` reports the two changes and not the seasons.
"""

import numpy as np
import pandas as pd

from fewratio import detect_changes

rng = np.random.default_rng(0)
day = np.arange(730)
season = 6 * np.sin(2 * np.pi * day / 365.25)
machine = pd.DataFrame(
    {
        "day": pd.date_range("2023-01-01", periods=730),
        "temperature": 21 + season + rng.normal(0, 1.5, 730),
        "vibration": rng.gamma(9, 0.12, 730) + 0.6 * (day >= 240),
        "power": 48 + 0.3 * season + rng.normal(0, 2, 730) - 5 * (day >= 520),
    }
)

result = detect_changes(machine)
pd.DataFrame(result.changes)[["name", "column", "level_before", "level_after"]].round(2)

# %%
# The date column is detected and used as the time axis.

result.plot()
