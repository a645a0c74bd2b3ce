"""Worker processes beside each other."""

import asyncio
import os
from dataclasses import replace

import pytest

from fewratio_web.limits import Limits
from fewratio_web.workers import Workers


def end_at_once(channel, task):
    os._exit(0)


async def run_many(folder, n_tasks):
    workers = Workers(end_at_once, replace(Limits(), running=6), folder)

    async def run_one(number):
        (folder / str(number)).mkdir()
        return await workers.run({"folder": str(folder / str(number)), "stdout": "out"}, lambda news: None)

    return await asyncio.gather(*map(run_one, range(n_tasks)))


@pytest.mark.slow
def test_a_process_that_ends_while_another_starts_has_not_failed(tmp_path):
    # Two threads that read one exit status failed in about one of forty tasks.
    assert set(asyncio.run(run_many(tmp_path, 250))) == {None}


def test_a_process_that_cannot_start_is_said(tmp_path, monkeypatch):
    def refuse(self):
        raise OSError(11, "Resource temporarily unavailable")

    workers = Workers(end_at_once, Limits(), tmp_path)
    monkeypatch.setattr(workers._context.Process, "start", refuse)
    said = asyncio.run(workers.run({"folder": str(tmp_path), "stdout": "out"}, lambda news: None))
    assert said == "The system could not start the work (Resource temporarily unavailable). Try again soon."
