"""A real browser for tests: the system's Chromium, one for all."""

import os
import re
import shutil
import subprocess
import sys
from contextlib import contextmanager

import pytest

ARGUMENTS = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
PATIENCE = 60_000
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def pytest_collection_modifyitems(items):
    for item in items:
        if "tests/browser/" in item.path.as_posix():
            item.add_marker(pytest.mark.browser)


def _missing(what):
    """Skip, or fail where these tests must run."""
    message = f"{what} is not installed: nothing was tested in a browser"
    (pytest.fail if os.environ.get("FEWRATIO_BROWSER_TESTS") else pytest.skip)(message)


@pytest.fixture(scope="session")
def browser():
    """Start the browser once."""
    if CHROMIUM is None:
        _missing("Chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _missing("playwright")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield started
        started.close()


@pytest.fixture
def visit(browser):
    """Give a context manager that opens an address, and fails on anything on the console or asked of another host."""

    @contextmanager
    def opened(address, allowed="file:", may_say=None, width=1200, **options):
        context = browser.new_context(viewport={"width": width, "height": 800}, **options)
        page = context.new_page()
        said, asked = [], []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(address)
        yield page
        context.close()
        assert not [text for text in said if may_say is None or may_say not in text]
        assert not [url for url in asked if not url.startswith((allowed, "data:"))]

    return opened


@pytest.fixture
def findings():
    """Give a function that returns what axe-core, or some of its rules, find serious or critical in a page."""
    from axe_playwright_python.sync_playwright import Axe

    def found(page, *rules):
        # Inside charts is nothing but what their description says, hidden from screen readers; it would take long.
        options = {"runOnly": list(rules)} if rules else None
        violations = Axe().run(page, {"exclude": [[".chart > div"]]}, options).response["violations"]
        return [
            (each["id"], [node["html"] for node in each["nodes"]])
            for each in violations
            if each["impact"] in ("serious", "critical")
        ]

    return found


@pytest.fixture(scope="session")
def address():
    """Run the server."""
    command = [sys.executable, "-m", "fewratio", "serve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            yield re.findall(r"http://\S+", server.stdout.readline())[0]
            assert server.poll() is None, "the server has ended"
        finally:
            server.terminate()


@pytest.fixture
def page_of(visit, address):
    """Open a tab of the page."""

    @contextmanager
    def opened(tab="compare", **options):
        with visit(f"{address}#{tab}", allowed=address, **options) as page:
            page.set_default_timeout(PATIENCE)
            page.wait_for_selector("body[data-ready]")
            yield page, page.locator(f"#panel-{tab}")

    return opened
