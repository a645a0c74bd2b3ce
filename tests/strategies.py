"""Inputs that the tests of the tensor code share: hypothesis strategies, padding, small models, countable datasets."""

from typing import NamedTuple

import numpy as np
import torch
from hypothesis import settings
from hypothesis import strategies as st

from fewratio import MetaRatioEstimator
from fewratio.data.collection import Collection
from fewratio.data.sources.gaussian import gaussian_family
from fewratio.estimators.networks import Architecture, Inliers, Pairs, Training
from fewratio.estimators.networks.nn import (
    GaussianFeatures,
    MLPFeatures,
    NoEncoder,
    RatioModel,
    RelationalEncoder,
    RelationalFeatures,
    RidgeHead,
    SetEncoder,
    SharedHead,
    Space,
)
from fewratio.estimators.networks.pair import Pair
from fewratio.estimators.networks.training.episodes import EpisodeSampler, EvaluationEpisodes, SupportSize
from fewratio.estimators.networks.training.pools import RowTable, pair_pools

# No deadline: a busy machine is no failure.
quick = settings(max_examples=30, deadline=None)
few = settings(max_examples=10, deadline=None)  # where a test is run for several models

seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(1, 7)
alphas = st.just(0.0) | st.floats(0.01, 0.95)
regs = st.floats(-6, 1).map(lambda exponent: 10.0**exponent)


def normal(seed, *shape, dtype=torch.float64):
    """Standard normal numbers; what hypothesis shrinks is the shape, not each number."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


# ---------------------------------------------------------------- ridge problems


class Problem(NamedTuple):
    """A support's features with all that Eq. 4 needs, and Eq. 4-5 as a textbook would write them."""

    nu: torch.Tensor
    de: torch.Tensor
    alpha: float
    reg: float

    @property
    def phi(self):
        return torch.cat([self.nu, self.de])

    @property
    def shares(self):
        return Pair(self.nu, self.de).shares

    @property
    def K(self):
        second_moments = (phi.T @ phi / len(phi) for phi in (self.nu, self.de))
        return sum(share * moment for share, moment in zip((self.alpha, 1 - self.alpha), second_moments, strict=True))

    @property
    def k(self):
        return self.nu.mean(0)

    @property
    def condition(self):
        """An upper bound of the condition number of K + reg I."""
        return 1 + float(self.K.trace()) / self.reg

    def eq4(self, w):
        r_nu, r_de = self.nu @ w, self.de @ w
        squares = self.alpha * r_nu.square().mean() + (1 - self.alpha) * r_de.square().mean()
        return 0.5 * squares - r_nu.mean() + 0.5 * self.reg * w.square().sum()


@st.composite
def problems(draw, regs=regs):
    n_nu, n_de, t = (draw(sizes) for _ in range(3))
    phi = normal(draw(seeds), n_nu + n_de, t)
    return Problem(phi[:n_nu], phi[n_nu:], draw(alphas), draw(regs))


# ---------------------------------------------------------------- pairs


@st.composite
def pairs(draw, n_features=2, dtype=torch.float64):
    """One task; the two sizes are drawn apart, so they differ in general and either may be 1."""
    n_nu, n_de = draw(sizes), draw(sizes)
    rows = normal(draw(seeds), n_nu + n_de, n_features, dtype=dtype)
    return Pair(rows[:n_nu], rows[n_nu:])


def with_padding(pair, seed, most=3):
    """The same pair with up to ``most`` rows scattered over each side that look real, and the masks that hide them."""
    rng = np.random.default_rng(seed)
    samples, masks = [], []
    for sample in (pair.nu, pair.de):
        n = len(sample) + int(rng.integers(1, most + 1))
        mask = torch.zeros(n, dtype=torch.bool)
        mask[torch.from_numpy(rng.permutation(n)[: len(sample)]).sort().values] = True
        padded = 2 * torch.from_numpy(rng.normal(size=(n, sample.shape[1]))).to(sample.dtype)
        padded[mask] = sample
        samples.append(padded)
        masks.append(mask)
    return Pair(*samples, *masks)


def shuffled(pair, seed):
    """The same pair, the rows of each side in another order."""
    rng = np.random.default_rng(seed)
    return Pair(*(sample[torch.from_numpy(rng.permutation(len(sample)))] for sample in (pair.nu, pair.de)))


# ---------------------------------------------------------------- models

WIDTH, LATENT, N_OUTPUTS = 8, 3, 6


def _with_mlp(n_features, seed, pooling=None, head=None, **options):
    generator = torch.Generator().manual_seed(seed)
    encoder = NoEncoder() if pooling is None else SetEncoder(n_features, LATENT, WIDTH, 2, 2, pooling, 2, generator)
    features = MLPFeatures(n_features, encoder.n_outputs, WIDTH, 3, N_OUTPUTS, generator)
    return RatioModel(encoder, features, head or RidgeHead(), **options)


def _relational(n_features, seed, n_learned=0, absolute=False, **options):
    generator = torch.Generator().manual_seed(seed)
    space = Space(n_features, True, n_learned, WIDTH, generator) if n_learned else None
    blocks = space.blocks if space else None
    encoder = RelationalEncoder(blocks, LATENT, WIDTH, absolute, generator)
    n_told = LATENT + bool(options.get("tell_alpha"))
    features = RelationalFeatures(blocks, n_told, WIDTH, N_OUTPUTS, 4, generator)
    head = RidgeHead(reg=0.1, n_latent=n_told)
    with torch.no_grad():
        # As if trained: at the start lambda is the same for all.
        head.by_latent.uniform_(-1, 1, generator=generator)
    return RatioModel(encoder, features, head, scaler=space, **options)


MODELS = {
    "mean": lambda d, seed: _with_mlp(d, seed, "mean", clip="weights"),
    "sum": lambda d, seed: _with_mlp(d, seed, "sum"),
    "attention": lambda d, seed: _with_mlp(d, seed, "attention"),
    "no encoder": lambda d, seed: _with_mlp(d, seed),
    "learned alpha": lambda d, seed: _with_mlp(d, seed, "mean", RidgeHead(0.3, reg=0.1, learn_alpha=True)),
    "shared head": lambda d, seed: _with_mlp(d, seed, "mean", SharedHead(N_OUTPUTS)),
    "gaussian": lambda d, seed: RatioModel(NoEncoder(), GaussianFeatures(), RidgeHead(0.5, reg=0.1)),
    "relational": lambda d, seed: _relational(d, seed),
    "range": lambda d, seed: _relational(d, seed, clip="range", alpha=0.5),
    # With a seed at which none of these tiny networks is dead from the start.
    "both spaces": lambda d, seed: _relational(d, seed + 50, n_learned=3, absolute=True),
    "told alpha": lambda d, seed: _relational(d, seed, clip="range", alpha=0.3, tell_alpha=True),
}
"""One of each choice of parts, by name; called with the number of columns and a seed."""


def make_model(name="mean", n_features=2, seed=0, dtype=torch.float64):
    return MODELS[name](n_features, seed).to(dtype)


# ---------------------------------------------------------------- datasets whose rows can be recognised


def countable_collection(sizes, outliers=None, name="toy"):
    """Datasets whose row r of dataset d is (d, r), named a, b, c, ..."""
    arrays = [np.column_stack([np.full(n, float(d)), np.arange(float(n))]) for d, n in enumerate(sizes)]
    names = [chr(ord("a") + d) for d in range(len(sizes))]
    return Collection.from_arrays(arrays, names, outliers=outliers, name=name)


# ---------------------------------------------------------------- small trainings


class Parts(NamedTuple):
    """What `fewratio.estimators.networks.optim.train` needs besides an objective and a plan."""

    models: list[RatioModel]
    draw: EpisodeSampler
    validation: EvaluationEpisodes


def training_parts(
    members=(0,), name="mean", dtype=torch.float64, data=None, tasks_per_batch=512, tasks_per_step=2, part=slice(None)
):
    """Small models with data of their own: all that is member m's is seeded with m (its data with ``data[m]``)."""
    families = [gaussian_family(5, 24, random_state=seed).collection for seed in data or members]
    table = RowTable(families, dtype=dtype)
    pools = [pair_pools(family, table) for family in families]
    size = SupportSize(1, 4)
    sizes = [(size, size)] * len(pools)
    draw = EpisodeSampler(table.rows, pools, members, sizes, 12, tasks_per_step, part=part)
    validation = EvaluationEpisodes(table.rows, pools, members, sizes, n_draws=2, tasks_per_batch=tasks_per_batch)
    return Parts([make_model(name, 1, member, dtype) for member in members], draw, validation)


def weights_of(models):
    """A copy of all weights, one dictionary a model."""
    return [{name: value.detach().clone() for name, value in model.state_dict().items()} for model in models]


def meta_estimator(**named):
    """Make a `MetaRatioEstimator` from settings by name, whichever group they are in."""
    kinds = {"pairs": Pairs, "inliers": Inliers}
    chosen = {"episodes": kinds.get(named.pop("episodes", "pairs")), "network": Architecture, "training": Training}
    for name, kind in chosen.items():
        named[name] = kind(**{key: named.pop(key) for key in kind._get_param_names() if key in named})
    return MetaRatioEstimator(**named)
