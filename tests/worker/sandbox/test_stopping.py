"""A job that is stopped at any moment of its beginning is gone at once, and nothing waits for it for ever."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from windlass.worker import sandbox as sandboxes
from windlass.worker.sandbox import Job

MOMENTS_MS = (*range(0, 24, 2), 30, 50)
PATIENCE_S = 20.0


def test_a_job_is_stopped_at_whatever_moment_of_its_beginning() -> None:
    async def play() -> None:
        sandbox = await sandboxes.best()
        if sandbox is None:
            pytest.skip("no sandbox works here")
        for moment in MOMENTS_MS:
            running = asyncio.ensure_future(sandbox.run(Job(["/bin/sleep", "600"])))
            with suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(running), moment / 1000)
            assert not running.done()
            running.cancel()
            done, _ = await asyncio.wait([running], timeout=PATIENCE_S)
            assert done, f"stopped after {moment} ms, it is not gone after {PATIENCE_S:g} s"
            assert running.cancelled()

    asyncio.run(play())
