"""A door with a lock, and people with keys."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from tests.gateway.house import Answer, House, Work, finish, house
from windlass.core.roles import Role
from windlass.core.task import Json
from windlass.gateway import tokens
from windlass.gateway.lock import Locks

LOGIN = Locks(login=True)


@dataclass(frozen=True)
class Locked:
    """A house whose door wants a token."""

    home: House

    async def token(self, role: Role, namespace: str | None = None, **more: str) -> str:
        """Made at the registry, as by somebody who has the database."""
        _, text = await tokens.make(
            self.home.node.registry,
            role=role,
            namespace=namespace,
            by="a test",
            now=self.home.node.clock.now(),
            **more,
        )
        return text

    async def ask(
        self,
        token: str | None,
        method: str,
        path: str,
        json: Json = None,
        *,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        shown = {} if token is None else {"Authorization": f"Bearer {token}"}
        return await self.home.ask(method, path, json, headers={**shown, **(headers or {})})


@asynccontextmanager
async def locked(locks: Locks = LOGIN, work: Work = finish) -> AsyncIterator[Locked]:
    async with house(work, locks=locks) as home:
        yield Locked(home)
