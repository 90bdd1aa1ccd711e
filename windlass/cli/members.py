"""Asking a cluster: the node that the user named and, when it does not answer, the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeVar
from urllib.parse import urlsplit

from windlass.core.cluster import GATEWAY
from windlass.core.errors import Unavailable, Unknown
from windlass.core.task import Json
from windlass.sdk.client import Client
from windlass.sdk.refusals import Broken

ANSWER_S: Final = 3.0  # then another one is asked

T = TypeVar("T")


class Members:
    """Nodes that can be asked. Whoever answered last is asked first."""

    def __init__(self, first: Client) -> None:
        self.first = first.url
        self._ca = first.ca
        self.client = first
        self._known: list[str] = []

    def ask(self, question: Callable[[Client], T]) -> T:
        """An answer of any of them; what the present one raised, if nobody has one."""
        try:
            return question(self.client)
        except (Unavailable, Unknown) as error:
            failure = error
        for url in dict.fromkeys([*self._known, self.first]):
            if url == self.client.url:
                continue
            other = Client(
                url, timeout_s=ANSWER_S, patience_s=0.0, busy_s=0.0, ca=self._ca, token=self.client.token
            )
            try:
                answer = question(other)
            except (Unavailable, Unknown, Broken):
                other.close()
                continue
            self.close()
            self.client = other
            return answer
        raise failure

    def learn(self, nodes: Iterable[Json]) -> None:
        """Whom to ask from now on: these, as the cluster shows them."""
        scheme = urlsplit(self.first).scheme
        answering = [node for node in nodes if node["state"] != "dead" and GATEWAY in node["roles"]]
        self._known = [f"{scheme}://{node['address']}" for node in answering]

    def hurry(self) -> None:
        """Ask again at the next look, instead of waiting for one answer."""
        self.client.timeout_s, self.client.patience_s, self.client.busy_s = ANSWER_S, 0.0, 0.0

    def close(self) -> None:
        self.client.close()
