"""Neural networks that estimate ratios; only this package imports torch."""

from fewratio.lazy import attach, torch_is_installed

__getattr__, __dir__, __all__ = attach(__name__, __file__)
if not torch_is_installed():
    # The settings do not need torch.
    __all__ = ["Architecture", "Inliers", "Pairs", "Training"]
