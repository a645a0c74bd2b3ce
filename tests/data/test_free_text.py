"""Free text and vectors: which columns are such, and which numbers they become."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from fewratio.data.columns import ColumnRules
from fewratio.data.encoding import Encoding, encode_together
from fewratio.data.free_text import Terms, find_terms, is_free_text, learn_text
from fewratio.errors import CollectionError, InputError

SENTENCES = [
    "the parcel came late and the box was wet",
    "a fine lamp for a small price",
    "they never answered my second letter",
    "the lamp broke on the first day",
    "good light, and it was here the next day",
    "the second lamp was better than the first",
]
VECTORS = np.arange(12.0).reshape(6, 2) ** 2


def learn(*tables, **options):
    named = {"ABC"[number]: table for number, table in enumerate(tables)}
    return encode_together(named, ColumnRules.of(options))


def test_free_text_has_four_words_on_average_and_seldom_repeats():
    assert is_free_text(dict.fromkeys(SENTENCES, 1))
    assert not is_free_text(dict.fromkeys(["Ann Lee Bo", "Bo", "Cy"], 1))
    assert not is_free_text(dict.fromkeys(SENTENCES, 9))
    assert not is_free_text({})


def test_free_text_becomes_its_number_of_words_and_directions():
    encoding, (table,) = learn({"review": [*SENTENCES, None], "x": range(7)})
    (column, number) = encoding.columns
    assert (column.kind, number.kind) == ("free text", "number")
    assert encoding.summary == "2 columns: 1 free text, 1 number"
    assert column.feature_names == (
        "review (words)",
        *(f"review (direction {n})" for n in range(1, 6)),
        "review is missing",
    )
    numbers = np.asarray(table.numbers)
    assert numbers[:6, 0].tolist() == [len(text.split()) for text in SENTENCES]
    # A missing text is an average one, and marked.
    assert numbers[6, :7].tolist() == [7.5, 0, 0, 0, 0, 0, 1]
    np.testing.assert_allclose(numbers[:6, 1:6].mean(0), 0, atol=1e-5)


def test_short_text_that_is_all_different_names_rows():
    encoding, _ = learn({"name": [f"Ann {n} Lee" for n in range(9)], "x": range(9)})
    assert encoding.columns[0].left_out == "id"
    encoding, _ = learn({"name": SENTENCES, "x": range(6)}, id="name")
    assert encoding.columns[0].left_out == "id"
    encoding, _ = learn({"name": SENTENCES, "x": range(6)}, categorical="name")
    assert encoding.columns[0].kind == "category"


def test_directions_depend_on_texts_only():
    assert learn_text(SENTENCES) == learn_text([*SENTENCES[::-1], SENTENCES[0]])
    assert learn_text(SENTENCES[:1]) == ()


def test_words_that_share_a_stem_are_alike():
    texts = ["they paint houses in the town", "she painted a house near town", "we bought fresh bread and milk"]
    _, (table,) = learn({"t": [*texts, *SENTENCES], "x": range(9)})
    first, second, other = np.asarray(table.numbers)[:3, 1:9]
    assert np.linalg.norm(first - second) < np.linalg.norm(first - other)


def test_encodings_of_text_and_vectors_are_kept_in_json():
    encoding, (table,) = learn({"t": SENTENCES, "v": VECTORS.tolist()})
    read = Encoding.from_dict(json.loads(json.dumps(encoding.to_dict())))
    assert read == encoding
    again = read.encode({"t": SENTENCES[:2], "v": VECTORS[:2].tolist()})
    np.testing.assert_allclose(again.numbers, table.numbers[:2])
    content = encoding.to_dict()
    content["columns"][0]["directions"][0].pop()
    with pytest.raises(ValueError, match="directions"):
        Encoding.from_dict(content)


def test_terms_are_words_and_phrases_within_a_sentence():
    texts = ["Cold tea. No sugar", "cold tea, no sugar", "hot tea"]
    rows, known = find_terms(np.array([0, 0, 1, 1, 0, 2, 2, 2, 2, 2, -1]), texts)
    assert known == ["cold", "cold tea", "hot", "hot tea", "no", "no sugar", "sugar"]
    assert rows[:, [known.index("no sugar")]].toarray().ravel().tolist() == [1] * 5 + [0] * 6
    assert isinstance(find_terms(np.array([0, -1]), ["one two"]), Terms)


@pytest.mark.parametrize(
    "make",
    [
        dict,
        pd.DataFrame,
        pl.DataFrame,
        pa.table,
        lambda table: {**table, "v": VECTORS},
        lambda table: pd.DataFrame({**table, "v": list(VECTORS)}),
        lambda table: pl.DataFrame(table).with_columns(pl.col("v").cast(pl.Array(pl.Float64, 2))),
        lambda table: pa.table({**table, "v": pa.array(table["v"], pa.list_(pa.float64(), 2))}),
    ],
)
def test_vectors_of_all_containers_become_the_same_directions(make):
    encoding, (table,) = learn(make({"v": VECTORS.tolist(), "t": SENTENCES}))
    assert [column.kind for column in encoding.columns] == ["vector", "free text"]
    numbers = np.asarray(table.numbers)[:, :2]
    # The same points, turned: the distances between them stay.
    expected = VECTORS - VECTORS.mean(0)
    np.testing.assert_allclose(numbers @ numbers.T, expected @ expected.T, atol=1e-2)
    assert numbers[:, 0].var() > numbers[:, 1].var()


def test_a_missing_vector_is_marked():
    encoding, (table,) = learn({"v": [*VECTORS.tolist(), None]})
    assert encoding.feature_names == ("v (direction 1)", "v (direction 2)", "v is missing")
    assert np.asarray(table.numbers)[-1].tolist() == [0, 0, 1]


def test_equal_vectors_have_no_direction():
    _, (table,) = learn({"v": [[0.1, 0.3]] * 5, "x": range(5)})
    assert not np.asarray(table.numbers)[:, 0].any()


def test_long_vectors_become_few_numbers():
    encoding, _ = learn({"v": np.random.default_rng(0).normal(size=(50, 100))})
    assert encoding.n_features == 32


def test_vectors_must_be_whole_and_equally_long():
    with pytest.raises(
        InputError, match=r"column 'v' of A has a vector with missing numbers at row 1 .*; expected all numbers or none"
    ):
        learn({"v": [[1.0, 2.0], [1.0, None]]})
    with pytest.raises(InputError, match="column 'v' of A has 1 infinite value, the first at row 1 "):
        learn({"v": [[1.0, 2.0], [1.0, np.inf]]})
    with pytest.raises(CollectionError, match="vectors of 2 numbers in A but vectors of 3 numbers in B; all must"):
        learn({"v": [[1.0, 2.0]]}, {"v": [[1.0, 2.0, 3.0]]})
    encoding, _ = learn({"v": VECTORS.tolist()})
    with pytest.raises(InputError, match=r"column 'v' of X has vectors of 3 numbers, but those before had 2; all must"):
        encoding.encode({"v": [[1.0, 2.0, 3.0]]})
