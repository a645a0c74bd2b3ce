"""Work that is killed or starved: what it leaves behind is whole or absent, and resuming gives the same bits.

Each job runs in a forked child, so that a hundred kills need no hundred imports of torch. The parent has one thread:
to fork after torch has used several would hang.
"""

import os
import resource
import signal
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch

import fewratio
from fewratio.applications import all_pairs
from fewratio.core.tensorfile import write_atomically
from fewratio.errors import FewRatioError
from fewratio.optim import loop

Job = Callable[[Path], None]
FAST = SimpleNamespace(monotonic=lambda: 1e4 * time.monotonic())


def _collection(n: int = 30) -> fewratio.Collection:
    rng = np.random.default_rng(0)
    return fewratio.Collection.from_arrays([rng.normal(rng.normal(size=3), 1, (12, 3)) for _ in range(n)])


def train(folder: Path) -> None:
    """Train networks with a checkpoint."""
    training = fewratio.Training(max_steps=30, tasks_per_step=2, validate_every=5)
    network = fewratio.Architecture(latent_dim=4, width=8, n_outputs=8)
    estimator = fewratio.MetaRatioEstimator(training=training, network=network, random_state=0)
    sources = _collection(12)
    estimator.pretrain(sources, sources, checkpoint=folder / "train.checkpoint").save(folder / "result")


def compare_all(folder: Path) -> None:
    """Compare all pairs with a checkpoint."""
    estimator = fewratio.RuLSIF(scale="columns")
    found = fewratio.compare_all(_collection(12), estimator, random_state=0, checkpoint=folder / "pairs.checkpoint")
    write_atomically(folder / "result", found.divergences.tobytes())


def index(folder: Path) -> None:
    """Build an index and write it."""
    fewratio.DatasetIndex.build(_collection(60)).save(folder / "result")


def save(folder: Path) -> None:
    """Write one model over itself many times."""
    model = fewratio.DiscriminantRatioEstimator(features="columns").pretrain(_collection())
    for _ in range(10):
        model.save(folder / "result")


JOBS: dict[str, Job] = {
    "train": train,
    "compare-all": compare_all,
    "index": index,
    "save": save,
}


def result(folder: Path) -> bytes | None:
    """Give what a job has left as its result."""
    path = folder / "result"
    return path.read_bytes() if path.exists() else None


def forked(job: Job, folder: Path, limit: Callable[[], None] | None = None) -> int:
    """Start a job in a child; give its process id. Its exit code is 3 after an error of fewratio or the system."""
    child = os.fork()
    if child:
        return child
    code = 4
    try:
        os.setsid()
        os.dup2(os.open(folder / "log", os.O_CREAT | os.O_WRONLY | os.O_APPEND), 2)
        all_pairs.time = loop.time = FAST
        warnings.simplefilter("ignore")
        if limit is not None:
            limit()
        job(folder)
        code = 0
    except (FewRatioError, OSError) as error:
        os.write(2, f"{error}\n".encode())
        code = 3
    except KeyboardInterrupt:
        code = 5
    finally:
        os._exit(code)


def waited(child: int) -> int:
    """Wait for a child; give its exit code, negative for a signal."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def kills(count: int, seed: int = 0, number: int = signal.SIGKILL) -> Iterator[tuple[str, str]]:
    """Kill jobs at random moments; give the job and "survived", or what must not be."""
    torch.set_num_threads(1)
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as name:
        expected, seconds = {}, {}
        for kind, job in JOBS.items():
            folder = Path(name) / kind
            folder.mkdir()
            started = time.monotonic()
            code = waited(forked(job, folder))
            if code:
                yield kind, f"{kind}: exit code {code} though nothing happened: {(folder / 'log').read_text()}"
                return
            seconds[kind], expected[kind] = time.monotonic() - started, result(folder)
        for attempt in range(count):
            kind = list(JOBS)[attempt % len(JOBS)]
            folder = Path(name) / f"{kind}-{attempt}"
            folder.mkdir()
            child = forked(JOBS[kind], folder)
            time.sleep(float(rng.uniform(0, seconds[kind])))
            os.kill(child, number)
            waited(child)
            if result(folder) not in (None, expected[kind]):
                yield kind, f"{kind}: a torn result"
            elif waited(forked(JOBS[kind], folder)):
                yield kind, f"{kind}: cannot be resumed: {(folder / 'log').read_text()}"
            else:
                same = result(folder) == expected[kind]
                yield kind, "survived" if same else f"{kind}: another result after a kill"


def starved() -> Iterator[tuple[str, str]]:
    """Run jobs where nothing can be written, with another process on the same files, and with an input that is gone."""

    def no_room() -> None:
        # The signal of a limit would kill; without it a write fails as on a full disk.
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))

    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        for kind, job in JOBS.items():
            folder = Path(name) / kind
            folder.mkdir()
            code = waited(forked(job, folder, no_room))
            left = [path.name for path in folder.iterdir() if path.name != "log"]
            yield "full disk", "survived" if code == 3 and not left else f"{kind}: full disk: exit {code}, left {left}"
            (Path(name) / f"two-{kind}").mkdir()
            children = [forked(job, Path(name) / f"two-{kind}") for _ in range(2)]
            codes = [waited(child) for child in children]
            again = Path(name) / f"one-{kind}"
            again.mkdir()
            waited(forked(job, again))
            same = result(again) == result(Path(name) / f"two-{kind}")
            fine = same and set(codes) <= {0, 3} and 0 in codes
            yield "two processes", "survived" if fine else f"{kind}: two processes: exit {codes}, same result: {same}"
        for path in ("/proc/no-folder", "/dev/full", "/sys/result"):
            # Root may write anywhere; not even root can write there.
            code = waited(forked(lambda _, path=path: _saved(Path(path) / "result"), Path(name)))
            yield "read-only folder", "survived" if code == 3 else f"{path}: exit {code}"
        for call in (fewratio.load_model, fewratio.DatasetIndex.load, fewratio.Collection.from_folder):
            code = waited(forked(lambda folder, call=call: call(folder / "gone"), Path(name)))
            yield "vanished input", "survived" if code == 3 else f"{call}: vanished input: exit {code}"


def _saved(path: Path) -> None:
    fewratio.DiscriminantRatioEstimator(features="columns").pretrain(_collection()).save(path)
