"""Shape annotations: jaxtyping's where it is imported already (tests check them), plain arrays elsewhere.

Importing this instead of jaxtyping keeps the core running where only NumPy, SciPy and scikit-learn are. ``Array`` is a
NumPy array or a torch tensor: naming the tensor would import torch. ``Floats`` and ``Numbers`` (of rows) are NumPy's.
"""

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

Array = Any
Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]

if TYPE_CHECKING or "jaxtyping" in sys.modules:
    from jaxtyping import Bool, Float, Int
else:

    class Float:
        """Stands for ``jaxtyping.Float``: ``Float[Array, "n d"]`` is then just ``Array``."""

        def __class_getitem__(cls, array_and_shape: tuple[type, str]) -> type:
            """Forget the shape."""
            return array_and_shape[0]

    Bool = Int = Float

__all__ = ["Array", "Bool", "Float", "Floats", "Int", "Numbers"]
