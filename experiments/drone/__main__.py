"""`python -m experiments.drone`: see `study`."""

import sys

from .study import main

sys.exit(main())
