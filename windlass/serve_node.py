"""One node of a cluster, wired: PostgreSQL, the node, its worker, its door and its links.

    PostgreSQL ◄── leases, journal ◄── node ◄── door ◄── clients and other nodes
                                        ▲ │
                                        │ ▼
                                       worker

Told to stop, it hands its shards over while it still serves; then what runs may end, the door closes, and it
leaves.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import random
import secrets
import socket
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from aiohttp import web

from windlass import __version__, reach
from windlass.assignment import Functions
from windlass.config import NodeConfig, join_address
from windlass.core import strategies, task_tokens
from windlass.core.cluster import ENGINE, GATEWAY, Member
from windlass.core.errors import Unavailable
from windlass.core.log import Bounds
from windlass.core.names import WorkerId
from windlass.core.strategies import Strategy
from windlass.engine.fleet import FleetSettings
from windlass.engine.membership import ClusterSettings
from windlass.engine.node import Node, NodeSettings, new_id
from windlass.engine.surroundings import Settings
from windlass.fleet_config import fleet_settings, loss_settings
from windlass.gateway.connections import Book
from windlass.gateway.http import GATEWAY as GATE
from windlass.gateway.http import SHUTDOWN_S, Gateway, listen, make_app, serve_on
from windlass.gateway.port import PortTaken
from windlass.gateway.refusals import refusal
from windlass.gateway.routes import Handler
from windlass.gateway.tls import ClientTls, ServerTls, watched
from windlass.journal import StoreBusy, StoreUnknown
from windlass.journal.postgres import PostgresStore
from windlass.leases import LeasesAway
from windlass.leases import postgres as leases_postgres
from windlass.leases.postgres import PostgresLeases
from windlass.listener import book_of, client_tls, server_tls
from windlass.load import Probe
from windlass.locks import locks_of
from windlass.node_token import NodeToken
from windlass.outward.webhooks import WebhookPost
from windlass.peers import Host
from windlass.peers.websocket import WebsocketPeers
from windlass.postgres import DatabaseAway, Place
from windlass.process import (
    LOOK_S,
    CannotStart,
    either,
    employed,
    folders_of,
    keyring_of,
    let_end,
    one_error,
    run_loop,
    stopped_by_signals,
    strategies_of,
    url_of,
)
from windlass.registry.postgres import PostgresRegistry
from windlass.strategy import load_strategy
from windlass.wire import versions
from windlass.worker.code_tools import tools_of
from windlass.worker.orphans import adopt_orphans
from windlass.worker.session import LocalWorker

log = logging.getLogger("windlass.serve.node")

AGAIN_S: Final = 0.5
AGAIN_MAX_S: Final = 5.0
TELL_S: Final = 30.0  # between two lines that say the same
DRAIN_S: Final = 30.0
LINGER_S: Final = 0.5
SPEAK_S: Final = 1.0  # for whoever was let in at the last moment to say what it wants
LEAVE_S: Final = 3.0
LAST_LINES_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class Ready:
    """What is known once the node is in the cluster, and ready."""

    name: str
    address: str
    url: str
    cluster: str
    nodes: int
    took_s: float


Welcome = Callable[[Ready], Coroutine[None, None, None]]


def run(config: NodeConfig, environ: Mapping[str, str], welcome: Welcome) -> None:
    """Serve until SIGINT, SIGTERM or SIGHUP; a second Ctrl-C ends the process at once.

    Raises WindlassError when it cannot start. While the database is away it waits for it.
    """
    run_loop(_serve(config, environ, welcome))


async def _serve(config: NodeConfig, environ: Mapping[str, str], welcome: Welcome) -> None:
    began = time.monotonic()
    adopt_orphans()
    stop = asyncio.Event()
    strategy = load_strategy(config.strategy, folders=folders_of(config.app))
    strategies.fit(strategy, config.shards)
    custom = strategies_of(config, config.app)
    place = Place(config.database, config.schema)
    tls, trust = server_tls(config), client_tls(config)
    keyring = keyring_of(config.secrets_key_file, environ)
    with one_error(), stopped_by_signals(stop):
        async with contextlib.AsyncExitStack() as stack:
            await stack.enter_async_context(watched(tls, trust))
            door = Door(await _listening(config), tls, book_of(config, config.host))
            stack.push_async_callback(door.close)
            address = config.address(door.port)
            data = _folder(config, address)
            await door.open(_waiting_room())
            opened = await _when_there(stop, partial(_open, stack, place, config, strategy))
            if opened is None:
                return
            store, leases = opened
            registry = PostgresRegistry(store)
            stack.push_async_callback(registry.close)
            post = await stack.enter_async_context(WebhookPost(keyring, reach.for_webhooks(config)))
            token = NodeToken(registry, config.called(address))
            node, accept = _node(
                config, environ, strategy, custom, store, leases, registry, address, trust, post, token
            )
            async with asyncio.TaskGroup() as group:
                holding = group.create_task(node.serve(), name="node")
                showing = group.create_task(token.serve(), name="token") if config.login else None
                async with _worker(config, environ, node, data) as worker:
                    gateway = GATEWAY in config.roles
                    await door.open(
                        make_app(
                            node, accept=accept, gateway=gateway, locks=locks_of(config, tls=tls is not None)
                        )
                    )
                    await either(node.ready, stop)
                    if not stop.is_set():
                        url = url_of(config.host, door.port, tls=tls is not None)
                        members = len(node.membership.members)
                        took_s = time.monotonic() - began
                        ready = Ready(node.me.name, address, url, config.cluster, members, took_s)
                        await _welcome_until(stop, ready, welcome)
                    await _leave(config, node, door, worker)
                await node.logbook.drain(LAST_LINES_S)
                with contextlib.suppress(LeasesAway, TimeoutError):
                    async with asyncio.timeout(LEAVE_S):
                        await leases.leave()
                if showing is not None:
                    showing.cancel()
                    await token.end()
                holding.cancel()
    log.info("stopped")


async def _leave(config: NodeConfig, node: Node, door: Door, worker: LocalWorker | None) -> None:
    """Hand everything over while requests are still answered, let steps end, then close the door."""
    clock = asyncio.get_running_loop().time
    began = clock()
    log.info("stopping: shards are handed over", extra={"shards": len(node.membership.mine())})
    if worker is not None:
        worker.slots = 0
    door.leaving()
    try:
        async with asyncio.timeout(DRAIN_S):
            await node.drain()
    except TimeoutError:
        log.warning("not every shard could be handed over", extra={"shards": len(node.membership.mine())})
    if worker is not None:
        await let_end(worker, config.grace_s)
    # Clients that keep their connections are told with each answer to come on another one.
    await asyncio.sleep(max(0.0, began + LINGER_S - clock()))
    await door.shut()


class Door:
    """An address that is ours from the start, and what is behind it, which may change."""

    def __init__(self, listening: socket.socket, tls: ServerTls | None, book: Book) -> None:
        self._listening = listening
        self._tls = tls
        self._book = book
        self._runner: web.AppRunner | None = None
        self._app: web.Application | None = None
        self._kept: list[web.RequestHandler] = []  # connections from before we were told to leave
        self.port = int(listening.getsockname()[1])

    async def open(self, app: web.Application) -> None:
        """From now on this answers; whoever came for what was there before is answered by that."""
        before = self._runner
        opened = await serve_on(app, self._listening.dup(), tls=self._tls, book=self._book)
        self._runner, self._app = opened, app
        if before is not None:
            await before.cleanup()

    def leaving(self) -> None:
        """Probes say so: no new clients shall be sent here. From now on a connection ends with its answer."""
        if self._app is not None and GATE in self._app:
            self._app[GATE].probes.stopping = True
            self._kept = self._connections()

    async def shut(self) -> None:
        """Nobody new comes in; requests in flight are answered, and links to other nodes stay for that."""
        self._listening.close()
        if self._runner is not None and self._app is not None:
            for site in list(self._runner.sites):
                await site.stop()
            if GATE in self._app:
                await self._answered(self._app[GATE], self._app)

    async def _answered(self, gateway: Gateway, app: web.Application) -> None:
        """Connections that were kept and are idle end; who has just come in may say what it wants.

        What came later over one of them could reach no other node any more.
        """
        await gateway.close(app)
        for connection in gateway.silent(self._kept):
            if connection.transport is not None:
                connection.transport.close()  # its own `close` would make it deaf, and leave it open
        for n in range(round(SHUTDOWN_S / LOOK_S)):
            silent = gateway.silent(self._connections()) if n * LOOK_S < SPEAK_S else []
            if not gateway.busy and not silent:
                return
            await asyncio.sleep(LOOK_S)

    def _connections(self) -> list[web.RequestHandler]:
        server = None if self._runner is None else self._runner.server
        return [] if server is None else server.connections

    async def close(self) -> None:
        runner, self._runner = self._runner, None
        self._listening.close()
        if runner is not None:
            await runner.cleanup()


async def _listening(config: NodeConfig) -> socket.socket:
    try:
        return await listen(config.host, config.port)
    except PortTaken as taken:
        another = join_address(config.host, taken.another)
        raise CannotStart(f"{taken.told}; stop it, or choose another one with --listen {another}") from None
    except OSError as error:
        here = join_address(config.host, config.port)
        advice = "name an address of this machine with --listen"
        raise CannotStart(f"cannot listen on {here}: {error.strerror}; {advice}") from None


def _folder(config: NodeConfig, address: str) -> Path | None:
    """Where steps will work, for us alone; None if there will be no worker."""
    if config.slots == 0 or ENGINE not in config.roles:
        return None
    folder = config.folder(config.called(address))
    try:
        folder.mkdir(0o700, parents=True, exist_ok=True)
    except OSError as error:
        advice = "name another folder with --data"
        raise CannotStart(f"the data folder {folder} cannot be made: {error.strerror}; {advice}") from None
    return folder.resolve()


def _waiting_room() -> web.Application:
    """While the database is away: alive, and not ready."""

    async def alive(_: web.Request) -> web.Response:
        return web.Response(text="live\n")

    async def unready(_: web.Request) -> web.Response:
        return web.Response(text="starting: waiting for the database\n", status=503)

    async def starting(request: web.Request) -> web.Response:
        waits = Unavailable("this node is starting and waits for its database; nothing was done, try again")
        return refusal(request.path, waits, secrets.token_hex(6))

    app = web.Application()
    app.router.add_route("GET", "/health/live", alive)
    app.router.add_route("GET", "/health{probe:(/.*)?}", unready)
    app.router.add_route("*", "/{path:.*}", starting)
    return app


async def _when_there(
    stop: asyncio.Event, work: Callable[[], Coroutine[None, None, tuple[PostgresStore, PostgresLeases]]]
) -> tuple[PostgresStore, PostgresLeases] | None:
    """Wait for the database as long as it takes; None if we are told to stop first."""
    wait_s, told, told_at = AGAIN_S, "", 0.0
    while not stop.is_set():
        try:
            return await work()
        except (DatabaseAway, StoreBusy, StoreUnknown) as error:
            if str(error) != told or time.monotonic() - told_at >= TELL_S:
                told, told_at = str(error), time.monotonic()
                log.warning("waiting for the database", extra={"reason": told})
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait_s):
                await stop.wait()
        wait_s = min(2 * wait_s, AGAIN_MAX_S)
    return None


async def _open(
    stack: contextlib.AsyncExitStack, place: Place, config: NodeConfig, strategy: Strategy
) -> tuple[PostgresStore, PostgresLeases]:
    async with contextlib.AsyncExitStack() as opening:
        store = await PostgresStore.open(place)
        opening.push_async_callback(store.close)
        settings = leases_postgres.ClusterSettings(config.cluster, config.shards, config.strategy)
        leases = await PostgresLeases.open(place, settings)
        opening.push_async_callback(leases.close)
        await _check_strategy(store, config, strategy)
        await stack.enter_async_context(opening.pop_all())
    return store, leases


async def _check_strategy(store: PostgresStore, config: NodeConfig, strategy: Strategy) -> None:
    """The same name may hide other code: what it answers must be the same on every node."""
    print_ = strategies.fingerprint(strategy, config.shards)
    if await store.setting("strategy fingerprint", print_) != print_:
        raise CannotStart(
            f"the strategy {config.strategy} answers otherwise here than on the node that began the cluster; "
            "run the same code on every node (a strategy may depend on nothing but the id)"
        )


def _node(
    config: NodeConfig,
    environ: Mapping[str, str],
    strategy: Strategy,
    custom: Functions,
    store: PostgresStore,
    leases: PostgresLeases,
    registry: PostgresRegistry,
    address: str,
    trust: ClientTls | None,
    post: WebhookPost,
    token: NodeToken,
) -> tuple[Node, Handler]:
    """The node, and what takes other nodes in."""
    links: list[WebsocketPeers] = []

    def peers(host: Host) -> WebsocketPeers:
        links.append(
            WebsocketPeers(
                host,
                secret=leases.secret,
                level=versions.LEVEL,
                trust=None if trust is None else lambda: trust.context,
                certificates=config.tls_client_ca is not None,
                token=lambda: token.text,
            )
        )
        return links[0]

    member = Member(
        id=new_id(),
        name=config.called(address),
        address=address,
        roles=config.roles,
        level=versions.LEVEL,
        version=__version__,
    )
    probe = Probe(
        overload_cpu=config.overload_cpu,
        overload_memory=config.overload_memory,
        refuse_memory=config.refuse_memory,
    )
    node = Node(
        store,
        _settings(config, strategy, environ),
        leases=leases,
        registry=registry,
        peers=peers,
        member=member,
        wall=time.time,
        chance=random.Random(),
        monotonic=time.monotonic,
        probe=probe,
        keyring=post.keyring,
        post=post,
        custom=custom,
        task_key=task_tokens.key_of(leases.secret),
    )
    return node, links[0].accept


def _settings(config: NodeConfig, strategy: Strategy, environ: Mapping[str, str]) -> NodeSettings:
    return NodeSettings(
        shards=config.shards,
        shard_of=strategy.of,
        cluster_name=config.cluster,
        run_prefix=partial(strategies.run_prefix, strategy),
        retention_s=config.retention_s,
        namespace_tasks=config.namespace_tasks,
        token_tasks=config.token_tasks,
        logs=_log_bounds(config),
        cluster=ClusterSettings(
            threshold=config.rebalance_threshold,
            at_once=config.rebalance_at_once,
            check_s=config.rebalance_check_s,
        ),
        shard=Settings(
            idle_s=config.idle_s,
            live_max=max(1, config.live_max // config.shards),
            snapshot_every=config.snapshot_every,
            delete_on_snapshot=config.delete_on_snapshot,
            **loss_settings(config),
        ),
        fleet=FleetSettings(**fleet_settings(config, environ)),
    )


def _log_bounds(config: NodeConfig) -> Bounds:
    return Bounds(lines=config.log_lines, bytes=config.log_bytes)


@contextlib.asynccontextmanager
async def _worker(
    config: NodeConfig, environ: Mapping[str, str], node: Node, data: Path | None
) -> AsyncIterator[LocalWorker | None]:
    if data is None:
        yield None
        return
    async with employed(
        node,
        id=WorkerId(node.me.name),
        slots=config.slots,
        capabilities=config.capabilities,
        folders=[*folders_of(config.app), data],
        data=data,
        environ=environ,
        log_bounds=_log_bounds(config),
        http_rule=reach.for_steps(config),
        code=tools_of(config, environ),
        files=config.files,
    ) as worker:
        yield worker


async def _welcome_until(stop: asyncio.Event, ready: Ready, welcome: Welcome) -> None:
    extra = {
        "node": ready.name, "url": ready.url, "cluster": ready.cluster, "nodes": ready.nodes,
        "took_s": round(ready.took_s, 3), "pid": os.getpid(),
    }  # fmt: skip
    log.info("ready", extra=extra)
    async with asyncio.TaskGroup() as group:
        greeting = group.create_task(welcome(ready), name="welcome")
        await stop.wait()
        greeting.cancel()
