"""``python -m kvplan``."""

import sys

from kvplan.cli import main

sys.exit(main(sys.argv[1:]))
