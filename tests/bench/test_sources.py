"""Sources: the counts of the published files, and what is said of files that are not those."""

import gzip
import io
import os
import pickle
import re
import warnings
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fewratio.data.registry import find_source, load_collection
from fewratio.errors import DataFileError, DataNotFoundError, ParameterError
from fewratio_bench.sources import iot, isolet, landmine, mnist_r, school
from fewratio_bench.sources.storage import locate

# Before any test sets folders of its own.
PUBLISHED = [folder for folder in os.environ.get("FEWRATIO_DATA", "").split(os.pathsep) if folder]
DECLARED = [module.FILE for module in (landmine, mnist_r, school)]
NAMES = ["iot", "isolet", "landmine", "mnist_r", "school"]


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """Load a source from wherever its files are here, once; skip by name where they are not."""
    loaded = {}

    def load(name, **options):
        key = name, *options.items()
        with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
            # A cache of the test's own: what a user has downloaded is left alone, and nothing is downloaded.
            patch.setenv("FEWRATIO_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
            warnings.filterwarnings("ignore", "iot has 1 of 9 devices")
            if not find_source(name).describe()["available"]:
                pytest.skip(f"the data of {name} are not here: set FEWRATIO_DATA")
            if key not in loaded:
                loaded[key] = load_collection(name, **options)
        return loaded[key]

    return load


def outlier_rates(collection):
    return np.array([dataset.is_outlier.mean() for dataset in collection])


# ---------------------------------------------------------------- counts


@pytest.mark.parametrize("name", NAMES[1:])
def test_a_source_holds_what_it_declares(published, name):
    collection, source = published(name), find_source(name)
    assert collection.name == name
    smallest, largest = collection.sizes.min(), collection.sizes.max()
    said = source.describe()["description"].partition("\n")[0]
    assert re.search(rf"\b{len(collection)} \w+ of {smallest}( to {largest})?\b", said)
    assert name == "mnist_r" or f"{collection.n_features} " in said
    assert all(dataset.X.dtype == np.float64 for dataset in collection)


def test_mnist_r_counts(published):
    collection = published("mnist_r")
    assert collection.sizes.sum() == 6000
    assert set(collection.sizes) == {100}


def test_digits_rotate_as_mnist_does(published):
    # Two roads to a rotation: the published images, and ours of the published upright ones.
    from scipy.ndimage import rotate

    mnist = published("mnist_r")
    upright, turned = (np.concatenate([mnist[f"{angle}-{d}"].X for d in range(10)]) for angle in ("0deg", "30deg"))
    ours = rotate(upright.reshape(-1, 16, 16), 30, axes=(2, 1), reshape=False, order=1).reshape(-1, 256)
    correlation = [np.corrcoef(*pair)[0, 1] for pair in zip(ours[::50], turned[::50], strict=True)]
    assert np.mean(correlation) > 0.999


def test_isolet_counts(published):
    collection = published("isolet")
    assert collection.sizes.sum() == 7797
    assert len(set(collection.groups)) == 5
    uneven = {dataset.name: len(dataset) for dataset in collection if len(dataset) != 60}
    assert uneven == {"isolet4-F": 58, "isolet5-M": 59}
    assert collection["isolet3-Q"].group == "isolet3"
    X = np.concatenate([dataset.X for dataset in collection])
    assert np.abs(X).max() <= 1
    assert len(np.unique(X, axis=0)) == 7797


def test_landmine_counts(published):
    collection = published("landmine")
    assert collection.sizes.sum() == 14820
    assert sum(dataset.is_outlier.sum() for dataset in collection) == 904
    assert outlier_rates(collection).mean() == pytest.approx(0.0618, abs=5e-5)
    assert min((~dataset.is_outlier).sum() for dataset in collection) == 407
    assert [collection.groups.count(group) for group in ("terrain-1", "terrain-2")] == [15, 14]
    for dataset in collection:
        np.testing.assert_allclose(np.linalg.norm(dataset.X, axis=1), 1)


def test_school_counts(published):
    collection = published("school")
    assert collection.sizes.sum() == 11350
    assert outlier_rates(collection).mean() == pytest.approx(0.152, abs=5e-4)
    assert min((~dataset.is_outlier).sum() for dataset in collection) == 61
    X = np.concatenate([dataset.X for dataset in collection])
    assert set(np.unique(X)) == {0.0, 1.0}
    assert X[:, -1].all()
    assert collection.feature_names[-1] == "constant"
    fields = np.array([name.split("=")[0] for name in collection.feature_names])
    counted = {field: X[:, fields == field].sum(axis=1) for field in set(fields)}
    for field in ("year", "gender", "ethnic", "school_gender", "denomination"):
        assert (counted[field] == 1).all(), field
    # Fifteen students are in an undocumented band.
    assert (counted["vr_band"] == 1).sum() == 11335


def test_iot_loads_the_complete_device_and_names_the_missing_ones(tmp_path, monkeypatch):
    monkeypatch.setenv("FEWRATIO_CACHE", str(tmp_path))
    if locate("iot/Danmini_Doorbell/benign_traffic.csv.gz") is None:
        pytest.skip("the partial data of iot are not here: set FEWRATIO_DATA")
    with pytest.warns(UserWarning, match="1 of 9 devices complete") as caught:
        collection = load_collection("iot")
    (warning,) = caught
    assert warning.filename == __file__
    missing = set(iot.DEVICES) - {"Danmini_Doorbell"}
    assert len(missing) == 8
    said = str(warning.message).partition("The archive")[0]
    assert all(device in said for device in missing)
    assert "Danmini_Doorbell" not in said
    (dataset,) = collection
    assert (dataset.name, dataset.X.shape, dataset.is_outlier.sum()) == ("Danmini_Doorbell", (500, 115), 25)
    np.testing.assert_allclose(np.linalg.norm(dataset.X, axis=1), 1)


# ---------------------------------------------------------------- names and options


def test_an_unknown_name_lists_the_known_and_guesses():
    with pytest.raises(ParameterError, match=r"digits_r, gaussian, iot.*Did you mean 'mnist_r'\?"):
        load_collection("mnist")


@pytest.mark.parametrize("name", ["landmine", "school"])
def test_an_unknown_option_is_refused_before_any_work(data_folder, name):
    with pytest.raises(ParameterError, match="got the option 'sedd'"):
        load_collection(name, sedd=1)


@pytest.mark.parametrize("name", NAMES)
def test_every_source_says_where_it_is_from(name):
    source = find_source(name)
    assert source.origin.startswith(("https://", "http://"))
    assert source.licence
    assert source.describe()["description"].startswith("Load ")


# ---------------------------------------------------------------- files that are not the published ones


class MakeFolder:
    """Unpickled the ordinary way, this makes a folder."""

    def __init__(self, folder):
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (str(self.folder),)


def test_a_malicious_pickle_is_refused_and_nothing_runs(data_folder, tmp_path):
    malicious = pickle.dumps([MakeFolder(tmp_path / "made")])
    with pytest.raises(DataFileError, match="mkdir"):
        mnist_r.unpickle_arrays(malicious)
    path = data_folder / "mnist_r" / "MNIST_6rot.pkl.gz"
    path.parent.mkdir()
    path.write_bytes(gzip.compress(malicious))
    with pytest.raises(DataFileError, match="has sha256"):
        load_collection("mnist_r")
    assert not (tmp_path / "made").exists()


def test_pickled_arrays_are_read():
    (pair,) = mnist_r.unpickle_arrays(pickle.dumps([(np.eye(3), np.arange(3))], protocol=4))
    np.testing.assert_array_equal(pair[0], np.eye(3))
    np.testing.assert_array_equal(pair[1], np.arange(3))


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("landmine", "landmine/LandmineData.mat"),
        ("school", "school/ILEA567.DAT"),
        ("mnist_r", "mnist_r/MNIST_6rot.pkl.gz"),
        ("isolet", "isolet/isolet.zip"),
    ],
)
@pytest.mark.parametrize(
    "content",
    [b"", b"no such thing\n" * 50, b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM" + bytes(60)],
    ids=["empty", "text", "another MATLAB file"],
)
def test_a_file_that_is_something_else_is_refused_by_name(data_folder, name, path, content):
    (data_folder / path).parent.mkdir(parents=True)
    (data_folder / path).write_bytes(content)
    with pytest.raises(DataFileError, match=re.escape(str(data_folder / path))) as caught:
        load_collection(name)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "path"), [(file.path.split("/")[0], file.path) for file in DECLARED], ids=[file.path for file in DECLARED]
)
def test_a_file_with_one_bit_changed_is_refused_before_it_is_parsed(data_folder, cache, name, path):
    content = bytearray(raw_file_elsewhere(path))
    content[len(content) // 2] ^= 1
    (data_folder / path).parent.mkdir(parents=True)
    (data_folder / path).write_bytes(content)
    (file,) = (file for file in DECLARED if file.path == path)
    with pytest.raises(DataFileError, match=f"the published file has {file.sha256}.*Put the published file") as caught:
        load_collection(name)
    assert str(data_folder / path) in str(caught.value)
    assert not cache.exists()


def raw_file_elsewhere(path):
    """The published file where it is here, else something of that name: its checksum is another one anyway."""
    found = [Path(folder) / path for folder in PUBLISHED if (Path(folder) / path).is_file()]
    return found[0].read_bytes() if found else b"no such thing"


# ---------------------------------------------------------------- isolet in all its packings


@pytest.fixture
def small_isolet(monkeypatch):
    """The texts of the two parts, with all rows but four features, as if those were Isolet's values."""
    rng = np.random.default_rng(0)
    texts = []
    for n_rows in (6238, 1559):
        X = rng.integers(-10_000, 10_001, (n_rows, 4)) / 1e4
        lines = [", ".join(f"{x:.4f}" for x in row) + f", {i % 26 + 1}.\n" for i, row in enumerate(X)]
        texts.append("".join(lines).encode())
    rows = np.concatenate([np.loadtxt(io.BytesIO(text), delimiter=",") for text in texts])
    monkeypatch.setattr(isolet, "VALUES_SHA256", isolet.values_sha256(rows))
    return texts


def pack_lzw(content):
    """Write what Unix compress writes, if not as short: codes of nine bits in groups of eight; 256 ends a table."""
    out = bytes([0x1F, 0x9D, 0x90])
    for start in range(0, len(content), 248):
        codes = [*content[start : start + 248], 256]
        for first in range(0, len(codes), 8):
            group = codes[first : first + 8]
            out += sum(code << 9 * place for place, code in enumerate(group)).to_bytes(9, "little")
    return out


def write_isolet(folder, texts, form):
    if form == ".zip":
        with zipfile.ZipFile(folder / "isolet.zip", "w") as archive:
            for part, text in zip(isolet.PARTS, texts, strict=True):
                archive.writestr(f"{part}.Z", pack_lzw(text))
    else:
        pack = {"": bytes, ".gz": gzip.compress}[form]
        for part, text in zip(isolet.PARTS, texts, strict=True):
            (folder / f"{part}{form}").write_bytes(pack(text))


@pytest.mark.parametrize("form", ["", ".gz", ".zip"])
def test_isolet_is_the_same_in_every_packing(data_folder, small_isolet, form):
    (data_folder / "isolet").mkdir()
    write_isolet(data_folder / "isolet", small_isolet, form)
    expected = np.concatenate([np.loadtxt(text.decode().splitlines(), delimiter=",") for text in small_isolet])
    collection = load_collection("isolet")
    assert len(collection) == 130
    rows = expected[1560:3120]
    np.testing.assert_array_equal(collection["isolet2-C"].X, rows[rows[:, -1] == 3][:, :-1])


@pytest.mark.parametrize(
    ("added", "said"),
    [(b"1, 2\n", "not a table of numbers"), (b"0, 0, 0, 0, 26.\n", "not those of Isolet"), (b"x\n", "not a table")],
)
def test_other_values_of_isolet_are_refused_by_name(data_folder, small_isolet, added, said):
    (data_folder / "isolet").mkdir()
    write_isolet(data_folder / "isolet", [small_isolet[0], small_isolet[1] + added], "")
    with pytest.raises(DataFileError, match=rf"isolet5\.data: .*{said}"):
        load_collection("isolet")


def test_the_archive_of_isolet_is_downloaded(data_folder, cache, server, small_isolet, monkeypatch):
    folder, address = server
    write_isolet(folder, small_isolet, ".zip")
    monkeypatch.setattr(isolet, "ARCHIVE", replace(isolet.ARCHIVE, url=f"{address}/isolet.zip"))
    assert len(load_collection("isolet")) == 130
    assert (cache / "isolet" / "isolet.zip").is_file()


# ---------------------------------------------------------------- iot in its layouts


def write_csv(path, n_rows, seed, header=iot.FEATURES):
    path.parent.mkdir(parents=True, exist_ok=True)
    X = np.random.default_rng(seed).integers(1, 10**6, (n_rows, len(iot.FEATURES)))
    text = "\n".join([",".join(header), *(",".join(map(str, row)) for row in X.tolist())]) + "\n"
    path.write_bytes(gzip.compress(text.encode(), 1) if path.suffix == ".gz" else text.encode())
    return X


LAYOUTS = {
    "upstream": ("Ecobee_Thermostat/benign_traffic.csv", "Ecobee_Thermostat/{}_attacks/{}.csv"),
    "Kaggle": ("2.benign.csv", "2.{}.{}.csv"),
}


def write_device(folder, layout, packing="", n_benign=480):
    benign, attack = LAYOUTS[layout]
    return (
        write_csv(folder / "iot" / f"{benign}{packing}", n_benign, 1),
        write_csv(folder / "iot" / f"{attack.format('mirai', 'ack')}{packing}", 20, 2),
        write_csv(folder / "iot" / f"{attack.format('gafgyt', 'udp')}{packing}", 10, 3),
    )


def load_iot(**options):
    with pytest.warns(UserWarning, match="1 of 9 devices complete"):
        return load_collection("iot", **options)


@pytest.mark.parametrize("packing", ["", ".gz"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_iot_draws_the_same_rows_from_either_layout(tmp_path, data_folder, layout, packing, monkeypatch):
    benign, *attacks = write_device(data_folder, layout, packing)
    (dataset,) = load_iot(seed=1)
    assert dataset.name == "Ecobee_Thermostat"
    np.testing.assert_array_equal(dataset.is_outlier, np.arange(500) >= 475)
    known = {tuple(row) for row in unit(benign)}, {tuple(row) for row in unit(np.concatenate(attacks))}
    for rows, pool in zip((dataset.X[:475], dataset.X[475:]), known, strict=True):
        assert len({tuple(row) for row in rows} & pool) == len(rows)  # all different, all from the right files
    # The same from the other layout, unpacked, in another folder.
    other = tmp_path / "other"
    write_device(other, "Kaggle")
    monkeypatch.setenv("FEWRATIO_DATA", str(other))
    np.testing.assert_array_equal(load_iot(seed=1)[0].X, dataset.X)
    assert not np.array_equal(load_iot(seed=2)[0].X, dataset.X)


def unit(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def test_a_file_with_too_few_rows_is_named(data_folder):
    write_device(data_folder, "Kaggle", n_benign=474)
    with pytest.warns(UserWarning, match="1 of 9"), pytest.raises(DataFileError, match=r"2\.benign\.csv: 474 rows"):
        load_collection("iot")


def test_without_a_complete_device_the_message_says_what_to_put_where(data_folder):
    for call in (load_collection, lambda name: find_source(name).files(True)):
        with pytest.raises(DataNotFoundError, match=r"fetched\s+by hand") as caught:
            call("iot")
        assert str(data_folder / "iot" / "Danmini_Doorbell" / "benign_traffic.csv") in str(caught.value)
    assert not find_source("iot").describe()["available"]


@pytest.mark.filterwarnings("ignore:iot has 1 of 9")
def test_another_header_is_refused(data_folder):
    header = ["HH_L5_mean" if name == "H_L5_mean" else name for name in iot.FEATURES]
    write_device(data_folder, "Kaggle")
    write_csv(data_folder / "iot" / "2.benign.csv", 480, 1, header)
    with pytest.raises(DataFileError, match=r"2\.benign\.csv: the first line does not name the 115 columns"):
        load_collection("iot")


@pytest.mark.filterwarnings("ignore:iot has 1 of 9")
@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"1,2\n", "not a table of numbers"),
        (b",".join([b"1"] * 114 + [b"x"]) + b"\n", "not a table of numbers"),
        (b",".join([b"1"] * 114 + [b"nan"]) + b"\n", "rows without 115 finite numbers"),
    ],
    ids=["too few", "text", "nan"],
)
def test_a_bad_row_is_refused(data_folder, line, said):
    write_device(data_folder, "Kaggle", n_benign=0)
    path = data_folder / "iot" / "2.benign.csv"
    good = path.read_bytes() + (b",".join([b"1"] * 115) + b"\n") * 474
    path.write_bytes(good + b"\n" * 6 + line)  # blank lines do not count as rows
    with pytest.raises(DataFileError, match=rf"2\.benign\.csv: {said}"):
        load_collection("iot")


@pytest.mark.filterwarnings("ignore:iot has 1 of 9")
def test_a_packed_file_cut_short_is_refused(data_folder):
    write_device(data_folder, "Kaggle", ".gz")
    path = data_folder / "iot" / "2.benign.csv.gz"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataFileError, match="is damaged"):
        load_collection("iot")
