"""What runs where torch is not installed, and what is said by all else."""

import json
import subprocess
import sys

import numpy as np
import pytest

from fewratio import AutoRatioEstimator, Collection
from tests.test_public_names import PACKAGES, PUBLIC

BLOCK = """
import sys

class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")

sys.meta_path.insert(0, NoTorch())
"""
SAMPLES = """
import numpy as np
rng = np.random.default_rng(0)
A, B = rng.normal(size=(20, 2)), rng.normal(1, 1, (25, 2))
"""


def run(program, *arguments):
    return subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True)


@pytest.mark.slow
def test_kernels_and_applications_need_no_torch_and_the_automatic_choice_says_what_it_takes():
    uses = """
fewratio.compare_datasets(A, B, n_permutations=19, random_state=0)
fewratio.compare_all([A, B, A + 1], n_permutations=9, random_state=0)
fewratio.importance_weights(A, B)
fewratio.InlierOutlierDetector(random_state=0).fit(A, B)
fewratio.detect_changes(np.concatenate([A, B + 3]), window=8, n_permutations=99, random_state=0)
fewratio.estimators.mmd2(A, B)
fewratio.RuLSIF(sigma="cv", reg="cv", random_state=0).fit(A, B)
fewratio.KLIEP(sigma="cv", random_state=0).fit(A, B)
fewratio.estimators.Telescoping(random_state=0).fit(A, B)
fewratio.estimators.gaussian_relative_ratio(A, 0, 1, 1, 1)
sources = fewratio.Collection.from_arrays([A, B], outliers=[A[:, 0] > 1, B[:, 0] > 2])
fewratio.estimators.InlierRatioEstimator().pretrain(sources).fit(A, B)
print(fewratio.AutoRatioEstimator(random_state=0).fit(A, B).members_)
"""
    done = run(f"{BLOCK}{SAMPLES}\nimport fewratio\n{uses}")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[ClassifierRatio(random_state=0)]\n"
    assert "pip install 'fewratio[networks]'" in done.stderr


@pytest.mark.slow
def test_a_model_made_with_torch_says_without_it_what_is_replaced(tmp_path):
    rng = np.random.default_rng(0)
    sources = [rng.normal(shift, 1, (20, 2)) for shift in range(4)]
    AutoRatioEstimator(random_state=0).pretrain(Collection.from_arrays(sources)).save(tmp_path / "its.model")
    done = run(f"{BLOCK}{SAMPLES}\nimport fewratio\nfewratio.load_model(sys.argv[1]).fit(A, B)", tmp_path / "its.model")
    assert done.returncode == 0, done.stderr
    assert "a classifier replaces the universal network" in done.stderr


@pytest.mark.slow
def test_settings_need_no_torch():
    uses = """
from fewratio.estimators.networks import Architecture, Inliers, Pairs, Training
for settings in (Architecture("both"), Inliers(), Pairs(n_support=(1, 5)), Training(max_steps=3)):
    settings._check_parameters()
    print(settings)
"""
    done = run(f"{BLOCK}{uses}")
    assert done.stdout.splitlines()[-1] == "Training(max_steps=3)", done.stderr


@pytest.mark.slow
def test_networks_say_how_to_install_torch():
    program = f"""{BLOCK}
from fewratio import FewRatioError
for use in sys.argv[1:]:
    try:
        exec(use)
    except ImportError as error:
        assert isinstance(error, FewRatioError)
        print(error)
"""
    uses = [
        "from fewratio import MetaRatioEstimator",
        "from fewratio import UniversalRatioEstimator",
        "from fewratio.estimators.networks import Pair, RatioModel",
        "import fewratio.estimators.networks.nn",
    ]
    done = run(program, *uses)
    messages = done.stdout.splitlines()
    assert len(messages) == len(uses), done.stderr
    for message in messages:
        assert "needs torch" in message
        assert "pip install 'fewratio[networks]'" in message


@pytest.mark.slow
def test_a_star_imports_what_needs_no_torch_and_all_of_that():
    program = f"""{BLOCK}
import importlib
for package in sys.argv[1:]:
    names, module = {{}}, importlib.import_module(package)
    exec(f"from {{package}} import *", names)
    for name in set(dir(module)) - names.keys():
        try:
            thing = getattr(module, name)
        except ImportError:
            continue
        assert type(thing) is type(sys), thing
    print(package, *sorted(set(names) - {{"__builtins__"}}))
"""
    done = run(program, "fewratio", *PACKAGES)
    assert done.returncode == 0, done.stderr
    found = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines()}
    assert found["fewratio.estimators.networks"] == ["Architecture", "Inliers", "Pairs", "Training"]
    assert set(PUBLIC) - set(found["fewratio"]) == {"MetaRatioEstimator", "UniversalRatioEstimator"}


@pytest.fixture
def tables(tmp_path):
    rng = np.random.default_rng(0)
    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for shift, path in enumerate(paths):
        np.savetxt(path, rng.normal(shift, 1, (30, 2)), delimiter=",", header="x,y", comments="")
    return list(map(str, paths))


@pytest.mark.slow
def test_commands_work_without_torch_or_say_what_they_need_it_for(tables, tmp_path):
    program = f"""{BLOCK}
import contextlib, io, json, os
from fewratio.app import main
os.chdir({str(tmp_path)!r})
for verb in map(str.split, sys.argv[1:]):
    sys.argv, said = ["fewratio", *verb], [io.StringIO(), io.StringIO()]
    with contextlib.redirect_stdout(said[0]), contextlib.redirect_stderr(said[1]):
        try:
            main()
        except SystemExit as end:
            code = end.code
    print(json.dumps([code, *(text.getvalue() for text in said)]))
"""
    model = tmp_path.parent / "new.model"
    verbs = (
        "compare a.csv b.csv --permutations 19",
        f"train . -o {model}",
        f"ratio a.csv b.csv --model {model}",
        f"train . -o {model} --learner network",
    )
    done = run(program, *verbs)
    assert done.returncode == 0, done.stderr
    *worked, (code, _, complaint) = map(json.loads, done.stdout.splitlines())
    assert [each[0] for each in worked] == [0, 0, 0], worked
    for (_, printed, _), words in zip(worked, ("p-value", "Learned from", "ratio"), strict=True):
        assert words in printed
    assert code == 1
    assert "pip install 'fewratio[networks]'" in complaint
    assert "Traceback" not in complaint


def test_the_command_compares_without_loading_torch(tables):
    program = """
import sys
from fewratio.app import app
app(standalone_mode=False)
print("torch" in sys.modules)
"""
    done = run(program, "compare", *tables, "--permutations", "19")
    assert done.stdout.splitlines()[-1] == "False", done.stderr


BENCHMARK = f"{BLOCK}\nfrom fewratio_bench.__main__ import main\nsys.exit(main())"


@pytest.mark.slow
def test_the_benchmark_says_how_to_install_what_it_needs():
    done = run(BENCHMARK, "run", "relative-dre")
    assert done.returncode == 1
    assert done.stderr == "fewratio-bench needs torch. Install it: pip install 'fewratio[bench]'.\n"


@pytest.mark.slow
def test_help_and_the_list_of_data_need_no_torch():
    for arguments, word in ((["--help"], "VERB"), (["data", "list"], "isolet")):
        done = run(BENCHMARK, *arguments)
        assert done.returncode == 0, done.stderr
        assert word in done.stdout
