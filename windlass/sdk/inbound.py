"""The part of the client that is about webhooks that come in: programs outside start runs or send signals."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

from windlass.core.task import Json
from windlass.sdk.sending import Sending

INBOUND: Final = "/api/v1/inbound-hooks"


class Inbound(Sending):
    """Mixed into `Client`."""

    __slots__ = ()

    def put_inbound_hook(self, name: str, rule: Mapping[str, Json]) -> Json:
        """Make it, or change it: {path, …, secret}; a secret that is made comes once.

        {workflow: deploy, check: github, events: [push]}; docs/hooks.md says what a rule may hold.
        """
        return self._send("PUT", _path(name), json.dumps(dict(rule)).encode(), key="")

    def inbound_hooks(self) -> Json:
        """Those of the namespace: {items: [{name, path, action, workflow, check, …}]}."""
        return self._send("GET", INBOUND)

    def inbound_hook(self, name: str) -> Json:
        return self._send("GET", _path(name))

    def delete_inbound_hook(self, name: str) -> Json:
        return self._send("DELETE", _path(name))


def _path(name: str) -> str:
    return f"{INBOUND}/{quote(name, safe='')}"
