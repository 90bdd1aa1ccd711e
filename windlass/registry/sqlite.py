"""The registry in the SQLite file of the journal, by the journal's own two threads: there is one writer."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final, Protocol, TypeVar, get_args

import msgspec

from windlass.core.vocabulary import ENDED, RunStatus
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
    spaces,
)
from windlass.registry.values import at_most, bounded, check, holdable, written

T = TypeVar("T")
Connection = sqlite3.Connection
Row = tuple[Any, ...]  # whatever the columns hold


class File(Protocol):
    """Who has the file open. Errors are those of the journal's store."""

    async def write(self, work: Callable[[Connection], T]) -> T: ...

    async def read(self, work: Callable[[Connection], T]) -> T: ...


class SqliteRegistry:
    """See `Registry` for what each method promises. It is open as long as the file is."""

    def __init__(self, file: File) -> None:
        self._file = file

    async def add_token(self, row: TokenRow) -> None:
        check(row)
        await self._changed(ADD_TOKEN, msgspec.structs.asdict(row))

    async def token(self, id: str) -> TokenRow | None:
        found = await self._rows(TOKEN, {"id": id})
        return _token(found[0]) if found else None

    async def tokens(self, namespace: str | None = None) -> list[TokenRow]:
        return [_token(row) for row in await self._rows(TOKENS, {"namespace": namespace})]

    async def revoke_token(self, id: str, at: float) -> bool:
        return await self._changed(REVOKE_TOKEN, {"id": id, "at": at}) > 0

    async def touch_tokens(self, used_at: Mapping[str, float]) -> None:
        values = [{"id": id, "at": at} for id, at in used_at.items() if holdable(id, at)]
        if values:
            await self._file.write(lambda cx: cx.executemany(TOUCH_TOKEN, values).rowcount)

    async def put_secret(self, row: SecretRow) -> int:
        check(row)
        values = msgspec.structs.asdict(row)
        (version,) = await self._file.write(lambda cx: cx.execute(PUT_SECRET, values).fetchall()[0])
        return int(version)

    async def reseal_secret(self, row: SecretRow) -> bool:
        check(row)
        return await self._changed(RESEAL_SECRET, msgspec.structs.asdict(row)) > 0

    async def secret(self, namespace: str, name: str) -> SecretRow | None:
        found = await self._rows(SECRET, {"namespace": namespace, "name": name})
        return _secret(found[0]) if found else None

    async def secrets(self, namespace: str | None = None) -> list[SecretRow]:
        return [_secret(row) for row in await self._rows(SECRETS, {"namespace": namespace})]

    async def delete_secret(self, namespace: str, name: str) -> bool:
        return await self._changed(DELETE_SECRET, {"namespace": namespace, "name": name}) > 0

    async def put_hook(self, row: HookRow) -> None:
        check(row)
        on = msgspec.json.encode(row.on).decode()
        await self._changed(PUT_HOOK, msgspec.structs.asdict(row) | {"on": on})

    async def hook(self, id: str) -> HookRow | None:
        found = await self._rows(HOOK, {"id": id})
        return _hook(found[0]) if found else None

    async def hooks(self, namespace: str | None = None) -> list[HookRow]:
        return [_hook(row) for row in await self._rows(HOOKS, {"namespace": namespace})]

    async def delete_hook(self, id: str) -> bool:
        return await self._changed(DELETE_HOOK, {"id": id}) > 0

    async def put_inbound(self, row: InboundRow) -> None:
        check(row)
        await self._changed(PUT_INBOUND, msgspec.structs.asdict(row))

    async def reseal_inbound(self, row: InboundRow) -> bool:
        check(row)
        return await self._changed(RESEAL_INBOUND, msgspec.structs.asdict(row)) > 0

    async def inbound(self, namespace: str, name: str) -> InboundRow | None:
        found = await self._rows(INBOUND, {"namespace": namespace, "name": name})
        return _inbound(found[0]) if found else None

    async def inbounds(self, namespace: str | None = None) -> list[InboundRow]:
        return [_inbound(row) for row in await self._rows(INBOUNDS, {"namespace": namespace})]

    async def delete_inbound(self, namespace: str, name: str) -> bool:
        return await self._changed(DELETE_INBOUND, {"namespace": namespace, "name": name}) > 0

    async def put_workers(self, rows: Sequence[WorkerRow]) -> None:
        for row in rows:
            check(row)
        values = [msgspec.structs.asdict(row) for row in rows]
        if values:
            await self._file.write(lambda cx: cx.executemany(PUT_WORKER, values).rowcount)

    async def drop_workers(self, sessions: Collection[str], *, node: str = "") -> None:
        values = [{"session": session, "node": node} for session in sessions if holdable(session, node)]
        if values:
            await self._file.write(lambda cx: cx.executemany(DROP_WORKER, values).rowcount)

    async def workers(self) -> list[WorkerRow]:
        return [_worker(row) for row in await self._rows(WORKERS, {})]

    async def setting(self, name: str) -> SettingRow | None:
        found = await self._rows(SETTING, {"name": name})
        return _setting(found[0]) if found else None

    async def put_setting(self, row: SettingRow, *, expected: int | None) -> int | None:
        check(row)
        sql = ADD_SETTING if expected is None else CHANGE_SETTING
        values = msgspec.structs.asdict(row) | {"expected": expected}
        if not holdable(expected):
            return None
        found = await self._file.write(lambda cx: cx.execute(sql, values).fetchall())
        return int(found[0][0]) if found else None

    async def write_audit(self, rows: Sequence[AuditRow]) -> None:
        values = [msgspec.structs.asdict(row) for row in written(rows)]
        if values:
            await self._file.write(lambda cx: cx.executemany(WRITE_AUDIT, values).rowcount)

    async def audit(self, query: AuditQuery) -> list[AuditRow]:
        return [_line(row) for row in await self._rows(*audit_statement(bounded(query)))]

    async def purge_audit(self, before: float, limit: int) -> int:
        return await self._changed(PURGE_AUDIT, {"before": before, "limit": at_most(limit)})

    async def count_open_runs(self, namespace: str, limit: int) -> int:
        found = await self._rows(COUNT_OPEN_RUNS, {"namespace": namespace, "limit": at_most(limit)})
        return int(found[0][0]) if found else 0

    async def namespaces(
        self, only: str | None = None, *, limit: int, counted: int = 1_000
    ) -> list[NamespaceRow]:
        asked = {"only": only, "limit": at_most(limit), "counted": at_most(counted)}
        found = await self._rows(spaces.SQLITE, asked)
        return [NamespaceRow(name=name, workflows=flows, open_runs=runs) for name, flows, runs in found]

    async def _changed(self, sql: str, values: Mapping[str, Any]) -> int:
        """How many rows were changed; none if something is named that nothing can be named."""
        if not holdable(*values.values()):
            return 0
        return await self._file.write(lambda cx: cx.execute(sql, values).rowcount)

    async def _rows(self, sql: str, values: Mapping[str, Any]) -> list[Row]:
        """What is found; nothing if something is named that nothing can be named."""
        if not holdable(*values.values()):
            return []
        return await self._file.read(lambda cx: cx.execute(sql, values).fetchall())


def audit_statement(query: AuditQuery) -> tuple[str, dict[str, Any]]:
    """Only what is asked for stands in it, so that the index is the right one."""
    wanted = [condition for name, condition in _FITS.items() if getattr(query, name) not in (None, False)]
    where = f"WHERE {' AND '.join(wanted)} " if wanted else ""
    sql = f"SELECT {_AUDIT} FROM audit {where}ORDER BY n DESC LIMIT :limit"
    return sql, msgspec.structs.asdict(query)


def _token(row: Row) -> TokenRow:
    return TokenRow(**dict(zip(TokenRow.__struct_fields__, row, strict=True)))


def _secret(row: Row) -> SecretRow:
    return SecretRow(**dict(zip(SecretRow.__struct_fields__, row, strict=True)))


def _hook(row: Row) -> HookRow:
    values = dict(zip(HookRow.__struct_fields__, row, strict=True))
    return HookRow(**values | {"on": tuple(msgspec.json.decode(values["on"], type=list[str]))})


def _inbound(row: Row) -> InboundRow:
    return InboundRow(**dict(zip(InboundRow.__struct_fields__, row, strict=True)))


def _worker(row: Row) -> WorkerRow:
    return WorkerRow(**dict(zip(WorkerRow.__struct_fields__, row, strict=True)))


def _setting(row: Row) -> SettingRow:
    return SettingRow(**dict(zip(SettingRow.__struct_fields__, row, strict=True)))


def _line(row: Row) -> AuditRow:
    return AuditRow(**dict(zip(AuditRow.__struct_fields__, row, strict=True)))


# Columns are called as the fields of the rows are, and read in their order.
_TOKEN: Final = ", ".join(TokenRow.__struct_fields__)
_SECRET: Final = ", ".join(SecretRow.__struct_fields__)
_HOOK: Final = ", ".join(f'"{name}"' for name in HookRow.__struct_fields__)
_INBOUND: Final = ", ".join(InboundRow.__struct_fields__)
_WORKER: Final = ", ".join(f'"{name}"' for name in WorkerRow.__struct_fields__)
_SETTING: Final = ", ".join(f'"{name}"' for name in SettingRow.__struct_fields__)
_AUDIT: Final = ", ".join(AuditRow.__struct_fields__)

ADD_TOKEN: Final = f"""
    INSERT INTO tokens ({_TOKEN})
    VALUES (
      :id, :hash, :role, :namespace, :name, :created_at, :created_by, :expires_at, :revoked_at, :used_at)
"""
TOKEN: Final = f"SELECT {_TOKEN} FROM tokens WHERE id = :id"
TOKENS: Final = f"""
    SELECT {_TOKEN} FROM tokens WHERE :namespace IS NULL OR namespace = :namespace
    ORDER BY created_at DESC, id DESC
"""
REVOKE_TOKEN: Final = "UPDATE tokens SET revoked_at = :at WHERE id = :id AND revoked_at IS NULL"
TOUCH_TOKEN: Final = "UPDATE tokens SET used_at = :at WHERE id = :id AND (used_at IS NULL OR used_at < :at)"

PUT_SECRET: Final = f"""
    INSERT INTO secrets ({_SECRET})
    VALUES (:namespace, :name, :key, :sealed, 1, :updated_at, :updated_by)
    ON CONFLICT (namespace, name) DO UPDATE SET
      key = excluded.key, sealed = excluded.sealed, version = secrets.version + 1,
      updated_at = excluded.updated_at, updated_by = excluded.updated_by
    RETURNING version
"""
RESEAL_SECRET: Final = """
    UPDATE secrets SET key = :key, sealed = :sealed
    WHERE namespace = :namespace AND name = :name AND version = :version AND updated_at = :updated_at
"""
SECRET: Final = f"SELECT {_SECRET} FROM secrets WHERE namespace = :namespace AND name = :name"
SECRETS: Final = f"""
    SELECT {_SECRET} FROM secrets WHERE :namespace IS NULL OR namespace = :namespace
    ORDER BY namespace, name
"""
DELETE_SECRET: Final = "DELETE FROM secrets WHERE namespace = :namespace AND name = :name"

PUT_HOOK: Final = f"""
    INSERT OR REPLACE INTO webhooks ({_HOOK})
    VALUES (:id, :namespace, :workflow, :url, :on, :key, :sealed, :created_at, :created_by)
"""
HOOK: Final = f"SELECT {_HOOK} FROM webhooks WHERE id = :id"
HOOKS: Final = f"""
    SELECT {_HOOK} FROM webhooks WHERE :namespace IS NULL OR namespace = :namespace ORDER BY created_at, id
"""
DELETE_HOOK: Final = "DELETE FROM webhooks WHERE id = :id"

PUT_INBOUND: Final = f"""
    INSERT INTO inbound_hooks ({_INBOUND})
    VALUES (:namespace, :name, :rule, :key, :sealed, :created_at, :updated_at, :updated_by)
    ON CONFLICT (namespace, name) DO UPDATE SET
      rule = excluded.rule, key = excluded.key, sealed = excluded.sealed,
      updated_at = excluded.updated_at, updated_by = excluded.updated_by
"""
RESEAL_INBOUND: Final = """
    UPDATE inbound_hooks SET key = :key, sealed = :sealed
    WHERE namespace = :namespace AND name = :name AND updated_at = :updated_at
"""
INBOUND: Final = f"SELECT {_INBOUND} FROM inbound_hooks WHERE namespace = :namespace AND name = :name"
INBOUNDS: Final = f"""
    SELECT {_INBOUND} FROM inbound_hooks WHERE :namespace IS NULL OR namespace = :namespace
    ORDER BY namespace, name
"""
DELETE_INBOUND: Final = "DELETE FROM inbound_hooks WHERE namespace = :namespace AND name = :name"

PUT_WORKER: Final = f"""
    INSERT OR REPLACE INTO workers ({_WORKER})
    VALUES (:session, :worker, :node, :by, :address, :at, :facts)
"""
DROP_WORKER: Final = "DELETE FROM workers WHERE session = :session AND :node IN ('', node)"
WORKERS: Final = f"SELECT {_WORKER} FROM workers ORDER BY session"

SETTING: Final = f"SELECT {_SETTING} FROM cluster_settings WHERE name = :name"
ADD_SETTING: Final = f"""
    INSERT INTO cluster_settings ({_SETTING}) VALUES (:name, 1, :body, :at, :by)
    ON CONFLICT (name) DO NOTHING RETURNING version
"""
CHANGE_SETTING: Final = """
    UPDATE cluster_settings SET version = version + 1, body = :body, at = :at, "by" = :by
    WHERE name = :name AND version = :expected RETURNING version
"""

WRITE_AUDIT: Final = """
    INSERT INTO audit (at, who, role, namespace, act, thing, address, outcome, detail, request)
    VALUES (:at, :who, :role, :namespace, :act, :thing, :address, :outcome, :detail, :request)
"""
_FITS: Final = {
    "namespace": "namespace = :namespace",
    "who": "substr(who, 1, length(:who)) = :who",
    "act": "act = :act",
    "thing": "thing = :thing",
    "since": "at >= :since",
    "until": "+at < :until",  # by no index: nearly everything is older, and would have to be sorted
    "failed": "outcome >= 400",
    "before": "n < :before",
}
PURGE_AUDIT: Final = """
    DELETE FROM audit WHERE n IN (SELECT n FROM audit WHERE at < :before ORDER BY at, n LIMIT :limit)
"""

# By status: only the namespace's own open runs are walked, and nothing is read but the index.
# What is stuck may have ended before.
_OPEN: Final = ", ".join(f"'{status}'" for status in get_args(RunStatus) if status not in {*ENDED, "stuck"})
COUNT_OPEN_RUNS: Final = f"""
    SELECT count(*) FROM (
      SELECT 1 FROM runs INDEXED BY runs_by_status WHERE namespace = :namespace AND status IN ({_OPEN})
      UNION ALL
      SELECT 1 FROM runs INDEXED BY runs_by_status
      WHERE namespace = :namespace AND status = 'stuck' AND settled = 0
      LIMIT :limit)
"""
