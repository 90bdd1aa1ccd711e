"""What the tests of the registries share: short ways to say what shall be kept."""

from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from tests import postgres
from tests.journal import Place as JournalPlace
from windlass.journal import Store
from windlass.journal.memory import MemoryStore
from windlass.journal.postgres import PostgresStore
from windlass.journal.sqlite import SqliteStore
from windlass.registry import (
    AuditQuery,
    AuditRow,
    HookRow,
    InboundRow,
    Registry,
    SecretRow,
    SettingRow,
    TokenRow,
    WorkerRow,
)
from windlass.registry.memory import MemoryRegistry
from windlass.registry.postgres import PostgresRegistry
from windlass.registry.sqlite import SqliteRegistry


class Place:
    """Where a registry and its journal lie: they can be opened again after they were closed."""

    def __init__(self, adapter: str, folder: Path) -> None:
        self.journal = JournalPlace(adapter, folder)
        self._memory: MemoryRegistry | None = None

    async def open(self, stack: AsyncExitStack) -> tuple[Registry, Store]:
        store = await self.journal.open()
        stack.push_async_callback(store.close)
        match store:
            case SqliteStore():
                return SqliteRegistry(store), store
            case PostgresStore():
                registry = PostgresRegistry(store)
                stack.push_async_callback(registry.close)
                return registry, store
        assert isinstance(store, MemoryStore)
        self._memory = self._memory or MemoryRegistry(store.open_runs, store.spaces)
        return self._memory, store


async def on_postgres(stack: AsyncExitStack, nodes: int) -> list[PostgresRegistry]:
    """As many nodes have it, on one database."""
    database = await postgres.emptied()
    registries = []
    for _ in range(nodes):
        store = await PostgresStore.open(database)
        stack.push_async_callback(store.close)
        registries.append(PostgresRegistry(store))
        stack.push_async_callback(registries[-1].close)
    return registries


def token(id: str = "t1", created_at: float = 1.0, **fields: Any) -> TokenRow:
    given: dict[str, Any] = {"hash": f"h-{id}", "role": "submit", "namespace": "default"}
    return TokenRow(id=id, created_at=created_at, **given | fields)


def secret(name: str = "s1", namespace: str = "default", **fields: Any) -> SecretRow:
    given: dict[str, Any] = {"key": "k1", "sealed": b"\x00\xff sealed", "version": 0, "updated_at": 1.5}
    return SecretRow(namespace=namespace, name=name, **given | fields)


def hook(id: str = "w1", created_at: float = 1.0, **fields: Any) -> HookRow:
    given: dict[str, Any] = {
        "namespace": "default", "url": "https://a.example/b?c=d", "on": ("failed",), "key": "k1",
        "sealed": b"\x00signs",
    }  # fmt: skip
    return HookRow(id=id, created_at=created_at, **given | fields)


def inbound(name: str = "in1", namespace: str = "default", **fields: Any) -> InboundRow:
    given: dict[str, Any] = {
        "rule": b"\x00\xff{}", "key": "k1", "sealed": b"\x00 sealed", "created_at": 1.0, "updated_at": 1.5,
    }  # fmt: skip
    return InboundRow(namespace=namespace, name=name, **given | fields)


def worker(session: str = "s1", at: float = 1.0, **fields: Any) -> WorkerRow:
    given: dict[str, Any] = {
        "worker": "w", "node": "n1", "by": "t1", "address": "::1", "facts": b"\x00\xfffacts",
    }  # fmt: skip
    return WorkerRow(session=session, at=at, **given | fields)


def setting(name: str = "assignment", body: bytes = b"\x00\xff{}", **fields: Any) -> SettingRow:
    given: dict[str, Any] = {"at": 1.0, "by": "ann"}
    return SettingRow(name=name, body=body, **given | fields)


def line(who: str = "anyone", at: float = 1.0, **fields: Any) -> AuditRow:
    given: dict[str, Any] = {"act": "start_run"}
    return AuditRow(who=who, at=at, **given | fields)


async def told(registry: Registry, **query: Any) -> list[str]:
    """The details of the lines that are found."""
    return [row.detail for row in await registry.audit(AuditQuery(**query))]
