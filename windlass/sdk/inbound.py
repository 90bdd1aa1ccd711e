"""The part of the client that is about webhooks that come in: programs outside start runs or send signals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from windlass.core.task import Json
from windlass.sdk.sending import Sending, encoded, path_to

INBOUND: Final = "inbound-hooks"


class Inbound(Sending):
    """Mixed into `Client`."""

    __slots__ = ()

    def put_inbound_hook(self, name: str, rule: Mapping[str, Json]) -> Json:
        """Make it, or change it: {path, …, secret}; a secret that is made comes once.

        {workflow: deploy, check: github, events: [push]}; docs/hooks.md says what a rule may hold.
        """
        return self._send("PUT", path_to(INBOUND, name), encoded(dict(rule)), key="")

    def inbound_hooks(self) -> Json:
        """Those of the namespace: {items: [{name, path, action, workflow, check, …}]}."""
        return self._send("GET", path_to(INBOUND))

    def inbound_hook(self, name: str) -> Json:
        return self._send("GET", path_to(INBOUND, name))

    def delete_inbound_hook(self, name: str) -> Json:
        return self._send("DELETE", path_to(INBOUND, name))
