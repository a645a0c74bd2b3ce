"""Monitor new rows day by day, and see whether they are still like a reference."""

from fewratio.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
