"""Flipped bits and cut ends of every kind of file that fewratio writes, and tables that are no tables."""

import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import fewratio
from fewratio.data.encoding import Encoding
from fewratio.data.raw_table import as_raw
from fewratio.data.readers.files import find_file, read_raw
from fewratio.data.reference import read_encoding, write_reference
from fewratio.errors import FewRatioError
from hostile.values import good_table

Files = dict[str, tuple[Path, Callable[[Path], Any]]]


def written(folder: Path) -> Files:
    """Write a file of every kind; with each comes a function that reads it and gives what it answers."""
    rng = np.random.default_rng(0)
    collection = fewratio.Collection.from_arrays([rng.normal(rng.normal(size=2), 1, (12, 2)) for _ in range(12)])
    A, B = good_table(8, 1), good_table(6, 2)
    discriminant = fewratio.DiscriminantRatioEstimator(features="columns").pretrain(collection)
    marked = fewratio.Collection.from_arrays([each.X for each in collection], outliers=[np.arange(12) < 3] * 12)
    pooled = fewratio.estimators.InlierRatioEstimator().pretrain(marked)
    training = fewratio.estimators.networks.Training(max_steps=4, tasks_per_step=2, validate_every=2)
    network = fewratio.estimators.networks.Architecture(latent_dim=4, width=8, n_outputs=8)
    meta = fewratio.MetaRatioEstimator(training=training, network=network, random_state=0)
    meta.pretrain(collection, collection, checkpoint=None)
    source_map = fewratio.estimators.SourceMap.from_table(A, n_components=8)
    raw = as_raw(_frame(A), "table")

    def ratios(path: Path) -> Any:
        return fewratio.load_model(path).fit(A, B).predict(A).tobytes()

    def pairs(path: Path) -> Any:
        return fewratio.compare_all(collection, random_state=0, checkpoint=path).divergences.tobytes()

    def rewritten(kind: Any) -> Callable[[Path], Any]:
        def again(path: Path) -> bytes:
            kind.load(path).save(path.with_suffix(".again"))
            return path.with_suffix(".again").read_bytes()

        return again

    def table(path: Path) -> Any:
        encoding = read_encoding(path)
        assert encoding is not None
        return encoding.encode(read_raw(find_file(path))).numbers.tobytes()

    files: Files = {}
    for name, model in {"closed form": discriminant, "pooled": pooled, "network": meta}.items():
        files[f"model, {name}"] = folder / f"{name}.model", ratios
        model.save(files[f"model, {name}"][0])
    files["checkpoint"] = folder / "pairs.checkpoint", pairs
    pairs(files["checkpoint"][0])
    for name, thing in {
        "summary": source_map.summarise(A),
        "map": source_map,
        "index": fewratio.DatasetIndex.build(collection),
    }.items():
        files[name] = folder / f"a.{name}", rewritten(type(thing))
        thing.save(files[name][0])
    files["reference"] = folder / "a.fewratio", table
    write_reference(files["reference"][0], raw, Encoding.learn([raw]))
    return files


def damages(count: int, seed: int = 0) -> Iterator[tuple[str, str]]:
    """Damage files, one kind after the other; give the kind and "refused", "same answer" or what must not be."""
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        files = written(Path(name))
        expected = {kind: read(path) for kind, (path, read) in files.items()}
        payloads = {kind: path.read_bytes() for kind, (path, _) in files.items()}
        for number in range(count):
            kind = list(files)[number % len(files)]
            path, read = files[kind]
            payload = bytearray(payloads[kind])
            place = int(rng.integers(len(payload)))
            if number // len(files) % 4 == 3:
                del payload[place:]
            else:
                payload[place] ^= 1 << int(rng.integers(8))
            path.write_bytes(payload)
            try:
                same = read(path) == expected[kind]
                yield kind, "same answer" if same else f"{kind}: another answer after damage at {place}"
            except FewRatioError:
                yield kind, "refused"
            except Exception as error:
                yield kind, f"{kind}: damage at {place}: {type(error).__name__}: {str(error)[:150]}"
            path.write_bytes(payloads[kind])


def bad_tables(count: int, seed: int = 0) -> Iterator[tuple[str, str]]:
    """Give table files of every format with random damage, and random bytes, to the reader of files."""
    import polars as pl

    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {"x": good_table()[:, 0], "name": list("abcdefgh"), "day": [f"2020-01-0{i}" for i in range(1, 9)]}
    )
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folder = Path(name)
        frame.write_csv(folder / "a.csv")
        frame.write_csv(folder / "a.tsv", separator="\t")
        frame.write_parquet(folder / "a.parquet")
        frame.write_ipc(folder / "a.arrow")
        frame.write_ndjson(folder / "a.jsonl")
        np.save(folder / "a.npy", good_table())
        np.savez(folder / "a.npz", X=good_table())
        paths = sorted(folder.iterdir())
        payloads = {path: path.read_bytes() for path in paths}
        for number in range(count):
            path = paths[number % len(paths)]
            payload = bytearray(payloads[path])
            place = int(rng.integers(len(payload)))
            match number // len(paths) % 4:
                case 0:
                    payload[place] ^= 1 << int(rng.integers(8))
                case 1:
                    del payload[place:]
                case 2:
                    payload[place:place] = rng.bytes(20)
                case _:
                    payload = bytearray(rng.bytes(int(rng.integers(200))))
            path.write_bytes(payload)
            try:
                fewratio.Collection.from_folder(folder) if number % 50 == 49 else _read_whole(path)
                yield path.suffix, "read"
            except FewRatioError:
                yield path.suffix, "refused"
            except Exception as error:
                yield path.suffix, f"{path.suffix}: {type(error).__name__}: {str(error)[:150]}"
            path.write_bytes(payloads[path])


def _read_whole(path: Path) -> None:
    from fewratio.data.readers.files import read_with_flags

    table, _ = read_with_flags(find_file(path))
    for label in table.labels:
        table.cells(label)


def _frame(rows: np.ndarray) -> Any:
    import polars as pl

    return pl.DataFrame({"x": rows[:, 0], "y": rows[:, 1], "colour": ["red", "blue"] * (len(rows) // 2)})
