"""How a notice leaves the house: the port. Programs choose what is behind it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from windlass.core.errors import Refused
from windlass.core.notices import Answer
from windlass.registry import HookRow


class Post(Protocol):
    def why_not(self, url: str) -> str:
        """Why nothing can be sent there, as far as it can be said without asking anybody; "" if it can."""

    def seal(self, hook: str, namespace: str, secret: str) -> tuple[str, bytes]:
        """The secret that a hook signs with, as it is kept, and the key's name. Raises Refused."""

    def unseal(self, hook: HookRow) -> str:
        """Raises Refused."""

    async def send(self, hook: HookRow, ident: str, body: bytes, at: float) -> Answer:
        """Sign and send. What goes wrong is an answer without a status."""

    async def call(
        self, url: str, ident: str, body: bytes, at: float, *, secret: str, headers: Mapping[str, str]
    ) -> Answer:
        """The same to an address for which no webhook was made. Signed, unless the secret is empty."""


class NoPost:
    """Of a node that nobody gave one."""

    WORDS = "this node sends no webhooks"

    def why_not(self, url: str) -> str:
        return self.WORDS

    def seal(self, hook: str, namespace: str, secret: str) -> tuple[str, bytes]:
        raise Refused(self.WORDS)

    def unseal(self, hook: HookRow) -> str:
        raise Refused(self.WORDS)

    async def send(self, hook: HookRow, ident: str, body: bytes, at: float) -> Answer:
        return Answer(0, self.WORDS)

    async def call(
        self, url: str, ident: str, body: bytes, at: float, *, secret: str, headers: Mapping[str, str]
    ) -> Answer:
        return Answer(0, self.WORDS)
