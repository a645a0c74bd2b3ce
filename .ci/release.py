"""Build the distributions, check them, install them where nothing else is, and run the demo there: ``make release``.

The wheel is installed twice: with the lowest versions of its dependencies that it allows, and with the newest.
"""

import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
BIN = Path(sys.executable).parent
LARGEST = {".whl": 4_000_000, ".gz": 12_000_000}
NEEDED = {
    ".whl": [
        "fewratio/__init__.pyi",
        "fewratio/py.typed",
        "fewratio/estimators/networks/pretrained/universal.safetensors",
        "fewratio_web/static/index.html",
        "fewratio_bench/published.csv",
        "licenses/LICENSE",
        "entry_points.txt",
    ],
    ".gz": ["README.md", "LICENSE", "CHANGELOG.md", "docs/conf.py", "tests/conftest.py", "Makefile", "SECURITY.md"],
}
UNWANTED = ("__pycache__", ".pyc", "/.git/", "_build/", ".jsonl", "docs/gallery/")


def run(*command: str | Path, **options: object) -> None:
    print("$", *command, flush=True)
    subprocess.run([str(each) for each in command], check=True, **options)


def check_contents(path: Path) -> None:
    if path.suffix == ".whl":
        names = zipfile.ZipFile(path).namelist()
    else:
        with tarfile.open(path) as archive:
            names = archive.getnames()
    missing = [each for each in NEEDED[path.suffix] if not any(name.endswith(each) for name in names)]
    unwanted = [name for name in names if any(each in name for each in UNWANTED)]
    size = path.stat().st_size
    print(f"{path.name}: {size / 1e6:.1f} MB, {len(names)} files")
    if missing or unwanted or size > LARGEST[path.suffix]:
        sys.exit(f"{path.name} lacks {missing}, holds {unwanted[:5]}, or is over {LARGEST[path.suffix]:,} bytes.")


def check_installed(wheel: Path, resolution: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        run(BIN / "uv", "venv", "--quiet", "--python", sys.executable, Path(folder, "venv"))
        programs = Path(folder, "venv", BIN.name)
        # Named one by one: only what is asked for directly is taken at its lowest version.
        project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
        extras = project["optional-dependencies"]
        wanted = [*project["dependencies"], *extras["report"]]
        install = (BIN / "uv", "pip", "install", "--quiet", "--python", programs / "python")
        run(*install, "--resolution", resolution, *wanted, wheel)
        run(BIN / "uv", "pip", "list", "--python", programs / "python")
        # Elsewhere, so that nothing of the checkout is imported.
        run(programs / "fewratio", "demo", "--output", "demo", cwd=folder, stdout=subprocess.DEVNULL)
        table = Path(folder, "demo", "grower_1.csv")
        other = table.with_name("grower_2.csv")
        report = ("--report", "report.html")
        run(programs / "fewratio", "compare", table, other, *report, cwd=folder, stdout=subprocess.DEVNULL)


def main() -> None:
    shutil.rmtree(DIST, ignore_errors=True)
    run(BIN / "uv", "build", "--quiet", "--build-constraint", ROOT / "constraints.txt", "--out-dir", DIST, ROOT)
    files = sorted(path for path in DIST.iterdir() if path.suffix in LARGEST)
    run(BIN / "twine", "check", "--strict", *files)
    for path in files:
        check_contents(path)
    (wheel,) = DIST.glob("*.whl")
    for resolution in ("lowest-direct", "highest"):
        check_installed(wheel, resolution)
    print("Built and checked:", *(path.name for path in files))


if __name__ == "__main__":
    main()
