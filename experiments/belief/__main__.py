"""`make belief`."""

import sys

from .study import main

if __name__ == "__main__":
    sys.exit(main())
