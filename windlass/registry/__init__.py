"""What is kept beside the journal: tokens, secrets, webhooks, workers, settings, and the log of who did what.

This is the port.

It lives in the same database as the journal, and belongs to no shard: any node reads and writes it. Adapters
beside this file are named after what they use.

Errors are those of the journal's store: after StoreRefused and StoreBusy nothing has changed, after
StoreUnknown it may have. A name that no database could hold (with NUL or half a character in it) is refused
when it is to be kept, and unknown when it is asked for; in the log of who did what, `�` stands for what
cannot be kept.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

import msgspec

from windlass.core.roles import Role


class TokenRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A token without its secret."""

    id: str  # its number
    hash: str
    role: Role
    namespace: str  # `*`: all of them
    name: str = ""
    created_at: float
    created_by: str = ""
    expires_at: float | None = None
    revoked_at: float | None = None
    used_at: float | None = None  # to the minute, about


class SecretRow(msgspec.Struct, frozen=True, kw_only=True):
    namespace: str
    name: str
    key: str  # which key sealed it
    sealed: bytes
    version: int  # 1, 2, 3 …: grows with every change
    updated_at: float
    updated_by: str = ""


class HookRow(msgspec.Struct, frozen=True, kw_only=True):
    """Where somebody wants to hear of trouble."""

    id: str
    namespace: str
    workflow: str = ""  # empty: any
    url: str
    on: tuple[str, ...]  # failed, stuck, recovered
    key: str  # which key sealed the secret that it signs with
    sealed: bytes
    created_at: float
    created_by: str = ""


class InboundRow(msgspec.Struct, frozen=True, kw_only=True):
    """Where programs outside may start runs, or send them signals."""

    namespace: str
    name: str
    rule: bytes  # JSON: what a delivery does; see core.inbound
    key: str  # which key sealed the secret that is to be shown or signed with
    sealed: bytes
    created_at: float
    updated_at: float
    updated_by: str = ""


class WorkerRow(msgspec.Struct, frozen=True, kw_only=True):
    """A worker that is connected somewhere, or was a moment ago."""

    session: str  # one life of its process
    worker: str
    node: str  # where it is connected
    by: str  # who connected it; empty on an open server
    address: str
    at: float  # when it was last told of
    facts: bytes  # what it says of itself


class SettingRow(msgspec.Struct, frozen=True, kw_only=True):
    """What is set for all nodes, while they run."""

    name: str
    version: int = 0  # given when it is kept: 1, 2, 3 …
    body: bytes
    at: float
    by: str = ""


class NamespaceRow(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    workflows: int
    open_runs: int


class AuditRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who did what, on which thing, from where, when, with what outcome."""

    n: int = 0  # given when it is kept: grows
    at: float
    who: str  # the token's number and name, the subject of a JWT, or "anyone" on an open server
    role: str = ""
    namespace: str = ""
    act: str  # the name of the route, or of what was done
    thing: str = ""  # kind/id
    address: str = ""
    outcome: int = 0  # the status that was answered
    detail: str = ""
    request: str = ""  # the request's id


class AuditQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Newest first. Everything that is given has to fit."""

    namespace: str | None = None
    who: str | None = None  # how it begins
    act: str | None = None
    thing: str | None = None
    since: float | None = None  # at that time or later
    until: float | None = None  # before that time
    failed: bool = False  # only refusals: outcome 400 and above
    before: int | None = None  # n of the last row of the page before
    limit: int = 100


class Registry(Protocol):
    # Tokens.

    async def add_token(self, row: TokenRow) -> None:
        """Refused if its number is taken."""

    async def token(self, id: str) -> TokenRow | None: ...

    async def tokens(self, namespace: str | None = None) -> list[TokenRow]:
        """Those of one namespace (`*` is one here), or all; newest first."""

    async def revoke_token(self, id: str, at: float) -> bool:
        """Whether it was there and not revoked before."""

    async def touch_tokens(self, used_at: Mapping[str, float]) -> None:
        """When these were used last; never earlier than what is kept. Unknown ones are nobody's."""

    # Secrets.

    async def put_secret(self, row: SecretRow) -> int:
        """Insert or replace; its version is one more than the one before, and is answered."""

    async def reseal_secret(self, row: SecretRow) -> bool:
        """Replace key and sealed text if version and `updated_at` are still the row's; both stay.

        Both: a secret that was deleted and made anew begins with the same version.
        """

    async def secret(self, namespace: str, name: str) -> SecretRow | None: ...

    async def secrets(self, namespace: str | None = None) -> list[SecretRow]:
        """By namespace and name."""

    async def delete_secret(self, namespace: str, name: str) -> bool: ...

    # Webhooks.

    async def put_hook(self, row: HookRow) -> None:
        """Insert, or replace the one with this id."""

    async def hook(self, id: str) -> HookRow | None: ...

    async def hooks(self, namespace: str | None = None) -> list[HookRow]:
        """Oldest first."""

    async def delete_hook(self, id: str) -> bool: ...

    # Webhooks that come in.

    async def put_inbound(self, row: InboundRow) -> None:
        """Insert, or replace the one of this name; when it was created first stays."""

    async def reseal_inbound(self, row: InboundRow) -> bool:
        """Replace key and sealed text if it was not changed since; nothing else changes."""

    async def inbound(self, namespace: str, name: str) -> InboundRow | None: ...

    async def inbounds(self, namespace: str | None = None) -> list[InboundRow]:
        """By namespace and name."""

    async def delete_inbound(self, namespace: str, name: str) -> bool: ...

    # Workers.

    async def put_workers(self, rows: Sequence[WorkerRow]) -> None:
        """Insert, or replace those of the same sessions: all or none. Of one session the last counts."""

    async def drop_workers(self, sessions: Collection[str], *, node: str = "") -> None:
        """Unknown ones are nobody's. `node`: only those that are still written down as that node's."""

    async def workers(self) -> list[WorkerRow]:
        """By session."""

    # Settings.

    async def setting(self, name: str) -> SettingRow | None: ...

    async def put_setting(self, row: SettingRow, *, expected: int | None) -> int | None:
        """Keep it if the version that is kept is still `expected` (None: there is none yet).

        Answers the new version, or None if another one is kept by now; then nothing has changed.
        """

    # The audit log.

    async def write_audit(self, rows: Sequence[AuditRow]) -> None:
        """All of them or none, numbered in their order."""

    async def audit(self, query: AuditQuery) -> list[AuditRow]: ...

    async def purge_audit(self, before: float, limit: int) -> int:
        """Delete at most so many rows that are older, the oldest first; answers how many."""

    # For limits.

    async def count_open_runs(self, namespace: str, limit: int) -> int:
        """Runs of the namespace that have not ended; exact up to `limit`."""

    # For those who look.

    async def namespaces(
        self, only: str | None = None, *, limit: int, counted: int = 1_000
    ) -> list[NamespaceRow]:
        """Those that have workflows, runs, or tokens that are not revoked, by name; counts up to `counted`.

        `only`: that one, if it is one of them.
        """
