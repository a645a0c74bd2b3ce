"""Pictures of every view of the page, by Chromium: each tab before and after, wide and on a phone, light and dark.

python benchmarks/screenshots.py --output screenshots
"""

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM = {
    "executable_path": "/usr/bin/chromium",
    "args": ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
}
TABS = ("compare", "outliers", "changes", "monitor", "weights", "many", "train")
SIZES = {"wide": (1280, 900), "phone": (390, 844)}


@contextmanager
def served(*options: str) -> Iterator[str]:
    """Run the server, and give its address."""
    command = [sys.executable, "-m", "fewratio", "serve", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield re.findall(r"http://\S+", server.stdout.readline())[0]
        finally:
            server.terminate()


def ask(page: Any, tab: str) -> None:
    """Choose a tab, the example and the button, and wait for the result."""
    page.click(f"#tab-{tab}")
    panel = page.locator(f"#panel-{tab}")
    panel.get_by_role("button", name="Use the example").first.click()
    panel.locator("button.strong").first.click()
    panel.get_by_role("heading", name="Result").wait_for(timeout=60_000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("screenshots"))
    parser.add_argument("--tabs", nargs="*", default=TABS)
    args = parser.parse_args()
    from playwright.sync_api import sync_playwright

    args.output.mkdir(exist_ok=True)
    with served() as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(**CHROMIUM)
        for size, (width, height) in SIZES.items():
            for scheme in ("light", "dark"):
                view = {"viewport": {"width": width, "height": height}, "color_scheme": scheme}
                page = browser.new_page(**view)
                page.goto(address)
                page.wait_for_selector("body[data-ready]")
                for tab in args.tabs:
                    page.click(f"#tab-{tab}")
                    page.screenshot(path=args.output / f"{tab}-empty-{size}-{scheme}.png", full_page=True)
                    ask(page, tab)
                    page.wait_for_timeout(1500)
                    # Of the window only: a frame is blank where the window is stretched to the whole page.
                    page.screenshot(path=args.output / f"{tab}-result-{size}-{scheme}.png")
                page.goto(f"{address}docs.html")
                page.wait_for_selector("body[data-ready]")
                page.screenshot(path=args.output / f"docs-{size}-{scheme}.png")
                page.close()
        browser.close()
    sys.stdout.write(f"{len(list(args.output.glob('*.png')))} pictures in {args.output}\n")


if __name__ == "__main__":
    main()
