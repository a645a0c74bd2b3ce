"""``python -m fewratio_bench``."""

import sys

from fewratio_bench.cli import main

sys.exit(main())
