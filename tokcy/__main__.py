"""``python -m tokcy``: the command ``tokcy``."""

import sys

from tokcy.cli import main

if __name__ == "__main__":
    sys.exit(main())
