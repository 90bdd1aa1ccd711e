"""One worker as root and one as an ordinary user for all tests; each test gets every tier of both."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

import pytest

from tests.tools import install
from tests.waiting import wait_until
from tests.worker.sandbox.rig import Bench, Worker, groups, marked, mounts, worker


class Workers(Protocol):
    def __call__(self, who: str) -> Worker: ...


@pytest.fixture(scope="session")
def base() -> Iterator[Path]:
    """A folder that every user gets to; pytest's own are for one user."""
    with TemporaryDirectory(prefix="windlass-tests-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture
def common(base: Path, token: str) -> Path:
    """One for each test."""
    folder = base / token
    folder.mkdir()
    folder.chmod(0o755)
    return folder


@pytest.fixture(scope="session")
def workers(base: Path) -> Iterator[Workers]:
    install(["bubblewrap"])
    started: dict[str, Worker] = {}
    with ExitStack() as stack:

        def get(who: str) -> Worker:
            if who not in started or started[who].process.poll() is not None:
                started[who] = stack.enter_context(worker(who, base / f"{who}-{len(started)}"))
            return started[who]

        yield get


@pytest.fixture(params=["bubblewrap+cgroup", "bubblewrap", "landlock"])
def tier(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["root", "user"])
def who(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def token() -> str:
    """A word that marks a job's processes."""
    return f"marked-{secrets.token_hex(8)}"


@pytest.fixture
def bench(workers: Workers, who: str, tier: str, token: str) -> Iterator[Bench]:
    """One tier; and after the test the worker lives, the next job runs, and nothing is left."""
    one = workers(who)
    tried = next(tried for tried in one.tiers if tried.name == tier)
    if not tried.works:
        pytest.skip(f"{tier} does not work here as {who}: {tried.reason}")
    bench = Bench(one, tier, who)
    before = mounts(one.pid)
    yield bench
    assert bench.run("print('next')").stdout == b"next\n"
    wait_until(lambda: not marked(token), 0.5)
    wait_until(lambda: groups() == [])  # others may make and remove some at this very moment
    assert mounts(one.pid) <= before
    assert list(Path(one.scratch).iterdir()) == []
