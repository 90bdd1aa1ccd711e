"""What all tests share: how hypothesis plays.

The same examples come up on every machine and in every run, so that green means the same everywhere. To look
further than the default, say how many examples each property gets: `WINDLASS_EXAMPLES=5000 make test`.
"""

import os

from hypothesis import settings

settings.register_profile(
    "default",
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=int(os.environ.get("WINDLASS_EXAMPLES", "100")),
)
settings.load_profile("default")
