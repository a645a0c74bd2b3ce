"""Charts of plain arrays as Vega-Lite specifications: for reports, and as pictures."""

from fewratio.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
