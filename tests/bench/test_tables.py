"""Tables: selection, averages, bold face, published numbers; and the committed ones, byte for byte."""

import csv
import html
import io
import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from fewratio.errors import DataFileError
from fewratio_bench.aggregation import PanelResult, Row, aggregate, published_numbers
from fewratio_bench.experiments import EXPERIMENTS, Experiment, Panel
from fewratio_bench.methods import OneClass
from fewratio_bench.problems import LANDMINE
from fewratio_bench.rendering import display_name, table_text
from fewratio_bench.tables import make_table
from tests.bench.conftest import KERNEL, OURS, SMALL, a_record, replace, small

RESULTS = Path(__file__).parents[2] / "results"


KERNEL_ALONE = replace(KERNEL, regs=(0.1,))
OURS_ALONE = replace(OURS, latent_dims=(3,))
SETTINGS = {method.name: method.settings(SMALL)[0] for method in (KERNEL_ALONE, OURS_ALONE)}


@cache
def committed(name):
    """Make a table of the committed records, which takes seconds."""
    return make_table(EXPERIMENTS[name], RESULTS)


def records_of(method, values, metric="squared_error", n_support=10, **changes):
    """One record a split, at one setting: by default the method's only one."""
    changes = {"parameters": SETTINGS.get(method, SETTINGS["Ours"])} | changes
    return [
        a_record(method=method, split=split, value=value, metric=metric, n_support=n_support, **changes)
        for split, value in enumerate(values)
    ]


ONE_SIZE = replace(SMALL, sizes=(10,))


def results_of(records, *methods, problem=ONE_SIZE):
    return aggregate(small(*methods, problem=problem), {SMALL.data: records})


def ranked(metric, numbers):
    """A block of methods with their values in two splits and the paper's number."""
    lines = [Row(name, "none", {"avg": values}, {"avg": paper}) for name, (values, paper) in numbers.items()]
    ours = Row("not the paper's", "validation", {"avg": [-9.0, 99.0]}, {})
    return PanelResult(Panel(SMALL.data, (SMALL,), metric), ("avg",), [*lines, ours])


def test_a_table_says_whether_best_and_worst_are_the_papers():
    """Less is better of an error, more of an AUC; a paired t-test says how sure it is."""
    numbers = {"A": ([1.0, 1.2], 1.0), "B": ([2.0, 2.3], 3.0), "C": ([2.5, 2.4], 2.0)}
    best, worst = ranked("squared_error", numbers).extremes("ABC")
    assert best[:5] == ("best", "A", True, "B", pytest.approx(2.15))
    assert worst[:4] == ("worst", "C", False, "B")
    # Differences of 0.5 and 0.1: t = 0.3 / 0.2 with one degree of freedom.
    assert worst.p_value == pytest.approx(1 - 2 / np.pi * np.arctan(1.5))
    best, worst = ranked("auc", numbers).extremes("ABC")
    assert (best.method, best.as_in_paper, best.other) == ("C", False, "B")
    assert (worst.method, worst.as_in_paper, worst.other) == ("A", True, "B")
    level = ranked("auc", numbers | {"A": numbers["B"]}).extremes("ABC")
    assert all(each.p_value is None or each.p_value == each.p_value for each in level)


def test_of_two_methods_or_some_of_the_papers_nothing_is_said():
    numbers = {"A": ([1.0, 1.2], 1.0), "B": ([2.0, 2.3], 3.0), "C": ([2.5, 2.4], 2.0)}
    assert ranked("auc", {name: numbers[name] for name in "AB"}).extremes("AB") == []
    assert ranked("auc", numbers).extremes("ABCD") == []
    assert ranked("auc", numbers | {"C": ([], 2.0)}).extremes("ABC") == []
    assert PanelResult(Panel(SMALL.data, (SMALL,), "auc"), (), []).extremes("ABC") == []


@pytest.mark.slow
def test_the_order_stands_below_the_numbers_and_not_where_they_are_of_different_things():
    table = committed("relative-dre")
    said = table.grids[0].note
    assert "Worst of the published methods: RuLSIF-FT, as in the paper (next: RuLSIF," in said
    assert all(display_name(said) in table_text(table, name) for name in ("markdown", "latex"))
    assert display_name(said) in html.unescape(table_text(table, "html"))
    assert not any(grid.note for grid in committed("alpha-dependency").grids)
    assert not any(grid.note for grid in make_table(EXPERIMENTS["relative-dre"].quick(), RESULTS).grids)


def test_the_two_selection_rules_choose_by_their_own_datasets():
    """On the targets reg 0.1 is better on average; on the validation datasets 0.01 in the first split only."""
    records = [
        record
        for reg, role, values in (
            (0.1, "target", [-0.6, -0.59]),
            (0.01, "target", [-0.5, -0.51]),
            (0.1, "validation", [-0.5, -0.8]),
            (0.01, "validation", [-0.7, -0.7]),
        )
        for metric in ("squared_error", "regret")
        for record in records_of("RuLSIF", values, metric, role=role, parameters=SETTINGS["RuLSIF"] | {"reg": reg})
    ]
    errors, regrets = results_of(records, KERNEL)
    for result in (errors, regrets):
        lines = {row.selection: row.values["10"] for row in result.rows}
        assert lines == {"best_on_test": [-0.6, -0.59], "validation": [-0.5, -0.59]}
    assert errors.rows[0].published == {"10": -0.559}


def test_a_length_is_selected_by_the_scores_of_normals_where_higher_is_better():
    """Of two lengths, the one whose validation normals score higher; their AUC says the other."""
    method = OneClass("AE", "AE", "autoencoder", latent_dims=(2, 3), steps=(5,))
    short, long = method.settings(LANDMINE)
    records = [
        a_record(method="AE", n_support=1, parameters=setting, role=role, metric=metric, value=value)
        for setting, role, metric, value in (
            (short, "validation", "normal_score", -2.0),
            (short, "validation", "auc", 90.0),
            (short, "target", "auc", 60.0),
            (long, "validation", "normal_score", -1.0),
            (long, "validation", "auc", 80.0),
            (long, "target", "auc", 50.0),
        )
    ]
    experiment = Experiment("outlier-detection", "Small", (Panel("Landmine", (LANDMINE,), "auc"),), (method,))
    (result,) = aggregate(experiment, {"Landmine": records})
    assert {row.selection: row.values["1"] for row in result.rows} == {"best_on_test": [60.0], "validation": [50.0]}
    with pytest.raises(DataFileError, match="Run the experiment again"):
        aggregate(experiment, {"Landmine": records[1:]})


def test_of_a_number_that_was_measured_twice_the_last_counts():
    records = [*records_of("RuLSIF", [-0.5, -0.5]), *records_of("RuLSIF", [-0.6])]
    experiment = Experiment("synthetic", "Small", (Panel(SMALL.data, (ONE_SIZE,), "squared_error"),), (KERNEL_ALONE,))
    (result,) = aggregate(experiment, {SMALL.data: records})
    assert result.rows[0].values["10"] == [-0.6, -0.5]


def test_one_setting_leaves_nothing_to_select():
    (result, _) = results_of(
        [r for metric in ("squared_error", "regret") for r in records_of("RuLSIF", [1.0, 2.0], metric)], KERNEL_ALONE
    )
    assert [row.selection for row in result.rows] == ["none"]


def test_averages_are_taken_split_by_split():
    problem = replace(SMALL, sizes=(1, 5))
    records = [
        record
        for size, values in ((1, [0.0, 2.0]), (5, [4.0, 8.0]))
        for metric in ("squared_error", "regret")
        for record in records_of("RuLSIF", values, metric, size)
    ]
    (result, _) = results_of(records, KERNEL_ALONE, problem=problem)
    assert result.columns == ("1", "5", "avg")
    assert result.rows[0].values["avg"] == [2.0, 5.0]


def test_a_line_that_explodes_in_one_split_is_not_bold():
    noise = np.arange(10) / 100
    lines = {"Ours": noise, "RuLSIF": noise + 0.1 + 90 * (np.arange(10) == 3)}
    records = [record for name, values in lines.items() for record in records_of(name, list(values), "squared_error")]
    experiment = Experiment(
        "synthetic", "Small", (Panel(SMALL.data, (SMALL,), "squared_error"),), (OURS_ALONE, KERNEL_ALONE)
    )
    (result,) = aggregate(experiment, {SMALL.data: records})
    assert [result.is_best(row, "10") for row in result.rows] == [True, False]


@pytest.mark.parametrize(("metric", "better"), [("squared_error", -1), ("auc", 1)])
def test_bold_is_the_best_and_what_is_not_significantly_worse(metric, better):
    noise = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    shifts = {"Ours": 0.0, "near": 0.01, "RuLSIF": 5.0}
    wobble = {"Ours": 0.0, "near": np.array([0.5, -0.5, 0.5, -0.5, 0.1]), "RuLSIF": np.array([0.1, 0, 0, 0, 0])}
    records = [
        record
        for name, shift in shifts.items()
        for record in records_of(name, list(noise - better * (shift + wobble[name])), metric)
    ]
    methods = OURS_ALONE, replace(OURS_ALONE, name="near"), KERNEL_ALONE
    experiment = Experiment("synthetic", "Small", (Panel(SMALL.data, (SMALL,), metric),), methods)
    (result,) = aggregate(experiment, {SMALL.data: records})
    assert [result.is_best(row, "10") for row in result.rows] == [True, True, False]
    text = table_text(make_table(experiment, RESULTS, {SMALL.data: records}), "markdown")
    assert text.count("**") == 4


def test_every_format_holds_the_same_numbers():
    records = [r for metric in ("squared_error", "regret") for r in records_of("RuLSIF", [-0.5, -0.52], metric)]
    experiment = small(KERNEL_ALONE, problem=replace(SMALL, sizes=(10,)))
    table = make_table(experiment, RESULTS, {SMALL.data: records})
    text = table_text(table, "markdown")
    assert "**-0.510 ± 0.010** | -0.559 | +0.049" in text
    assert "Commit abc; device cpu" in text
    assert "\\textbf{$-$0.510 $\\pm$ 0.010} & $-$0.559 & +0.049" in table_text(table, "latex")
    assert "\\label{tab:small-gaussian-1d-j}" in table_text(table, "latex")
    assert '<td class="number"><b>-0.510 ± 0.010</b></td>' in table_text(table, "html")
    rows = list(csv.DictReader(io.StringIO(table_text(table, "csv"))))
    assert rows[0]["mean"] == "-0.51000"
    assert float(rows[0]["difference"]) == pytest.approx(0.049)


def test_a_panel_without_records_says_so():
    experiment = small(KERNEL)
    table = make_table(experiment, RESULTS, {})
    assert not table.numbers
    for name in ("markdown", "latex", "html"):
        assert "There are no records. To make them: fewratio-bench run synthetic --data Gaussian-1d" in table_text(
            table, name
        )


def test_iot_says_what_is_missing():
    for name in ("outlier-detection", "latent-dimension"):
        assert "eight of its nine devices are missing" in (RESULTS / "tables" / f"{name}.md").read_text("utf-8")


def test_published_numbers_are_looked_up():
    numbers = published_numbers()
    assert numbers["synthetic", "Gaussian-1d", "10", "Ours", "squared_error"] == -0.613
    assert numbers["relative-dre", "Mnist-r", "2", "Ours", "squared_error"] == -0.748


def test_columns_are_in_order_and_what_is_missing_is_a_dash():
    problem = replace(SMALL, sizes=(1, 2, 5))
    records = [
        record
        for method, sizes in (("RuLSIF", (1, 5)), ("Ours", (5, 2, 1)))
        for size in sizes
        for metric in ("squared_error", "regret")
        for record in records_of(method, [0.0, 2.0], metric, size)
    ]
    experiment = small(OURS_ALONE, KERNEL_ALONE, problem=problem)
    (result, _) = aggregate(experiment, {SMALL.data: records})
    assert result.columns == ("1", "2", "5", "avg")
    assert "| RuLSIF | none | **1.000 ± 1.000** | - |" in table_text(
        make_table(experiment, RESULTS, {SMALL.data: records}), "markdown"
    )


def test_an_average_over_problems_is_of_the_splits_that_all_of_them_have():
    problems = tuple(replace(ONE_SIZE, data=data) for data in ("long", "short"))
    experiment = Experiment("synthetic", "Small", (Panel("all", problems, "squared_error"),), (KERNEL_ALONE,))
    records = {"long": records_of("RuLSIF", [0.0, 0.0, 0.0]), "short": records_of("RuLSIF", [10.0])}
    (result,) = aggregate(experiment, records)
    assert result.rows[0].values == {"avg": [5.0]}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({path.stem for path in RESULTS.glob("tables/*.*")}))
def test_committed_tables_are_what_the_committed_records_give(name):
    table = committed(name)
    for path in RESULTS.glob(f"tables/{name}.*"):
        kind = {".md": "markdown", ".tex": "latex", ".csv": "csv"}[path.suffix]
        assert table_text(table, kind) == path.read_text(encoding="utf-8"), path.name


def test_what_was_measured_has_committed_tables_for_people_and_for_programs():
    measured = {"synthetic", "relative-dre", "dataset-comparison", "latent-dimension", "computation-cost"}
    for suffix in ("md", "csv"):
        assert {path.stem for path in RESULTS.glob(f"tables/*.{suffix}")} >= measured


def test_a_published_average_is_over_the_sizes_that_we_have():
    """A quick run has the smallest and the largest size only; the paper's average over five is no match for it."""
    experiment = EXPERIMENTS["relative-dre"]
    records = [
        record
        for size in (1, 5)
        for record in records_of("RuLSIF", [-0.5, -0.6], n_support=size, data="Mnist-r", parameters=SETTINGS["RuLSIF"])
    ]
    (result, _) = aggregate(experiment, {"Mnist-r": records})
    (row,) = result.rows
    assert row.published["avg"] == pytest.approx((-0.543 - 0.578) / 2)


def test_ours_is_a_key_that_readers_do_not_see():
    records = records_of("Ours", [-0.5, -0.52])
    experiment = Experiment("synthetic", "Small", (Panel(SMALL.data, (ONE_SIZE,), "squared_error"),), (OURS_ALONE,))
    table = make_table(experiment, RESULTS, {SMALL.data: records})
    for name in ("markdown", "latex", "html"):
        text = table_text(table, name)
        assert "paper's method" in text
        assert "Ours" not in text
    (row,) = csv.DictReader(io.StringIO(table_text(table, "csv")))
    assert row["method"] == "Ours"


def test_a_method_without_records_is_named():
    records = [r for metric in ("squared_error", "regret") for r in records_of("RuLSIF", [-0.5, -0.52], metric)]
    caption = make_table(small(OURS_ALONE, KERNEL_ALONE, problem=ONE_SIZE), RESULTS, {SMALL.data: records}).caption
    assert "Without records, and so not shown: paper's method." in caption
    assert (
        "Without records"
        not in make_table(small(KERNEL_ALONE, problem=ONE_SIZE), RESULTS, {SMALL.data: records}).caption
    )


# ---------------------------------------------------------------- one row a setting, one column a panel


def test_every_length_has_a_row_of_its_own_and_every_panel_a_column():
    """Nothing is selected, and a panel without records says so in every row."""
    dims = {"Ours, K = 3": 3, "Ours, K = 5": 5}
    elsewhere = replace(SMALL, data="elsewhere")
    experiment = Experiment(
        "latent-dimension",
        "Lengths",
        (Panel(SMALL.data, (ONE_SIZE,), "squared_error"), Panel("elsewhere", (elsewhere,), "auc")),
        (OURS,),
        layout="panels",
        shown=tuple((name, replace(OURS, latent_dims=(dim,))) for name, dim in dims.items()),
    )
    records = [
        record
        for dim, values in ((3, [-0.5, -0.7]), (5, [-0.4, -0.5]))
        for record in records_of("Ours", values, parameters=SETTINGS["Ours"] | {"latent_dim": dim})
    ]
    (grid,) = make_table(experiment, RESULTS, {SMALL.data: records}).grids
    assert list(grid.header[2:]) == ["Gaussian-1d: J", "elsewhere: AUC [%]"]
    assert [[cell.text for cell in row] for row in grid.rows] == [
        ["Ours, K = 3", "none", "-0.600 ± 0.100", "no records"],
        ["Ours, K = 5", "none", "-0.450 ± 0.050", "no records"],
    ]


def test_the_lengths_of_the_paper_are_run_as_one_and_shown_one_by_one():
    experiment = EXPERIMENTS["latent-dimension"]
    assert [panel.metric for panel in experiment.panels] == ["squared_error"] * 2 + ["auc"] * 5
    for size in (experiment, experiment.quick()):
        ours = size.methods[0]
        run = {json.dumps(setting) for setting in ours.settings(SMALL)}
        for name, method in size.rows[:-1]:
            (setting,) = method.settings(SMALL)
            assert name == f"Ours, K = {setting['latent_dim']}"
            assert (json.dumps(setting) in run) == (setting["latent_dim"] in ours.latent_dims)
    assert len(experiment.rows) == 8


# ---------------------------------------------------------------- seconds


@pytest.fixture
def costs():
    """Records of two splits: seconds of judging and of an ensemble's share, and of other sizes, which do not count."""
    experiment = EXPERIMENTS["computation-cost"]
    settings = {method.name: method.settings(experiment.problems[0]) for method in experiment.methods}
    return {
        "Mnist-r": [
            a_record(
                data="Mnist-r",
                method=name,
                n_support=size,
                split=split,
                metric="auc",
                parameters=settings[name][0],
                seconds=seconds + split + 100 * (size == 1),
            )
            for name, seconds in (("Ours", 2.0), ("MMD", 0.5))
            for size in (1, 5)
            for split in (0, 1)
        ]
    }


def test_seconds_stand_beside_the_published_ones(costs, tmp_path):
    cost = {"method": "Ours", "learning, seconds": 70.0, "steps of learning": 9000, "judging 200 pairs, seconds": 0.5}
    kernel = {"method": "MMD", "learning, seconds": 0.0, "steps of learning": 0, "judging 200 pairs, seconds": 0.02}
    lines = [json.dumps(each | {"threads": 1, "commit": "abc", "device": "cpu"}) for each in (cost, kernel)]
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "method_cost.jsonl").write_text("\n".join(lines) + "\n")
    table = make_table(EXPERIMENTS["computation-cost"], tmp_path, costs)
    alone, together = ([[cell.text for cell in row] for row in grid.rows] for grid in table.grids)
    assert alone == [
        ["Ours (train)", "cpu, 1 thread", "70.000", "137.93"],
        ["Ours (test)", "cpu, 1 thread", "0.250", "0.32"],
        ["MMD", "cpu, 1 thread", "0.010", "0.12"],
    ]
    assert together == [["Ours", "cpu", "2.500", "138.25"], ["MMD", "cpu", "1.000", "0.12"]]
    assert "9000 steps" in table.caption
    assert "divided by its members" in table.caption
    rows = list(csv.DictReader(io.StringIO(table_text(table, "csv"))))
    assert (rows[3]["what"], rows[3]["standard_error"], rows[3]["device"]) == ("Ours", "0.50000", "cpu")


def test_seconds_that_were_not_measured_say_so(costs, tmp_path):
    table = make_table(EXPERIMENTS["computation-cost"], tmp_path, costs)
    assert "Run benchmarks/method_cost.py" in table_text(table, "markdown")
    assert not make_table(EXPERIMENTS["computation-cost"], tmp_path, {}).numbers
