"""What all tests share: how hypothesis plays, and how several processes run them side by side.

The same examples come up on every machine and in every run, so that green means the same everywhere. To look
further than the default, say how many examples each property gets: `WINDLASS_EXAMPLES=5000 make test`.

`make test` deals the files out to several processes, each with a PostgreSQL and folders of its own. What a
machine has only once is taken by a fixture here that lets one test at a time have it.
"""

import fcntl
import gc
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from xdist.scheduler import LoadFileScheduling

from tests import postgres

# Its tests look for control groups that others left behind, and leave some for each other to find.
SANDBOX = "tests/worker/sandbox"
# These take longest, so they come first: else one process would still be at it when the others have ended.
LONGEST = (
    "tests/sim/test_sim.py",
    SANDBOX,
    "tests/cluster/test_bad_input.py",
    "tests/worker/test_code_step.py",
    "tests/gateway/test_schemathesis.py",
    "tests/cli/test_up.py",
    "tests/crash/test_crash.py",
    "tests/fleet/test_promises.py",
    "tests/fleet/test_chaos.py",
    "tests/test_requirements.py",
)

settings.register_profile(
    "default",
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=int(os.environ.get("WINDLASS_EXAMPLES", "100")),
)
settings.load_profile("default")


def share_of(test: str) -> str:
    """What one process runs by itself, from the first test to the last: a file, or a folder."""
    return SANDBOX if test.startswith(f"{SANDBOX}/") else test.partition("::")[0]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    ranks = {share: rank for rank, share in enumerate(LONGEST)}
    items.sort(key=lambda item: ranks.get(share_of(item.nodeid), len(ranks)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> LoadFileScheduling:
    config.option.loadscopereorder = False  # the order is ours
    scheduler = LoadFileScheduling(config, log)
    scheduler._split_scope = share_of
    return scheduler


def pytest_collection_finish() -> None:
    """Thousands of tests never become garbage: nobody has to look at them again and again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def postgres_ends_with_the_tests() -> Iterator[None]:
    yield
    postgres.stop()


@pytest.fixture
def usual_ports() -> Iterator[None]:
    """127.0.0.1:2550 and the next ones, by their numbers: for one test at a time, in whatever process."""
    with Path(tempfile.gettempdir(), f"windlass-test-ports-{os.getuid()}").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
