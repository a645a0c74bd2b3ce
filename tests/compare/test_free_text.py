"""Comparisons, and all other tasks, with columns of free text and of vectors."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

from fewratio import (
    AutoRatioEstimator,
    Collection,
    DriftMonitor,
    InlierOutlierDetector,
    InputError,
    ParameterError,
    compare_all,
    compare_datasets,
    detect_changes,
    importance_weights,
)
from fewratio.core.units import standardise
from fewratio.data.encoding import encode_together

WORDS = [
    "parcel",
    "lamp",
    "price",
    "letter",
    "light",
    "box",
    "day",
    "wet",
    "late",
    "new",
    "red",
    "shop",
    "never",
    "always",
    "came",
    "broke",
]


def table(n, share, seed, n_missing=1):
    """Reviews of which a share has a phrase, vectors that move with it, and numbers."""
    rng = np.random.default_rng(seed)
    texts = [" ".join(rng.choice(WORDS, rng.integers(5, 12))) for _ in range(n)]
    texts = [f"{text} full refund" if rng.random() < share else text for text in texts]
    vectors = rng.normal(2 * share, 1, (n, 3)).tolist()
    gaps = [None] * n_missing
    return {"review": texts[n_missing:] + gaps, "photo": vectors[n_missing:] + gaps, "x": rng.normal(size=n).tolist()}


A, B = table(60, 0.05, 0), table(50, 0.5, 1)


@pytest.fixture(scope="module")
def result():
    return compare_datasets(pd.DataFrame(A), pd.DataFrame(B), n_permutations=99)


def test_words_that_differ_are_named_once(result):
    found = {each.text: each for each in result.words}
    phrase = found["full refund"]
    assert result.words[0] == phrase
    assert not {"full", "refund"} & found.keys()
    shares = [sum("full refund" in str(text) for text in each["review"]) / len(each["x"]) for each in (A, B)]
    assert [phrase.first, phrase.second] == pytest.approx(shares)
    assert phrase.p_value == pytest.approx(0.01)
    assert phrase.write(("old", "new")) == "'full refund' is in 5 % of old and 62 % of new (review, p = 0.01)"


def test_text_and_vectors_are_columns_like_others(result):
    columns = {each.column: each for each in result.columns}
    review, photo = columns["review"], columns["photo"]
    assert (review.kind, photo.kind) == ("free text", "vector")
    assert (review.first, review.second) == ("full refund 5 %", "full refund 62 %")
    assert review.effect < -0.8
    assert photo.first.startswith("direction 1: ")
    assert photo.p_value == pytest.approx(0.01)
    assert review.missing_first == pytest.approx(1 / 60)
    assert columns["x"].p_value > 0.05
    assert all(condition.column != "photo" for region in result.regions for condition in region.conditions)


def test_json_and_report_have_the_words(result):
    assert json.loads(json.dumps(result.to_dict()))["words"][0]["text"] == "full refund"
    report = result.to_html()
    assert "Words that differ" in report
    assert "in which they vary most" in report


def test_text_without_a_difference_has_its_number_of_words():
    same = compare_datasets({"t": A["review"][:30]}, {"t": A["review"][30:]}, n_permutations=19)
    assert same.words == []
    assert same.columns[0].first.endswith(" words")
    assert compare_datasets({"t": A["review"][:30]}, {"t": A["review"][30:]}, n_permutations=0).words == []


@pytest.mark.parametrize("make", [dict, pl.DataFrame, pa.table])
def test_containers_give_one_answer(result, make):
    other = compare_datasets(make(A), make(B), n_permutations=99)
    assert other.to_dict()["columns"] == result.to_dict()["columns"]
    assert (other.statistic, other.divergence, other.words) == (result.statistic, result.divergence, result.words)


@pytest.mark.slow
def test_files_give_one_answer(result, tmp_path):
    for name, each in (("a.parquet", A), ("b.parquet", B)):
        pa.parquet.write_table(pa.table(each), tmp_path / name)
    read = compare_datasets(tmp_path / "a.parquet", tmp_path / "b.parquet", n_permutations=99)
    assert (read.statistic, read.words) == (result.statistic, result.words)
    frames = [pd.DataFrame(each).drop(columns="photo") for each in (A, B)]
    for name, frame in zip(("a.csv", "b.csv"), frames, strict=True):
        frame.to_csv(tmp_path / name, index=False)
    held = compare_datasets(*frames, n_permutations=19)
    assert compare_datasets(tmp_path / "a.csv", tmp_path / "b.csv", n_permutations=19).statistic == held.statistic


def test_the_order_of_rows_and_samples_changes_nothing(result):
    mixed = [pd.DataFrame(each).sample(frac=1, random_state=0) for each in (A, B)]
    other = compare_datasets(*mixed, n_permutations=99)
    swapped = compare_datasets(*mixed[::-1], n_permutations=99)
    assert other.statistic == pytest.approx(result.statistic)
    assert swapped.statistic == pytest.approx(result.statistic)
    assert [each.text for each in swapped.words] == [each.text for each in result.words]
    assert swapped.words[0].second == result.words[0].first


def test_all_directions_count_as_one_column():
    rng = np.random.default_rng(0)
    scaled = standardise(rng.normal(size=(50, 4)) * [1, 5, 2, 3], [slice(0, 3), slice(3, 4)])
    assert scaled[:, :3].var(0).sum() == pytest.approx(1)
    assert scaled[:, 3].var() == pytest.approx(1)


def test_an_encoding_of_one_table_does_not_favour_it():
    texts = [" ".join(np.random.default_rng(seed).choice(WORDS, 6)) for seed in range(40)]
    first, second = {"t": texts[:20]}, {"t": texts[20:]}
    encoding, _ = encode_together({"A": first})
    known = compare_datasets(first, second, encoding=encoding, n_permutations=19)
    together = compare_datasets(first, second, n_permutations=19)
    assert known.encoding.columns[0].directions == together.encoding.columns[0].directions


def test_outliers_of_text_and_vectors_have_reasons():
    normals, batch = pd.DataFrame(table(40, 0, 2, 0)), pd.DataFrame(table(10, 0, 3, 0))
    batch.loc[4, "review"] = "wet " * 60
    batch.at[7, "photo"] = [50.0, -50.0, 50.0]
    found = InlierOutlierDetector().fit(normals).detect(batch)
    assert found.is_outlier[[4, 7]].all()
    assert any(each.text.startswith("review 60 words is far above all normal rows") for each in found.errors)
    assert "free text" in found.to_html()


def test_weights_use_text_and_vectors():
    found = importance_weights(pd.DataFrame(A), pd.DataFrame(B))
    has_phrase = pd.Series(A["review"]).str.endswith("full refund", na=False)
    assert found.weights[has_phrase].mean() > found.weights[~has_phrase].mean()


@pytest.mark.slow
def test_changes_of_text_are_found():
    series = pd.concat([pd.DataFrame(table(60, 0, 2, 0)), pd.DataFrame(table(60, 1, 3, 0))], ignore_index=True)
    assert [each["row"] for each in detect_changes(series.drop(columns="photo")).changes] == [60]


@pytest.mark.slow
def test_models_and_all_pairs_use_text_and_vectors():
    collection = Collection.from_arrays({"old": pd.DataFrame(A), "new": pd.DataFrame(B), "next": table(40, 0.5, 4)})
    assert collection.encoding.summary == "3 columns: 1 free text, 1 vector, 1 number"
    found = compare_all(collection)
    assert found.divergences[0, 1] > found.divergences[1, 2]
    model = AutoRatioEstimator(random_state=0).pretrain(collection)
    ratio = model.fit(pd.DataFrame(A), pd.DataFrame(B)).predict(pd.DataFrame(A))
    assert ratio.mean() > 1


def test_monitors_watch_text_and_vectors():
    monitor = DriftMonitor(pd.DataFrame(table(200, 0, 2)), random_state=0)
    assert not monitor.update(pd.DataFrame(table(100, 0, 3))).alarm
    changed = monitor.update(pd.DataFrame(table(100, 1, 4)))
    assert changed.alarm
    assert {each.column: each.change.rsplit(" ", 1)[0] for each in changed.columns}["photo"].startswith("direction ")


class Picture:
    """What no table knows."""

    def __init__(self, brightness):
        self.brightness = brightness


@pytest.mark.slow
def test_an_encoder_makes_vectors_of_anything():
    sizes = []

    def encode(pictures):
        sizes.append(len(pictures))
        return [[each.brightness, 1.0] for each in pictures]

    rng = np.random.default_rng(0)
    frames = [
        pd.DataFrame({"picture": [*map(Picture, rng.normal(shift, 1, 70)), None], "x": rng.normal(size=71)})
        for shift in (0, 2)
    ]
    found = compare_datasets(*frames, encoder={"picture": encode}, n_permutations=19)
    assert sizes == [64, 6, 64, 6]
    assert found.encoding.summary == "2 columns: 1 vector, 1 number"
    assert found.columns[0].column == "picture"
    assert found.columns[0].missing_first == pytest.approx(1 / 71)
    pooled = pd.concat(frames).assign(side=["a"] * 71 + ["b"] * 71)
    by = compare_datasets(pooled, by="side", encoder={"picture": encode}, n_permutations=19)
    assert by.statistic == found.statistic
    groups = compare_datasets(
        pooled.assign(side=["a", "b", "c"] * 47 + ["a"]), by="side", encoder={"picture": encode}, n_permutations=19
    )
    assert groups.settings["encoder"] == {"picture": encode}
    as_dict = [{"picture": list(frame["picture"]), "x": list(frame["x"])} for frame in frames]
    assert compare_datasets(*as_dict, encoder={"picture": encode}, n_permutations=19).statistic == found.statistic


def test_an_encoder_must_make_a_vector_of_each_value():
    with pytest.raises(InputError, match=r"the encoder of 'x' made an array of shape \(1,\) of 60 values; expected"):
        compare_datasets(A, B, encoder={"x": lambda values: [1.0]})
    with pytest.raises(InputError, match="the encoder of 'x' made vectors of different lengths; expected as many"):
        compare_datasets(A, B, encoder={"x": lambda values: [[1.0], *[[1.0, 2.0]] * (len(values) - 1)]})
    with pytest.raises(ParameterError, match="encoder is not a dict of functions; expected"):
        compare_datasets(A, B, encoder=["x"])
