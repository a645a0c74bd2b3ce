"""From a request to a finished job: the store, the workers, and the examples."""

import asyncio
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fastapi import HTTPException, Request

from fewratio.errors import ParameterError
from fewratio_web.limits import Limits
from fewratio_web.store import File, Job, Store
from fewratio_web.verbs import RESULTS, TEXT, VERBS, make_command
from fewratio_web.workers import STDERR, Work, Workers

# Example files by id, each a path below the folder of examples.
EXAMPLES = {
    "example-grower_1": "wines/grower_1.csv",
    "example-grower_2": "wines/grower_2.csv",
    "example-delivery": "wines/delivery.csv",
    "example-machine": "machine.csv",
    **{f"example-line_{day}": f"line/{day}.csv" for day in ("reference", "monday", "tuesday", "wednesday")},
    "example-survey": "survey.csv",
    "example-people": "people.csv",
    "example-sensors": "sensors",
    "example-sensor_41": "new/sensor_41.csv",
    "example-sensor_42": "new/sensor_42.csv",
}


class JobRunner:
    """Turn requests into finished jobs, with the store and the workers."""

    def __init__(self, work: Work, limits: Limits, preload: Sequence[str]) -> None:
        self.limits, self.store = limits, Store(limits)
        self.workers = Workers(work, limits, self.store.root, preload)
        self.has_examples = asyncio.Event()

    async def write_examples(self) -> None:
        """Write the example tables; this also starts the process that jobs are forked from."""
        with self.store.new_folder() as folder:
            task = {"folder": str(folder), "stdout": TEXT, "examples": str(folder)}
            message = await self.workers.run(task, lambda progress: None)
        if message is not None:
            sys.stderr.write(f"fewratio: the examples cannot be written: {message}\n")
        for id, path in ((id, folder / place) for id, place in EXAMPLES.items() if (folder / place).exists()):
            self.store.add(None, path, len(list(path.iterdir())) if path.is_dir() else 1, id)
        self.has_examples.set()

    async def forget_old(self) -> None:
        """Remove old files and jobs at regular intervals."""
        while True:
            await asyncio.sleep(min(60, self.limits.kept))
            self.store.forget()

    def cancel_all(self) -> None:
        """Cancel all jobs; requests that wait for one, or for the examples, are answered at once."""
        self.has_examples.set()
        for job in self.store.jobs.values():
            if job.task is not None:
                job.task.cancel()

    async def close(self) -> None:
        """End all work and remove all files."""
        self.cancel_all()
        tasks = [job.task for job in self.store.jobs.values() if job.task is not None]
        await asyncio.gather(*tasks, return_exceptions=True)
        self.store.close()

    async def receive(self, request: Request, path: Path) -> None:
        """Write the body of a request to a new file."""
        self.check_room()
        file = path.open("xb")
        try:
            with file:
                async for block in request.stream():
                    self.check_room()
                    file.write(block)
        except BaseException:
            path.unlink()
            raise

    def check_room(self) -> None:
        """Refuse a request if there is no room left."""
        if self.store.is_full:
            raise HTTPException(507, "The server has no room left for files. Try again in an hour.")

    def file(self, id: str, owner: str) -> File:
        """Return a file of a user, or a shared one."""
        return _find(self.store.files, id, owner, "file", "Send")

    def job(self, id: str, owner: str) -> Job:
        """Return a job of a user."""
        return _find(self.store.jobs, id, owner, "job", "Start")

    def start(self, asked: Any, owner: str) -> Job:
        """Put a job into the queue."""
        ids = asked.inputs.model_dump(exclude_none=True)
        files = {
            name: [self.file(id, owner) for id in (given if isinstance(given, list) else [given])]
            for name, given in ids.items()
        }
        for field in VERBS[asked.verb].fields:
            for file in files.get(field.name, ()) if field.name != "tables" else ():
                if file.path.is_dir() != (field.reads == "folder"):
                    found = f"{file.name!r} is a {'folder' if file.path.is_dir() else 'file'}"
                    raise ParameterError(f"{found}; input {field.name} is a {field.reads}. Choose another.")
        active = [job for job in self.store.jobs.values() if not job.is_over]
        if sum(job.owner == owner for job in active) >= self.limits.per_user:
            raise HTTPException(429, "You have the most jobs allowed at once; one must end first. Wait for it.")
        if len(active) >= self.limits.running + self.limits.waiting:
            raise HTTPException(503, "The server's queue is full; a job must end first. Try again soon.")
        self.check_room()
        names: dict[str, Any] = {}
        # Two files may have the same name, or that of a result; some systems ignore case.
        taken = {*RESULTS, STDERR}
        paths: dict[str, Path] = {}
        for name, file in ((name, file) for name, several in files.items() for file in several):
            called = file.name
            while called.lower() in taken:
                called = f"{len(paths) + 1}-{called}"
            taken.add(called.lower())
            paths[called] = file.path
            names[name] = [*names.get(name, []), called]
        several = [field.variable for field in VERBS[asked.verb].fields if field.is_several]
        command = make_command(asked, {name: each if name in several else each[0] for name, each in names.items()})
        with self.store.new_folder() as folder:
            for called, path in paths.items():
                (folder / called).symlink_to(path)
        job = Job(folder.name, owner, asked.verb, command.shell, command.python, folder)
        self.store.jobs[job.id] = job
        task = {"folder": str(folder), "stdout": command.stdout, "arguments": command.arguments}
        job.task = asyncio.create_task(self._run(job, task))
        return job

    async def _run(self, job: Job, task: dict[str, Any]) -> None:
        """Run a job, and register its files."""

        def report(progress: dict[str, Any] | None) -> None:
            if progress is None:
                job.tell(state="running", started=time.monotonic())
            else:
                job.tell(progress=progress)

        try:
            message = await self.workers.run(task, report)
        except asyncio.CancelledError:
            job.tell(state="cancelled", message="The job was cancelled.")
            raise
        notes = self.workers.messages(job.folder)
        seconds = time.monotonic() - (job.started or time.monotonic())
        if message is not None:
            job.tell(
                state="failed", message=message, seconds=seconds, notes=[each for each in notes if each != message]
            )
            return
        made = sorted(path for path in job.folder.iterdir() if path.is_file() and not path.is_symlink())
        files = [self.store.add(job.owner, path) for path in made if path.name != STDERR]
        job.tell(state="done", files=files, notes=notes, seconds=seconds)


def _find(kept: Mapping[str, Any], id: str, owner: str, kind: str, again: str) -> Any:
    found = kept.get(id)
    if found is None or found.owner not in (None, owner):
        missing = f"There is no {kind} {id[:40]!r} of yours"
        raise HTTPException(404, f"{missing}; {kind}s are kept for an hour. {again} it again.")
    found.used = time.monotonic()
    return found
