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
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Literal, Self
from urllib.parse import quote, urlencode, urlsplit

from windlass.core.errors import Fault, Invalid, NotFound, Refused, Unavailable, Unknown, WindlassError
from windlass.core.names import RunId, run_id
from windlass.core.strategies import BY_TYPE, run_prefix
from windlass.core.task import Json
from windlass.sdk.inbound import Inbound
from windlass.sdk.limits import Limits
from windlass.sdk.schedules import Schedules
from windlass.sdk.sending import Method
from windlass.sdk.sse import Event, read_events
from windlass.sdk.steering import Steering
from windlass.sdk.tasks import NO_WORKER, NoWorker, Tasks, is_error, words_of

DEFAULT_URL: Final = "http://127.0.0.1:8080"
PATIENCE_S: Final = 0.5
BUSY_S: Final = 10.0
PAUSE_S, PAUSE_MAX_S = 0.1, 1.0
API: Final = "/api/v1"
REFUSED: Final = "connection refused"

DocumentType = Literal["application/yaml", "application/json"]
Order = Literal["cancel", "pause", "resume"]
WorkerOrder = Literal["drain", "pause", "resume", "kick"]


class NotReachable(Unavailable):
    """Nobody answers at that address, or the link broke and stayed broken."""

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(f"no Windlass answers at {url} ({reason})")
        self.url = url
        self.reason = reason


class Untrusted(WindlassError):
    """There is a server, and it may be anybody's: no word was said to it."""

    def __init__(self, url: str, error: ssl.SSLError) -> None:
        match error:
            case ssl.SSLCertVerificationError():
                told = f"the certificate of {url} is not trusted: {error.verify_message}"
                advice = "name the file of its authority with --ca or WINDLASS_CA"
            case ssl.SSLError(reason="WRONG_VERSION_NUMBER" | "HTTP_REQUEST" | "RECORD_LAYER_FAILURE"):
                told, advice = f"what answers at {url} speaks no TLS", "write http:// if that is meant"
            case _:
                told, advice = f"no TLS with {url}: {error.reason or error}", "see docs/tls.md"
        super().__init__(f"{told}; {advice}")


class NotAllowed(Refused):
    """There is a login, and no token, or one that may not do this."""


class Broken(WindlassError):
    """An answer that Windlass would not give: another program listens there, or there is a bug in it."""


@dataclass(frozen=True, slots=True)
class Applied:
    workflow: str
    version: int
    outcome: Literal["created", "changed", "unchanged"]


@dataclass(slots=True)
class Client(Tasks, Steering, Schedules, Limits, Inbound):
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
            answer = self._send("PUT", _path("workflows", workflow), document, type)
            outcome: Literal["changed", "unchanged"] = "changed" if answer.get("changed") else "unchanged"
            return Applied(answer["workflowId"], answer["version"], outcome)
        return Applied(answer["workflowId"], answer["version"], "created")

    def workflows(self) -> Json:
        return self._send("GET", f"{API}/workflows")

    def workflow(self, workflow: str, *, version: int | None = None) -> Json:
        return self._send("GET", _path("workflows", workflow), query={"version": version})

    def delete(self, workflow: str) -> Json:
        """Runs go on, and stay readable."""
        return self._send("DELETE", _path("workflows", workflow))

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
        return self._send("POST", _path("workflows", workflow, "execute"), _json(request))

    def run(self, run: str) -> Json:
        return self._send("GET", _path("runs", run))

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
        return self._send("GET", _path("runs", run, "explain"))

    def stuck(self) -> Json:
        """What Windlass itself could not go on with, oldest first: {items: [{kind, id, since, error}]}."""
        return self._send("GET", f"{API}/stuck")

    def release(self, run: str, step: str) -> Json:
        """Let a parked step be tried again: the step as it is then."""
        return self._send("POST", _path("runs", run, "steps", step, "release"), _json({}))

    def retry_stuck(self, ident: str, kind: Literal["run", "workflow"] = "run") -> Json:
        """Let it try again: {id, status}."""
        return self._send("POST", _path(f"{kind}s", ident, "retry-stuck"), _json({}))

    def events(self, run: str, *, after: int = 0, limit: int = 1000) -> Json:
        """One page, in the order in which they happened: {items, next}."""
        return self._send("GET", _path("runs", run, "events"), query={"after": after, "limit": limit})

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
        return self._send("GET", _path("runs", run, "logs"), query=asked)

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
            return f"{_path('runs', run, 'logs')}?{_query(asked)}"

        for event in self._follow(path, after):
            if event.name == "end":
                return
            if event.name == "line":
                yield json.loads(event.data)

    def order(self, run: str, order: Order, *, reason: str = "", undo: bool = True) -> Json:
        """Cancel, pause or resume the run: {id, status}. Cancelled without `undo`, nothing is taken back."""
        request: dict[str, Json] = {"reason": reason} if reason else {}
        request |= {} if undo else {"undo": False}
        return self._send("POST", _path("runs", run, order), _json(request))

    # The cluster.

    def cluster_stats(self) -> Json:
        """Of the whole: {clusterName, nodeCount, members, sharding: {totalShards, activeShards, …}, asOf}."""
        return self._send("GET", f"{API}/cluster/stats")

    def cluster_nodes(self) -> Json:
        """Who is in it, and how busy: {nodes: [{name, address, state, roles, shards, load, …}], asOf}."""
        return self._send("GET", f"{API}/cluster/nodes")

    def cluster_shards(self) -> Json:
        """Where each one is: {totalShards, activeShards, shards: [{shardId, location, entityCount, …}]}."""
        return self._send("GET", f"{API}/cluster/shards")

    def cluster_events(self, *, limit: int = 100, before: int | None = None, type: str | None = None) -> Json:
        """One page of what happened to it, newest first: {events, next}. `next` is `before` of the next."""
        asked = {"limit": limit, "before": before, "type": type}
        return self._send("GET", f"{API}/cluster/events", query=asked)

    def drain(self, node: str) -> Json:
        """Let the node of that name hand everything over, and leave: {node, state}."""
        return self._send("POST", _path("cluster", "nodes", node, "drain"), _json({}))

    # Workers.

    def workers(self) -> Json:
        """Who runs tasks: {items: [{id, node, state, slots, active, tasks, …}], counts, asOf}."""
        return self._send("GET", f"{API}/workers")

    def worker(self, worker: str) -> Json:
        return self._send("GET", _path("workers", worker))

    def order_worker(self, worker: str, order: WorkerOrder) -> Json:
        """Drain, pause, resume or kick it: the worker as it is now."""
        return self._send("POST", _path("workers", worker, order), _json({}))

    def assignment(self) -> Json:
        """How workers are chosen: {strategy, load, weights, …, configured, setBy, switches}."""
        return self._send("GET", f"{API}/assignment")

    def set_assignment(self, /, strategy: str | None = None, **others: Json) -> Json:
        """Choose them otherwise from the next task on, on all nodes. What is not said stays as it is."""
        asked = {**others} if strategy is None else {"strategy": strategy, **others}
        return self._send("PUT", f"{API}/assignment", _json(asked))

    def reset_assignment(self) -> Json:
        """Choose them as it is configured."""
        return self._send("DELETE", f"{API}/assignment")

    def placement(self, run: str, step: str) -> Json:
        """Who could have a step that waits, or why its worker had it: {strategy, key, count, top, …}."""
        return self._send("GET", _path("runs", run, "steps", step, "placement"))

    # Secrets.

    def set_secret(self, name: str, value: str) -> Json:
        """Keep it, sealed: {name, version, key, updatedAt, updatedBy}."""
        return self._send("PUT", _path("secrets", name), _json({"value": value}))

    def secrets(self) -> Json:
        """Which there are, never what they are: {items}."""
        return self._send("GET", f"{API}/secrets")

    def delete_secret(self, name: str) -> Json:
        return self._send("DELETE", _path("secrets", name))

    def rotate_secrets(self) -> Json:
        """Seal all of them with the first key: {resealed, key, locked}."""
        return self._send("POST", f"{API}/secrets:rotate", _json({}))

    # Webhooks.

    def create_webhook(self, url: str, *, on: Sequence[str], workflow: str | None = None) -> Json:
        """Tell this address of runs that failed, stuck, recovered: {id, …, secret}; the secret comes once."""
        asked: dict[str, Json] = {"url": url, "on": list(on)}
        asked |= {"workflow": workflow} if workflow is not None else {}
        return self._send("POST", f"{API}/webhooks", _json(asked))

    def webhooks(self) -> Json:
        """Those of the namespace: {items: [{id, url, on, workflow, namespace, createdAt, createdBy}]}."""
        return self._send("GET", f"{API}/webhooks")

    def delete_webhook(self, webhook: str) -> Json:
        return self._send("DELETE", _path("webhooks", webhook))

    def test_webhook(self, webhook: str) -> Json:
        """Send it one event now: {delivered, status, error, tookSeconds}."""
        return self._send("POST", _path("webhooks", webhook, "test"), _json({}))

    # Who may come in, and who did what.

    def create_token(
        self, role: str, *, namespace: str | None = None, name: str = "", expires: str | None = None
    ) -> Json:
        wanted = {"role": role, "namespace": namespace, "name": name, "expires": expires}
        return self._send("POST", f"{API}/tokens", _json(wanted))

    def tokens(self) -> Json:
        return self._send("GET", f"{API}/tokens")

    def revoke_token(self, number: str) -> Json:
        return self._send("DELETE", _path("tokens", number))

    def whoami(self) -> Json:
        return self._send("GET", f"{API}/whoami")

    def audit(self, /, **filters: Json) -> Json:
        """See `GET /api/v1/audit` for what can be asked for."""
        return self._send("GET", f"{API}/audit", query=filters)

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
                failure: WindlassError = NotReachable(self.url, _reason(error))
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
                failure = NotReachable(self.url, _reason(error))
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
        raise _error(answer, content if isinstance(content, dict) else {}, self.url)


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


def _error(answer: http.client.HTTPResponse, content: dict[str, Json], url: str) -> WindlassError:
    status = answer.status
    message = str(content.get("message") or content.get("error") or f"{status} {answer.reason}")
    message = words_of(content) if is_error(content) else message
    match status:
        case 503 if content.get("code") == NO_WORKER:
            return NoWorker(message, retry_after_s=_seconds(answer.headers.get("Retry-After")))
        case 404 if "error" not in content and not is_error(content):
            return Broken(f"what answers at {url} is no Windlass: it knows no such address")
        case 404:
            return NotFound(message)
        case 401 | 403:
            return NotAllowed(message)
        case 400 | 413 | 415 | 422:
            return Invalid(message, _faults(content))
        case 503 | 429:
            return Unavailable(message, retry_after_s=_seconds(answer.headers.get("Retry-After")))
        case 504:
            return Unknown(message)
        case _ if 400 <= status < 500:
            return Refused(message)
        case _:
            request = content.get("requestId")
            return Broken(f"{message} (request {request})" if request else message)


def _faults(content: dict[str, Json]) -> list[Fault]:
    return [
        Fault(
            pointer=str(detail.get("pointer", "")),
            message=str(detail.get("message", "")),
            line=int(detail.get("line") or 0),
            column=int(detail.get("column") or 0),
        )
        for detail in content.get("details") or content.get("errors") or []
        if isinstance(detail, dict)
    ]


def _seconds(text: str | None) -> float:
    try:
        return max(0.0, float(text or 1.0))
    except ValueError:
        return 1.0


def _reason(error: Exception) -> str:
    if isinstance(error, ConnectionRefusedError):
        return REFUSED
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, http.client.BadStatusLine):
        return "the link was closed without an answer"
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__


def _path(*parts: str) -> str:
    return "/".join([API, *(quote(part, safe="") for part in parts)])


def _query(asked: Mapping[str, object]) -> str:
    return urlencode({name: value for name, value in asked.items() if value is not None})


def _json(value: Json) -> bytes:
    return json.dumps(value).encode()
