"""Seeds that a model file keeps."""

import numpy as np

from fewratio.core.seeds import draw_seed


def test_a_seed_of_32_bits_is_an_integers_own_or_drawn():
    assert draw_seed(7) == draw_seed(2**32 + 7) == 7
    drawn = [draw_seed(np.random.default_rng(0)) for _ in range(2)]
    assert drawn[0] == drawn[1] != draw_seed(np.random.default_rng(1))
