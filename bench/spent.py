"""Processor time, of this process and all its threads."""

from __future__ import annotations

import time

from bench.engine import IN_FLIGHT, Engine, in_flight


async def work_us(here: Engine, workflow: str, runs: int, *, lanes: int = IN_FLIGHT) -> float:
    """Of one run of this workflow, so many at the same time."""
    began = time.process_time()
    await in_flight(runs, lambda: here.run(workflow), lanes=lanes)
    return (time.process_time() - began) / runs * 1e6
