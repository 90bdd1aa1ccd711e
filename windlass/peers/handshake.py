"""How two nodes make sure of each other: both prove that they know the cluster's secret, which never travels.

    dialer                                       acceptor
      │ hello: who I am, whom I expect ────────────►│
      │◄──────────── hello: who I am; and my proof  │  checked before the dialer says more
      │ both hellos, and my proof ─────────────────►│  checked before a link is opened

A proof is an HMAC-SHA256 over the prover's role and both hellos; each hello has a nonce and is good for one
link. A stranger costs one such sum and a line in a short list, and gets nothing but the id of a node. It does
get a proof to guess at offline: the secret has to be a random one.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Callable
from typing import Final, Literal

import msgspec

from windlass.core.cluster import NodeId
from windlass.core.errors import WindlassError

HELLO_MAX: Final = 1024  # characters
OPEN_MAX: Final = 1024  # greetings that wait for their second half
OPEN_S: Final = 5.0
NONCE_BYTES: Final = 16

# Whoever was started before it was changed has the old one.
RESTART: Final = "nodes read it in the database when they start: restart the one that was started first"

Role = Literal["dialer", "acceptor"]


class Rejected(WindlassError):
    """No link this time; the next try may find one."""


class NotReady(Rejected):
    """It does not know yet who it is."""


class Unwanted(Rejected):
    """It does not know who asks (yet), or is not the one who was asked for."""


class Hopeless(Rejected):
    """No try will find a link before a person has changed something."""


class Unproven(Hopeless):
    """The other side does not know the secret, or knows another one."""


class NoCommonLevel(Hopeless):
    """One side is too old for the other."""


class Hello(msgspec.Struct, frozen=True, kw_only=True):
    id: NodeId
    to: NodeId  # whom the sender believes to speak to
    level: int  # the newest formats it reads
    lowest: int  # the oldest formats it still writes
    nonce: bytes

    def text(self) -> str:
        return base64.urlsafe_b64encode(msgspec.msgpack.encode(self)).decode()


def read(text: str) -> Hello:
    """Raises Unproven if that is no hello."""
    try:
        if len(text) > HELLO_MAX:
            raise ValueError("it is too long")
        return msgspec.msgpack.decode(base64.urlsafe_b64decode(text), type=Hello)
    except (ValueError, binascii.Error, msgspec.DecodeError) as error:
        raise Unproven(f"that is no greeting: {error}") from None


def common_level(one: Hello, other: Hello) -> int:
    """The newest formats that both read. Raises NoCommonLevel."""
    level = min(one.level, other.level)
    if level < max(one.lowest, other.lowest):
        old, new = sorted((one, other), key=lambda hello: hello.level)
        raise NoCommonLevel(
            f"node {old.id} reads formats up to {old.level}, node {new.id} writes none before {new.lowest}; "
            "upgrade the older one"
        )
    return level


class Keyring:
    """The secret, and the greetings that wait for their second half."""

    def __init__(
        self, secret: str, *, token: Callable[[int], bytes], clock: Callable[[], float], lowest: int = 1
    ) -> None:
        self._secret = secret.encode()
        self._token = token
        self._clock = clock
        self._lowest = lowest
        self._open: dict[str, tuple[str, float]] = {}  # our hello: theirs, and until when

    def hello(self, *, id: NodeId, to: NodeId, level: int) -> str:
        nonce = self._token(NONCE_BYTES)
        return Hello(id=id, to=to, level=level, lowest=self._lowest, nonce=nonce).text()

    def prove(self, role: Role, *, dialer: str, acceptor: str) -> str:
        said = f"windlass peers 1\n{role}\n{dialer}\n{acceptor}"
        return hmac.new(self._secret, said.encode(), hashlib.sha256).hexdigest()

    def check(self, proof: str, role: Role, *, dialer: str, acceptor: str) -> None:
        """Raises Unproven."""
        expected = self.prove(role, dialer=dialer, acceptor=acceptor)
        if not hmac.compare_digest(expected.encode(), proof.encode(errors="replace")):
            raise Unproven(f"the other side has another secret; {RESTART}")

    def challenge(self, hello: str, *, me: NodeId, level: int) -> tuple[str, str]:
        """For the acceptor: its hello, and its proof. Raises Unproven if that is no hello."""
        mine = self.hello(id=me, to=read(hello).id, level=level)
        while len(self._open) >= OPEN_MAX:
            del self._open[next(iter(self._open))]
        self._open[mine] = hello, self._clock() + OPEN_S
        return mine, self.prove("acceptor", dialer=hello, acceptor=mine)

    def admit(self, hello: str, mine: str, proof: str) -> tuple[Hello, Hello]:
        """For the acceptor: the dialer's hello and ours, now proven. Raises Unproven."""
        theirs, until = self._open.pop(mine, ("", 0.0))
        if theirs != hello or self._clock() > until:
            raise Unproven("the greeting is unknown here, or too old; greet again")
        self.check(proof, "dialer", dialer=hello, acceptor=mine)
        return read(hello), read(mine)
