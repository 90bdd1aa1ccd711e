"""What all tests share: how hypothesis plays, and that the PostgreSQL they started ends with them.

The same examples come up on every machine and in every run, so that green means the same everywhere. To look
further than the default, say how many examples each property gets: `WINDLASS_EXAMPLES=5000 make test`.
"""

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests import postgres

settings.register_profile(
    "default",
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=int(os.environ.get("WINDLASS_EXAMPLES", "100")),
)
settings.load_profile("default")


@pytest.fixture(scope="session", autouse=True)
def postgres_ends_with_the_tests() -> Iterator[None]:
    yield
    postgres.stop()
