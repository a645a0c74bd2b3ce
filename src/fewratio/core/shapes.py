"""Shape annotations: jaxtyping's where it is installed (tests check them), plain tensors elsewhere.

Importing this instead of jaxtyping keeps the core running where only torch, numpy, scipy and scikit-learn are.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int
else:
    try:
        from jaxtyping import Bool, Float, Int
    except ImportError:

        class Float:
            """Stands for ``jaxtyping.Float``: ``Float[Tensor, "n d"]`` is then just ``Tensor``."""

            def __class_getitem__(cls, array_and_shape: tuple[type, str]) -> type:
                """Forget the shape."""
                return array_and_shape[0]

        Bool = Int = Float

__all__ = ["Bool", "Float", "Int"]
