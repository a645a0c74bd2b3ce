"""A small learned estimator, for tests of everything but how well it learns."""

from copy import deepcopy

import numpy as np
import pandas as pd
import pytest

from fewratio import Collection
from fewratio.data.sources.gaussian import gaussian_family
from tests.strategies import meta_estimator

SMALL = dict(
    n_support=5,
    width=16,
    latent_dim=4,
    n_outputs=16,
    tasks_per_step=4,
    n_query=20,
    max_steps=20,
    learning_rate=0.02,
    validate_every=10,
    random_state=0,
)


@pytest.fixture(scope="session")
def make():
    """Make an estimator that learns in a fraction of a second."""
    return lambda **changes: meta_estimator(**(SMALL | changes))


@pytest.fixture(scope="session")
def sources():
    """Twenty datasets with one feature and without names."""
    return gaussian_family(20, n_instances=50, random_state=0).collection


@pytest.fixture(scope="session")
def tables():
    """Fifteen datasets with two named features of very different units, as one long table."""
    rng = np.random.default_rng(0)
    site = np.repeat(np.arange(15), 40)
    height = rng.normal(rng.uniform(1.5, 1.9, 15)[site], 0.1)
    income = rng.normal(rng.uniform(2e4, 5e4, 15)[site], 8e3)
    return pd.DataFrame({"site": site.astype(str), "height": height, "income": income})


@pytest.fixture(scope="session")
def named_sources(tables):
    return Collection.from_frame(tables, dataset="site", name="sites")


@pytest.fixture(scope="session")
def _pretrained(make, sources):
    return make().pretrain(sources)


@pytest.fixture(scope="session")
def _pretrained_on_names(make, named_sources):
    return make(scale="columns").pretrain(named_sources)


@pytest.fixture
def pretrained(_pretrained):
    """An estimator that has learned from `sources`, for the test alone."""
    return deepcopy(_pretrained)


@pytest.fixture
def pretrained_on_names(_pretrained_on_names):
    """An estimator that has learned, standardised, from `named_sources`, for the test alone."""
    return deepcopy(_pretrained_on_names)
