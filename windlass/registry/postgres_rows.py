"""What the registry says to PostgreSQL: its statements, and rows there and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from windlass.registry import (
    AuditQuery,
    AuditRow,
    HookRow,
    InboundRow,
    SecretRow,
    SettingRow,
    TokenRow,
    WorkerRow,
)


def values(row: TokenRow | HookRow | InboundRow) -> tuple[Any, ...]:
    """Field by field, in the order of the columns."""
    return tuple(msgspec.structs.asdict(row).values())


def columns(rows: Sequence[AuditRow]) -> list[list[Any]]:
    """All but their numbers, an array for each column."""
    return [[getattr(row, name) for row in rows] for name in _GIVEN]


def worker_columns(rows: Sequence[WorkerRow]) -> list[list[Any]]:
    """An array for each column. In one order, whoever writes: so two nodes never wait for each other."""
    of_session = {row.session: row for row in rows}
    ordered = [of_session[session] for session in sorted(of_session)]
    return [[getattr(row, name) for row in ordered] for name in WorkerRow.__struct_fields__]


def audit_statement(query: AuditQuery) -> tuple[str, list[Any]]:
    """Only what is asked for stands in it, so that the index is the right one."""
    given: list[Any] = []
    wanted = []
    for name, condition in _FITS.items():
        value = getattr(query, name)
        if value is not None:
            given.append(value)
            wanted.append(condition.format(len(given)))
    if query.failed:
        wanted.append("outcome >= 400")
    where = f"WHERE {' AND '.join(wanted)} " if wanted else ""
    given.append(query.limit)
    return f"SELECT {_AUDIT} FROM audit {where}ORDER BY n DESC LIMIT ${len(given)}", given


def token(row: Any) -> TokenRow:
    return TokenRow(**dict(zip(TokenRow.__struct_fields__, row, strict=True)))


def secret(row: Any) -> SecretRow:
    return SecretRow(**dict(zip(SecretRow.__struct_fields__, row, strict=True)))


def hook(row: Any) -> HookRow:
    found = dict(zip(HookRow.__struct_fields__, row, strict=True))
    return HookRow(**found | {"on": tuple(found["on"])})


def inbound(row: Any) -> InboundRow:
    return InboundRow(**dict(zip(InboundRow.__struct_fields__, row, strict=True)))


def worker(row: Any) -> WorkerRow:
    return WorkerRow(**dict(zip(WorkerRow.__struct_fields__, row, strict=True)))


def setting(row: Any) -> SettingRow:
    return SettingRow(**dict(zip(SettingRow.__struct_fields__, row, strict=True)))


def line(row: Any) -> AuditRow:
    return AuditRow(**dict(zip(AuditRow.__struct_fields__, row, strict=True)))


# Columns are called as the fields of the rows are, and read in their order.
_TOKEN: Final = ", ".join(TokenRow.__struct_fields__)
_SECRET: Final = ", ".join(SecretRow.__struct_fields__)
_HOOK: Final = ", ".join(f'"{name}"' for name in HookRow.__struct_fields__)
_INBOUND: Final = ", ".join(InboundRow.__struct_fields__)
_WORKER: Final = ", ".join(f'"{name}"' for name in WorkerRow.__struct_fields__)
_SETTING: Final = ", ".join(f'"{name}"' for name in SettingRow.__struct_fields__)
_AUDIT: Final = ", ".join(AuditRow.__struct_fields__)
_GIVEN: Final = AuditRow.__struct_fields__[1:]

ADD_TOKEN: Final = f"INSERT INTO tokens ({_TOKEN}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
TOKEN: Final = f"SELECT {_TOKEN} FROM tokens WHERE id = $1"
TOKENS: Final = f"""
    SELECT {_TOKEN} FROM tokens WHERE $1::text IS NULL OR namespace = $1
    ORDER BY created_at DESC, id DESC
"""
REVOKE_TOKEN: Final = """
    UPDATE tokens SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL RETURNING true
"""
TOUCH_TOKENS: Final = """
    UPDATE tokens t SET used_at = u.at FROM unnest($1::text[], $2::float8[]) u (id, at)
    WHERE t.id = u.id AND (t.used_at IS NULL OR t.used_at < u.at)
"""

PUT_SECRET: Final = f"""
    INSERT INTO secrets ({_SECRET}) VALUES ($1, $2, $3, $4, 1, $5, $6)
    ON CONFLICT (namespace, name) DO UPDATE SET
      key = excluded.key, sealed = excluded.sealed, version = secrets.version + 1,
      updated_at = excluded.updated_at, updated_by = excluded.updated_by
    RETURNING version
"""
RESEAL_SECRET: Final = """
    UPDATE secrets SET key = $5, sealed = $6
    WHERE namespace = $1 AND name = $2 AND version = $3 AND updated_at = $4 RETURNING true
"""
SECRET: Final = f"SELECT {_SECRET} FROM secrets WHERE namespace = $1 AND name = $2"
SECRETS: Final = f"""
    SELECT {_SECRET} FROM secrets WHERE $1::text IS NULL OR namespace = $1 ORDER BY namespace, name
"""
DELETE_SECRET: Final = "DELETE FROM secrets WHERE namespace = $1 AND name = $2 RETURNING true"

PUT_HOOK: Final = f"""
    INSERT INTO webhooks ({_HOOK}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
    ON CONFLICT (id) DO UPDATE SET
      namespace = excluded.namespace, workflow = excluded.workflow, url = excluded.url, "on" = excluded."on",
      key = excluded.key, sealed = excluded.sealed, created_at = excluded.created_at,
      created_by = excluded.created_by
"""
HOOK: Final = f"SELECT {_HOOK} FROM webhooks WHERE id = $1"
HOOKS: Final = f"""
    SELECT {_HOOK} FROM webhooks WHERE $1::text IS NULL OR namespace = $1 ORDER BY created_at, id
"""
DELETE_HOOK: Final = "DELETE FROM webhooks WHERE id = $1 RETURNING true"

PUT_INBOUND: Final = f"""
    INSERT INTO inbound_hooks ({_INBOUND}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
    ON CONFLICT (namespace, name) DO UPDATE SET
      rule = excluded.rule, key = excluded.key, sealed = excluded.sealed,
      updated_at = excluded.updated_at, updated_by = excluded.updated_by
"""
RESEAL_INBOUND: Final = """
    UPDATE inbound_hooks SET key = $4, sealed = $5
    WHERE namespace = $1 AND name = $2 AND updated_at = $3 RETURNING true
"""
INBOUND: Final = f"SELECT {_INBOUND} FROM inbound_hooks WHERE namespace = $1 AND name = $2"
INBOUNDS: Final = f"""
    SELECT {_INBOUND} FROM inbound_hooks WHERE $1::text IS NULL OR namespace = $1 ORDER BY namespace, name
"""
DELETE_INBOUND: Final = "DELETE FROM inbound_hooks WHERE namespace = $1 AND name = $2 RETURNING true"

PUT_WORKERS: Final = f"""
    INSERT INTO workers ({_WORKER}) SELECT {_WORKER} FROM unnest(
      $1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::float8[], $7::bytea[]
    ) u ({_WORKER})
    ON CONFLICT (session) DO UPDATE SET
      worker = excluded.worker, node = excluded.node, "by" = excluded."by", address = excluded.address,
      at = excluded.at, facts = excluded.facts
"""
# Locked in the order in which others write them.
DROP_WORKERS: Final = """
    DELETE FROM workers WHERE session = ANY (ARRAY(
      SELECT session FROM workers WHERE session = ANY ($1::text[]) AND $2::text IN ('', node)
      ORDER BY session FOR UPDATE))
"""
WORKERS: Final = f"SELECT {_WORKER} FROM workers ORDER BY session"

SETTING: Final = f"SELECT {_SETTING} FROM cluster_settings WHERE name = $1"
ADD_SETTING: Final = f"""
    INSERT INTO cluster_settings ({_SETTING}) VALUES ($1, 1, $2, $3, $4)
    ON CONFLICT (name) DO NOTHING RETURNING version
"""
CHANGE_SETTING: Final = """
    UPDATE cluster_settings SET version = version + 1, body = $2, at = $3, "by" = $4
    WHERE name = $1 AND version = $5 RETURNING version
"""

# Numbered in the order in which they were given.
WRITE_AUDIT: Final = f"""
    INSERT INTO audit ({", ".join(_GIVEN)})
    SELECT {", ".join(f"u.{name}" for name in _GIVEN)} FROM unnest(
      $1::float8[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[],
      $9::text[], $10::text[]
    ) WITH ORDINALITY u ({", ".join(_GIVEN)}, place) ORDER BY u.place
"""
_FITS: Final = {
    "namespace": "namespace = ${}",
    "who": "starts_with(who, ${})",
    "act": "act = ${}",
    "thing": "thing = ${}",
    "since": "at >= ${}",
    "until": "at < ${}",
    "before": "n < ${}",
}
# What another node is deleting is left to it.
PURGE_AUDIT: Final = """
    DELETE FROM audit WHERE n = ANY (ARRAY(
      SELECT n FROM audit WHERE at < $1 ORDER BY at LIMIT $2 FOR UPDATE SKIP LOCKED))
    RETURNING true
"""

# By the order that is asked for only one index can serve: that of all open runs, which has everything in it.
COUNT_OPEN_RUNS: Final = """
    SELECT count(*) FROM (
      SELECT FROM runs WHERE NOT settled AND namespace = $1
      ORDER BY shard, started_at, namespace, id LIMIT $2
    ) found
"""
