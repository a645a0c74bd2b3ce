"""Pictures as files and in notebooks."""

import base64
import json
import sys

import pytest

from fewratio.charts.chart import Picture, chart_spec, combine
from fewratio.charts.distributions import marked_histogram, signed_bars, stacked_histograms
from fewratio.charts.style import INK
from fewratio.errors import DataNotFoundError, MissingPackageError, ParameterError

MAGIC = {".png": b"\x89PNG", ".svg": b"<svg", ".pdf": b"%PDF", ".html": b"<!DOCTYPE html>", ".json": b"{"}
BARS = signed_bars(["a", "b"], [1.0, -0.5], [True, False], ["effect"], "Two bars.")
HISTOGRAM = marked_histogram([0.0, 1.0, 2.0], {"rows": [3, 1]}, ("score", "rows"), (1.5, "threshold"))


@pytest.fixture
def picture():
    return combine([(BARS, "Bars", 200), (HISTOGRAM, "Scores", 300)], "A <title>")


@pytest.mark.parametrize("ending", MAGIC)
def test_a_file_is_of_the_kind_of_its_ending(picture, tmp_path, ending):
    path = tmp_path / f"picture{ending.upper()}"
    picture.save(path)
    assert path.read_bytes().lstrip().startswith(MAGIC[ending])
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_a_specification_that_is_saved_is_whole(picture, tmp_path):
    picture.save(str(tmp_path / "picture.json"))
    saved = json.loads((tmp_path / "picture.json").read_text())
    assert saved == picture.spec
    bars, histogram = saved["hconcat"]
    assert [row["label"] for row in bars["data"]["values"]] == ["a", "b"]
    assert (bars["width"], histogram["width"]) == (200, 300)
    # Side by side, charts are as high as the highest.
    assert bars["height"] == histogram["height"] == max(BARS.height, HISTOGRAM.height)
    # What all share appears once.
    assert not {"config", "autosize", "$schema"} & (bars.keys() | histogram.keys())


def test_another_ending_is_refused_with_those_there_are(picture, tmp_path):
    with pytest.raises(ParameterError, match=r"r.bmp' is not a picture: .*\.png, \.svg, \.pdf.*\. Change its name\."):
        picture.save(tmp_path / "r.bmp")
    with pytest.raises(DataNotFoundError, match="does not exist"):
        picture.save(tmp_path / "absent" / "r.png")
    assert not list(tmp_path.iterdir())


def test_without_the_package_that_draws_the_extra_is_named(picture, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(MissingPackageError, match=r"needs vl_convert.* pip install 'fewratio\[report\]'"):
        picture.save(tmp_path / "r.png")
    assert not list(tmp_path.iterdir())
    # The specification needs nothing.
    picture.save(tmp_path / "r.json")
    shown, _ = picture._repr_mimebundle_()
    assert "image/png" not in shown


def test_a_notebook_gets_the_specification_pixels_and_text(picture):
    shown, sizes = picture._repr_mimebundle_()
    assert shown["application/vnd.vegalite.v6+json"] == picture.spec
    pixels = base64.b64decode(shown["image/png"])
    assert pixels.startswith(MAGIC[".png"])
    assert 500 < sizes["image/png"]["width"] < 800
    for text in ("A <title>", "Two bars.", "4 rows: score, from 0 to 2; threshold: 1.5"):
        assert text in shown["text/plain"]


def test_a_picture_does_not_depend_on_what_is_around_it(picture):
    text = json.dumps(picture.spec)
    assert "currentColor" not in text
    assert INK in text
    assert picture.spec["background"] == "white"
    # A report has the colours of the page, and a name stays as it is.
    named = Picture(chart_spec(1, title="currentColor", mark={"type": "rule", "color": "currentColor"}), "")
    assert (named.spec["title"], named.spec["mark"]["color"]) == ("currentColor", INK)
    assert "currentColor" in json.dumps(BARS.spec)


def test_the_same_result_gives_the_same_file(picture, tmp_path):
    for ending in (".png", ".svg"):
        path = tmp_path / f"r{ending}"
        assert picture.as_file(path) == picture.as_file(path)


def test_a_name_in_the_data_cannot_end_the_script_of_a_page(tmp_path):
    name = "</script><script>alert('read')</script>"
    chart = signed_bars([name], [1.0], [True], [name], f"The strongest is {name}.")
    combine([(chart, name, 200)], name).save(tmp_path / "picture.html")
    page = (tmp_path / "picture.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page
    spec, _ = json.JSONDecoder().raw_decode(page.partition("const spec = ")[2])
    assert spec["title"]["text"] == name


def test_histograms_of_several_samples_do_not_overlap():
    shares = {"first": [0.5, 0.5], "second": [1.0, 0.0], "a </name>": [0.2, 0.8]}
    data = stacked_histograms([0.0, 1.0, 2.0], shares, "size", "Three samples.").data
    strips = {}
    for sample, foot, top in zip(data["sample"], data["foot"], data["top"], strict=True):
        strips.setdefault(sample, []).append((foot, top))
    # From top to bottom in the given order; the largest share fills nine tenths of its strip.
    assert [feet.pop() for feet in ({foot for foot, _ in strip} for strip in strips.values())] == [2, 1, 0]
    assert all(0 <= top - foot <= 0.9 for strip in strips.values() for foot, top in strip)
    assert strips["second"][0] == (1, 1.9)


def test_large_effects_do_not_squeeze_the_others_and_each_bar_has_its_number():
    chart = signed_bars(["a", "b", "c"], [-100.0, 7.0, 0.8], [True] * 3, ["effect"], "Three bars.")
    assert chart.data["end"] == [-5.0, 5.0, 0.8]
    assert chart.data["text"] == ["< \N{MINUS SIGN}99", "+7.00", "+0.80"]
    scale = chart.spec["layer"][0]["encoding"]["x"]["scale"]
    assert (scale["domainMin"], scale["domainMax"]) == (-5.0, 5.0)


def test_a_bar_that_is_cut_ends_in_an_arrow_and_the_axis_says_so():
    cut, whole = (signed_bars(["a"], [value], [True], ["effect"], "A bar.") for value in (7.0, 0.8))
    titles = [chart.spec["layer"][0]["encoding"]["x"]["title"] for chart in (cut, whole)]
    assert titles == [["effect", "arrow: the bar ends at 5"], ["effect"]]
    assert cut.spec["layer"][1]["mark"]["size"] == {"expr": "datum.end === datum.value ? 0 : 500"}
