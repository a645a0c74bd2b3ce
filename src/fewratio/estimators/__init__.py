"""Estimators with scikit-learn's manners: NumPy (or tables) in, NumPy out.

Each is imported when it is first asked for: what one of them needs, another may do without.
"""

from fewratio.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
