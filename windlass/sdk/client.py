"""A small synchronous client of the HTTP API, on the standard library alone.

What it raises is the engine's own tree of errors (`core/errors.py`): Invalid, Refused, NotFound, Unavailable,
Unknown. `NotReachable` means that nobody answered.
"""

from __future__ import annotations

import http.client
import json
import secrets
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Literal, Self
from urllib.parse import urlencode, urlsplit

from windlass.core.errors import Invalid, NotFound, Refused, Unavailable, Unknown, WindlassError
from windlass.core.names import RunId, run_id
from windlass.core.strategies import BY_TYPE, run_prefix
from windlass.core.task import Json
from windlass.sdk.administration import Administration
from windlass.sdk.cluster import Cluster
from windlass.sdk.inbound import Inbound
from windlass.sdk.limits import Limits
from windlass.sdk.refusals import Broken, NotReachable, Untrusted, reason_of, refusal
from windlass.sdk.schedules import Schedules
from windlass.sdk.sending import API, Method, encoded, path_to
from windlass.sdk.sse import Event, read_events
from windlass.sdk.steering import Steering
from windlass.sdk.tasks import Tasks

DEFAULT_URL: Final = "http://127.0.0.1:8080"
PATIENCE_S: Final = 0.5
BUSY_S: Final = 10.0
PAUSE_S, PAUSE_MAX_S = 0.1, 1.0

DocumentType = Literal["application/yaml", "application/json"]
Order = Literal["cancel", "pause", "resume"]


@dataclass(frozen=True, slots=True)
class Applied:
    workflow: str
    version: int
    outcome: Literal["created", "changed", "unchanged"]


@dataclass(slots=True)
class Client(Tasks, Steering, Schedules, Limits, Inbound, Cluster, Administration):
    """One connection, kept open between requests. Not for several threads at once.

    Every request it makes is safe to repeat: a start has a run id of ours, an order has its key, and a
    document saved twice is one version. So it repeats them when nobody answers, the link breaks, or the
    server says that nothing was decided (503), for as long as it has patience.
    """

    url: str = DEFAULT_URL
    timeout_s: float = 30.0  # of one request, silence included
    patience_s: float = PATIENCE_S  # for trying again when nobody answers
    busy_s: float = BUSY_S  # and when the server is there, but cannot do it yet
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    ca: Path | None = None  # of https servers; None: whom this machine trusts
    trust: ssl.SSLContext | None = field(default=None, repr=False)  # instead of `ca`
    token: str = field(default="", repr=False)  # where there is a login
    namespace: str = ""  # that requests are about; "": the token's own
    _link: http.client.HTTPConnection | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise Invalid(f"{self.url!r} is no address of a server; write e.g. {DEFAULT_URL}")
        try:
            _ = parts.port
        except ValueError:
            raise Invalid(f"{self.url!r} has no valid port; write e.g. {DEFAULT_URL}") from None
        self.url = self.url.rstrip("/")

    # Workflows.

    def apply(self, workflow: str, document: bytes, type: DocumentType) -> Applied:
        """Create the workflow, or make this its next version if it differs from the newest."""
        try:
            answer = self._send("POST", f"{API}/workflows", document, type)
        except NotFound:
            raise
        except Refused:
            answer = self._send("PUT", path_to("workflows", workflow), document, type)
            outcome: Literal["changed", "unchanged"] = "changed" if answer.get("changed") else "unchanged"
            return Applied(answer["workflowId"], answer["version"], outcome)
        return Applied(answer["workflowId"], answer["version"], "created")

    def workflows(self) -> Json:
        return self._send("GET", f"{API}/workflows")

    def workflow(self, workflow: str, *, version: int | None = None) -> Json:
        return self._send("GET", path_to("workflows", workflow), query={"version": version})

    def delete(self, workflow: str) -> Json:
        """Runs go on, and stay readable."""
        return self._send("DELETE", path_to("workflows", workflow))

    # Runs.

    def start(
        self,
        workflow: str,
        *,
        run_id: str,
        input: Json = None,
        context: Mapping[str, Json] | None = None,
        priority: int = 0,
        labels: Mapping[str, str] | None = None,
    ) -> Json:
        """Start a run under an id of our own choice: asking twice starts once."""
        request: dict[str, Json] = {"runId": run_id}
        request |= {"input": input} if input is not None else {}
        request |= {"context": dict(context)} if context else {}
        request |= {"priority": priority} if priority else {}
        request |= {"labels": dict(labels)} if labels else {}
        return self._send("POST", path_to("workflows", workflow, "execute"), encoded(request))

    def run(self, run: str) -> Json:
        return self._send("GET", path_to("runs", run))

    def runs(
        self,
        *,
        search: str | None = None,  # the beginning of an id, or a part of a workflow's
        workflow: str | None = None,
        status: str | None = None,
        label: str | None = None,  # k=v
        waiting_for: str | None = None,  # approval, signal, any
        started_after: str | None = None,  # 2026-01-01T08:00:00Z
        started_before: str | None = None,
        limit: int = 20,
        after: str | None = None,
    ) -> Json:
        """One page, newest first: {items, next}."""
        asked: dict[str, object] = {"workflow": workflow, "status": status, "label": label}
        asked |= {"waitingFor": waiting_for, "search": search}
        asked |= {"startedAfter": started_after, "startedBefore": started_before}
        asked |= {"limit": limit, "after": after}
        return self._send("GET", f"{API}/runs", query=asked)

    def explain(self, run: str) -> Json:
        """Why it is not moving: {sentence, reasons}."""
        return self._send("GET", path_to("runs", run, "explain"))

    def stuck(self) -> Json:
        """What Windlass itself could not go on with, oldest first: {items: [{kind, id, since, error}]}."""
        return self._send("GET", f"{API}/stuck")

    def release(self, run: str, step: str) -> Json:
        """Let a parked step be tried again: the step as it is then."""
        return self._send("POST", path_to("runs", run, "steps", step, "release"), encoded({}))

    def retry_stuck(self, ident: str, kind: Literal["run", "workflow"] = "run") -> Json:
        """Let it try again: {id, status}."""
        return self._send("POST", path_to(f"{kind}s", ident, "retry-stuck"), encoded({}))

    def events(self, run: str, *, after: int = 0, limit: int = 1000) -> Json:
        """One page, in the order in which they happened: {items, next}."""
        return self._send("GET", path_to("runs", run, "events"), query={"after": after, "limit": limit})

    def all_events(self, run: str, *, after: int = 0) -> Iterator[dict[str, Json]]:
        """Every event that is there now."""
        following: int | None = after
        while following is not None:
            page = self.events(run, after=following)
            yield from page["items"]
            following = page["next"]

    def logs(
        self, run: str, *, after: int = 0, limit: int = 1000, step: str | None = None, tail: int | None = None
    ) -> Json:
        """One page of what its steps printed, in order: {items, next}. `tail`: the last so many."""
        asked = {"after": after, "limit": limit, "step": step, "tail": tail}
        return self._send("GET", path_to("runs", run, "logs"), query=asked)

    def all_logs(self, run: str, *, step: str | None = None) -> Iterator[dict[str, Json]]:
        """Every line that is there now."""
        following: int | None = 0
        while following is not None:
            page = self.logs(run, after=following, step=step)
            yield from page["items"]
            following = page["next"]

    def follow_logs(
        self, run: str, *, after: int = 0, step: str | None = None, tail: int | None = None
    ) -> Iterator[dict[str, Json]]:
        """The lines that are there, then each as it is printed, until the run has ended.

        A link that breaks is made again, for as long as there is patience; nothing comes twice.
        """
        seen = after

        def path(last: int) -> str:
            asked = {"follow": "true", "step": step, "tail": tail if last == seen else None, "after": last}
            return f"{path_to('runs', run, 'logs')}?{_query(asked)}"

        for event in self._follow(path, after):
            if event.name == "end":
                return
            if event.name == "line":
                yield json.loads(event.data)

    def order(self, run: str, order: Order, *, reason: str = "", undo: bool = True) -> Json:
        """Cancel, pause or resume the run: {id, status}. Cancelled without `undo`, nothing is taken back."""
        request: dict[str, Json] = {"reason": reason} if reason else {}
        request |= {} if undo else {"undo": False}
        return self._send("POST", path_to("runs", run, order), encoded(request))

    def ready(self) -> bool:
        try:
            self._once("GET", "/health/ready", None, {})
        except (WindlassError, OSError, http.client.HTTPException):
            return False
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        if self._link is not None:
            self._link.close()
            self._link = None

    # One request.

    def _send(
        self,
        method: Method,
        path: str,
        body: bytes | None = None,
        type: DocumentType = "application/json",
        *,
        query: Mapping[str, object] | None = None,
        key: str | None = None,
        wait_s: float = 0.0,
    ) -> Json:
        if wait_s:
            with replace(self, timeout_s=self.timeout_s + wait_s, _link=None) as patient:
                return patient._send(method, path, body, type, query=query, key=key)
        asked = _query(query or {})
        path += f"?{asked}" if asked else ""
        headers = {"Accept": "application/json", **self._credentials()}
        if method != "GET":
            key = secrets.token_hex(12) if key is None else key
            headers |= {"Content-Type": type} | ({"Idempotency-Key": key} if key else {})
        began = self.clock()
        pause_s = PAUSE_S
        while True:
            try:
                return self._once(method, path, body, headers)
            except (OSError, http.client.HTTPException) as error:
                failure: WindlassError = NotReachable(self.url, reason_of(error))
                give_up_at = began + self.patience_s
            except (Unavailable, Unknown) as error:
                failure = error
                give_up_at = began + self.busy_s
                pause_s = max(pause_s, error.retry_after_s) if isinstance(error, Unavailable) else pause_s
            if self.clock() + pause_s > give_up_at:
                raise failure
            self.sleep(pause_s)
            pause_s = min(pause_s * 2, PAUSE_MAX_S)

    def _once(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Json:
        link = self._link or self._connect()
        try:
            try:
                link.request(method, urlsplit(self.url).path + path, body, headers)
                answer = link.getresponse()
            except (ConnectionError, http.client.BadStatusLine):
                if self._link is None:
                    raise
                # The server has closed the link that was kept open; that says nothing about a new one.
                link.close()
                link = self._connect()
                link.request(method, urlsplit(self.url).path + path, body, headers)
                answer = link.getresponse()
            raw = answer.read()
        except BaseException:
            self._link = None
            link.close()
            raise
        self._link = None if answer.will_close else link
        if answer.will_close:
            link.close()
        return self._read(answer, raw)

    def _follow(self, path: Callable[[int], str], after: int) -> Iterator[Event]:
        """Events until their reader has enough; each link goes on after the last event of the one before."""
        broken_at: float | None = None
        while True:
            try:
                for event in self._stream(path(after), after):
                    broken_at = None
                    after = int(event.id) if event.id else after
                    yield event
                failure: WindlassError = NotReachable(self.url, "the stream was closed")
            except (OSError, http.client.HTTPException) as error:
                failure = NotReachable(self.url, reason_of(error))
            except Unavailable as error:
                failure = error
            broken_at = self.clock() if broken_at is None else broken_at
            if self.clock() + PAUSE_S > broken_at + self.patience_s:
                raise failure
            self.sleep(PAUSE_S)

    def _stream(self, path: str, after: int) -> Iterator[Event]:
        """Server-sent events over a link of their own."""
        link = self._connect()
        try:
            headers = {"Accept": "text/event-stream", **self._credentials()}
            headers |= {"Last-Event-ID": str(after)} if after else {}
            link.request("GET", urlsplit(self.url).path + path, None, headers)
            answer = link.getresponse()
            if answer.status != 200:
                self._read(answer, answer.read())
            yield from read_events(iter(answer.readline, b""))
        finally:
            link.close()

    def _credentials(self) -> dict[str, str]:
        shown = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        return shown | ({"X-Windlass-Namespace": self.namespace} if self.namespace else {})

    def _connect(self) -> http.client.HTTPConnection:
        parts = urlsplit(self.url)
        assert parts.hostname is not None
        if parts.scheme == "https":
            self.trust = self.trust or _trust(self.ca)
            link = http.client.HTTPSConnection(
                parts.hostname, parts.port or 443, timeout=self.timeout_s, context=self.trust
            )
            try:
                link.connect()
            except ssl.SSLError as error:
                link.close()
                raise Untrusted(self.url, error) from None
            return link
        return http.client.HTTPConnection(parts.hostname, parts.port or 80, timeout=self.timeout_s)

    def _read(self, answer: http.client.HTTPResponse, raw: bytes) -> Json:
        try:
            content = json.loads(raw) if raw.strip() else {}
        except ValueError:
            content = None if answer.status < 300 and "json" in answer.headers.get_content_type() else {}
        if content is None:
            raise Broken(f"what answers at {self.url} is no Windlass: it says JSON and sends something else")
        if answer.status < 300:
            return content
        raise refusal(answer, content if isinstance(content, dict) else {}, self.url)


def new_run_id(workflow: str = "") -> RunId:
    """An id for a run that nobody else has.

    It begins as the strategy by-type wants it for runs of this workflow; for all others that is no matter.
    """
    return run_id(time.time(), secrets.randbits(48), run_prefix(BY_TYPE, workflow))


def _trust(ca: Path | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca)
    except ssl.SSLError:
        raise Invalid(f"{ca} holds no certificate: expected -----BEGIN CERTIFICATE-----") from None
    except OSError as error:
        raise Invalid(f"the certificate {ca} cannot be read: {error.strerror}") from None


def _query(asked: Mapping[str, object]) -> str:
    return urlencode({name: value for name, value in asked.items() if value is not None})
