"""`python -m proctor.coordinator`; see `server`."""

import sys

from proctor.coordinator.server import main

sys.exit(main())
