"""Pairs of known densities with their true ratio, to judge estimators by."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm


@dataclass(frozen=True)
class Mixture:
    """A mixture of Gaussians on a line."""

    weights: tuple[float, ...]
    means: tuple[float, ...]
    deviations: tuple[float, ...]

    def density(self, X):
        """The density at rows of one column."""
        return norm.pdf(X, self.means, self.deviations) @ np.array(self.weights)

    def sample(self, n, rng):
        component = rng.choice(len(self.weights), n, p=self.weights)
        return rng.normal(np.array(self.means)[component], np.array(self.deviations)[component])[:, None]


@dataclass(frozen=True)
class KnownPair:
    """A numerator and a denominator."""

    nu: Mixture
    de: Mixture

    def ratio(self, X, alpha=0.0):
        """The true relative ratio at rows of one column."""
        p_nu, p_de = self.nu.density(X), self.de.density(X)
        return p_nu / (alpha * p_nu + (1 - alpha) * p_de)

    def samples(self, n_nu, n_de, seed):
        rng = np.random.default_rng(seed)
        return self.nu.sample(n_nu, rng), self.de.sample(n_de, rng)


KNOWN_PAIRS = {
    "one Gaussian": KnownPair(Mixture((1.0,), (1.0,), (1.0,)), Mixture((1.0,), (0.0,), (2.0,))),
    "two Gaussians": KnownPair(Mixture((0.2, 0.8), (-2.0, 2.0), (1.0, 2.0)), Mixture((1.0,), (0.0,), (2.0,))),
}


def relative_error(found, truth):
    """Root mean squared error as a share of the truth's root mean square."""
    return np.sqrt(np.mean((found - truth) ** 2) / np.mean(truth**2))
