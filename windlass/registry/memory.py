"""A registry that lasts as long as its object: for tests, and as the plainest reading of the port.

Nothing in it waits, and the same calls always give the same answers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from msgspec.structs import replace

from windlass.journal import StoreRefused
from windlass.registry import (
    AuditQuery,
    AuditRow,
    HookRow,
    InboundRow,
    NamespaceRow,
    SecretRow,
    SettingRow,
    TokenRow,
    WorkerRow,
)
from windlass.registry.values import at_most, check, holdable, written


class MemoryRegistry:
    """See `Registry` for what each method promises.

    `open_runs` counts those of a namespace; `spaces` are the namespaces of the journal beside it, each with
    how many workflows it has.
    """

    def __init__(
        self,
        open_runs: Callable[[str], int] = lambda namespace: 0,
        spaces: Callable[[], Mapping[str, int]] = dict,
    ) -> None:
        self._open_runs = open_runs
        self._spaces = spaces
        self._tokens: dict[str, TokenRow] = {}
        self._secrets: dict[tuple[str, str], SecretRow] = {}
        self._hooks: dict[str, HookRow] = {}
        self._inbound: dict[tuple[str, str], InboundRow] = {}
        self._workers: dict[str, WorkerRow] = {}
        self._settings: dict[str, SettingRow] = {}
        self._audit: list[AuditRow] = []  # in the order of their numbers
        self._written = 0  # the number of the last row, there or purged

    async def add_token(self, row: TokenRow) -> None:
        check(row)
        if row.id in self._tokens:
            raise StoreRefused(f"there is a token {row.id} already")
        self._tokens[row.id] = row

    async def token(self, id: str) -> TokenRow | None:
        return self._tokens.get(id)

    async def tokens(self, namespace: str | None = None) -> list[TokenRow]:
        found = [row for row in self._tokens.values() if namespace in (None, row.namespace)]
        return sorted(found, key=lambda row: (row.created_at, row.id), reverse=True)

    async def revoke_token(self, id: str, at: float) -> bool:
        row = self._tokens.get(id)
        if row is None or row.revoked_at is not None or not holdable(at):
            return False
        self._tokens[id] = replace(row, revoked_at=at)
        return True

    async def touch_tokens(self, used_at: Mapping[str, float]) -> None:
        for id, at in used_at.items():
            row = self._tokens.get(id)
            if row is not None and holdable(at) and (row.used_at is None or row.used_at < at):
                self._tokens[id] = replace(row, used_at=at)

    async def put_secret(self, row: SecretRow) -> int:
        check(row)
        before = self._secrets.get((row.namespace, row.name))
        version = 1 if before is None else before.version + 1
        self._secrets[row.namespace, row.name] = replace(row, version=version)
        return version

    async def reseal_secret(self, row: SecretRow) -> bool:
        check(row)
        kept = self._secrets.get((row.namespace, row.name))
        if kept is None or (kept.version, kept.updated_at) != (row.version, row.updated_at):
            return False
        self._secrets[row.namespace, row.name] = replace(kept, key=row.key, sealed=row.sealed)
        return True

    async def secret(self, namespace: str, name: str) -> SecretRow | None:
        return self._secrets.get((namespace, name))

    async def secrets(self, namespace: str | None = None) -> list[SecretRow]:
        found = [row for row in self._secrets.values() if namespace in (None, row.namespace)]
        return sorted(found, key=lambda row: (row.namespace, row.name))

    async def delete_secret(self, namespace: str, name: str) -> bool:
        return self._secrets.pop((namespace, name), None) is not None

    async def put_hook(self, row: HookRow) -> None:
        check(row)
        self._hooks[row.id] = row

    async def hook(self, id: str) -> HookRow | None:
        return self._hooks.get(id)

    async def hooks(self, namespace: str | None = None) -> list[HookRow]:
        found = [row for row in self._hooks.values() if namespace in (None, row.namespace)]
        return sorted(found, key=lambda row: (row.created_at, row.id))

    async def delete_hook(self, id: str) -> bool:
        return self._hooks.pop(id, None) is not None

    async def put_inbound(self, row: InboundRow) -> None:
        check(row)
        place = (row.namespace, row.name)
        before = self._inbound.get(place, row)
        self._inbound[place] = replace(row, created_at=before.created_at)

    async def reseal_inbound(self, row: InboundRow) -> bool:
        check(row)
        kept = self._inbound.get((row.namespace, row.name))
        if kept is None or kept.updated_at != row.updated_at:
            return False
        self._inbound[row.namespace, row.name] = replace(kept, key=row.key, sealed=row.sealed)
        return True

    async def inbound(self, namespace: str, name: str) -> InboundRow | None:
        return self._inbound.get((namespace, name))

    async def inbounds(self, namespace: str | None = None) -> list[InboundRow]:
        found = [row for row in self._inbound.values() if namespace in (None, row.namespace)]
        return sorted(found, key=lambda row: (row.namespace, row.name))

    async def delete_inbound(self, namespace: str, name: str) -> bool:
        return self._inbound.pop((namespace, name), None) is not None

    async def put_workers(self, rows: Sequence[WorkerRow]) -> None:
        for row in rows:
            check(row)
        self._workers |= {row.session: row for row in rows}

    async def drop_workers(self, sessions: Collection[str], *, node: str = "") -> None:
        for session in sessions:
            known = self._workers.get(session)
            if known is not None and node in ("", known.node):
                del self._workers[session]

    async def workers(self) -> list[WorkerRow]:
        return sorted(self._workers.values(), key=lambda row: row.session)

    async def setting(self, name: str) -> SettingRow | None:
        return self._settings.get(name)

    async def put_setting(self, row: SettingRow, *, expected: int | None) -> int | None:
        check(row)
        kept = self._settings.get(row.name)
        if (None if kept is None else kept.version) != expected:
            return None
        version = 1 if expected is None else expected + 1
        self._settings[row.name] = replace(row, version=version)
        return version

    async def write_audit(self, rows: Sequence[AuditRow]) -> None:
        for row in written(rows):
            self._written += 1
            self._audit.append(replace(row, n=self._written))

    async def audit(self, query: AuditQuery) -> list[AuditRow]:
        found = [row for row in reversed(self._audit) if _fits(row, query)]
        return found[: at_most(query.limit)]

    async def purge_audit(self, before: float, limit: int) -> int:
        older = sorted((row.at, row.n) for row in self._audit if row.at < before)
        doomed = {n for _, n in older[: at_most(limit)]}
        self._audit = [row for row in self._audit if row.n not in doomed]
        return len(doomed)

    async def count_open_runs(self, namespace: str, limit: int) -> int:
        return min(self._open_runs(namespace), at_most(limit))

    async def namespaces(
        self, only: str | None = None, *, limit: int, counted: int = 1_000
    ) -> list[NamespaceRow]:
        valid = {row.namespace for row in self._tokens.values() if row.revoked_at is None} - {"*"}
        spaces = {**dict.fromkeys(valid, 0), **self._spaces()}
        return [
            NamespaceRow(
                name=name,
                workflows=min(spaces[name], at_most(counted)),
                open_runs=await self.count_open_runs(name, counted),
            )
            for name in sorted(spaces)[: at_most(limit)]
            if only in (None, name)
        ]


def _fits(row: AuditRow, query: AuditQuery) -> bool:
    return (
        query.namespace in (None, row.namespace)
        and (query.who is None or row.who.startswith(query.who))
        and query.act in (None, row.act)
        and query.thing in (None, row.thing)
        and (query.since is None or row.at >= query.since)
        and (query.until is None or row.at < query.until)
        and (not query.failed or row.outcome >= 400)
        and (query.before is None or row.n < query.before)
    )
