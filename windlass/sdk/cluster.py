"""The part of the client that is about the cluster: nodes, shards, workers, and how those are chosen."""

from __future__ import annotations

from typing import Literal

from windlass.core.task import Json
from windlass.sdk.sending import API, Sending, encoded, path_to

WorkerOrder = Literal["drain", "pause", "resume", "kick"]


class Cluster(Sending):
    """Mixed into `Client`."""

    __slots__ = ()

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
        return self._send("POST", path_to("cluster", "nodes", node, "drain"), encoded({}))

    # Workers.

    def workers(self) -> Json:
        """Who runs tasks: {items: [{id, node, state, slots, active, tasks, …}], counts, asOf}."""
        return self._send("GET", f"{API}/workers")

    def worker(self, worker: str) -> Json:
        return self._send("GET", path_to("workers", worker))

    def order_worker(self, worker: str, order: WorkerOrder) -> Json:
        """Drain, pause, resume or kick it: the worker as it is now."""
        return self._send("POST", path_to("workers", worker, order), encoded({}))

    def assignment(self) -> Json:
        """How workers are chosen: {strategy, load, weights, …, configured, setBy, switches}."""
        return self._send("GET", f"{API}/assignment")

    def set_assignment(self, /, strategy: str | None = None, **others: Json) -> Json:
        """Choose them otherwise from the next task on, on all nodes. What is not said stays as it is."""
        asked = {**others} if strategy is None else {"strategy": strategy, **others}
        return self._send("PUT", f"{API}/assignment", encoded(asked))

    def reset_assignment(self) -> Json:
        """Choose them as it is configured."""
        return self._send("DELETE", f"{API}/assignment")

    def placement(self, run: str, step: str) -> Json:
        """Who could have a step that waits, or why its worker had it: {strategy, key, count, top, …}."""
        return self._send("GET", path_to("runs", run, "steps", step, "placement"))
