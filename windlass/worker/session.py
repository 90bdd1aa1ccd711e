"""The worker inside an engine: takes tasks, runs them in its slots, reports each result until it is heard.

start ──▶ running ──▶ finished ──▶ (report acknowledged) gone
            │             │
          stop          stop        a stopped task reports nothing
"""

from __future__ import annotations

import asyncio
import logging
import time
import traceback
from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import Self

from windlass.core.errors import Refused, Unavailable, Unknown
from windlass.core.names import SessionId, WorkerId
from windlass.core.task import Failure, Outcome, Task, TaskName
from windlass.worker.executors import Executor, timed_out
from windlass.worker.masking import Mask
from windlass.worker.progress import Heartbeats, fell_silent, limit
from windlass.worker.secrets import NONE, NotOpened, Resolve, no_secrets, opened

log = logging.getLogger(__name__)
REPORT_AGAIN_S, REPORT_AGAIN_MAX_S = 0.05, 5.0

Report = Callable[[Task, Outcome, float], Awaitable[None]]
ResolveFor = Callable[[Task], Resolve]  # for a worker that has to show for which task it asks


class LocalWorker:
    """An async context: inside it tasks run; on leaving it they are stopped, their processes too.

    The secrets that a task refers to are asked of `resolve`, each time it starts; what leaves is masked.
    `on_free` is called whenever a slot becomes free, and only then is `report` awaited with the task, its
    outcome and when it started (by `clock`). A result is kept and reported again until `report` returns or
    refuses it. A task that must not be silent for long is ended when its executor told `heartbeats` nothing.
    """

    def __init__(
        self,
        *,
        id: WorkerId,
        session: SessionId,
        slots: int,
        executors: Mapping[str, Executor],
        capabilities: frozenset[str] = frozenset(),
        report: Report,
        on_free: Callable[[], None] = lambda: None,
        resolve: Resolve = no_secrets,
        resolve_for: ResolveFor | None = None,
        heartbeats: Heartbeats | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.id = id
        self.session = session
        self.slots = slots
        self.capabilities = capabilities
        self._executors = dict(executors)
        self._report = report
        self._on_free = on_free
        self._resolve_for: ResolveFor = resolve_for or (lambda task: resolve)
        self._heartbeats = heartbeats or Heartbeats()
        self._clock = clock
        self._held: dict[TaskName, asyncio.Task[None]] = {}
        self._busy: set[TaskName] = set()
        self._group: asyncio.TaskGroup | None = None

    @property
    def kinds(self) -> frozenset[str]:
        return frozenset(self._executors)

    @property
    def free(self) -> int:
        return self.slots - len(self._busy)

    def held(self) -> set[TaskName]:
        """What runs, and what has ended but is not yet acknowledged."""
        return set(self._held)

    def start(self, task: Task) -> None:
        """Take the task. Raises Refused: no free slot, a kind it does not run, or a task it already holds."""
        if self._group is None:
            raise Refused(f"worker {self.id} is closed")
        if task.name in self._held:
            raise Refused(f"worker {self.id} already holds {task.step} of {task.run}, attempt {task.attempt}")
        if task.kind not in self._executors:
            raise Refused(f"worker {self.id} does not run {task.kind} steps")
        if self.free <= 0:
            raise Refused(f"worker {self.id} has no free slot: all {self.slots} are busy")
        self._busy.add(task.name)
        serving = self._group.create_task(self._serve(task), name=f"{task.run}/{task.step}")
        self._held[task.name] = serving
        # Not in a finally: one that is cancelled before its first step never gets there.
        serving.add_done_callback(lambda _: self._forget(task.name))

    def stop(self, name: TaskName) -> None:
        """Kill the task, or forget its result. Its slot is free once nothing of it is left.

        A name that is not held is fine: it has ended.
        """
        if name in self._held:
            self._held[name].cancel()

    async def __aenter__(self) -> Self:
        self._group = asyncio.TaskGroup()
        await self._group.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, frames: TracebackType | None
    ) -> None:
        group, self._group = self._group, None
        assert group is not None
        for held in self._held.values():
            held.cancel()
        # The group must know when we are being cancelled; other errors it would only wrap.
        cancelled = isinstance(error, asyncio.CancelledError)
        await group.__aexit__(*((kind, error, frames) if cancelled else (None, None, None)))

    async def _serve(self, task: Task) -> None:
        started_at = self._clock()
        outcome = await self._attempt(task)
        self._release(task.name)
        await self._deliver(task, outcome, started_at)

    def _release(self, name: TaskName) -> None:
        if name in self._busy:
            self._busy.discard(name)
            self._on_free()

    def _forget(self, name: TaskName) -> None:
        del self._held[name]
        self._release(name)

    async def _attempt(self, task: Task) -> Outcome:
        me = asyncio.current_task()
        assert me is not None
        whole, silence = limit(task.timeout_s), limit(task.heartbeat_timeout_s)
        secrets = NONE
        try:
            async with whole, silence:
                secrets = await opened(task, self._resolve_for(task))
                with self._heartbeats.of(task, silence):
                    outcome = await self._executors[task.kind].run(task, secrets)
                return await secrets.masked(outcome)
        except NotOpened as error:
            return error.failure
        except TimeoutError as error:
            if whole.expired():
                return timed_out(task.timeout_s)
            if silence.expired():
                return fell_silent(task.heartbeat_timeout_s)
            return _unexpected(error, task, secrets.mask)
        except asyncio.CancelledError as error:
            if me.cancelling():
                raise
            return _unexpected(
                error, task, secrets.mask
            )  # nobody cancelled us: the executor raised it by itself
        except Exception as error:
            return _unexpected(error, task, secrets.mask)

    async def _deliver(self, task: Task, outcome: Outcome, started_at: float) -> None:
        again_s = REPORT_AGAIN_S
        while True:
            try:
                return await self._report(task, outcome, started_at)
            except Refused as error:
                log.debug("result not wanted", extra={"task": task.name, "reason": str(error)})
                return None
            except (Unavailable, Unknown) as error:
                log.debug("result not taken yet", extra={"task": task.name, "reason": str(error)})
            except Exception:
                log.exception("reporting a result failed", extra={"task": task.name})
            await asyncio.sleep(again_s)
            again_s = min(REPORT_AGAIN_MAX_S, again_s * 2)


def _unexpected(error: BaseException, task: Task, mask: Mask) -> Failure:
    extra: dict[str, object] = {"task": task.name, "kind": task.kind}
    if mask:  # what is raised may tell values, also in the errors that led to it
        trace = mask.text("".join(traceback.format_exception(error)))
        log.error("an executor failed", extra={**extra, "trace": trace})
    else:
        log.error("an executor failed", exc_info=error, extra=extra)
    bases = tuple(kind.__name__ for kind in type(error).__mro__[1:] if kind is not object)
    message = mask.text(str(error)) or type(error).__name__
    return Failure(type(error).__name__, message, bases=bases)
