"""A node in a process of its own, to be killed or frozen: `python -m tests.peers.child ID`.

It prints its address, reads `ID ADDRESS` of the others from its input, one a line, and is linked with them.
"""

from __future__ import annotations

import asyncio
import sys

from tests.peers.clusters import SocketCluster
from windlass.core.cluster import Member, NodeId


async def main(id: str) -> None:
    house = await SocketCluster().add(id)
    print(house.member.address, flush=True)  # noqa: T201
    others: list[Member] = []
    while line := await asyncio.to_thread(sys.stdin.readline):
        name, address = line.split()
        others.append(Member(id=NodeId(name), name=name, address=address))
        house.meet(*others)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
