"""``fewratio serve`` in a real process."""

import http.client
import json
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fewratio.app import app


@contextmanager
def served(*options):
    command = [sys.executable, "-m", "fewratio", "serve", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        try:
            yield server
        finally:
            server.kill()


def start_long(address):
    """Start a job of about a minute, wait until it runs, and return a function that waits for its end."""
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())

    def call(path, body=None):
        kind = {"content-type": "application/json"}
        with opener.open(urllib.request.Request(f"{address}api/v1/{path}", body, kind)) as answer:
            return json.load(answer)

    call("examples")
    options = {"permutations": 100_000}
    inputs = {"a": "example-survey", "b": "example-people"}
    job = call("jobs", json.dumps({"verb": "compare", "inputs": inputs, "options": options}).encode())
    while job["progress"] is None and job["state"] in ("queued", "running"):
        job = call(f"jobs/{job['id']}?wait=20")
    assert job["state"] == "running", job

    def wait():
        nonlocal job
        while job["state"] == "running":
            job = call(f"jobs/{job['id']}?wait=30")
        return job["state"]

    return wait


def descendants(pid):
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            # The name of a program, in brackets, may have blanks.
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
    children = [each for each, parent in parents.items() if parent == pid]
    return [*children, *(below for child in children for below in descendants(child))]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_at_once_and_leaves_nothing_behind(tmp_path, monkeypatch, number):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    with served() as server, ThreadPoolExecutor() as pool:
        address = re.findall(r"http://127\.0\.0\.1:\d+/", server.stdout.readline())[0]
        waiting = pool.submit(start_long(address))
        (folder,) = tmp_path.glob("fewratio-*")
        assert folder.stat().st_mode & 0o777 == 0o700
        # Somebody goes away while a file is sent.
        host, port = address.removeprefix("http://").rstrip("/").split(":")
        with socket.create_connection((host, int(port))) as client:
            head = f"POST /api/v1/files?name=a.csv HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: 100000\r\n\r\n"
            client.sendall(head.encode() + b"x,y\n1,2\n")
        server.send_signal(number)
        _, errors = server.communicate(timeout=60)
        with suppress(OSError, http.client.HTTPException):
            assert waiting.result(timeout=60) == "cancelled"
    assert errors == ""
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--host", "0.0.0.0"], "--host is '0.0.0.0', which other machines can reach; that needs a token"),
        (["--host", "256.1.1.1", "--token", "x"], "256.1.1.1 port 0 cannot be listened at"),
    ],
)
def test_what_is_not_safe_or_not_possible_is_refused(arguments, said):
    done = CliRunner().invoke(app, ["serve", *arguments])
    assert done.exit_code == 2
    assert done.stderr.startswith(f"fewratio: {said}")


def test_all_addresses_are_shown_as_ones_that_can_be_opened(monkeypatch):
    monkeypatch.setenv("FEWRATIO_TOKEN", "a b&c=d/é")
    with served("--host", "0.0.0.0") as server:
        address, other = (server.stdout.readline().strip() for _ in range(2))
        assert address.startswith("http://127.0.0.1:")
        assert other == address.replace("127.0.0.1", socket.gethostname())
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        with opener.open(address) as answer:
            assert answer.url == address.partition("?")[0]
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(address.partition("?")[0])


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked up in /proc")
def test_workers_end_with_the_server_whatever_ends_it():
    with served() as server:
        address = server.stdout.readline().strip()
        start_long(address)
        found = descendants(server.pid)
        # One that others are forked from, what it needs, and the job.
        assert len(found) >= 2
        server.kill()
        server.wait()
        deadline = time.monotonic() + 60
        while any(Path(f"/proc/{pid}").exists() for pid in found) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not [pid for pid in found if Path(f"/proc/{pid}").exists()]
