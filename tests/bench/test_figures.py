"""Figures and the page: what they show, and of what."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from fewratio.demo.curves import DrawnPair
from fewratio.estimators import gaussian_relative_ratio
from fewratio_bench import cli, examples, figures, report
from fewratio_bench.experiments import EXPERIMENTS, OURS, RULSIF
from fewratio_bench.methods import Learned
from fewratio_bench.problems import MNIST_R, SYNTHETIC
from fewratio_bench.run import record_file
from tests.bench.conftest import KERNEL, SMALL, TRAINING, a_record

RESULTS = Path(__file__).parents[2] / "results"
pytest.importorskip("matplotlib")


def texts(axes):
    return [text.get_text() for text in axes.texts]


@pytest.fixture
def records(tmp_path):
    """Mnist-r with J = AUC = -K / 1000 for every length K, 1 % more in the second split; and RuLSIF."""
    settings = [(OURS, setting, -setting["latent_dim"] / 1000) for setting in OURS.settings(MNIST_R)]
    settings += [(RULSIF, setting, -setting["reg"]) for setting in RULSIF.settings(MNIST_R)]
    record_file(tmp_path, MNIST_R).append(
        [
            a_record(
                data="Mnist-r",
                split=split,
                n_support=size,
                method=method.name,
                parameters=setting,
                role=role,
                metric=metric,
                value=value * (1 + split / 100),
            )
            for method, setting, value in settings
            for split in (0, 1)
            for size in MNIST_R.sizes
            for role in ("target", "validation")
            for metric in ("squared_error", "auc")
        ]
    )
    return tmp_path


# ---------------------------------------------------------------- lengths of the dataset vectors


def test_lengths_are_drawn_with_errors_and_rulsif_as_a_line(records):
    axes = figures.latent_dimension(records).axes
    assert [ax.get_title(loc="left") for ax in axes[:7]] == [
        "Mnist-r: relative DRE",
        "Isolet: relative DRE",
        "Mnist-r: dataset comparison",
        "Isolet: dataset comparison",
        "Landmine: outlier detection",
        "School: outlier detection",
        "IoT: outlier detection",
    ]
    (bars,) = axes[0].containers
    points, _, (errors,) = bars
    dims = np.array([4, 8, 16, 32, 64, 128, 256])
    np.testing.assert_array_equal(points.get_xdata(), dims)
    np.testing.assert_allclose(np.array(points.get_ydata(), float), -1.005 * dims / 1000)
    # A standard error up and down.
    np.testing.assert_allclose([np.ptp(segment[:, 1]) for segment in errors.get_segments()], 0.01 * dims / 1000)
    (line,) = [line for line in axes[0].lines if "RuLSIF" in str(line.get_label())]
    # lambda = 1 is the best of this grid.
    np.testing.assert_allclose(line.get_ydata(), -1.005)
    assert ["no records" in "".join(texts(ax)) for ax in axes[:7]] == [False, True, False, True, True, True, True]


@pytest.mark.slow
def test_names_beside_curves_do_not_cover_each_other(records):
    figure = figures.support_size(records)
    figure.draw_without_rendering()
    named = {panel.get_title(loc="left"): texts(panel) for panel in figure.axes}
    assert named["Mnist-r: dataset comparison"] == ["paper's method", "RuLSIF"]
    committed = figures.support_size(RESULTS)
    committed.draw_without_rendering()
    for panel in committed.axes:
        heights = sorted(text.get_position()[1] for text in panel.texts)
        assert len(heights) >= 5
        # Of eight points on a panel of more than 300.
        assert np.diff(heights).min() > 8 / 300


# ---------------------------------------------------------------- synthetic examples


@pytest.fixture(scope="module")
def small_examples():
    learned = Learned("Ours", "Ours", latent_dims=(3,), training=TRAINING)
    return examples.make_examples(SMALL, (learned, KERNEL))


@pytest.fixture
def drawn_pairs(small_examples):
    return [DrawnPair(**pair) for pair in small_examples["pairs"]]


@pytest.mark.slow
def test_examples_are_four_pairs_from_hard_to_easy(drawn_pairs):
    assert len(drawn_pairs) == 4
    for pair in drawn_pairs:
        assert len(pair.nu) == len(pair.de) == 10
        assert pair.curves.keys() == {"Ours", "RuLSIF"}
        assert all(len(curve) == len(pair.grid) for curve in pair.curves.values())
    # The further apart, the more the true ratio varies where the numerator is.
    varied = [np.ptp(gaussian_relative_ratio(pair.grid[:, None], *pair.moments)) for pair in drawn_pairs]
    assert varied[-1] > varied[0]


def test_a_curve_is_what_the_method_says_of_the_pair(small_examples, drawn_pairs):
    """The facade, fitted on the instances that are drawn, gives the curve that is drawn."""
    from fewratio import RuLSIF

    setting = small_examples["settings"]["RuLSIF"]
    for pair in drawn_pairs:
        nu, de = (np.array(sample)[:, None] for sample in (pair.nu, pair.de))
        fitted = RuLSIF(alpha=0.5, reg=setting["reg"], clip="weights").fit(nu, de)
        np.testing.assert_allclose(fitted.predict(pair.grid[:, None]), pair.curves["RuLSIF"], atol=2e-3)


def test_the_setting_that_is_drawn_is_the_best_on_the_targets(small_examples):
    judged = examples.Trial(SMALL, SMALL.split(0), 10, examples.torch.device("cpu"))
    errors = {
        verdict.parameters["reg"]: judged.evaluations["target"].metrics(verdict.judgement)["squared_error"]
        for verdict in KERNEL.judge([judged], examples.Bench("cpu"))
        if verdict.role == "target"
    }
    # With the grid beside the query the sums of float32 have another order.
    assert small_examples["errors"]["RuLSIF"] == pytest.approx(min(errors.values()), abs=1e-6)
    assert errors[small_examples["settings"]["RuLSIF"]["reg"]] == min(errors.values())


def test_curves_are_made_once_and_kept(small_examples, tmp_path, monkeypatch, capsys):
    made = []
    monkeypatch.setattr(examples, "make_examples", lambda *_: made.append(1) or small_examples)
    pictures = [examples.synthetic_examples(tmp_path) for _ in range(2)]
    assert made == [1]
    assert "training" in capsys.readouterr().err
    for picture in pictures:
        rows = picture.spec["data"]["values"]
        assert len({row["pair"] for row in rows}) == 4
        assert {row["sample"] for row in rows} >= {"true", "paper's method", "RuLSIF"}
        drawn = [row["ratio"] for row in rows if (row["place"], row["sample"]) == (0, "paper's method")]
        np.testing.assert_allclose(drawn, small_examples["pairs"][0]["curves"]["Ours"], atol=1e-4)


def test_a_damaged_file_of_curves_is_named(tmp_path, capsys):
    (tmp_path / "gaussian-1d").mkdir()
    (tmp_path / "gaussian-1d" / "examples.json").write_text("{}")
    record_file(tmp_path, SYNTHETIC).append([a_record()])
    assert cli.main(["figure", "synthetic", "--results", str(tmp_path), "--output", str(tmp_path / "a.png")]) == 1
    assert "examples.json" in capsys.readouterr().err


def test_committed_curves_are_of_the_models_that_the_records_measured():
    """Trained apart and on another device, what is learned is as good; RuLSIF, which draws nothing, is the same."""
    kept = json.loads((RESULTS / "gaussian-1d" / "examples.json").read_text())
    found = {
        record.method: record.value
        for record in record_file(RESULTS, SYNTHETIC).read()
        if (record.split, record.role, record.metric) == (0, "target", "squared_error")
        and record.parameters == kept["settings"].get(record.method)
    }
    assert all(kept["settings"][method.name] in method.settings(SYNTHETIC) for method in examples.METHODS)
    assert kept["errors"]["RuLSIF"] == pytest.approx(found["RuLSIF"], abs=1e-6)
    assert kept["errors"]["Ours"] == pytest.approx(found["Ours"], abs=0.01)
    # What it learns is noise about a ratio of 1, another on every device.
    assert kept["errors"]["RuLSIF-FT"] == pytest.approx(found["RuLSIF-FT"], abs=0.05)


# ---------------------------------------------------------------- the page


class Page(HTMLParser):
    """Anchors, links and what would be fetched from elsewhere."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.fetched = set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        named = dict(attrs)
        self.ids.add(named.get("id"))
        if tag == "a":
            self.links.append(named["href"])
        self.fetched += [value for name, value in attrs if name in ("src", "srcset") or (tag, name) == ("link", "href")]


@pytest.mark.slow
def test_the_page_holds_everything_and_fetches_nothing(records, small_examples, monkeypatch):
    monkeypatch.setattr(examples, "make_examples", lambda *_: small_examples)
    path = records / "page.html"
    report.write_report(records, path)
    text = path.read_text(encoding="utf-8")
    page = Page(text)
    assert page.fetched == []
    assert {link.removeprefix("#") for link in page.links} <= page.ids
    assert {f"table-{name}" for name in EXPERIMENTS} | {f"figure-{name}" for name in figures.FIGURES} <= page.ids
    # What was run where, and what was not.
    assert re.search(r"Mnist-r</td>\s*<td[^>]*>cpu</td>\s*<td[^>]*>abc</td>\s*<td>paper's method; RuLSIF</td>", text)
    others = {problem.data for experiment in EXPERIMENTS.values() for problem in experiment.problems} - {"Mnist-r"}
    assert f"No records of {', '.join(sorted(others))}." in text
    assert "No records yet: fewratio-bench run synthetic." in text


@pytest.mark.parametrize("name", ["latent-dimension", "support-size", "training-curves"])
@pytest.mark.slow
def test_a_figure_is_drawn_from_the_command_line(name, records):
    path = records / "figure.png"
    assert cli.main(["figure", name, "--results", str(records), "--output", str(path)]) == 0
    assert path.read_bytes().startswith(b"\x89PNG")


def test_all_committed_figures_have_a_command():
    assert {path.stem for path in RESULTS.glob("figures/*.png")} == set(figures.FIGURES)
