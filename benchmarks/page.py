"""The page under load: ten users who compare small tables at once, and how soon the first answer comes, as JSON lines.

Each user sends two tables, starts jobs and fetches all results. Memory is that of the server and its workers, before
and after. The first answer is that on the example, from the click to the report in Chromium, where that is installed.

    python benchmarks/page.py >> results/benchmarks/page.jsonl
"""

import argparse
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from http.cookiejar import CookieJar
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.request import HTTPCookieProcessor, Request, build_opener

import numpy as np
import torch

from fewratio_bench.records import circumstances


def table(seed: int, n_rows: int = 50) -> bytes:
    rng = np.random.default_rng(seed)
    rows = "\n".join(",".join(f"{value:.4f}" for value in row) for row in rng.normal(seed % 2, 1, (n_rows, 5)))
    return f"a,b,c,d,e\n{rows}\n".encode()


def use(address: str, number: int, n_jobs: int) -> list[float]:
    """Be one user: return the seconds of each job, from its start to its last result."""
    opener = build_opener(HTTPCookieProcessor(CookieJar()))

    def call(path: str, body: bytes | None = None) -> bytes:
        asked = Request(f"{address}api/v1/{path}", body, {"content-type": "application/json"})
        content: bytes = opener.open(asked, timeout=300).read()
        return content

    sent = [json.loads(call(f"files?name={side}.csv", table(2 * number + place))) for place, side in enumerate("ab")]
    request = {"verb": "compare", "inputs": {"a": sent[0]["id"], "b": sent[1]["id"]}}
    seconds = []
    for _ in range(n_jobs):
        started = time.perf_counter()
        job = json.loads(call("jobs", json.dumps(request).encode()))
        while job["state"] in ("queued", "running"):
            job = json.loads(call(f"jobs/{job['id']}?wait=30"))
        assert job["state"] == "done", job["message"]
        found = {file["name"]: call(f"files/{file['id']}") for file in job["files"]}
        assert len(found) == 3
        assert b"a.csv" in found["report.html"]
        seconds.append(time.perf_counter() - started)
    return seconds


def memory(process: int) -> dict[str, float]:
    """Return the resident megabytes of a process and of those that it started, on Linux."""
    found = {"server": 0.0, "workers": 0.0}
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            fields = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
        except OSError:
            continue
        is_server = status.parent.name == str(process)
        if is_server or fields["PPid"].strip() == str(process):
            found["server" if is_server else "workers"] += int(fields.get("VmRSS", "0 kB").split()[0]) / 1024
    return found


def first_answer(address: str, tab: str) -> float | None:
    """Return the seconds from the click to the report on an example, in Chromium."""
    chromium = shutil.which("chromium")
    if chromium is None:
        return None
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(f"{address}#{tab}")
        page.wait_for_selector("body[data-ready]")
        panel = page.locator(f"#panel-{tab}")
        panel.get_by_role("button", name="Use the example").click()
        panel.get_by_role("heading", name="Columns").wait_for()
        started = time.perf_counter()
        panel.locator("button.strong").click()
        panel.frame_locator("iframe").locator(".answer").wait_for(timeout=60_000)
        seconds = time.perf_counter() - started
        browser.close()
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=3, help="of each client")
    parser.add_argument("--tabs", nargs="*", default=["compare", "outliers", "changes", "weights", "many"])
    args = parser.parse_args()
    command = [sys.executable, "-m", "fewratio", "serve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            address = re.findall(r"http://\S+", server.stdout.readline())[0]
            use(address, 0, 1)
            time.sleep(10)
            first = {tab: first_answer(address, tab) for tab in args.tabs}
            time.sleep(10)
            before, started = memory(server.pid), time.perf_counter()
            with ThreadPoolExecutor(args.clients) as pool:
                found = list(pool.map(lambda number: use(address, number, args.jobs), range(args.clients)))
            seconds, wall = [each for user in found for each in user], time.perf_counter() - started
            time.sleep(10)
            after = memory(server.pid)
        finally:
            server.terminate()
    static = Path(__file__).parents[1] / "src" / "fewratio" / "web" / "static"
    record: dict[str, Any] = {
        "clients": args.clients,
        "jobs": len(seconds),
        "errors": 0,
        "wall_seconds": round(wall, 1),
        "median_seconds_per_job": round(statistics.median(seconds), 1),
        "longest_seconds_of_a_job": round(max(seconds), 1),
        "mb_before": {name: round(value) for name, value in before.items()},
        "mb_after": {name: round(value) for name, value in after.items()},
        "seconds_to_report_of_example": {
            tab: None if value is None else round(value, 2) for tab, value in first.items()
        },
        "page_bytes": sum(path.stat().st_size for path in static.iterdir()),
        "load_of_other_work": round(os.getloadavg()[2], 1),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "machine": platform.machine(),
        **{package: version(package) for package in ("fastapi", "uvicorn", "numpy")},
        **circumstances(torch.device("cpu")),
    }
    sys.stdout.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
