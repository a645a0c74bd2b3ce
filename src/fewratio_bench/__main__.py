"""``python -m fewratio_bench``."""

import sys


def main() -> int:
    """Run the command line; without the packages that it needs, say how to install them."""
    try:
        from fewratio_bench.cli import main as run

        return run()
    except ModuleNotFoundError as error:
        sys.stderr.write(f"fewratio-bench needs {error.name}. Install it: pip install 'fewratio[bench]'.\n")
        return 1


if __name__ == "__main__":
    sys.exit(main())
