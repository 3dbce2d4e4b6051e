"""``python -m logdiff``."""

from logdiff.cli import main

main()
