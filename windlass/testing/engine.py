"""An engine in a test: the one of production, over a journal in memory, on time that jumps.

When everything that can happen now has happened, the clock goes to the next moment at which something will:
the end of a wait, of a pause before a retry, of a timeout. What lies between takes no time.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final, Self, TypeVar

from windlass.alone import lone_node
from windlass.core import document as documents
from windlass.core import durations, scope
from windlass.core.commands import CancelRun, DecideStep, DefineWorkflow, PauseRun, ResumeRun, SignalRun
from windlass.core.kinds import KINDS
from windlass.core.names import Key, StepId, run_key, workflow_key
from windlass.core.run_state import restore
from windlass.core.task import Json
from windlass.engine.membership import ClusterSettings
from windlass.engine.node import Node, NodeSettings
from windlass.gateway import runs, starts, views
from windlass.gateway.bodies import Asked
from windlass.gateway.callers import ANYONE
from windlass.journal import RunQuery, RunRow
from windlass.registry.memory import MemoryRegistry
from windlass.sdk.authoring import typed
from windlass.sdk.authoring.options import Span, span
from windlass.sdk.authoring.workflows import Workflow
from windlass.sim.loop import SimLoop
from windlass.testing.fakes import Fakes, Steps
from windlass.testing.results import RunResult, result_of
from windlass.testing.store import WatchedStore
from windlass.testing.worker import InProcess, capabilities_for

T = TypeVar("T")
AnyWorkflow = Workflow[..., Any] | Mapping[str, Json]  # Any: of any types

BEGIN: Final = "2026-01-01T00:00:00Z"
SHARDS: Final = 4
CALM_S: Final = 2.0  # in which nothing is written: then nothing happens by itself any more
TURNS: Final = 100  # of the loop, in which things happen that take no time
MOMENT_S: Final = 1e-6
JUMPS_MAX: Final = 10_000  # moments at which something happens, while one thing is waited for
EVENTS_MAX: Final = 1_000_000
FOR_EVER_S: Final = 1e12
# Nobody else is there, and nothing is deleted: what a lone engine does for its own good is left off.
SETTINGS: Final = NodeSettings(
    shards=SHARDS,
    cluster=ClusterSettings(beat_s=3600.0, lease_s=FOR_EVER_S, dead_s=FOR_EVER_S),
    retention_s=FOR_EVER_S,
    look_s=None,
)


class NotEnded(AssertionError):
    """The run waits for something that the test has to bring about."""


class Engine:
    """`with Engine(nightly, steps={"load": 3}) as engine: engine.advance("2d")`"""

    def __init__(self, *workflows: AnyWorkflow, steps: Fakes | None = None, begin: str = BEGIN) -> None:
        self._steps = Steps(steps or {})
        moment = datetime.fromisoformat(begin)
        # Without a zone it is UTC: a test tells the same story wherever it runs.
        self._begin = (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()
        self._loop = SimLoop(0)
        self._store = WatchedStore(lambda: self._loop.now)
        self._registry = MemoryRegistry(self._store.open_runs, self._store.spaces)
        self._known: set[str] = set()  # ids of steps
        self._capabilities = frozenset[str](KINDS)
        self._workers: list[InProcess] = []
        self._employed = self._started = self._ordered = 0
        self._wrong: BaseException | None = None
        self._node: Node | None = None
        self._serving: asyncio.Task[None] | None = None
        try:
            self.play(self._come_up())
            for workflow in workflows:
                self.apply(workflow)
        except BaseException:
            self.close()
            raise

    @property
    def now(self) -> datetime:
        return datetime.fromtimestamp(self._clock(), UTC)

    def apply(self, workflow: AnyWorkflow, *, schedule: bool = True) -> None:
        """Save a workflow, and those that it calls. Without its schedule it runs only when it is started."""
        document, children = workflow.compiled() if isinstance(workflow, Workflow) else (dict(workflow), {})
        if not schedule:
            document = {key: value for key, value in document.items() if key != "schedule"}
        self.play(self._define(document))
        for child in children.values():
            if child.id not in {key.id for key in self._documents()}:
                self.apply(child, schedule=schedule)

    def check_steps(self) -> None:
        """Once all workflows are there: `steps` may only name steps of theirs. Raises NoFake."""
        self._steps.check(self._known)

    def start(self, workflow: Workflow[..., Any] | str, input: Json = None) -> TestRun:
        """Start a run of a workflow that was applied, and let happen what happens at once."""
        ident = workflow.id if isinstance(workflow, Workflow) else workflow
        self._started += 1
        key = run_key(f"{ident}-{self._started}")
        self.play(self._start(workflow_key(ident), key, typed.write(input)))
        return TestRun(self, key)

    def runs(self, workflow: Workflow[..., Any] | str | None = None) -> list[TestRun]:
        """All runs, or those of a workflow, the oldest first."""
        ident = workflow.id if isinstance(workflow, Workflow) else workflow
        rows = self.play(self._store.runs(RunQuery(namespace="default", workflow=ident, limit=10_000)))
        return [TestRun(self, row.key) for row in sorted(rows, key=lambda row: (row.started_at, row.key.id))]

    def advance(self, length: Span) -> None:
        """Let this much time pass, and happen what happens meanwhile."""
        self.play(self._pass(self._loop.now + durations.parse(span(length)), lambda: False))

    def crash(self) -> None:
        """The engine dies as by kill -9, with its worker, and another one goes on from the journal."""
        self.play(self._die())
        self.play(self._come_up())

    def close(self) -> None:
        if self._loop.is_closed():
            return
        with suppress(asyncio.CancelledError):
            self.play(self._die())
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self.play(asyncio.sleep(0))
        self._loop.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    # For runs.

    def play(self, work: Coroutine[Any, Any, T]) -> T:
        self._loop.begin_anew()
        return self._loop.run_until_complete(work)

    def order(self, key: Key, command: Callable[[str, float], Any]) -> None:
        """Give an order, and let happen what it leads to. Any: one of the run's commands."""

        async def give() -> None:
            self._ordered += 1
            await self.node.router.send(key, command(f"test-{self._ordered}", self._clock()))
            await self._settle()

        self.play(give())

    def until_ended(self, key: Key) -> bool:
        """Let time pass until it has ended. False: that will never be, as things are."""
        self.play(self._pass(float("inf"), lambda: self.row(key).settled))
        return self.row(key).settled

    def row(self, key: Key) -> RunRow:
        row = self._store._shards[self.node.shard_of(key.id)].runs.get(key)
        assert row is not None, f"there is no run {key.id}"
        return row

    @property
    def node(self) -> Node:
        assert self._node is not None, "the engine is closed"
        return self._node

    # Inside the loop.

    async def _come_up(self) -> None:
        self._node = node = lone_node(
            self._store,
            SETTINGS,
            wall=self._clock,
            chance=random.Random(0),
            registry=self._registry,
            task_key=b"of a test".ljust(32),
        )
        self._serving = self._loop.create_task(node.serve())
        await node.ready.wait()
        self._employ(frozenset())
        await self._settle()

    async def _die(self) -> None:
        for worker in self._workers:
            worker.kill()
        self._workers.clear()
        if self._serving is not None:
            self._serving.cancel()
            await asyncio.wait([self._serving])
            self._serving = None
        await asyncio.sleep(0)

    async def _define(self, document: dict[str, Json]) -> None:
        definition = documents.read(document)
        self._known |= {step.id for step in definition.steps}
        needed = capabilities_for(definition)
        if not needed <= self._capabilities:
            self._employ(needed)
        self._ordered += 1
        command = DefineWorkflow(
            id=f"test-{self._ordered}",
            document=document,
            document_hash=documents.digest(document),
            timetable=definition.schedule,
            at=self._clock(),
        )
        await self.node.router.send(workflow_key(definition.id), command)
        await self._settle()

    async def _start(self, workflow: Key, key: Key, input: Json) -> None:
        document = await starts.document_of(self.node, workflow, None)
        command = starts.command(self.node, document, Asked(input=input), ANYONE, fresh=True)
        await self.node.router.send(key, command)
        await self._settle()

    async def _pass(self, until: float, enough: Callable[[], bool]) -> None:
        """Let time pass until then, or until it is enough, or until nothing will happen any more."""
        before = -1.0
        for _ in range(JUMPS_MAX):
            await self._settle()
            due = self._next_at()
            if enough() or due > until or due == float("inf"):
                break
            # The two clocks may differ in the last digit: an alarm that has not rung at its time is near.
            self._loop.now = max(self._loop.now, due) + (MOMENT_S if due == before else 0.0)
            self._loop.begin_anew()
            before = due
        else:
            raise NotEnded(f"there is no end to it: it is {self.now.isoformat()} after {JUMPS_MAX} moments")
        if until != float("inf"):
            self._loop.now = max(self._loop.now, until)
            await self._settle()

    async def _settle(self) -> None:
        """Until nothing more happens at this moment.

        The engine has pauses of its own, before it asks somebody again: what may come of them is waited for.
        If nothing does, the clock goes back to when something happened last, and no time was lost.
        """
        began = self._loop.now
        while True:
            written = self._store.commits
            for _ in range(TURNS):
                await asyncio.sleep(0)
            self._complain()
            if self._store.commits != written:
                continue
            last = max(began, self._store.written_at)
            left_s = min(last + CALM_S, self._next_at()) - self._loop.now - MOMENT_S
            if left_s < MOMENT_S:
                break
            await asyncio.sleep(min(left_s, CALM_S / 8))
        self._loop.now = last

    def _complain(self) -> None:
        if self._wrong is not None:
            wrong, self._wrong = self._wrong, None
            raise wrong
        if self._serving is not None and self._serving.done():
            self._serving.result()

    async def seen(self, key: Key) -> tuple[dict[str, Json], list[dict[str, Json]]]:
        view = await runs.read(self.node, key)
        found, definition = await runs.see(self.node, key)
        if found.image is not None:
            # What a map or a loop gives is that of its steps, and is not shown twice.
            run = restore(definition, found.image)
            view["steps"] = [{**step, "output": scope.output(run, step["id"])} for step in view["steps"]]
        facts = await self.node.router.events(key, after=0, limit=EVENTS_MAX)
        return view, [views.event(fact) for fact in facts]

    def _next_at(self) -> float:
        """When something happens next, by the loop's clock."""
        alarm = self.node.timers.next_at - self._begin
        return min([alarm, *(worker.next_at for worker in self._workers)])

    def _employ(self, needed: frozenset[str]) -> None:
        """A worker that can do all that is asked for."""
        self._capabilities |= needed
        self._employed += 1
        worker = InProcess(
            self.node,
            self._steps,
            session=f"test {self._employed}",
            capabilities=self._capabilities,
            wrong=self._note,
        )
        self._workers.append(worker)
        self.node.employ(worker)

    def _note(self, error: BaseException) -> None:
        self._wrong = self._wrong or error

    def _documents(self) -> list[Key]:
        return [key for shard in self._store._shards.values() for key in shard.documents]

    def _clock(self) -> float:
        return self._begin + self._loop.now


class TestRun:
    """One run in a test. `result()` plays it to its end."""

    __test__ = False  # what pytest collects by its name, and is none

    def __init__(self, engine: Engine, key: Key) -> None:
        self.engine = engine
        self.id = key.id
        self._key = key

    @property
    def status(self) -> str:
        return str(self.view()["status"])

    @property
    def steps(self) -> dict[str, str]:
        """The status of each step."""
        return {step["id"]: step["status"] for step in self.view()["steps"]}

    def view(self) -> dict[str, Json]:
        """The run as the API shows it now."""
        return self.engine.play(self.engine.seen(self._key))[0]

    def signal(self, name: str, data: Json = None) -> None:
        self.engine.order(self._key, lambda id, at: SignalRun(id=id, name=name, data=data, at=at))

    def approve(self, step: str, *, comment: str = "", by: str = "") -> None:
        self._decide(step, True, comment, by)

    def reject(self, step: str, *, comment: str = "", by: str = "") -> None:
        self._decide(step, False, comment, by)

    def cancel(self, reason: str = "", *, undo: bool = True) -> None:
        self.engine.order(self._key, lambda id, at: CancelRun(id=id, reason=reason, undo=undo, at=at))

    def pause(self) -> None:
        self.engine.order(self._key, lambda id, at: PauseRun(id=id, at=at))

    def resume(self) -> None:
        self.engine.order(self._key, lambda id, at: ResumeRun(id=id, at=at))

    def advance(self, length: Span) -> None:
        """Let this much time pass."""
        self.engine.advance(length)

    def crash(self) -> None:
        """The engine dies as by kill -9, and another one goes on from the journal."""
        self.engine.crash()

    def result(self) -> RunResult:
        """Let time pass until the run has ended, and say how it went. Raises NotEnded."""
        if not self.engine.until_ended(self._key):
            waiting = [
                _waits(step) for step in self.view()["steps"] if step["status"] in ("waiting", "running")
            ]
            advice = "say so in the test: .signal(…), .approve(…), .advance(…)"
            raise NotEnded(f"run {self.id} goes on only if something happens: {'; '.join(waiting)}; {advice}")
        view, events = self.engine.play(self.engine.seen(self._key))
        row = self.engine.row(self._key)
        return result_of(view, events, (row.ended_at or row.started_at) - row.started_at)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.engine.close()

    def _decide(self, step: str, approve: bool, comment: str, by: str) -> None:
        names = (by,) if by else ()

        def command(id: str, at: float) -> DecideStep:
            return DecideStep(id=id, step=StepId(step), approve=approve, comment=comment, by=names, at=at)

        self.engine.order(self._key, command)


def _waits(step: dict[str, Json]) -> str:
    awaits = step.get("awaits") or {}
    what = {"approval": "an approval", "signal": f"the signal {awaits.get('signal')}"}.get(
        str(awaits.get("what")), "what it needs"
    )
    return f"step {step['id']} waits for {what}"
