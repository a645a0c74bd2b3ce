"""Estimators with scikit-learn's interface: NumPy (or tables) in, NumPy out.

Each is imported on first use, since some need other packages.
"""

from fewratio.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
