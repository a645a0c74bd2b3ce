"""A learned model keeps the encoding of its sources and applies it to what it is given, also after save and load."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from fewratio import Collection, MetaRatioEstimator
from fewratio.core.container import read_tensors, write_tensors
from fewratio.errors import CollectionError, ModelFileError

COLOURS = np.array(["blue", "green", "red"])


@pytest.fixture(scope="session")
def mixed():
    """Twelve datasets with a number, sometimes missing, and a colour, as one long table."""
    rng = np.random.default_rng(0)
    site = np.repeat(np.arange(12), 30)
    height = rng.normal(rng.normal(size=12)[site], 0.5)
    height[rng.random(len(site)) < 0.1] = np.nan
    shares = rng.dirichlet(np.ones(3), size=12)
    colour = COLOURS[[rng.choice(3, p=shares[s]) for s in site]]
    return pd.DataFrame({"site": site.astype(str), "height": height, "colour": colour})


def collect(frame, **options):
    return Collection.from_frame(frame, "site", **options)


@pytest.fixture(scope="session")
def learned(make, mixed):
    return make().pretrain(collect(mixed))


NU = {"height": [0.1, None, 0.3], "colour": ["red", "red", "blue"]}
DE = {"height": [1.0, 2.0], "colour": ["green", "blue"]}


def test_frames_are_encoded(learned, mixed):
    encoding = learned.encoding_
    assert encoding == collect(mixed).encoding
    names = ["height", "height is missing", "colour=blue", "colour=green", "colour=red"]
    assert learned.feature_names_in_.tolist() == names
    median = encoding.columns[0].median
    nu = [[0.1, 0, 0, 0, 1], [median, 1, 0, 0, 1], [0.3, 0, 1, 0, 0]]
    by_hand = learned.fit(nu, [[1, 0, 0, 1, 0], [2, 0, 1, 0, 0]]).predict(nu)
    divergence = learned.divergence()
    for library in (pd.DataFrame, pl.DataFrame):
        np.testing.assert_array_equal(learned.fit(library(NU), library(DE)).predict(library(NU)), by_hand)
        assert learned.divergence() == divergence


def test_a_large_frame_is_encoded_in_blocks(learned):
    learned.fit(pd.DataFrame(NU), pd.DataFrame(DE))
    many = pd.DataFrame({name: values * 3000 for name, values in NU.items()})  # more rows than a block has
    expected = np.tile(learned.predict(pd.DataFrame(NU)), 3000)
    np.testing.assert_allclose(learned.predict(many), expected, rtol=1e-5)


def test_unseen_categories_are_zeros(learned):
    frame = pd.DataFrame({"height": [0.1, 0.2], "colour": ["teal", "red"]})
    fitted = learned.fit(pd.DataFrame(NU), pd.DataFrame(DE))
    with pytest.warns(UserWarning, match=r"column 'colour' of X .* not in the source collection \('teal'\)"):
        found = fitted.predict(frame)
    np.testing.assert_array_equal(found, fitted.predict([[0.1, 0, 0, 0, 0], [0.2, 0, 0, 0, 1]]))
    # A category that no row has.
    unused = pd.Categorical(["red", "blue"], categories=["red", "blue", "teal"])
    fitted.predict(frame.assign(colour=unused))


def test_the_model_file_keeps_the_encoding(learned, tmp_path):
    learned.save(tmp_path / "model")
    loaded = MetaRatioEstimator.load(tmp_path / "model", device="cpu")
    assert loaded.encoding_ == learned.encoding_
    frames = pd.DataFrame(NU), pd.DataFrame(DE)
    expected = learned.fit(*frames).predict(frames[0])
    np.testing.assert_array_equal(loaded.fit(*frames).predict(frames[0]), expected)


@pytest.mark.parametrize(
    "edit",
    [
        lambda header: header["encoding"]["columns"].pop(),
        lambda header: header["encoding"]["columns"][1].update(name="height"),
        lambda header: header["encoding"]["columns"][1].update(name="color"),
        lambda header: header["encoding"]["columns"][1].update(kind="guess"),
        lambda header: header["encoding"]["columns"][1].update(categories=["blue", "red"]),
        lambda header: header["encoding"]["columns"][0].update(median="0"),
        lambda header: header["encoding"].pop("is_named"),
        lambda header: header["encoding"].pop("columns"),
        lambda header: header.update(encoding=[1]),
        lambda header: header.update(encoding="onehot"),
        lambda header: header.pop("encoding"),
    ],
)
def test_a_model_file_with_a_bad_encoding_is_refused(learned, tmp_path, edit):
    path = tmp_path / "model"
    learned.save(path)
    tensors, header = read_tensors(path, "model")
    edit(header)
    write_tensors(path, "model", tensors, header)
    with pytest.raises(ModelFileError, match="does not fit together"):
        MetaRatioEstimator.load(path)


def test_another_training_replaces_the_encoding(make, mixed, sources):
    estimator = make().pretrain(collect(mixed))
    assert estimator.pretrain(sources).encoding_ is None
    estimator.fit([[0.0]], [[1.0]])


def test_validation_datasets_are_encoded_like_the_sources(make, mixed):
    sources, others = collect(mixed[mixed.site < "5"]), mixed[mixed.site >= "5"]
    with pytest.raises(CollectionError, match=r"encoding=sources\.encoding"):
        make().pretrain(sources, collect(others))
    make().pretrain(sources, collect(others, encoding=sources.encoding))
