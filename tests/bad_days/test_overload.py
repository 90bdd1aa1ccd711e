"""More than can be taken: whoever is refused is told at once, and whoever was taken is not forgotten."""

import asyncio
import resource
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import pytest

from tests.bad_days.disks import syncs
from tests.bad_days.house import House, house
from tests.waiting import wait_until
from windlass.engine.surroundings import Settings

ROOM = Settings().inbox_max // 2  # for starts
TAKEN = Settings().batch_max  # what is being decided while it waits
CROWD = ROOM + TAKEN + 200
FILES = 4 * (CROWD + 100) // 3  # a quarter is not for clients


@pytest.fixture
def many_files() -> Iterator[None]:
    """As many connections as the crowd has, for us and for the engine that we start."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < FILES:
        pytest.fail(f"this test needs {FILES} open files, and {hard} are allowed (ulimit -Hn)")
    if soft != resource.RLIM_INFINITY and soft < FILES:
        resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def start(session: aiohttp.ClientSession, url: str, run: str) -> tuple[str, int, str, str]:
    address = f"{url}/api/v1/workflows/crowd/execute"
    async with session.post(address, json={"runId": run}) as answer:
        body = await answer.json()
        return run, answer.status, answer.headers.get("Retry-After", ""), body.get("message", "")


async def crowd(url: str) -> list[tuple[str, int, str, str]]:
    connector = aiohttp.TCPConnector(limit=0)
    patience = aiohttp.ClientTimeout(total=60)
    async with aiohttp.ClientSession(connector=connector, timeout=patience) as session:
        return await asyncio.gather(*(start(session, url, f"crowd-{n}") for n in range(CROWD)))


def runs_of(home: House, workflow: str) -> Counter[str]:
    """How many runs it has, by status."""
    found: Counter[str] = Counter()
    following = ""
    while True:
        page = home.api("GET", f"runs?workflow={workflow}&limit=1000{following}").body
        found.update(run["status"] for run in page["items"])
        if page["next"] is None:
            return found
        following = f"&after={page['next']}"


@pytest.mark.usefixtures("many_files")
def test_a_full_inbox_refuses_starts_at_once_and_keeps_what_it_has_taken(tmp_path: Path) -> None:
    bad = syncs(tmp_path)
    with house(tmp_path, "--shards", "1", env=bad.env) as home:
        home.save({"id": "crowd", "steps": {"only": {"kind": "noop"}}})
        with home.neighbour():
            # Given a disk that has stalled
            bad.hang.touch()
            # When more come than an inbox holds
            answers = asyncio.run(crowd(home.url))
            # Then none is told that it was started, and those for whom there is no room hear that
            full = [answer for answer in answers if "requests are waiting already" in answer[3]]
            assert len(full) >= CROWD - ROOM - TAKEN
            assert {status for _, status, _, _ in full} == {503}
            for _, status, retry_after, message in answers:
                assert status in (503, 504), message
                if status == 503:
                    assert int(retry_after) >= 1
                    assert "try again" in message
            # And the door is open for others
            assert home.ask("GET", "/health/live").status == 200
            assert runs_of(home, "crowd") == {}
            # When the disk goes on: exactly those run of whom it was not said that nothing was done
            unknown = sum(1 for _, status, _, _ in answers if status == 504)
            bad.hang.unlink()
            wait_until(lambda: runs_of(home, "crowd") == {"succeeded": unknown}, 30)
            # And there is room again, also under the ids that were refused
            refused = full[0][0]
            assert home.api("GET", f"runs/{refused}").status == 404
            assert home.end_of(home.start("crowd", runId=refused))["status"] == "succeeded"
        assert home.engine.stop() == 0
        assert "Traceback" not in home.engine.says
