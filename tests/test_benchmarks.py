"""Every benchmark can at least be started, and says how, whether or not what it compares with is installed."""

import ast
import json
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chi2_contingency, ks_2samp

BENCHMARKS = sorted((Path(__file__).parents[1] / "benchmarks").glob("*.py"))
PEERS = ("densratio", "hyppo", "pandas", "polars", "pyod", "river", "ruptures", "torchdensityestimation")
PROGRAM = """
import runpy, sys
n_peers = int(sys.argv[1])
sys.modules.update(dict.fromkeys(sys.argv[2:][:n_peers]))  # to import these is an error now
for path in sys.argv[2:][n_peers:]:
    sys.argv, sys.path[0] = [path, "--help"], path.rpartition("/")[0]  # as for a script
    try:
        runpy.run_path(path, run_name="__main__")
    except SystemExit as done:
        assert not done.code, path
"""


@pytest.mark.slow
def test_every_benchmark_says_how_it_is_run():
    """In one process for all: to start each in its own takes a minute."""
    command = [sys.executable, "-c", PROGRAM, str(len(PEERS)), *PEERS, *map(str, BENCHMARKS)]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    said = [line.split()[1] for line in run.stdout.splitlines() if line.startswith("usage: ")]
    assert said == [path.name for path in BENCHMARKS]


@pytest.fixture
def run(monkeypatch, capsys):
    """Run a benchmark here, with sizes so small that only its records can be looked at."""

    def records(name, *arguments):
        path = Path(__file__).parents[1] / "benchmarks" / f"{name}.py"
        monkeypatch.setattr(sys, "argv", [str(path), *map(str, arguments)])
        runpy.run_path(str(path), run_name="__main__")
        return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    return records


@pytest.mark.slow
def test_the_level_is_measured_at_every_attainable_level(run):
    found = run("comparison", "level", "--pairs", 8, "--sides", 3, 10, "--permutations", 39)
    assert [(each["exact"], each["attainable_levels"]) for each in found] == 4 * [(True, 20), (False, 40)]
    tested = [each["law"] for each in found if each["uniformity_p_value"] is not None]
    assert tested == ["gaussian", "student t, 2 degrees"]


@pytest.mark.slow
def test_speed_of_comparisons(run):
    """Runs differ in what is varied and in what was measured, and have the fields of the committed ones."""
    measured = ("second", "memory", "times_a_loop")
    committed = Path(__file__).parents[1] / "results" / "benchmarks" / "comparison.jsonl"
    known = [json.loads(line) for line in committed.read_text().splitlines()]
    for varied, arguments in (("estimator", ("speed", "--repeats", 1)), ("datasets", ("all-pairs", "--sizes", 3, 5))):
        first, second = run("comparison", *arguments)
        assert first.keys() == second.keys()
        assert first.keys() in [each.keys() for each in known if each["benchmark"] == first["benchmark"]]
        fixed = {name for name in first if not any(word in name for word in measured)}
        assert {name for name in fixed if first[name] != second[name]} == {varied}


@pytest.mark.slow
def test_power_is_that_of_the_same_pairs(run, tmp_path):
    common = ("--data", "digits_r", "--model", tmp_path / "model")
    run("comparison", "train", "--steps", 1, *common)
    found = run("comparison", "power", "--pairs", 2, "--peers", "MMD", "logistic regression", *common)
    assert [each["test"] for each in found] == [
        "fewratio",
        "fewratio, universal network",
        "fewratio, with sources",
        "MMD",
        "logistic regression",
    ]
    for each in found:
        lead = each["share_of_p_at_most_0_05"] - found[0]["share_of_p_at_most_0_05"]
        assert each["lead_over_ours"] == pytest.approx(lead)


@pytest.mark.slow
def test_real_data_are_measured_on_both_halves_with_the_same_methods(run, monkeypatch, tmp_path):
    noise = np.random.default_rng(0).normal(size=40)
    series = {"series": [{"raw": (noise + 5 * (np.arange(40) >= 20)).tolist()}]}
    for half, name in (("", "known"), ("test", "foreign")):
        folder = tmp_path / "everyday" / half / "tcpd"
        folder.mkdir(parents=True)
        (folder / f"{name}.json").write_text(json.dumps({"series": series, "annotations": {"someone": [20]}}))
    monkeypatch.setenv("FEWRATIO_DATA", str(tmp_path))
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "benchmarks"))
    found = run("answers", "--only", "annotated")
    methods = {half: [each["method"] for each in found if each["half"] == half] for half in ("development", "test")}
    assert methods["test"] == methods["development"]
    assert {(each["half"], each["series"]) for each in found} == {
        ("development", "known"),
        ("development", 1),
        ("test", "foreign"),
        ("test", 1),
    }
    assert {each["f1"] for each in found if each["method"] == "fewratio, segmentation"} == {1.0}


def test_single_columns_are_tested_as_by_hand(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "benchmarks"))
    module = runpy.run_path(str(Path(__file__).parents[1] / "benchmarks" / "everyday" / "comparison.py"))
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(2, 9, 3))
    B[:, 1] += 2
    expected = 3 * min(ks_2samp(a, b).pvalue for a, b in zip(A.T, B.T, strict=True))
    assert module["bonferroni"](A, B, rng) == pytest.approx(expected)
    # One category in columns of zeros and ones is one test.
    one, other = np.eye(4)[[0, 0, 0, 1, 1, 2]], np.eye(4)[[1, 2, 2, 2, 2, 2]]
    expected = chi2_contingency([[3, 2, 1], [0, 1, 5]]).pvalue
    assert module["bonferroni"](one, other, rng) == pytest.approx(expected)


def test_annotated_changes_are_scored_as_by_hand(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "benchmarks"))
    module = runpy.run_path(str(Path(__file__).parents[1] / "benchmarks" / "everyday" / "changes.py"))
    annotations = [[10], []]
    assert module["f1"](annotations, [12]) == 1
    assert module["f1"](annotations, [16]) == pytest.approx(0.6)
    # 10 rows of which 10 / 12 are covered, 10 of which 8 / 10 are, and 20 of which 12 / 20 are.
    assert module["covering"](annotations, [12], 20) == pytest.approx(((10 * 10 / 12 + 8) / 20 + 0.6) / 2)


@pytest.fixture
def constants(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "benchmarks"))
    return runpy.run_path(str(Path(__file__).parents[1] / "benchmarks" / "constants.py"))


def test_constants_are_read_when_functions_run(constants):
    """Otherwise the benchmark that changes them would find no effect."""
    for module in constants["MODULES"]:
        names = {name for of_module, name in constants["constants"]() if of_module == module.__name__}
        nodes = list(ast.walk(ast.parse(Path(module.__file__).read_text())))
        functions = [node for node in nodes if isinstance(node, ast.FunctionDef)]
        inside = {each for node in functions for part in node.body for each in ast.walk(part)}
        reads = [node for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
        assert not names & {node.id for node in reads if node not in inside}


@pytest.mark.slow
def test_effect_of_constants(run, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "benchmarks"))
    found = run("constants", "--families", "penguins", "weather", "--constants", "_IN_COMMON")
    assert [(each["constant"], each["value"]) for each in found] == [
        ("discriminant_choice._IN_COMMON", "0.025"),
        ("discriminant_choice._IN_COMMON", "0.1"),
    ]
    assert all(each["share_changed"] > 0 and each["standard_error"] > 0 for each in found)
