"""`predict` on tables that are not held in memory gives the same kind back."""

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from fewratio import InputError, RuLSIF


@pytest.fixture
def model():
    rng = np.random.default_rng(0)
    return RuLSIF().fit(*(pl.DataFrame(rng.normal(m, 1, (9, 2)), schema=["x", "y"]) for m in (0, 1)))


@pytest.fixture
def frame():
    return pl.DataFrame(np.random.default_rng(1).normal(size=(50, 2)), schema=["x", "y"])


def test_a_lazy_frame_of_polars(model, frame):
    found = model.predict(frame.lazy())
    assert isinstance(found, pl.LazyFrame)
    assert found.collect_schema() == {"ratio": pl.Float64}
    np.testing.assert_allclose(found.collect()["ratio"], model.predict(frame), rtol=1e-12)
    late = model.predict(frame.lazy().select("x"))  # nothing is read yet
    with pytest.raises((InputError, pl.exceptions.PolarsError), match=r"'y'|features|columns"):
        late.collect()


def test_a_dataset_of_pyarrow(model, frame, tmp_path):
    frame[:20].write_parquet(tmp_path / "a.parquet")
    frame[20:].write_parquet(tmp_path / "b.parquet")
    found = model.predict(ds.dataset(tmp_path))
    assert isinstance(found, pa.RecordBatchReader)
    again = model.predict(ds.dataset(tmp_path).scanner(columns=["y", "x"], batch_size=7).to_reader())
    for reader in (found, again):
        np.testing.assert_allclose(reader.read_all()["ratio"], model.predict(frame), rtol=1e-12)


@pytest.mark.slow
def test_a_frame_of_dask(model, frame):
    dd = pytest.importorskip("dask.dataframe")
    parts = dd.from_pandas(frame.to_pandas(), npartitions=3)
    found = model.predict(parts)
    assert isinstance(found, dd.Series)
    np.testing.assert_allclose(found.compute(scheduler="sync"), model.predict(frame), rtol=1e-12)
    # A part without rows has no ratios.
    few = model.predict(parts[parts.x > parts.x.max()])
    assert len(few.compute(scheduler="sync")) == 0
