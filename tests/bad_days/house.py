"""A real engine in a process of its own, asked over real HTTP, and somebody next door who must not notice."""

import http.client
import json
import uuid
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.parse import urlsplit

from tests.cli import engines
from tests.cli.engines import Engine, windlass
from tests.waiting import wait_until
from windlass.core.vocabulary import ENDED

JSON, YAML = "application/json", "application/yaml"
ASK_S = 60.0  # far more than any answer takes: nobody hangs

# What python steps of these tests may call. Each line of a marks file is one attempt that was begun.
STEPS = """
import os, time

def hold(ctx):
    while not os.path.exists(ctx.input["gate"]):
        time.sleep(0.01)
    return "held"

def mark(ctx, file):
    handle = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    os.write(handle, f"{ctx.run} {ctx.step}\\n".encode())
    os.close(handle)
"""
NEIGHBOUR: dict[str, Any] = {
    "id": "neighbour",
    "steps": {
        "before": {"kind": "noop"},
        "hold": {"kind": "python", "needs": ["before"], "with": {"call": "steps:hold"}},
        "after": {"kind": "noop", "needs": ["hold"], "with": {"value": "undisturbed"}},
    },
}


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    raw: bytes

    @property
    def body(self) -> Any:  # Any: JSON, as the server sent it
        return json.loads(self.raw)

    @property
    def faults(self) -> list[str]:
        """The details of an error, as a person would read them: a line for each."""
        return [
            f"{fault.get('line', 0)}:{fault.get('column', 0)} {fault['pointer']}: {fault['message']}"
            for fault in self.body["details"]
        ]


@dataclass(slots=True)
class House:
    """An engine that is ready, and the folder its python steps are in."""

    engine: Engine
    url: str
    app: Path
    _neighbours: int = field(default=0)

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        type: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """One request on a connection of its own. Bytes are sent as they are, anything else as JSON."""
        parts = urlsplit(self.url)
        link = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=ASK_S)
        raw = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        sent = {"Accept": JSON, **({} if raw is None else {"Content-Type": type or JSON}), **(headers or {})}
        try:
            link.request(method, path, raw, sent)
            answer = link.getresponse()
            return Answer(answer.status, dict(answer.headers), answer.read())
        finally:
            link.close()

    def api(self, method: str, path: str, body: object = None, *, type: str | None = None) -> Answer:
        return self.ask(method, f"/api/v1/{path}", body, type=type)

    def save(self, document: Mapping[str, Any]) -> None:
        saved = self.api("POST", "workflows", document)
        assert saved.status in (201, 409), saved

    def start(self, workflow: str, **asked: Any) -> str:
        """An acknowledged run."""
        answer = self.api("POST", f"workflows/{workflow}/execute", asked)
        assert answer.status == 200, answer
        return str(answer.body["runId"])

    def play(self, document: Mapping[str, Any], *, within_s: float = 30.0, **asked: Any) -> dict[str, Any]:
        """Save it, start it, and show the run as it ended."""
        self.save(document)
        return self.end_of(self.start(document["id"], **asked), within_s=within_s)

    def run(self, run: str) -> dict[str, Any]:
        answer = self.api("GET", f"runs/{run}")
        assert answer.status == 200, answer
        seen: dict[str, Any] = answer.body
        return seen

    def end_of(self, run: str, *, within_s: float = 30.0) -> dict[str, Any]:
        wait_until(lambda: self.run(run)["status"] in ENDED, within_s)
        return self.run(run)

    def workflows(self) -> list[str]:
        answer = self.api("GET", "workflows")
        assert answer.status == 200, answer
        return [document["id"] for document in answer.body]

    def peak_kb(self) -> int:
        """The most memory that the engine has had."""
        status = Path(f"/proc/{self.engine.pid}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0])

    def ready(self) -> Answer:
        return self.ask("GET", "/health/ready")

    @contextmanager
    def neighbour(self) -> Iterator[str]:
        """A run that was begun before, and that goes on to its end afterwards as if nothing had happened."""
        self.save(NEIGHBOUR)
        self._neighbours += 1
        gate = self.app / f"gate-{self._neighbours}"
        run = self.start("neighbour", input={"gate": str(gate)})
        wait_until(lambda: self.step(run, "hold")["status"] == "running")
        try:
            yield run
        finally:
            gate.touch()  # whatever happened: it must not be in the way of the next test
        ended = self.end_of(run)
        assert ended["status"] == "succeeded", ended
        assert ended["output"] == {"after": "undisturbed"}
        assert [step["attempts"] for step in ended["steps"]] == [1, 1, 1], ended

    def step(self, run: str, name: str) -> dict[str, Any]:
        (found,) = [step for step in self.run(run)["steps"] if step["id"] == name]
        return dict(found)


@contextmanager
def house(
    folder: Path,
    *options: str,
    data: Path | None = None,
    prefix: Sequence[str] = (),
    steps: str = "",
    env: dict[str, str] | None = None,
) -> Iterator[House]:
    """An engine whose functions, and unless another place is named whose data, are in this folder."""
    app = folder / "app"
    if not app.exists():
        app.mkdir()
        (app / "steps.py").write_text(STEPS + steps)
    given = ["--data", str(data or folder / "data"), "--app", str(app), "--port", "0", "--json", *options]
    with started(*given, cwd=folder, prefix=prefix, env=env) as up:
        yield House(up, up.ready()["url"], app)


@contextmanager
def started(
    *options: str, cwd: Path, prefix: Sequence[str] = (), env: dict[str, str] | None = None
) -> Iterator[Engine]:
    """`windlass up`, by way of another program if there is a prefix; it takes that program's place."""
    with ExitStack() as stack:
        with patch.object(engines, "windlass", lambda: [*prefix, *windlass()]):
            up = stack.enter_context(engines.engine(*options, cwd=cwd, env=env))
        yield up


def one_step(**step: Any) -> dict[str, Any]:
    """A workflow of a name of its own, with one step."""
    return {"id": f"one-{uuid.uuid4().hex[:12]}", "steps": {"only": step}}


def python(call: str, *, args: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    given = {"call": call, **({"args": args} if args else {})}
    return one_step(kind="python", **{"with": given}, **more)


def failed_step(seen: Mapping[str, Any]) -> dict[str, Any]:
    """Of a run that failed: its only step."""
    assert seen["status"] == "failed", seen
    steps: Sequence[dict[str, Any]] = seen["steps"]
    return steps[0]


def packed_gigabyte() -> bytes:
    """A gigabyte of blanks in a megabyte of gzip, all but its last bytes."""
    press, megabyte = zlib.compressobj(wbits=31), b" " * 1024 * 1024
    first, again = (press.compress(megabyte) + press.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    return first + again * 1023
