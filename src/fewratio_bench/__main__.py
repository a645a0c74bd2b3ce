"""``python -m fewratio_bench``."""

import sys

from fewratio_bench.cli import main

if __name__ == "__main__":
    sys.exit(main())
