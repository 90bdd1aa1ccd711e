"""One engine on SQLite, workers of their own around it, and steps that tests hold by the hand.

A step that *holds* begins, leaves its mark, and ends when the test says so. Everything that was started here
ends here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.cli.calls import command
from tests.cli.engines import Engine
from tests.cluster.machines import free_port
from tests.cluster.work import STEPS, Mark, read_marks
from tests.fleet.hands import Hand, ending
from tests.waiting import wait_until
from windlass.core.task import Json
from windlass.core.vocabulary import ENDED
from windlass.direct import Where, create_token
from windlass.sdk.client import Client

WITHIN_S = 60.0
HELD = """

def hold(ctx, file, until):
    note(ctx, file, "begin")
    while not os.path.exists(until):
        time.sleep(0.02)
    note(ctx, file, "end")
    return ctx.attempt

def hang_once(ctx, file):
    note(ctx, file, "begin")
    if ctx.progress is None:
        ctx.heartbeat({"rows": 3})
        time.sleep(600)
    return ctx.progress
"""


@dataclass
class Shop:
    folder: Path
    options: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    port: int = field(default_factory=free_port)
    hands: list[Hand] = field(default_factory=list)
    token: str = field(default="", repr=False)  # of an admin, where there is a login
    _engine: Engine | None = None
    _runs: int = 0

    def __post_init__(self) -> None:
        self.app.mkdir(parents=True)
        (self.app / "steps.py").write_text(STEPS + HELD)
        self.client = Client(self.url)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def app(self) -> Path:
        return self.folder / "app"

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def marks(self) -> Path:
        return self.folder / "marks.txt"

    # The engine.

    def open(self) -> None:
        words = ("--data", str(self.data), "--port", str(self.port), "--json", *self.options)
        self._engine = Engine(words, cwd=self.folder, env=dict(self.env))
        self._engine.ready()
        if "--login" in self.options and not self.token:
            made = create_token(Where(self.data), "admin", namespace=None, name="", expires=None)
            self.token = self.client.token = made["token"]

    def kill(self) -> None:
        """The engine: -9."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None

    # Workers.

    def hire(self, *names: str, offers: str, options: tuple[str, ...] = (), token: str = "") -> list[Hand]:
        """Workers that are welcome and registered."""
        hired = [self.send(name, offers=offers, options=options, token=token) for name in names]
        for hand in hired:
            hand.welcome()
            wait_until(lambda hand=hand: self.state(hand.name) == "ONLINE", WITHIN_S)  # type: ignore[misc]
        return hired

    def send(self, name: str, *, offers: str, options: tuple[str, ...] = (), token: str = "") -> Hand:
        """A worker that is on its way."""
        words = ("--app", str(self.app), "--capabilities", offers, *options)
        hand = Hand(name, self.folder / "hands", [self.url], *words, token=token)
        self.hands.append(hand)
        hand.start()
        return hand

    def dismiss_all(self) -> None:
        for hand in self.hands:
            hand.end()
        self.hands.clear()

    def worker(self, name: str) -> dict[str, Any] | None:
        found = [worker for worker in self.client.workers()["items"] if worker["id"] == name]
        return found[0] if found else None

    def state(self, name: str) -> str:
        found = self.worker(name)
        return "" if found is None else str(found["state"])

    # Runs of one step.

    def hold(self, needs: str, *, namespace: str = "", **more: Json) -> str:
        """Start a run whose step waits for `let_go`; answers its id."""
        return self.start(needs, "hold", {"until": str(self.folder / "let-go")}, namespace=namespace, **more)

    def start(
        self, needs: str, function: str, args: dict[str, Json], *, namespace: str = "", **more: Json
    ) -> str:
        """The file of the let-go is that of the run."""
        self._runs += 1
        run = f"run-{self._runs}"
        if "until" in args:
            args = {**args, "until": str(self._sign(run))}
        call: dict[str, Json] = {"call": f"steps:{function}", "args": {"file": str(self.marks), **args}}
        step: dict[str, Json] = {"kind": "python", "requires": [needs], "with": call, **more}
        document = json.dumps({"id": run, "steps": {"only": step}}).encode()
        with Client(self.url, token=self.token, namespace=namespace) as client:
            client.apply(run, document, "application/json")
            client.start(run, run_id=run)
        return run

    def let_go(self, run: str) -> None:
        self._sign(run).touch()

    def _sign(self, run: str) -> Path:
        return self.folder / f"let-go-{run}"

    def begun(self, run: str, times: int = 1) -> list[Mark]:
        """The marks of its executions, once there are so many."""
        wait_until(lambda: len(self.executions(run)) >= times, WITHIN_S)
        return self.executions(run)

    def executions(self, run: str) -> list[Mark]:
        return [mark for mark in read_marks(self.marks) if mark.run == run and mark.what == "begin"]

    def step(self, run: str, *, namespace: str = "") -> dict[str, Any]:
        with Client(self.url, token=self.token, namespace=namespace) as client:
            found: dict[str, Any] = client.run(run)["steps"][0]
        return found

    def ended(self, run: str, *, namespace: str = "") -> dict[str, Any]:
        """Its step, once the run has succeeded."""
        with Client(self.url, token=self.token, namespace=namespace) as client:
            wait_until(lambda: client.run(run)["status"] in ENDED, WITHIN_S)
            view = client.run(run)
            assert view["status"] == "succeeded", view
            step: dict[str, Any] = view["steps"][0]
        return step

    def events(self, run: str, type: str) -> list[dict[str, Any]]:
        return [event for event in self.client.all_events(run) if event["type"] == type]

    def barred(self, run: str, worker: str) -> str | None:
        """Why this worker may not have the step of a run, which waits; None: it may."""
        candidates = self.client.placement(run, "only")["candidates"]
        found: list[str | None] = [each["barred"] for each in candidates if each["worker"] == worker]
        return found[0] if found else "not there"

    def explained(self, run: str) -> str:
        """What `windlass explain` says."""
        return self.typed("explain", run)

    def typed(self, *words: str) -> str:
        done = command("--server", self.url, *words, env={"WINDLASS_TOKEN": self.token} if self.token else {})
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@contextmanager
def a_shop(folder: Path, *options: str, **env: str) -> Iterator[Shop]:
    """An engine that serves, and nobody else yet."""
    shop = Shop(folder, options, env)
    with ExitStack() as stack:
        stack.enter_context(ending(shop.hands))
        stack.callback(shop.kill)
        stack.callback(shop.client.close)
        shop.open()
        yield shop
