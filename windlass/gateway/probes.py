"""Health and metrics: for people, for load balancers, for Prometheus."""

from __future__ import annotations

import asyncio
from importlib import metadata
from typing import Final

import msgspec
from aiohttp import web

from windlass.engine.node import Node
from windlass.gateway import answers, metrics
from windlass.gateway.shapes import Health, Probe

DISTRIBUTION: Final = "windlass"


class Probes:
    def __init__(self, node: Node) -> None:
        self.node = node
        self.metrics = metrics.Metrics(node)
        self.stopping = False
        self._clock = asyncio.get_running_loop().time
        self._began = self._clock()
        self.version = _version()

    async def health(self, request: web.Request) -> web.Response:
        status, code = self._status()
        health = Health(
            status=status,
            version=self.version,
            uptime_seconds=round(self._clock() - self._began, 3),
            shards_open=len(self.node.router.shards()),
            shards=self.node.settings.shards,
            journal="busy" if self.node.committer.tally.busy else "writable",
            node=self.node.me.name,
            cluster=self.node.settings.cluster_name,
            members=len(self.node.membership.members),
            lease="fresh" if self.node.membership.fresh else "stale",
        )
        if _wants_json(request):
            return answers.json(health, code)
        return answers.text(_told(health), code)

    async def ready(self, request: web.Request) -> web.Response:
        return _probe(request, *self._status())

    async def live(self, request: web.Request) -> web.Response:
        return _probe(request, "live", 200)

    async def show_metrics(self, _request: web.Request) -> web.Response:
        return web.Response(body=self.metrics.text(), headers={"Content-Type": metrics.CONTENT_TYPE})

    def _status(self) -> tuple[str, int]:
        if self.stopping:
            return "stopping", 503
        if not self.node.ready.is_set():
            return "starting", 503
        membership = self.node.membership
        if membership.me.state == "leaving":
            return "draining", 503
        if not membership.fresh:
            return f"lease stale: no beat for {membership.beat_age_s:.1f} s", 503
        reason = self.node.committer.tally.busy
        return (f"journal busy: {reason}", 503) if reason else ("ready", 200)


def _told(health: Health) -> str:
    return (
        f"{health.status}\n"
        f"version {health.version}\n"
        f"uptime {health.uptime_seconds:.0f} s\n"
        f"shards {health.shards_open} of {health.shards} open\n"
        f"journal {health.journal}\n"
        f"node {health.node} of cluster {health.cluster}\n"
        f"members {health.members}\n"
        f"lease {health.lease}\n"
    )


def _probe(request: web.Request, status: str, code: int) -> web.Response:
    if _wants_json(request):
        return answers.json(msgspec.to_builtins(Probe(status=status)), code)
    return answers.text(f"{status}\n", code)


def _wants_json(request: web.Request) -> bool:
    return answers.JSON_TYPE in request.headers.get("Accept", "")


def _version() -> str:
    try:
        return metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:  # a checkout that nobody installed
        return "unknown"
