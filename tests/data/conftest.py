"""Folders of a test's own, and a server on this machine that a download can come from."""

import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest


@pytest.fixture
def data_folder(tmp_path, monkeypatch):
    """The only data folder, empty; the cache is another."""
    folder = tmp_path / "data"
    folder.mkdir()
    monkeypatch.setenv("FEWRATIO_DATA", str(folder))
    monkeypatch.setenv("FEWRATIO_CACHE", str(tmp_path / "cache"))
    return folder


@pytest.fixture
def cache(data_folder, tmp_path):
    """The cache that belongs to `data_folder`; not made yet."""
    return tmp_path / "cache"


class _Silent(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A folder and the address under which its files are served."""
    folder = tmp_path / "served"
    folder.mkdir()
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Silent, directory=str(folder)))
    thread = threading.Thread(target=httpd.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield folder, f"http://127.0.0.1:{httpd.server_port}"
    httpd.shutdown()
    thread.join()
    httpd.server_close()
