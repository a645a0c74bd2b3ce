"""Pairs of known densities on the line, with their true ratio."""

from typing import NamedTuple

import numpy as np
from scipy.stats import norm


class Mixture(NamedTuple):
    """A mixture of Gaussians: shares, means, standard deviations."""

    shares: tuple[float, ...]
    means: tuple[float, ...]
    stds: tuple[float, ...]

    def density(self, x):
        return sum(p * norm.pdf(x, m, s) for p, m, s in zip(*self, strict=True))

    def draw(self, n, rng):
        which = rng.choice(len(self.shares), n, p=self.shares)
        return rng.normal(np.array(self.means)[which], np.array(self.stds)[which])[:, None]


class KnownPair(NamedTuple):
    nu: Mixture
    de: Mixture

    def draw(self, n_nu, n_de, seed):
        rng = np.random.default_rng(seed)
        return self.nu.draw(n_nu, rng), self.de.draw(n_de, rng)

    def ratio(self, X):
        return self.nu.density(X[:, 0]) / self.de.density(X[:, 0])


WIDE = Mixture((1.0,), (0.0,), (2.0,))
KNOWN_PAIRS = {
    "N(1, 1) / N(0, 2)": KnownPair(Mixture((1.0,), (1.0,), (1.0,)), WIDE),
    "0.2 N(-2, 1) + 0.8 N(2, 2) / N(0, 2)": KnownPair(Mixture((0.2, 0.8), (-2.0, 2.0), (1.0, 2.0)), WIDE),
}


def relative_l2_error(estimated, truth):
    return np.sqrt(np.mean((estimated - truth) ** 2) / np.mean(truth**2))
