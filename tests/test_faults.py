"""Bad calls and damaged files: the quick part of benchmarks/faults.py, and what was once wrong."""

import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch

import fewratio
from fewratio import progress
from fewratio.changes.detector import ChangeDetector
from fewratio.data.readers.files import find_file, open_rows, read_raw
from fewratio.errors import DataFileError, FewRatioError, InputError, ModelFileError, ParameterError

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

from hostile import damage, python_calls

A = np.random.default_rng(0).normal(size=(8, 2))
B = np.random.default_rng(1).normal(size=(6, 2))


@pytest.mark.parametrize("seed", [-1, 0.5, "x", True, [1], np.array([1.0, 2.0])])
@pytest.mark.parametrize(
    "call",
    [
        lambda seed: fewratio.compare_datasets(A, B, n_permutations=3, random_state=seed),
        lambda seed: fewratio.compare_all([A, B], random_state=seed),
        lambda seed: fewratio.DatasetIndex.build([A, B], random_state=seed),
        lambda seed: fewratio.importance_weights(A, B, random_state=seed),
        lambda seed: fewratio.detect_changes(A, random_state=seed),
        lambda seed: fewratio.RuLSIF(random_state=seed).fit(A, B),
    ],
)
def test_seeds_that_are_none(call, seed):
    with pytest.raises(ParameterError, match="random_state"):
        call(seed)


@pytest.mark.parametrize("estimator", [fewratio.RuLSIF, fewratio.ULSIF, fewratio.KLIEP])
@pytest.mark.parametrize("sigma", [True, [1e-300], 1e-300, [True], [[1.0]], 10**400])
def test_widths_that_are_none(estimator, sigma):
    with pytest.raises(ParameterError, match="sigma"):
        estimator(sigma=sigma).fit(A, B)


def test_a_fraction_is_a_number():
    expected = fewratio.RuLSIF(0.5).fit(A, B).predict(A)
    np.testing.assert_array_equal(fewratio.RuLSIF(Fraction(1, 2)).fit(A, B).predict(A), expected)
    assert fewratio.relative_pearson_divergence([1.0], [1.0], Fraction(1, 2)) == 0


@pytest.mark.parametrize("threshold", [-1, float("nan"), True, "x"])
def test_a_threshold_that_everything_exceeds(threshold):
    series = np.concatenate([A, B])
    with pytest.raises(ParameterError, match="threshold"):
        fewratio.detect_changes(series, window=3, threshold=threshold)
    with pytest.raises(ParameterError, match="threshold"):
        ChangeDetector(3, threshold)


@pytest.mark.parametrize(
    "tensor",
    [
        torch.empty(6, 2, device="meta"),
        torch.tensor(1.0),
        torch.tensor(A).to_sparse(),
        torch.tensor(A).to(torch.complex64),
        torch.tensor(A) * 1e200,
    ],
    ids=["meta", "0-d", "sparse", "complex", "large"],
)
def test_tensors_that_cannot_be_read(tensor):
    with pytest.raises(InputError):
        fewratio.RuLSIF().fit(tensor, B)


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16, torch.float64])
def test_tensors_of_any_precision(kind):
    tensor = torch.tensor(A).to(kind).requires_grad_()
    found = fewratio.RuLSIF().fit(tensor, B).predict(tensor)
    np.testing.assert_array_equal(found, fewratio.RuLSIF().fit(tensor.detach().double().numpy(), B).predict(tensor))


SOURCES = [A + shift for shift in range(4)]


def learned(*more, **parameters):
    estimator = fewratio.DiscriminantRatioEstimator(**{"features": "columns"} | parameters)
    return estimator.pretrain(fewratio.Collection.from_arrays([*more, *SOURCES]))


@pytest.mark.parametrize(
    "call",
    [
        lambda X: learned(*SOURCES, scale="columns").fit(A, B).interval(X),
        lambda X: learned(scale="columns").fit(A, B).predict(X),
        lambda X: learned(scale="columns").add_source(X),
        lambda X: learned(X, scale="none"),
        lambda X: learned(X[:1], scale="none"),
        lambda X: fewratio.estimators.gaussian_relative_ratio(X, 0, 1, 0.5, 2),
    ],
    ids=["interval", "predict", "add_source", "pretrain", "one row", "gaussian_relative_ratio"],
)
def test_values_whose_squares_overflow(call):
    with pytest.raises(InputError, match="not finite"):
        call(A * 1e200)


@pytest.mark.parametrize("value", [np.array([1.0, 2.0]), np.array([]), torch.tensor([1.0, 2.0]), "yes"])
def test_switches_and_names_that_are_arrays(value):
    frame = pl.DataFrame({"d": list("ab"), "x": [1.0, 2.0]})
    for argument, call in {
        "normalise": lambda: fewratio.importance_weights(A, B, normalise=value),
        "biased": lambda: fewratio.estimators.mmd2(A, B, biased=value),
        "backend": lambda: fewratio.compare_all([A, B], backend=value),
        "no column": lambda: fewratio.Collection.from_frame(frame, "d", group=value),
    }.items():
        with pytest.raises(FewRatioError, match=argument):
            call()


@pytest.mark.parametrize("name", ["learning_rate", "weight_decay", "averaging"])
def test_training_takes_fractions(name):
    sources = fewratio.Collection.from_arrays(SOURCES)
    found = []
    for value in (Fraction(1, 2), 0.5):
        training = fewratio.estimators.networks.Training(
            max_steps=2, tasks_per_step=2, validate_every=1, **{name: value}
        )
        estimator = fewratio.MetaRatioEstimator(training=training, random_state=0).pretrain(sources, sources)
        found.append(estimator.fit(A, B).predict(A))
    np.testing.assert_array_equal(*found)


def test_small_integers_of_numpy():
    with pytest.raises(ParameterError, match="max_rows is"):
        fewratio.estimators.mmd2(A, B, max_rows=np.uint8(1))
    found = learned(features="cosines", n_components=np.uint8(8)).fit(A, B).predict(A)
    expected = learned(features="cosines", n_components=8).fit(A, B).predict(A)
    np.testing.assert_array_equal(found, expected)


def test_nothing_to_add_to_an_index():
    assert len(fewratio.DatasetIndex.build([A, B]).add({})) == 2


def test_samples_of_different_sizes():
    with pytest.raises(InputError, match="nu cannot be read"):
        fewratio.RuLSIF().divergences(A, [[0, 1], [2]], [[3], [4]])


@pytest.mark.parametrize("path", [None, 3, b"x", ["x"], "a\0b", "\ud800"])
def test_paths_that_are_none(path):
    model = fewratio.DiscriminantRatioEstimator(features="columns").pretrain(
        fewratio.Collection.from_arrays([A + shift for shift in range(4)])
    )
    for call in (
        fewratio.load_model,
        fewratio.DatasetIndex.load,
        fewratio.estimators.Summary.load,
        fewratio.estimators.SourceMap.load,
        fewratio.Collection.from_folder,
        lambda path: fewratio.Collection.from_table(path, "d"),
        model.save,
        fewratio.estimators.SourceMap.from_table(A, n_components=8).save,
        fewratio.DatasetIndex.build([A, B]).save,
    ):
        with pytest.raises(ParameterError, match="path is"):
            call(path)


def test_column_options_that_are_none():
    for option in ("columns", "drop", "keep", "categorical", "numeric", "id", "common"):
        # A number may be the name of a column.
        with pytest.raises((ParameterError, InputError), match=f"{option}|has no column '3'"):
            fewratio.compare_datasets(A, B, n_permutations=0, **{option: 3})


def test_flipped_maps_and_references(tmp_path):
    files = damage.written(tmp_path)
    for kind, error in {"map": ModelFileError, "reference": DataFileError}.items():
        path, read = files[kind]
        payload = path.read_bytes()
        # A digit of a number; a byte of the first column.
        place = (
            payload.index(b"mean") + 12 if kind == "map" else payload.rindex(damage.good_table(8, 1)[0, 0].tobytes())
        )
        path.write_bytes(payload[:place] + bytes([payload[place] ^ 1]) + payload[place + 1 :])
        with pytest.raises(error, match="checksum"):
            read(path)


@pytest.mark.parametrize("ending", ["arrow", "jsonl", "parquet"])
def test_text_that_is_no_utf8(tmp_path, ending):
    """Readers of these formats take texts as they are; a damaged one was an error of Python's later, or a crash."""
    frame = pl.DataFrame({"x": np.arange(8.0), "name": ["abcdefghijklmnop"] * 8})
    path = tmp_path / f"a.{ending}"
    options = {"compression": "uncompressed"} if ending != "jsonl" else {}
    getattr(frame, {"arrow": "write_ipc", "jsonl": "write_ndjson"}.get(ending, "write_parquet"))(path, **options)
    payload = path.read_bytes()
    assert b"abcdefghijklmnop" in payload
    path.write_bytes(payload.replace(b"abcdefghijklmnop", b"abcdefgh\xffjklmnop"))
    with pytest.raises(DataFileError, match="cannot be read"):
        read_raw(find_file(path))
    with pytest.raises(DataFileError, match="cannot be read"), open_rows(find_file(path)) as rows:
        list(rows.pieces(4))


def test_too_little_memory_is_no_fault_of_the_file(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_text("x\n1\n")

    def read_csv(*arguments, **options):
        raise MemoryError

    monkeypatch.setattr("fewratio.data.readers.files.read_csv", read_csv)
    with pytest.raises(MemoryError):
        read_raw(find_file(path))


@pytest.mark.slow
def test_long_work_shows_its_progress(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(progress, "in_notebook", lambda: True)
    monkeypatch.setattr(progress, "_DELAY", 0.0)
    for name, X in {"a": A, "b": B}.items():
        np.save(tmp_path / f"{name}.npy", X)
    rng = np.random.default_rng(0)
    sources = [rng.normal(mean, 1, (140, 2)) for mean in range(6)]
    marked = fewratio.Collection.from_arrays(sources, outliers=[np.arange(140) < 9] * 6)
    for call, *shown in (
        (lambda: fewratio.Collection.from_folder(tmp_path), "reading: 2 of 2"),
        (lambda: fewratio.InlierOutlierDetector().fit(A).predict(A), "scoring: 8 of 8"),
        (lambda: fewratio.importance_weights(A, A, y=A[:, 0]), "validating: 2 of 2"),
        (lambda: fewratio.detect_changes(sources[0]), "segmenting: 40 of 92"),
        (lambda: fewratio.AutoRatioEstimator().pretrain(marked), "learning: 4 of 4", "choosing shares: 4 of 4"),
        (lambda: fewratio.estimators.InlierRatioEstimator().pretrain(marked), "learning: "),
    ):
        call()
        found = capsys.readouterr().err
        assert [each for each in shown if each not in found] == [], found


@pytest.mark.slow
def test_a_sample_of_all_bad_calls():
    calls = list(python_calls.calls())
    chosen = np.random.default_rng(0).permutation(len(calls))[:40]
    outcomes = [python_calls.outcome(calls[number]) for number in chosen]
    assert [each for each in outcomes if each not in ("answered", "refused")] == []


def test_a_sample_of_damages():
    outcomes = [*damage.damages(8), *damage.bad_tables(14)]
    assert [each for _, each in outcomes if each not in ("refused", "same answer", "read")] == []
