"""``fewratio serve`` in a real process."""

import re
import signal
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

import pytest
from typer.testing import CliRunner

from fewratio.cli import app


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_prints_its_address_answers_and_leaves_nothing_behind(tmp_path, monkeypatch, number):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    command = [sys.executable, "-m", "fewratio", "serve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        address = re.findall(r"http://127\.0\.0\.1:\d+/", server.stdout.readline())[0]
        with urllib.request.urlopen(f"{address}api/v1/examples") as answer:
            assert answer.status == 200
        (folder,) = tmp_path.glob("fewratio-*")
        assert folder.stat().st_mode & 0o777 == 0o700
        server.send_signal(number)
        _, errors = server.communicate(timeout=60)
    assert "Traceback" not in errors
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--host", "0.0.0.0"], "--host is '0.0.0.0', which other machines can reach; for them a token is needed"),
        (["--host", "256.1.1.1", "--token", "x"], "256.1.1.1 port 0 cannot be listened at"),
    ],
)
def test_what_is_not_safe_or_not_possible_is_refused(arguments, said):
    done = CliRunner().invoke(app, ["serve", *arguments])
    assert done.exit_code == 2
    assert done.stderr.startswith(f"fewratio: {said}")


def test_a_token_may_come_from_the_environment_and_the_address_can_be_opened(monkeypatch):
    monkeypatch.setenv("FEWRATIO_TOKEN", "a b&c=d/é")
    command = [sys.executable, "-m", "fewratio", "serve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            address = server.stdout.readline().strip()
            opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
            with opener.open(address) as answer:
                assert answer.url == address.partition("?")[0]
            with pytest.raises(urllib.error.HTTPError, match="401"):
                urllib.request.urlopen(address.partition("?")[0])
        finally:
            server.terminate()


def test_the_worker_ends_with_the_server():
    command = [sys.executable, "-m", "fewratio.cli.worker"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as worker:
        worker.stdin.close()
        assert worker.wait(timeout=60) == 0
