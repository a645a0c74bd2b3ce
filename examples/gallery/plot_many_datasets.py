"""
Many datasets at once
=====================

Sixty small datasets: each digit from 0 to 9 in six rotations, 100 images of 8 x 8 pixels each.
:func:`fewratio.compare_all` compares every ordered pair, and puts datasets that are alike next to each other.
"""

import matplotlib.pyplot as plt

from fewratio import compare_all, load_collection

collection = load_collection("digits_r")
print(collection)

result = compare_all(collection, random_state=0)
print(result)
print(result.nearest("0deg-6", k=3))

# %%
# The heat map of the divergences. Blocks along the diagonal are groups of similar datasets: mostly one digit in
# neighbouring rotations.

figure = plt.figure(result.plot())
