"""``python -m fewratio``."""

from fewratio.cli import main

main()
