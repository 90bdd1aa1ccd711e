"""The part of the client for who runs the place: secrets, webhooks, tokens, the audit log."""

from __future__ import annotations

from collections.abc import Sequence

from windlass.core.task import Json
from windlass.sdk.sending import API, Sending, encoded, path_to


class Administration(Sending):
    """Mixed into `Client`."""

    __slots__ = ()

    # Secrets.

    def set_secret(self, name: str, value: str) -> Json:
        """Keep it, sealed: {name, version, key, updatedAt, updatedBy}."""
        return self._send("PUT", path_to("secrets", name), encoded({"value": value}))

    def secrets(self) -> Json:
        """Which there are, never what they are: {items}."""
        return self._send("GET", f"{API}/secrets")

    def delete_secret(self, name: str) -> Json:
        return self._send("DELETE", path_to("secrets", name))

    def rotate_secrets(self) -> Json:
        """Seal all of them with the first key: {resealed, key, locked}."""
        return self._send("POST", f"{API}/secrets:rotate", encoded({}))

    # Webhooks.

    def create_webhook(self, url: str, *, on: Sequence[str], workflow: str | None = None) -> Json:
        """Tell this address of runs that failed, stuck, recovered: {id, …, secret}; the secret comes once."""
        asked: dict[str, Json] = {"url": url, "on": list(on)}
        asked |= {"workflow": workflow} if workflow is not None else {}
        return self._send("POST", f"{API}/webhooks", encoded(asked))

    def webhooks(self) -> Json:
        """Those of the namespace: {items: [{id, url, on, workflow, namespace, createdAt, createdBy}]}."""
        return self._send("GET", f"{API}/webhooks")

    def delete_webhook(self, webhook: str) -> Json:
        return self._send("DELETE", path_to("webhooks", webhook))

    def test_webhook(self, webhook: str) -> Json:
        """Send it one event now: {delivered, status, error, tookSeconds}."""
        return self._send("POST", path_to("webhooks", webhook, "test"), encoded({}))

    # Who may come in, and who did what.

    def create_token(
        self, role: str, *, namespace: str | None = None, name: str = "", expires: str | None = None
    ) -> Json:
        wanted = {"role": role, "namespace": namespace, "name": name, "expires": expires}
        return self._send("POST", f"{API}/tokens", encoded(wanted))

    def tokens(self) -> Json:
        return self._send("GET", f"{API}/tokens")

    def revoke_token(self, number: str) -> Json:
        return self._send("DELETE", path_to("tokens", number))

    def whoami(self) -> Json:
        return self._send("GET", f"{API}/whoami")

    def audit(self, /, **filters: Json) -> Json:
        """See `GET /api/v1/audit` for what can be asked for."""
        return self._send("GET", f"{API}/audit", query=filters)
