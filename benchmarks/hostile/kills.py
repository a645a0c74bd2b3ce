"""Work that is killed or starved: what it leaves behind is whole or absent, and resuming gives the same bits.

Each job runs in a forked child, so that a hundred kills need no hundred imports of torch. The parent has one thread:
to fork after torch has used several would hang.
"""

import ctypes
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

import fewratio
from fewratio import cli
from fewratio.core.container import read_tensors, write_atomically
from fewratio.errors import FewRatioError
from fewratio.estimators.networks.optim import loop
from fewratio.many import all_pairs
from fewratio_bench import run as bench
from fewratio_bench.experiments import Experiment, Panel
from fewratio_bench.methods import Learned
from fewratio_bench.problems import SyntheticProblem

Job = Callable[[Path], None]
# Exit code of a child that may not do what it has to.
NOT_ALLOWED = 77
# A clock by which checkpoints and records are due at every step.
FAST = SimpleNamespace(monotonic=lambda: 1e4 * time.monotonic())


def _collection(n: int = 30) -> fewratio.Collection:
    rng = np.random.default_rng(0)
    return fewratio.Collection.from_arrays([rng.normal(rng.normal(size=3), 1, (12, 3)) for _ in range(n)])


def train(folder: Path) -> None:
    """Train networks with a checkpoint."""
    training = fewratio.estimators.networks.Training(max_steps=30, tasks_per_step=2, validate_every=5)
    network = fewratio.estimators.networks.Architecture(latent_dim=4, width=8, n_outputs=8)
    estimator = fewratio.MetaRatioEstimator(training=training, network=network, random_state=0)
    sources = _collection(12)
    estimator.pretrain(sources, sources, checkpoint=folder / "train.checkpoint").save(folder / "result")


def compare_all(folder: Path) -> None:
    """Compare all pairs with a checkpoint."""
    estimator = fewratio.RuLSIF(scale="columns")
    found = fewratio.compare_all(
        _collection(12), estimator=estimator, random_state=0, checkpoint=folder / "pairs.checkpoint"
    )
    write_atomically(folder / "result", found.divergences.tobytes())


def index(folder: Path) -> None:
    """Build an index and write it."""
    fewratio.DatasetIndex.build(_collection(60)).save(folder / "result")


def save(folder: Path) -> None:
    """Write one model over itself many times."""
    model = fewratio.DiscriminantRatioEstimator(features="columns").pretrain(_collection())
    for _ in range(10):
        model.save(folder / "result")


def benchmark(folder: Path) -> None:
    """Measure a small experiment; records are JSON lines that are added to."""
    problem = SyntheticProblem(n_source=4, n_validation=2, n_target=2, n_instances=40, sizes=(3,))
    method = Learned("Ours", "Ours", latent_dims=(3,), training={"max_steps": 20, "validate_every": 5})
    panel = Panel("Gaussian-1d", (problem,), "squared_error")
    experiment = Experiment("faults", "Faults", (panel,), (method,))
    files = bench.run_experiment(experiment, folder / "records", n_splits=2, device="cpu", progress=False)
    # Without the seconds. Two processes may measure the same twice, with the same values.
    found = {(each.split, each.role, each.metric, each.value) for file in files for each in file.read()}
    write_atomically(folder / "result", json.dumps(sorted(found)).encode())


JOBS: dict[str, Job] = {
    "train": train,
    "compare-all": compare_all,
    "index": index,
    "save": save,
    "benchmark": benchmark,
}
# What the result of a job is a file of, if it is one of fewratio's; the order in such a file differs between writes.
KINDS = {"train": "model", "save": "model", "index": "index"}
# Commands, whose output is a file named result, and the folder of tables that they read.
COMMANDS = {
    "ratio": "ratio {0}/0.csv {0}/1.csv {0}/big/rows.csv --scale none -o result.csv",
    "compare-all": "compare-all {0}/many -o result.json",
    "index": "index {0}/many -o result.index",
    "train": "train {0}/many -o result.model",
    "weights": "weights {0}/big/rows.csv {0}/0.csv -o result.csv",
}


def result(kind: str, path: Path) -> Any:
    """Give what a job has left as its result: nothing, bytes, or the arrays of a file of fewratio."""
    if not path.exists():
        return None
    if kind not in KINDS:
        return path.read_bytes()
    return {name: array.tobytes() for name, array in read_tensors(path, KINDS[kind])[0].items()}


def forked(job: Job, folder: Path) -> int:
    """Start a job in a child; give its process id. Its exit code is 3 after an error of fewratio or the system."""
    sys.stdout.flush()
    child = os.fork()
    if child:
        return child
    code = 4
    try:
        os.setsid()
        os.chdir(folder)
        log = os.open("log", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        os.dup2(log, 1), os.dup2(log, 2)
        # The signal of a limit on file sizes would kill; without it a write fails as on a full disk.
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        all_pairs.time = loop.time = bench.time = FAST
        warnings.simplefilter("ignore")
        job(folder)
        code = 0
    except (FewRatioError, OSError) as error:
        os.write(2, f"{error}\n".encode())
        code = 3
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
    except Exception:
        os.write(2, traceback.format_exc().encode())
    finally:
        os._exit(code)


def waited(child: int) -> int:
    """Wait for a child; give its exit code, negative for a signal."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def kills(count: int, seed: int = 0) -> Iterator[tuple[str, str]]:
    """Kill jobs at random moments; give the job and "survived", or what must not be."""
    with tempfile.TemporaryDirectory() as name:
        jobs = {kind: (job, "result", 0) for kind, job in JOBS.items()}
        yield from _interrupted(Path(name), jobs, [signal.SIGKILL], count, seed)


def signals(count: int, seed: int = 0) -> Iterator[tuple[str, str]]:
    """Send signals to commands at random moments; besides, no temporary file may be left."""
    with tempfile.TemporaryDirectory() as name:
        tables = Path(name) / "tables"
        rng = np.random.default_rng(0)
        many = {f"many/{i}": 20 for i in range(25)}
        for table, n_rows in ({"0": 30, "1": 30, "big/rows": 20_000} | many).items():
            path = tables / f"{table}.csv"
            path.parent.mkdir(parents=True, exist_ok=True)
            np.savetxt(path, rng.normal(size=(n_rows, 3)), delimiter=",", header="a,b,c", comments="")
        jobs = {}
        for kind, command in COMMANDS.items():
            arguments = command.format(tables).split()
            jobs[kind] = partial(_command, arguments), arguments[-1], 1
        numbers = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]
        yield from _interrupted(Path(name), jobs, numbers, count, seed)


def _command(arguments: list[str], folder: Path) -> None:
    sys.argv = ["fewratio", *arguments]
    cli.main()


def _interrupted(
    parent: Path, jobs: dict[str, tuple[Job, str, int]], numbers: list[int], count: int, seed: int
) -> Iterator[tuple[str, str]]:
    """Interrupt jobs, each with the name of its result and whether it must tidy up after itself."""
    torch.set_num_threads(1)
    rng = np.random.default_rng(seed)
    expected, seconds = {}, {}
    for kind, (job, name, _) in jobs.items():
        folder = parent / kind
        folder.mkdir()
        started = time.monotonic()
        code = waited(forked(job, folder))
        seconds[kind], expected[kind] = time.monotonic() - started, result(kind, folder / name)
        if code or expected[kind] is None:
            yield kind, f"{kind}: exit code {code} though nothing happened: {(folder / 'log').read_text()}"
            return
    for attempt in range(count):
        kind = list(jobs)[attempt % len(jobs)]
        job, name, is_tidy = jobs[kind]
        folder = parent / f"{kind}-{attempt}"
        folder.mkdir()
        child = forked(job, folder)
        time.sleep(float(rng.uniform(0, seconds[kind])))
        number = numbers[attempt // len(jobs) % len(numbers)]
        os.kill(child, number)
        code = waited(child)
        left = [path.name for path in folder.iterdir() if path.suffix == ".tmp"]
        what = f"{kind}: signal {number}"
        try:
            if result(kind, folder / name) not in (None, expected[kind]):
                yield kind, f"{what}: a torn result"
            elif left and is_tidy:
                yield kind, f"{what}: exit code {code}, left {left}"
            elif not code and not (folder / name).exists():
                yield kind, f"{what}: no result, and no error"
            elif waited(forked(job, folder)):
                yield kind, f"{what}: cannot be resumed: {(folder / 'log').read_text()}"
            else:
                same = result(kind, folder / name) == expected[kind]
                yield kind, "survived" if same else f"{what}: another result"
        except FewRatioError as error:
            yield kind, f"{what}: a torn result: {error}"


def starved() -> Iterator[tuple[str, str]]:
    """Run jobs where nothing can be written, with another process on the same files, and with an input that is gone."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        parent = Path(name)
        for kind, job in JOBS.items():
            for number, (what, limit) in enumerate({"file sizes": _limit_sizes, "full disk": _fill_disk}.items()):
                folder = parent / f"{kind}-{number}"
                folder.mkdir()
                code = waited(forked(partial(_in_limit, job, limit), folder))
                if code == NOT_ALLOWED:
                    continue
                said = (folder / "log").read_text()
                yield what, "survived" if code == 3 else f"{kind}: {what}: exit {code}: {said}"
            for each in ("two", "one"):
                (parent / f"{each}-{kind}").mkdir()
            children = [forked(job, parent / f"two-{kind}") for _ in range(2)]
            codes = [waited(child) for child in children]
            waited(forked(job, parent / f"one-{kind}"))
            same = result(kind, parent / f"two-{kind}/result") == result(kind, parent / f"one-{kind}/result")
            fine = same and set(codes) <= {0, 3} and 0 in codes
            yield "two processes", "survived" if fine else f"{kind}: two processes: exit {codes}, same result: {same}"
        for path in ("/proc/no-folder", "/dev/full", "/sys/result"):
            # Root may write anywhere; not even root can write there.
            code = waited(forked(lambda _, path=path: _saved(Path(path) / "result"), parent))
            yield "read-only folder", "survived" if code == 3 else f"{path}: exit {code}"
        for call in (fewratio.load_model, fewratio.DatasetIndex.load, fewratio.Collection.from_folder):
            code = waited(forked(lambda folder, call=call: call(folder / "gone"), parent))
            yield "vanished input", "survived" if code == 3 else f"{call}: vanished input: exit {code}"


def _in_limit(job: Job, limit: Callable[[Path], None], folder: Path) -> None:
    """Run a job in a folder in which a limit leaves no room, and look for what it leaves there."""
    folder = folder / "limited"
    folder.mkdir()
    limit(folder)
    before = set(folder.iterdir())
    try:
        job(folder)
    finally:
        left = [path for path in folder.rglob("*") if path.is_file() and path not in before and path.stat().st_size]
        if left:
            raise RuntimeError(f"left {left}")


def _limit_sizes(folder: Path) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))


def _fill_disk(folder: Path) -> None:
    """Mount a small disk that only this process sees, and fill it; that needs root."""
    clone_newns = 0x20000
    mounts = ["--make-rprivate /", f"-t tmpfs -o size=64k none {folder}"]
    if ctypes.CDLL(None).unshare(clone_newns) or any(
        subprocess.run(["mount", *each.split()], check=False).returncode for each in mounts
    ):
        sys.exit(NOT_ALLOWED)
    with suppress(OSError), (folder / "filler").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))


def _saved(path: Path) -> None:
    fewratio.DiscriminantRatioEstimator(features="columns").pretrain(_collection()).save(path)
