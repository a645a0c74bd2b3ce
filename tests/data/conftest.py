"""Packages that seem absent."""

import pytest


@pytest.fixture
def only_installed(monkeypatch):
    """Let one package seem to be the only one that reads data files."""

    def hide_others(package):
        monkeypatch.setattr("fewratio.data.files.is_installed", lambda name: name in (package, "narwhals"))

    return hide_others


@pytest.fixture(params=["pyarrow", "polars", "pandas"])
def backend(request, only_installed):
    """The only package that seems to be installed, one after the other."""
    only_installed(request.param)
    return request.param
