"""Sources: the counts of the published files, and what is said of files that are not those."""

import gzip
import os
import pickle
import re
import warnings
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

import fewratio
from fewratio.data.registry import SOURCES, fetch_source, load_collection, source_info
from fewratio.data.source import read_mat
from fewratio.data.sources import csvrows, iot, isolet, landmine, mnist_r, school
from fewratio.data.sources.gaussian import gaussian_family
from fewratio.data.storage import as_published, locate
from fewratio.errors import DataFileError, DataNotFoundError, ParameterError
from tests.data.test_compressed import pack_lzw

# Before any test sets folders of its own.
PUBLISHED = [folder for folder in os.environ.get("FEWRATIO_DATA", "").split(os.pathsep) if folder]
DECLARED = [file for source in SOURCES.values() for choice in source.choices for file in choice if file.sha256]
ROTATIONS = ("0deg", "15deg", "30deg", "45deg", "60deg", "75deg")


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
            if not source_info(name).available:
                pytest.skip(f"the data of {name} are not here: set FEWRATIO_DATA")
            if key not in loaded:
                loaded[key] = load_collection(name, **options)
        return loaded[key]

    return load


def raw_file(path):
    """Find a file of the published data, or skip by name."""
    found = locate(path)
    if found is None:
        pytest.skip(f"{path} is not here: set FEWRATIO_DATA")
    return found


def outlier_rates(collection):
    return np.array([dataset.is_outlier.mean() for dataset in collection])


# ---------------------------------------------------------------- counts


@pytest.mark.parametrize("name", sorted(set(SOURCES) - {"iot"}))
def test_a_source_holds_what_it_declares(published, name):
    collection, info = published(name), source_info(name)
    assert collection.name == name
    assert (len(collection), collection.n_features) == (info.n_datasets, info.n_features)
    assert (collection.sizes.min(), collection.sizes.max()) == (info.smallest, info.largest)
    assert all(dataset.X.dtype == np.float64 for dataset in collection)


@pytest.mark.parametrize("name", ["mnist_r", "digits_r"])
def test_rotated_digits(published, name):
    collection = published(name)
    assert collection.names == tuple(f"{angle}-{digit}" for angle in ROTATIONS for digit in range(10))
    assert collection["30deg-7"].group == "30deg"
    X = np.concatenate([dataset.X for dataset in collection])
    assert X.min() >= 0
    assert X.max() <= 1
    for digit in range(10):  # the same base images in every rotation
        assert len({len(collection[f"{angle}-{digit}"]) for angle in ROTATIONS}) == 1


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


@pytest.mark.parametrize("encoding", ["constant", "observed"])
def test_school_counts_in_both_readings(published, encoding):
    collection = published("school", encoding=encoding)
    assert collection.sizes.sum() == 11350
    assert outlier_rates(collection).mean() == pytest.approx(0.152, abs=5e-4)
    assert min((~dataset.is_outlier).sum() for dataset in collection) == 61
    X = np.concatenate([dataset.X for dataset in collection])
    assert set(np.unique(X)) == {0.0, 1.0}
    assert X[:, -1].sum() == {"constant": 11350, "observed": 15}[encoding]
    assert collection.feature_names[-1] == {"constant": "constant", "observed": "vr_band=0"}[encoding]
    fields = np.array([name.split("=")[0] for name in collection.feature_names])
    counted = {field: X[:, fields == field].sum(axis=1) for field in set(fields)}
    for field in ("year", "gender", "ethnic", "school_gender", "denomination"):
        assert (counted[field] == 1).all(), field
    assert (counted["vr_band"] == 1).sum() == {"constant": 11335, "observed": 11350}[encoding]


def test_the_readings_of_school_differ_in_the_last_column_only(published):
    assert published("school").feature_names == published("school", encoding="constant").feature_names
    for first, second in zip(published("school"), published("school", encoding="observed"), strict=True):
        np.testing.assert_array_equal(first.X[:, :-1], second.X[:, :-1])


@pytest.mark.parametrize("form", ["school.mat", "school_b.mat"])
def test_school_is_the_same_from_every_file(published, form):
    expected = school.read(raw_file("school/ILEA567.DAT"))
    for name, array in school.read(raw_file(f"school/{form}")).items():
        np.testing.assert_array_equal(array, expected[name])


def test_iot_loads_the_complete_device_and_names_the_missing_ones(tmp_path, monkeypatch):
    monkeypatch.setenv("FEWRATIO_CACHE", str(tmp_path))
    info = source_info("iot")
    if "1 of 9 devices" not in info.note:
        pytest.skip("the partial data of iot are not here: set FEWRATIO_DATA")
    with pytest.warns(UserWarning, match="1 of 9 devices complete") as caught:
        collection = load_collection("iot")
    (warning,) = caught
    assert warning.filename == __file__
    missing = set(iot.DEVICES) - {"Danmini_Doorbell"}
    assert len(missing) == 8
    for said in (str(warning.message), info.note):
        assert all(device in said for device in missing)
        assert "Danmini_Doorbell" not in said
    (dataset,) = collection
    assert (dataset.name, dataset.X.shape, dataset.is_outlier.sum()) == ("Danmini_Doorbell", (500, 115), 25)
    np.testing.assert_allclose(np.linalg.norm(dataset.X, axis=1), 1)


# ---------------------------------------------------------------- nothing needed


def test_digits_and_gaussians_need_no_file(data_folder, monkeypatch):
    monkeypatch.setenv("FEWRATIO_CACHE", str(data_folder / "absent"))
    for name in ("digits_r", "gaussian"):
        assert source_info(name).available
        assert fetch_source(name) == ()
        load_collection(name)
    assert not (data_folder / "absent").exists()


def test_gaussian_is_the_family(published):
    expected = gaussian_family(4, 20, random_state=3).collection
    drawn = load_collection("gaussian", n_datasets=4, n_instances=20, seed=3)
    for first, second in zip(drawn, expected, strict=True):
        np.testing.assert_array_equal(first.X, second.X)


def test_the_digits_are_the_same_every_time(published):
    for first, second in zip(load_collection("digits_r"), published("digits_r"), strict=True):
        np.testing.assert_array_equal(first.X, second.X)


# ---------------------------------------------------------------- names and options


def test_an_unknown_name_lists_the_known_and_guesses():
    with pytest.raises(ParameterError, match=r"digits_r, gaussian, iot.*Did you mean 'mnist_r'\?"):
        load_collection("mnist")


@pytest.mark.parametrize("name", ["landmine", "school"])
def test_an_unknown_option_is_refused_before_any_work(data_folder, name):
    with pytest.raises(ParameterError, match="got the option 'sedd'"):
        load_collection(name, sedd=1)


def test_an_unknown_encoding_is_refused_before_any_work(data_folder):
    with pytest.raises(ParameterError, match='"constant" or "observed"'):
        load_collection("school", encoding="one-hot")


def test_load_collection_is_public():
    assert fewratio.load_collection is load_collection
    assert "load_collection" in fewratio.__all__


@pytest.mark.parametrize("name", ["gaussian", "iot"])
@pytest.mark.parametrize("seed", [1.5, -1, "a/../../../esc", "1", None, True, [1]])
def test_a_seed_is_an_integer_that_is_not_negative(data_folder, tmp_path, name, seed):
    with pytest.raises(ParameterError, match=r"seed is .*; an integer that is not negative is needed"):
        load_collection(name, seed=seed)
    assert list(tmp_path.iterdir()) == [data_folder]


def test_a_seed_may_be_an_integer_of_numpy():
    collections = [load_collection("gaussian", n_datasets=1, n_instances=2, seed=seed) for seed in (3, np.int64(3))]
    assert collections[0][0].X.tolist() == collections[1][0].X.tolist()


@pytest.mark.parametrize(("name", "problem"), [("absent", "does not exist"), ("file", "is a file")])
def test_a_data_folder_that_is_none_is_named(tmp_path, monkeypatch, name, problem):
    (tmp_path / "file").touch()
    monkeypatch.setenv("FEWRATIO_DATA", str(tmp_path / name))
    monkeypatch.setenv("FEWRATIO_CACHE", str(tmp_path / "cache"))
    said = f"FEWRATIO_DATA names .*{name}', which {problem}; it must name folders"
    for call in (source_info, fetch_source, load_collection):
        with pytest.warns(UserWarning, match=said) as caught:
            call("digits_r")
        assert [warning.filename for warning in caught] == [__file__]


def test_info_finds_every_file_that_is_here(data_folder, cache):
    (data_folder / "school").mkdir()
    (cache / "school").mkdir(parents=True)
    paths = [data_folder / "school" / "ILEA567.DAT", cache / "school" / "school_b.mat"]
    for path in paths:
        path.touch()
    info = source_info("school")
    assert [file.found for file in info.files] == [str(paths[0]), None, str(paths[1])]
    assert [file.as_published for file in info.files] == [False, None, False]
    assert [file.form for file in info.files] == [1, 2, 3]
    assert info.found == (str(paths[0]),)


@pytest.mark.parametrize("name", sorted(SOURCES))
def test_every_source_says_where_it_is_from(name):
    info = source_info(name)
    assert info.origin.startswith(("https://", "http://"))
    assert info.licence
    assert info.description
    for file in info.files:
        assert file.path.startswith(f"{name}/")
        assert file.url is None or file.url.startswith("https://")
        # What is downloaded is checked, by its bytes or by its values.
        assert file.url is None or file.sha256 or info.values_sha256


# ---------------------------------------------------------------- files that are not the published ones


class MakeFolder:
    """Unpickled the ordinary way, this makes a folder."""

    def __init__(self, folder):
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (str(self.folder),)


def test_a_malicious_pickle_in_place_of_mnist_is_refused_and_nothing_runs(data_folder, cache, tmp_path):
    path = data_folder / "mnist_r" / "MNIST_6rot.pkl.gz"
    path.parent.mkdir()
    path.write_bytes(gzip.compress(pickle.dumps([MakeFolder(tmp_path / "made")])))
    with pytest.raises(DataFileError, match="mkdir") as caught:
        mnist_r.read(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "made").exists()
    assert not cache.exists()


def test_a_bomb_in_place_of_mnist_is_refused(data_folder, monkeypatch):
    path = data_folder / "mnist_r" / "MNIST_6rot.pkl.gz"
    path.parent.mkdir()
    path.write_bytes(gzip.compress(bytes(10**6)))
    monkeypatch.setattr(mnist_r, "UNPACKED_LIMIT", 10**5)
    with pytest.raises(DataFileError, match="holds more than 100,000 bytes"):
        mnist_r.read(path)


@pytest.mark.parametrize(
    "tasks",
    [
        [],
        [np.zeros((1000, 256))] * 6,
        [(np.zeros((1000, 256)), np.zeros(999, int))] * 6,
        [(np.zeros((1000, 256)), np.zeros(1000, int))] * 6,
        [(np.zeros((1000, 256)), np.arange(1000) % 10 / 2)] * 6,
        [(np.zeros((1000, 256)), np.arange(1000) % 10 - 1)] * 6,
        [(np.zeros((1000, 256)), np.full(1000, 2**62))] * 6,
    ],
    ids=["no tasks", "no labels", "too few labels", "one digit only", "fractions", "negative labels", "huge labels"],
)
def test_other_arrays_in_place_of_mnist_are_refused(data_folder, tasks):
    path = data_folder / "mnist_r" / "MNIST_6rot.pkl.gz"
    path.parent.mkdir()
    path.write_bytes(gzip.compress(pickle.dumps(tasks, 4), 1))
    with pytest.raises(DataFileError, match=r"MNIST_6rot\.pkl\.gz"):
        mnist_r.read(path)


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("landmine", "landmine/LandmineData.mat"),
        ("school", "school/ILEA567.DAT"),
        ("school", "school/school.mat"),
        ("school", "school/school_b.mat"),
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
    for read in (load_collection, read_directly):
        with pytest.raises(DataFileError, match=re.escape(str(data_folder / path))) as caught:
            read(name)
        assert "\n" not in str(caught.value)


def read_directly(name):
    """Parse the file of a source, whatever its checksum."""
    (path,) = map(Path, source_info(name).found)
    module = {"isolet": isolet, "landmine": landmine, "mnist_r": mnist_r, "school": school}[name]
    return module.read((path,) if name == "isolet" else path)


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


def test_a_file_of_no_known_checksum_is_not_refused_for_it(data_folder, small_isolet):
    (data_folder / "isolet").mkdir()
    write_isolet(data_folder / "isolet", small_isolet, ".gz")
    assert as_published(data_folder / "isolet" / "isolet5.data.gz", isolet.SOURCE.choices).is_file()
    assert as_published(data_folder / "elsewhere.txt", isolet.SOURCE.choices) == data_folder / "elsewhere.txt"


def write_fields(path, features, labels, **options):
    cells = [np.empty((1, len(arrays)), dtype=object) for arrays in (features, labels)]
    for cell, arrays in zip(cells, (features, labels), strict=True):
        cell[0, :] = arrays
    savemat(path, {"feature": cells[0], "label": cells[1]}, **options)


def test_a_damaged_packed_matlab_file_is_refused(tmp_path):
    path = tmp_path / "LandmineData.mat"
    fields = [np.random.default_rng(0).normal(size=(5, 9))] * 29
    write_fields(path, fields, [np.zeros(5)] * 29, do_compression=True)
    assert landmine.read(path)["X"].shape == (29 * 5, 9)
    content = bytearray(path.read_bytes())
    content[300:310] = bytes(10)
    path.write_bytes(content)
    with pytest.raises(DataFileError, match="cannot be read as a MATLAB 5 file"):
        landmine.read(path)


def test_whatever_scipy_raises_at_a_damaged_file_is_said_by_name(tmp_path, monkeypatch):
    def fail(*arguments, **options):
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("scipy.io.loadmat", fail)
    with pytest.raises(DataFileError, match=r"a\.mat cannot be read as a MATLAB 5 file \(division by zero\)"):
        read_mat(tmp_path / "a.mat", ("x",))


def test_the_first_odd_field_of_landmine_is_named_and_no_other(tmp_path):
    path = tmp_path / "LandmineData.mat"
    savemat(path, {"feature": np.zeros((50, 9)), "label": np.zeros(29)})
    with pytest.raises(DataFileError, match="feature has 450 elements and label 29, but 29 fields are needed"):
        landmine.read(path)
    fields = [np.zeros((5, 9)), np.zeros((5, 9)), *[np.zeros((5, 8))] * 27]
    write_fields(path, fields, [np.zeros(5)] * 29)
    with pytest.raises(DataFileError, match=r"field 3 has features of shape \(5, 8\) and 5 labels") as caught:
        landmine.read(path)
    assert len(str(caught.value)) < 300 + len(str(path))


# ---------------------------------------------------------------- isolet in all its packings


@pytest.fixture
def small_isolet(monkeypatch):
    """The texts of the two parts, with all rows but four features."""
    monkeypatch.setattr(isolet, "N_FEATURES", 4)
    rng = np.random.default_rng(0)
    texts = []
    for n_rows in isolet.PART_ROWS:
        X = rng.integers(-10_000, 10_001, (n_rows, 4)) / 1e4
        lines = [", ".join(f"{x:.4f}" for x in row) + f", {i % 26 + 1}.\n" for i, row in enumerate(X)]
        texts.append("".join(lines).encode())
    return texts


def write_isolet(folder, texts, form):
    if form == ".zip":
        with zipfile.ZipFile(folder / "isolet.zip", "w") as archive:
            for part, text in zip(isolet.PARTS, texts, strict=True):
                archive.writestr(f"{part}.Z", pack_lzw(text))
    else:
        pack = {"": bytes, ".gz": gzip.compress, ".Z": pack_lzw}[form]
        for part, text in zip(isolet.PARTS, texts, strict=True):
            (folder / f"{part}{form}").write_bytes(pack(text))


@pytest.mark.parametrize("form", ["", ".gz", ".Z", ".zip"])
def test_isolet_is_the_same_in_every_packing(data_folder, small_isolet, form):
    (data_folder / "isolet").mkdir()
    write_isolet(data_folder / "isolet", small_isolet, form)
    expected = np.concatenate([np.loadtxt(text.decode().splitlines(), delimiter=",") for text in small_isolet])
    for _ in range(2):  # parsed, and from the cache
        collection = load_collection("isolet")
        assert len(collection) == 130
        rows = expected[1560:3120]
        np.testing.assert_array_equal(collection["isolet2-C"].X, rows[rows[:, -1] == 3][:, :-1])


def test_numbers_with_more_decimals_are_kept(data_folder, small_isolet):
    (data_folder / "isolet").mkdir()
    write_isolet(data_folder / "isolet", [b"0.123456" + text[text.index(b",") :] for text in small_isolet], "")
    assert load_collection("isolet")["isolet1-A"].X[0, 0] == 0.123456


def test_ragged_rows_of_isolet_are_refused_by_line(data_folder, small_isolet):
    (data_folder / "isolet").mkdir()
    write_isolet(data_folder / "isolet", [small_isolet[0], small_isolet[1] + b"1, 2\n"], "")
    with pytest.raises(DataFileError, match=r"isolet5\.data is not a table of numbers .*1560"):
        load_collection("isolet")


def test_a_row_too_many_is_refused(data_folder, small_isolet):
    (data_folder / "isolet").mkdir()
    write_isolet(data_folder / "isolet", [small_isolet[0], small_isolet[1] + b"0, 0, 0, 0, 26.\n"], "")
    with pytest.raises(DataFileError, match=r"isolet5\.data: 1560 x 5 values, but 1559 x 5"):
        load_collection("isolet")


def test_the_archive_of_isolet_is_downloaded_only_with_its_own_values(
    data_folder, cache, server, small_isolet, monkeypatch
):
    folder, address = server
    write_isolet(folder, small_isolet, ".zip")
    local = replace(isolet.SOURCE.choices[-1][0], url=f"{address}/isolet.zip")
    source = replace(isolet.SOURCE, choices=((local,),))
    monkeypatch.setattr(isolet, "SOURCE", source)
    with pytest.raises(DataFileError, match="some values are others"):
        load_collection("isolet")
    assert not list((cache / "isolet").iterdir())
    monkeypatch.setattr(isolet, "VALUES_SHA256", isolet.values_sha256(isolet.read((folder / "isolet.zip",))))
    assert len(load_collection("isolet")) == 130
    assert (cache / "isolet" / "isolet.zip").is_file()


def test_the_checksum_of_isolets_values_is_the_declared_one(published):
    published("isolet")
    paths = source_info("isolet").found
    assert isolet.values_sha256(isolet.read(tuple(map(Path, paths)))) == isolet.VALUES_SHA256


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


def test_a_device_with_too_few_rows_is_named_with_the_reason(data_folder):
    write_device(data_folder, "Kaggle", n_benign=474)
    with pytest.raises(DataNotFoundError, match=r"Ecobee_Thermostat \(474 benign and 30 malicious rows"):
        load_collection("iot")


def test_without_a_complete_device_the_message_says_what_to_put_where(data_folder):
    for call in (load_collection, fetch_source):
        with pytest.raises(DataNotFoundError, match="fetched by hand") as caught:
            call("iot")
        assert str(data_folder / "iot" / "Danmini_Doorbell" / "benign_traffic.csv") in str(caught.value)
    info = source_info("iot")
    assert not info.available
    assert "No device of iot is complete" in info.note


def test_a_device_is_complete_only_with_rows_enough_of_the_right_columns(data_folder):
    folder = data_folder / "iot"
    folder.mkdir()
    for name in ("1.benign.csv", "1.gafgyt.scan.csv"):
        (folder / name).write_text("p,q\n1,2\n")
    info = source_info("iot")
    assert not info.available
    assert "1.benign.csv, line 1 has 2 columns; the header needs 115)" in info.note
    write_csv(folder / "1.benign.csv", iot.N_NORMAL, 0)
    for name, n_rows in (("1.gafgyt.scan.csv", 20), ("1.mirai.ack.csv", 4)):
        write_csv(folder / name, n_rows, 1)
    assert "(475 benign and 24 malicious rows, 475 and 25 are needed)" in source_info("iot").note
    write_csv(folder / "1.mirai.ack.csv", 5, 1)
    info = source_info("iot")
    assert info.available
    assert "iot has 1 of 9 devices complete" in info.note
    assert len(info.found) == 3


def test_a_mislabelled_header_is_refused_by_column(data_folder):
    header = ["HH_L5_mean" if name == "H_L5_mean" else name for name in iot.FEATURES]
    write_device(data_folder, "Kaggle")
    write_csv(data_folder / "iot" / "2.benign.csv", 480, 1, header)
    with pytest.raises(DataFileError, match=r"2\.benign\.csv, line 1 names column 17 'HH_L5_mean'; .*'H_L5_mean'"):
        load_collection("iot")


# ---------------------------------------------------------------- rows of a CSV file


def csv(folder, text, packing=""):
    path = folder / f"x.csv{packing}"
    path.write_bytes(gzip.compress(text) if packing else text)
    return path


def test_rows_are_counted_and_picked(tmp_path):
    path = csv(tmp_path, b"a,b\r\n1,2\r\n\r\n3,4e1\r\n5,6")
    assert csvrows.count_rows(path, "ab") == 3
    np.testing.assert_array_equal(csvrows.read_rows(path, "ab", np.array([1, 2])), [[3, 40], [5, 6]])
    assert csvrows.read_rows(path, "ab", np.array([], int)).shape == (0, 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "line 1 has 1 columns"),
        (b"a\n1\n", "line 1 has 1 columns; the header needs 2"),
        (b"a,b\n1,2\n1,2,3\n", "line 3 has 3 values; 2 are needed"),
        (b"a,b\n1,x\n", "line 2 holds something that is not a number"),
        (b"a,b\n1,nan\n", "line 2 holds a value that is not finite"),
        (b"a,b\n" + b"1" * 70_000 + b",2\n", "line 2 is longer than 65,536 characters"),
    ],
)
def test_bad_rows_are_refused_by_line(tmp_path, text, message):
    path = csv(tmp_path, text)
    with pytest.raises(DataFileError, match=re.escape(f"{path}, {message}")):
        csvrows.read_rows(path, "ab", np.arange(csvrows.count_rows(path, "ab")))


def test_a_packed_line_without_end_is_refused(tmp_path):
    path = csv(tmp_path, bytes(10**7), ".gz")
    with pytest.raises(DataFileError, match="line 1 is longer"):
        csvrows.count_rows(path, "ab")


def test_a_packed_file_cut_short_is_refused(tmp_path):
    path = csv(tmp_path, b"a,b\n" + b"1,2\n" * 10_000, ".gz")
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataFileError, match="is damaged after line"):
        csvrows.count_rows(path, "ab")
