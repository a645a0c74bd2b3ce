"""What becomes of dates, names of rows and columns of some sources only, in a model and in new tables."""

import numpy as np
import pandas as pd
import pytest

from fewratio import Collection, DiscriminantRatioEstimator, compare_datasets
from fewratio.errors import CollectionError, LeftOutWarning
from fewratio.estimators import SourceMap

NAMES = ["height", "kind"]


def make_table(seed, start=0, n=12):
    """Return measurements of one site, in its own weeks, with the number and the words of each row."""
    rng = np.random.default_rng(seed)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(start + np.arange(n), "D")
    return pd.DataFrame(
        {
            "height": rng.normal(rng.normal(), 1, n),
            "kind": rng.choice(["x", "y"], n),
            "day": days,
            "visit_id": np.arange(n) + 100 * seed,
            "remark": [f"seen {seed}/{row}" for row in range(n)],
        }
    )


@pytest.mark.parametrize("step", [0, 5, 20])
def test_what_only_names_or_dates_rows_is_left_out_of_sources(step):
    """Whether the periods of the sources are the same, overlap in part, or not at all."""
    tables = {str(i): make_table(i, step * i) for i in range(6)}
    with pytest.warns(LeftOutWarning) as caught:
        sources = Collection.from_arrays(tables)
    said = " ".join(str(each.message) for each in caught)
    for reason in ("'visit_id' (id)", "'remark' (id)", "'day' (date of a row)"):
        assert reason in said
    assert sources.encoding.names == ("height", "kind")
    plain = Collection.from_arrays({name: table[NAMES] for name, table in tables.items()})
    model, expected = (DiscriminantRatioEstimator(features="columns").pretrain(each) for each in (sources, plain))

    # New tables may have these columns or not: the answer is the same, and says so.
    new, other = make_table(50, 300), make_table(51, 400)
    with pytest.warns(LeftOutWarning, match=r"'day' \(date of a row\).*, as in the source collection\.$"):
        ratio = model.fit(new, other).predict(new)
    np.testing.assert_array_equal(ratio, model.fit(new[NAMES], other[NAMES]).predict(new))
    np.testing.assert_array_equal(ratio, expected.fit(new[NAMES], other[NAMES]).predict(new[NAMES]))
    with pytest.warns(LeftOutWarning, match="as in the source collection"):
        result = compare_datasets(new, other, estimator=model, n_permutations=0)
    assert "day: date of a row" in result.encoding.summary


def test_a_date_is_used_if_it_is_kept_or_all_there_is():
    tables = {str(i): make_table(i)[["height", "day"]] for i in range(3)}
    assert Collection.from_arrays(tables, keep="day").encoding.names == ("height", "day")
    alone = Collection.from_arrays({name: table[["day"]] for name, table in tables.items()})
    assert alone.encoding.names == ("day",)


def test_a_map_leaves_out_dates_as_a_collection_does():
    with pytest.warns(LeftOutWarning, match=r"'day' \(date of a row\)"):
        source_map = SourceMap.from_table(make_table(0)[["height", "kind", "day"]], n_components=0)
    assert source_map.features.columns.encoding.names == ("height", "kind")


def test_a_column_of_some_sources_is_refused_or_left_out_where_asked():
    tables = {str(i): make_table(i)[NAMES].assign(**({"width": 1.5} if i else {})) for i in range(3)}
    with pytest.raises(CollectionError, match=r"missing: 'width'|unexpected: 'width'"):
        Collection.from_arrays(tables)
    sources = Collection.from_arrays(tables, common=True)
    assert "width: not in all tables" in sources.encoding.summary
    model = DiscriminantRatioEstimator(features="columns").pretrain(sources)
    new, other = tables["1"], tables["2"]
    ratio = model.fit(new, other).predict(new)
    np.testing.assert_array_equal(ratio, model.fit(new[NAMES], other[NAMES]).predict(new[NAMES]))
