"""`make horizon`: the study of `lengths`, whose processes import it by that name."""

import sys

from .lengths import main

if __name__ == "__main__":
    sys.exit(main())
