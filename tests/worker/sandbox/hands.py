"""A worker that does nothing but run jobs in sandboxes: a line of JSON in, a line of JSON out.

It is a program of its own, so that it can be an ordinary user's, and can be attacked and killed for real.
"""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from pathlib import Path

import msgspec

from windlass.worker.orphans import adopt_orphans
from windlass.worker.sandbox import Job, Ran, Tried
from windlass.worker.sandbox.probe import attempts, gvisor
from windlass.worker.sandbox.tier import Tier, bare


class Ask(msgspec.Struct):
    tier: str
    job: Job
    without: frozenset[str] = frozenset()
    cancel: bool = False  # as soon as it has printed something
    crowd: int = 0  # so many more of it at the same time


class Answer(msgspec.Struct):
    ran: Ran | None = None  # None: it was cancelled
    tiers: list[Tried] = []
    heard: bytes = b""  # what it printed while it ran
    crowd: list[Ran] = []


def to_path(kind: type, value: object) -> object:
    assert kind is Path
    return Path(str(value))


async def carry_out(ask: Ask, tier: Tier) -> Answer:
    left = replace(tier, without=ask.without, protections=bare(tier.protections, ask.without))
    heard = bytearray()
    printed = asyncio.Event()

    def hear(pieces: list[tuple[int, bytes]], _more: bool) -> None:
        heard.extend(b"".join(piece for _, piece in pieces))
        printed.set()

    running = asyncio.create_task(left.run(ask.job, hear))
    if not ask.cancel:
        crowd = await asyncio.gather(*(left.run(ask.job) for _ in range(ask.crowd)))
        return Answer(await running, heard=bytes(heard), crowd=crowd)
    await printed.wait()
    running.cancel()
    await asyncio.wait([running])
    return Answer(None if running.cancelled() else running.result(), heard=bytes(heard))


async def main() -> None:
    adopt_orphans()
    found = [*await attempts(), await gvisor()]
    tiers = {tried.name: tier for tier, tried in found if tier is not None}
    decoder = msgspec.json.Decoder(Ask, dec_hook=to_path)
    answer = Answer(tiers=[tried for _, tried in found])
    while True:
        sys.stdout.buffer.write(msgspec.json.encode(answer) + b"\n")
        sys.stdout.buffer.flush()
        line = await asyncio.to_thread(sys.stdin.buffer.readline)
        if not line:
            return
        ask = decoder.decode(line)
        answer = await carry_out(ask, tiers[ask.tier])


if __name__ == "__main__":
    asyncio.run(main())
