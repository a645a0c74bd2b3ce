"""Rules of the house that a tool can see. Who may import whom is checked by import-linter."""

import ast
import re
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"
MODULES = {path.relative_to(SOURCE).as_posix(): ast.parse(path.read_text("utf-8")) for path in SOURCE.rglob("*.py")}
LIBRARY = {name: tree for name, tree in MODULES.items() if name.startswith("fewratio/")}

# NumPy's functions that neither draw from nor set its global random state.
# RandomState is no global state where it is made with a seed, and its stream is the same in every version of NumPy.
INNOCENT = {"default_rng", "Generator", "SeedSequence", "PCG64", "RandomState", "get_state"}
# torch's functions that draw from its global random state unless they are given a generator.
DRAWING = {"rand", "randn", "randint", "randperm", "normal", "bernoulli", "multinomial"}


@cache
def calls(tree):
    """Every call in a module, with the dotted name of what is called."""
    return [(ast.unparse(node.func), node) for node in ast.walk(tree) if isinstance(node, ast.Call)]


def imports(tree):
    """Every module that is imported, wherever in the module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def where(found):
    """Modules in which a call is one that is looked for."""
    return [name for name, tree in MODULES.items() for called, node in calls(tree) if found(called, node)]


def test_the_modules_are_found():
    assert {
        "fewratio/__init__.py",
        "fewratio/compare/report.py",
        "fewratio/estimators/networks/meta.py",
    } <= LIBRARY.keys()


def test_there_is_one_gradient_step():
    assert where(lambda called, _: called.endswith(".backward")) == ["fewratio/estimators/networks/optim/loop.py"]
    assert not where(lambda called, _: called.endswith("autograd.grad"))


def test_nothing_touches_the_global_random_state_of_torch():
    assert not where(lambda called, _: called in {"torch.manual_seed", "torch.seed", "torch.cuda.manual_seed_all"})

    def draws(called, node):
        owner, _, name = called.rpartition(".")
        return owner == "torch" and name in DRAWING and "generator" not in {keyword.arg for keyword in node.keywords}

    assert not where(draws)


def test_nothing_touches_the_global_random_state_of_numpy():
    def touches(called, _):
        owner, _, name = called.rpartition(".")
        return owner in {"np.random", "numpy.random"} and name not in INNOCENT

    assert not where(touches)
    # Aliases would hide it from the line above.
    hidden = [name for tree in MODULES.values() for name in imports(tree) if name.startswith("numpy.random.")]
    assert {name.removeprefix("numpy.random.") for name in hidden} <= INNOCENT


def test_nothing_is_unpickled_or_executed():
    forbidden = {"pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve"}
    # One upstream file is a pickle; that module reads such arrays and lets the file name nothing else.
    for name, tree in MODULES.items():
        if name != "fewratio_bench/sources/mnist_r.py":
            assert not forbidden & {imported.partition(".")[0] for imported in imports(tree)}, name
    executing = {"torch.load", "joblib.load", "eval", "exec", "torch.hub.load"}
    assert not where(lambda called, _: called in executing)

    def unpickling(called, node):
        return any(keyword.arg == "allow_pickle" and ast.unparse(keyword.value) != "False" for keyword in node.keywords)

    assert not where(unpickling)


def test_no_modules_import_each_other_in_a_circle():
    trees = {
        name.removesuffix(".py").removesuffix("/__init__").replace("/", "."): tree for name, tree in MODULES.items()
    }

    def module_of(imported):
        """What is imported from a module is a module itself, or a name in it."""
        return imported if imported in trees else imported.rpartition(".")[0]

    # Everywhere in a module: imports within functions and for type checkers count too.
    graph = {name: {module_of(imported) for imported in imports(tree)} - {name} for name, tree in trees.items()}
    assert "fewratio.estimators.networks.pair" in graph["fewratio.estimators.networks.optim.loop"]
    # Raises with the circle that it finds.
    TopologicalSorter(graph).prepare()


def test_private_parts_of_scikit_learn_are_known_in_one_place():
    private = {name for name, tree in MODULES.items() for each in imports(tree) if each.startswith("sklearn.utils._")}
    assert private == {"fewratio/estimators/parameters.py"}


def test_no_module_is_a_drawer():
    drawers = {"utils", "util", "helpers", "helper", "misc", "common", "tools"}
    assert not [name for name in MODULES if drawers & {part.strip("_") for part in Path(name).with_suffix("").parts}]


def test_the_library_does_not_print():
    printing = [
        name
        for name, tree in LIBRARY.items()
        if not name.startswith("fewratio/cli/") and any(called == "print" for called, _ in calls(tree))
    ]
    assert not printing


def test_importing_the_package_is_cheap():
    program = "import sys, fewratio; print(fewratio.__version__, *sys.modules)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in run.stdout.split()}
    assert "fewratio" in loaded
    assert not loaded & {"torch", "numpy", "scipy", "sklearn", "pandas", "polars", "narwhals", "matplotlib", "typer"}


def test_a_command_imports_only_its_own_verb():
    program = "import sys; from fewratio.app import find_verb; print(find_verb('compare').name, *sys.modules)"
    name, *loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.split()
    assert name == "compare"
    assert [each for each in loaded if re.fullmatch(r"fewratio\.(\w+\.\w*command|learn.*)", each)] == [
        "fewratio.compare.command"
    ]


def test_reading_a_file_does_not_import_pandas(tmp_path):
    path = tmp_path / "gaps.csv"
    path.write_text("x,kind\n1,a\n,b\n3,\n")
    program = (
        "import sys; from pathlib import Path; from fewratio.data.readers.files import find_file, read_raw; "
        f"raw = read_raw(find_file(Path({str(path)!r}))); "
        "print(raw.n_rows, raw.values('x').kind, raw.values('kind').kind, *sys.modules)"
    )
    n_rows, *loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.split()
    assert n_rows == "3"
    assert not {"pandas", "jaxtyping"} & set(loaded)


@pytest.mark.parametrize("name", sorted(LIBRARY))
def test_every_module_says_what_it_is_for(name):
    assert ast.get_docstring(LIBRARY[name])
