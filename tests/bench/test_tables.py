"""Tables: selection, averages, bold face, published numbers; and the committed ones, byte for byte."""

import csv
import io
from pathlib import Path

import numpy as np
import pytest

from fewratio_bench.experiments import EXPERIMENTS
from fewratio_bench.render import FORMATS, as_csv, latex, markdown
from fewratio_bench.run import record_file
from fewratio_bench.tables import make_blocks, published_numbers
from tests.bench.conftest import KERNEL, OURS, SMALL, a_record, replace, small

RESULTS = Path(__file__).parents[2] / "results"


KERNEL_ALONE = replace(KERNEL, regs=(0.1,))
OURS_ALONE = replace(OURS, latent_dims=(3,))
SETTINGS = {method.name: method.settings(SMALL)[0] for method in (KERNEL_ALONE, OURS_ALONE)}


def records_of(method, values, metric="squared_error", n_support=10, **changes):
    """One record a split, at one setting: by default the method's only one."""
    changes = {"parameters": SETTINGS.get(method, SETTINGS["Ours"])} | changes
    return [
        a_record(method=method, split=split, value=value, metric=metric, n_support=n_support, **changes)
        for split, value in enumerate(values)
    ]


ONE_SIZE = replace(SMALL, sizes=(10,))


def blocks_of(records, *methods, problem=ONE_SIZE):
    return make_blocks(small(*methods, problem=problem), {SMALL.data: records})


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
    errors, regrets = blocks_of(records, KERNEL)
    for block in (errors, regrets):
        lines = {line.selection: line.values["10"] for line in block.lines}
        assert lines == {"best_on_test": [-0.6, -0.59], "validation": [-0.5, -0.59]}
    assert errors.lines[0].published == {"10": -0.559}


def test_one_setting_leaves_nothing_to_select():
    (block, _) = blocks_of(
        [r for metric in ("squared_error", "regret") for r in records_of("RuLSIF", [1.0, 2.0], metric)], KERNEL_ALONE
    )
    assert [line.selection for line in block.lines] == ["none"]


def test_averages_are_taken_split_by_split():
    problem = replace(SMALL, sizes=(1, 5))
    records = [
        record
        for size, values in ((1, [0.0, 2.0]), (5, [4.0, 8.0]))
        for metric in ("squared_error", "regret")
        for record in records_of("RuLSIF", values, metric, size)
    ]
    (block, _) = blocks_of(records, KERNEL_ALONE, problem=problem)
    assert block.columns == ("1", "5", "avg")
    assert block.lines[0].values["avg"] == [2.0, 5.0]


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
    from fewratio_bench.experiments import Experiment, Panel

    methods = OURS_ALONE, replace(OURS_ALONE, name="near"), KERNEL_ALONE
    experiment = Experiment("synthetic", "Small", (Panel(SMALL.data, (SMALL,), metric),), methods)
    (block,) = make_blocks(experiment, {SMALL.data: records})
    assert [block.is_best(line, "10") for line in block.lines] == [True, True, False]
    text = markdown(experiment, [block], records)
    assert text.count("**") == 4


def test_every_format_holds_the_same_numbers():
    records = [r for metric in ("squared_error", "regret") for r in records_of("RuLSIF", [-0.5, -0.52], metric)]
    experiment = small(KERNEL_ALONE, problem=replace(SMALL, sizes=(10,)))
    blocks = make_blocks(experiment, {SMALL.data: records})
    text = markdown(experiment, blocks, records)
    assert "**-0.510 ± 0.010** | -0.559 | +0.049" in text
    assert "Commit abc; device cpu" in text
    assert "-0.510 $\\pm$ 0.010" in latex(experiment, blocks, records)
    rows = list(csv.DictReader(io.StringIO(as_csv(experiment, blocks, records))))
    assert rows[0]["mean"] == "-0.51000"
    assert float(rows[0]["difference"]) == pytest.approx(0.049)


def test_a_panel_without_records_says_so():
    experiment = small(KERNEL)
    blocks = make_blocks(experiment, {})
    for write in (markdown, latex):
        assert "no records" in write(experiment, blocks, [])


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
    blocks = make_blocks(experiment, {SMALL.data: records})
    assert blocks[0].columns == ("1", "2", "5", "avg")
    assert "| RuLSIF | none | **1.000 ± 1.000** | - |" in markdown(experiment, blocks, records)


def test_an_average_over_problems_is_of_the_splits_that_all_of_them_have():
    from fewratio_bench.tables import _columns

    assert _columns([{1: {0: 0.0, 1: 0.0, 2: 0.0}}, {1: {0: 10.0}}]) == {"avg": [5.0]}


@pytest.mark.parametrize("path", sorted(RESULTS.glob("tables/*.*")), ids=lambda path: path.name)
def test_a_committed_table_is_what_the_committed_records_give(path):
    experiment = EXPERIMENTS[path.stem]
    records = {problem.data: record_file(RESULTS, problem).read() for problem in experiment.problems}
    everything = [record for each in records.values() for record in each]
    write = FORMATS[{".md": "markdown", ".tex": "latex", ".csv": "csv"}[path.suffix]]
    assert write(experiment, make_blocks(experiment, records), everything) == path.read_text(encoding="utf-8")


def test_there_are_committed_tables():
    assert {path.suffix for path in RESULTS.glob("tables/*.*")} >= {".md", ".csv"}


def test_a_published_average_is_over_the_sizes_that_we_have():
    """A quick run has the smallest and the largest size only; the paper's average over five is no match for it."""
    experiment = EXPERIMENTS["relative-dre"]
    records = [
        record
        for size in (1, 5)
        for record in records_of("RuLSIF", [-0.5, -0.6], n_support=size, data="Mnist-r", parameters=SETTINGS["RuLSIF"])
    ]
    (block, _) = make_blocks(experiment, {"Mnist-r": records})
    (line,) = block.lines
    assert line.published["avg"] == pytest.approx((-0.543 - 0.578) / 2)
