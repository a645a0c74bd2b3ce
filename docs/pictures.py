"""Make the pictures of the README and the front page with Chromium: a report, and the page from files to report.

python docs/pictures.py
"""

import sys
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))
from screenshots import CHROMIUM, served  # noqa: E402

IMAGES = ROOT / "docs" / "images"
N_ROWS = 4
# What the picture of the report keeps: the sentence, the bar, and the first rows and main fields of the column table.
CROP = """n => {
  const [bar] = document.querySelectorAll("main figure");
  const caption = [...document.querySelectorAll("main p.caption")].find(each => /^Columns/.test(each.innerText));
  const table = document.querySelector(`main table[aria-labelledby="${caption.id}"]`);
  const heading = document.createElement("h2");
  heading.textContent = "Columns";
  [...table.tBodies[0].rows].slice(n).forEach(row => row.remove());
  const names = [...table.tHead.rows[0].cells].map(cell => cell.innerText.trim().split(/\\s/)[0]);
  for (const name of ["missing", "alone", "without", "kind"]) {
    const place = names.indexOf(name);
    if (place >= 0) { names.splice(place, 1); [...table.rows].forEach(row => row.cells[place].remove()); }
  }
  table.style.width = "100%";
  document.querySelector("main").replaceChildren(bar, heading, table);
  document.querySelectorAll("footer, nav").forEach(each => each.remove());
  document.body.style.paddingBottom = "1rem";
}"""


def shoot_report(browser, path, scheme):
    """Save the beginning of the report of two tables of wines."""
    from sample_report import write_sample_report

    with TemporaryDirectory() as folder:
        report = write_sample_report(Path(folder, "report.html"))
        page = browser.new_page(viewport={"width": 760, "height": 3000}, device_scale_factor=2, color_scheme=scheme)
        page.goto(report.as_uri())
        page.wait_for_selector("main table svg, main table canvas")
        page.wait_for_timeout(1000)
        page.evaluate(CROP, N_ROWS)
        picture = page.locator("body").screenshot()
        page.close()
    Image.open(BytesIO(picture)).convert("RGB").quantize(128, Image.Quantize.MAXCOVERAGE).save(path, optimize=True)


def shoot_page(browser, path):
    """Save an animated picture of the page: two files are chosen, the button is pressed, and the report is read."""
    from fewratio.demo.wines import write_wine_tables

    with TemporaryDirectory() as folder, served() as address:
        (known, other, _), _ = write_wine_tables(Path(folder), seed=0)
        page = browser.new_page(viewport={"width": 1000, "height": 700}, color_scheme="light")
        page.goto(address)
        page.wait_for_selector("body[data-ready]")
        panel = page.locator("#panel-compare")
        frames, durations = [page.screenshot()], [1500]
        for number, table in enumerate((known, other)):
            panel.locator("input[type=file]").nth(number).set_input_files(table)
            page.wait_for_timeout(1500)
            frames.append(page.screenshot())
            durations.append(1200)
        button = panel.locator("button.strong").first
        button.scroll_into_view_if_needed()
        page.wait_for_timeout(300)
        frames.append(page.screenshot())
        durations.append(1200)
        button.click()
        result = panel.get_by_role("heading", name="Result")
        result.wait_for(timeout=60_000)
        result.evaluate("each => each.scrollIntoView()")
        page.wait_for_timeout(2500)
        for _ in range(3):
            frames.append(page.screenshot())
            durations.append(2200)
            page.mouse.move(500, 400)
            page.mouse.wheel(0, 420)
            page.wait_for_timeout(700)
        page.close()
    pictures = [Image.open(BytesIO(frame)).convert("RGB").quantize(96, Image.Quantize.MAXCOVERAGE) for frame in frames]
    pictures[0].save(path, save_all=True, append_images=pictures[1:], duration=durations, loop=0, optimize=True)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "docs" / "_ext"))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(**CHROMIUM)
        for scheme, name in (("light", "report.png"), ("dark", "report-dark.png")):
            shoot_report(browser, IMAGES / name, scheme)
        shoot_page(browser, IMAGES / "page.gif")
        browser.close()
