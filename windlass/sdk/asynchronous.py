"""`Client`: the API for programs with an event loop.

Every method is that of the synchronous client, carried out in one of a few threads: there is one
implementation of each request, and `sync()` is it.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Concatenate, Final, Generic, ParamSpec, Self, TypeVar

from windlass.core.task import Json
from windlass.sdk.client import BUSY_S, DEFAULT_URL, PATIENCE_S
from windlass.sdk.synchronous import LOOK_MAX_S, LOOK_S, OVER, NotInTime, SyncClient

P = ParamSpec("P")
R = TypeVar("R")
THREADS: Final = 16  # requests that are under way at once; more wait their turn


class requested(Generic[P, R]):
    """A method of `SyncClient`, awaited."""

    def __init__(self, method: Callable[Concatenate[SyncClient, P], R]) -> None:
        self._method = method
        self.__doc__ = method.__doc__

    def __get__(self, client: Client, _owner: type[Client]) -> Callable[P, Coroutine[Any, Any, R]]:
        async def request(*args: P.args, **kwargs: P.kwargs) -> R:
            return await client.in_thread(lambda link: self._method(link, *args, **kwargs))

        return request


class streamed(Generic[P, R]):
    """A method of `SyncClient` that answers one thing after another, each awaited."""

    def __init__(self, method: Callable[Concatenate[SyncClient, P], Iterator[R]]) -> None:
        self._method = method
        self.__doc__ = method.__doc__

    def __get__(self, client: Client, _owner: type[Client]) -> Callable[P, AsyncIterator[R]]:
        async def stream(*args: P.args, **kwargs: P.kwargs) -> AsyncIterator[R]:
            link = client.sync()
            # Each waits for the one before to be taken: who reads slowly is not flooded.
            found: asyncio.Queue[R | _End] = asyncio.Queue(1)
            loop = asyncio.get_running_loop()

            def put(item: R | _End) -> None:
                asyncio.run_coroutine_threadsafe(found.put(item), loop).result()

            def read() -> None:
                with contextlib.suppress(RuntimeError):  # the loop is closed: nobody listens any more
                    try:
                        for item in self._method(link, *args, **kwargs):
                            if link.patience_s < 0:
                                return
                            put(item)
                        put(_End(None))
                    except Exception as error:
                        put(_End(error))

            # A thread of its own: it may last for hours. Nobody waits for it who has had enough.
            threading.Thread(target=read, name="windlass-stream", daemon=True).start()
            try:
                while not isinstance(item := await found.get(), _End):
                    yield item
                if item.error is not None:
                    raise item.error
            finally:
                link.patience_s = -1.0
                link.close()
                if not found.empty():
                    found.get_nowait()

        return stream


class _End:
    """After the last one; or what went wrong."""

    def __init__(self, error: Exception | None) -> None:
        self.error = error


class Client:
    """`async with Client() as client: run = await client.begin("report", {"day": "2026-01-01"})`

    What it raises is the engine's own tree of errors (`windlass.core.errors`). Requests are repeated where
    that is safe, see `windlass.sdk.client`.
    """

    def __init__(
        self,
        url: str = DEFAULT_URL,
        *,
        token: str = "",
        namespace: str = "",
        ca: Path | None = None,
        timeout_s: float = 30.0,
        patience_s: float = PATIENCE_S,
        busy_s: float = BUSY_S,
    ) -> None:
        self.sync: Callable[[], SyncClient] = partial(
            SyncClient,
            url,
            timeout_s=timeout_s,
            patience_s=patience_s,
            busy_s=busy_s,
            ca=ca,
            token=token,
            namespace=namespace,
        )
        self.sync()  # an address that is none is refused now
        self._threads = ThreadPoolExecutor(THREADS, "windlass-client")
        self._own = threading.local()
        self._links: list[SyncClient] = []

    save = requested(SyncClient.save)
    apply = requested(SyncClient.apply)
    workflows = requested(SyncClient.workflows)
    workflow = requested(SyncClient.workflow)
    delete = requested(SyncClient.delete)

    begin = requested(SyncClient.begin)
    start = requested(SyncClient.start)
    run = requested(SyncClient.run)
    runs = requested(SyncClient.runs)
    explain = requested(SyncClient.explain)
    stuck = requested(SyncClient.stuck)
    release = requested(SyncClient.release)
    retry_stuck = requested(SyncClient.retry_stuck)
    order = requested(SyncClient.order)
    events = requested(SyncClient.events)
    all_events = streamed(SyncClient.all_events)
    logs = requested(SyncClient.logs)
    all_logs = streamed(SyncClient.all_logs)
    follow_logs = streamed(SyncClient.follow_logs)

    signal = requested(SyncClient.signal)
    approve = requested(SyncClient.approve)
    reject = requested(SyncClient.reject)
    rerun = requested(SyncClient.rerun)
    steps = requested(SyncClient.steps)
    all_steps = streamed(SyncClient.all_steps)
    schema = requested(SyncClient.schema)

    submit_task = requested(SyncClient.submit_task)
    task = requested(SyncClient.task)
    tasks = requested(SyncClient.tasks)
    cancel_task = requested(SyncClient.cancel_task)
    follow_task = streamed(SyncClient.follow_task)

    schedules = requested(SyncClient.schedules)
    schedule = requested(SyncClient.schedule)
    set_schedule = requested(SyncClient.set_schedule)
    delete_schedule = requested(SyncClient.delete_schedule)
    pause_schedule = requested(SyncClient.pause_schedule)
    resume_schedule = requested(SyncClient.resume_schedule)
    trigger_schedule = requested(SyncClient.trigger_schedule)
    backfill_schedule = requested(SyncClient.backfill_schedule)
    next_times = requested(SyncClient.next_times)
    preview_schedule = requested(SyncClient.preview_schedule)

    limits = requested(SyncClient.limits)
    limit = requested(SyncClient.limit)
    release_permit = requested(SyncClient.release_permit)

    cluster_stats = requested(SyncClient.cluster_stats)
    cluster_nodes = requested(SyncClient.cluster_nodes)
    cluster_shards = requested(SyncClient.cluster_shards)
    cluster_events = requested(SyncClient.cluster_events)
    drain = requested(SyncClient.drain)
    workers = requested(SyncClient.workers)
    worker = requested(SyncClient.worker)
    order_worker = requested(SyncClient.order_worker)
    assignment = requested(SyncClient.assignment)
    set_assignment = requested(SyncClient.set_assignment)
    reset_assignment = requested(SyncClient.reset_assignment)
    placement = requested(SyncClient.placement)

    set_secret = requested(SyncClient.set_secret)
    secrets = requested(SyncClient.secrets)
    delete_secret = requested(SyncClient.delete_secret)
    rotate_secrets = requested(SyncClient.rotate_secrets)
    create_webhook = requested(SyncClient.create_webhook)
    webhooks = requested(SyncClient.webhooks)
    delete_webhook = requested(SyncClient.delete_webhook)
    test_webhook = requested(SyncClient.test_webhook)
    put_inbound_hook = requested(SyncClient.put_inbound_hook)
    inbound_hooks = requested(SyncClient.inbound_hooks)
    inbound_hook = requested(SyncClient.inbound_hook)
    delete_inbound_hook = requested(SyncClient.delete_inbound_hook)
    create_token = requested(SyncClient.create_token)
    tokens = requested(SyncClient.tokens)
    revoke_token = requested(SyncClient.revoke_token)
    whoami = requested(SyncClient.whoami)
    audit = requested(SyncClient.audit)
    ready = requested(SyncClient.ready)

    async def wait(self, run: str, *, within_s: float | None = None) -> Json:
        """The run, once it has ended or is stuck. Raises NotInTime. No thread waits meanwhile."""
        loop = asyncio.get_running_loop()
        give_up_at = None if within_s is None else loop.time() + within_s
        pause_s = LOOK_S
        while True:
            seen = await self.run(run)
            if seen["status"] in OVER:
                return seen
            if give_up_at is not None and loop.time() >= give_up_at:
                raise NotInTime(f"run {run} is still {seen['status']} after {within_s:g} s; it goes on")
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 1.5, LOOK_MAX_S)

    async def in_thread(self, ask: Callable[[SyncClient], R]) -> R:
        """Each thread has a link of its own, which is kept open."""

        def work() -> R:
            link = getattr(self._own, "link", None)
            if link is None:
                link = self._own.link = self.sync()
                self._links.append(link)
            return ask(link)

        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    async def close(self) -> None:
        await asyncio.to_thread(self._threads.shutdown)
        for link in self._links:
            link.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()
