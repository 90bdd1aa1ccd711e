"""What the tests of the leases share: who joins, what lives in a shard, and who may write there."""

from windlass.core.cluster import ENGINE, GATEWAY, Member, NodeId, View
from windlass.core.names import run_key, workflow_key
from windlass.journal import Document, Group, RunRow, Store

SHARDS = 8


def member(name: str, life: int = 1, *, engine: bool = True) -> Member:
    roles = (ENGINE, GATEWAY) if engine else (GATEWAY,)
    return Member(
        id=NodeId(f"{name}-{life}"),
        name=name,
        address=f"{name}.example:7000",
        roles=roles,
        started_at=5.0,
        version="1.0",
    )


def owned(view: View, node: Member) -> list[int]:
    return sorted(shard for shard, holding in view.shards.items() if holding.owner == node.id)


def epochs(view: View) -> dict[int, int]:
    return {shard: holding.epoch for shard, holding in sorted(view.shards.items())}


async def may_write(store: Store, shard: int, epoch: int) -> bool:
    """Whether the journal takes what comes under this epoch."""
    return await store.commit([Group(shard=shard, epoch=epoch)]) == [True]


async def settle_in(
    store: Store, view: View, shard: int, runs: list[str], workflows: tuple[str, ...] = ()
) -> None:
    """Let unsettled runs and defined workflows live in a shard, under the epoch that the view shows."""
    rows = [RunRow(key=run_key(r), workflow="w", version=1, status="running", started_at=1.0) for r in runs]
    documents = [
        Document(key=workflow_key(w), version=1, hash="h", body=b"{}", at=1.0, created_at=1.0)
        for w in workflows
    ]
    group = Group(shard=shard, epoch=view.shards[shard].epoch, runs=rows, documents=documents)
    assert await store.commit([group]) == [True]
