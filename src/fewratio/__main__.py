"""``python -m fewratio``."""

from fewratio.app import main

main()
