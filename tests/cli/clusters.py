"""Clusters that are not there: servers that answer what a cluster would, as it is told."""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

AT = "2026-01-01T08:00:00Z"
DRAIN = re.compile("/api/v1/cluster/nodes/([^/]+)/drain")

Body = dict[str, Any]


@dataclass
class Pretended:
    """What is so, and what was asked. Each look at the nodes moves so many shards away from who leaves."""

    nodes: list[Body] = field(default_factory=list)
    events: list[Body] = field(default_factory=list)  # newest first
    ownerless: list[int] = field(default_factory=list)
    moves_per_look: int = 1
    exits: bool = False  # who has left answers no more
    answers_left: dict[str, int] = field(default_factory=dict)  # of nodes that die then
    asked: list[str] = field(default_factory=list)
    urls: dict[str, str] = field(default_factory=dict)  # by the names of nodes
    shards: int = 100

    def answer(self, name: str, method: str, url: str) -> tuple[int, Body] | None:
        """What the node of that name says; None: nothing, ever."""
        self.asked.append(f"{method} {url}")
        path = urlsplit(url).path
        query = {key: values[0] for key, values in parse_qs(urlsplit(url).query).items()}
        me = self.node(name)
        if name in self.answers_left:
            self.answers_left[name] -= 1
            me["state"] = "dead" if self.answers_left[name] < 0 else me["state"]
        if me["state"] == "dead" or (self.exits and me["state"] == "leaving" and not me["shards"]):
            return None
        if method == "POST":
            return self._drain(DRAIN.fullmatch(path))
        match path.removeprefix("/api/v1/cluster/"):
            case "nodes":
                self._move()
                return 200, {"nodes": [node | {"self": node is me} for node in self.nodes], "asOf": AT}
            case "stats":
                return 200, self._stats(me)
            case "shards":
                return 200, {"entityType": "Workflow", "shards": [self._shard(n) for n in range(self.shards)]}
            case "events":
                wanted = [e for e in self.events if query.get("type") in (None, e["type"])]
                return 200, {"events": wanted[: int(query["limit"])], "next": None}
        return 404, {"error": "NotFound", "message": f"nothing is at {path}"}

    def node(self, name: str) -> Body:
        return next(node for node in self.nodes if node["name"] == name)

    def _drain(self, found: re.Match[str] | None) -> tuple[int, Body]:
        assert found is not None
        node = self.node(found[1])
        if node["state"] != "up":
            return 409, {"error": "Refused", "message": f"{found[1]} is {node['state']} already"}
        node["state"] = "leaving"
        return 202, {"node": found[1], "state": "leaving"}

    def _move(self) -> None:
        up = [node for node in self.nodes if node["state"] == "up"]
        for node in self.nodes if up else []:
            if node["state"] == "leaving":
                moved = min(self.moves_per_look, node["shards"])
                node["shards"] -= moved
                up[0]["shards"] += moved

    def _stats(self, me: Body) -> Body:
        members = [{"address": n["address"], "status": n["state"], "roles": n["roles"]} for n in self.nodes]
        return {
            "clusterName": "windlass",
            "nodeCount": sum(node["state"] != "dead" for node in self.nodes),
            "leader": None,
            "selfAddress": me["address"],
            "selfRoles": me["roles"],
            "members": members,
            "sharding": {
                "totalShards": self.shards,
                "activeShards": self.shards - len(self.ownerless),
                "totalEntities": sum(node["entities"] for node in self.nodes),
            },
            "asOf": AT,
        }

    def _shard(self, number: int) -> Body:
        location = None if number in self.ownerless else self.nodes[0]["address"]
        return {"shardId": str(number), "location": location, "entityCount": 0, "epoch": 1, "lastUpdated": AT}


def node(name: str, shards: int = 0, state: str = "up", **more: Any) -> Body:
    load = {
        "cpu": 0.12,
        "memory": 0.4,
        "memoryBytes": 210_000_000,
        "live": 5,
        "inbox": 0,
        "slots": 16,
        "free": 13,
    }
    return {
        "id": f"{name}-1",
        "name": name,
        "address": "",
        "state": state,
        "roles": ["engine", "gateway"],
        "shards": shards,
        "entities": 10 * shards,
        "load": {**load, "overloaded": False, "short": False, **more.pop("load", {})},
        "startedAt": AT,
        "version": "0.1.0",
        **more,
    }


def event(type: str, **more: Any) -> Body:
    usual = {"number": 1, "at": AT, "startedAt": AT, "reason": "", "node": "", "source": "", "target": ""}
    rest: Body = {"shard": None, "status": "", "entities": 0, "listed": [], "downtimeSeconds": 0.0}
    return {"type": type, **usual, **rest, **more}


@contextmanager
def pretended(*nodes: Body, **more: Any) -> Iterator[Pretended]:
    """Every node answers at an address of its own."""
    cluster = Pretended(list(nodes), **more)
    running = []
    try:
        for each in cluster.nodes:
            server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(cluster, each["name"]))
            server.daemon_threads = True
            each["address"] = f"127.0.0.1:{server.server_address[1]}"
            cluster.urls[each["name"]] = f"http://{each['address']}"
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
            thread.start()
            running.append((server, thread))
        yield cluster
    finally:
        for server, thread in running:
            server.shutdown()
            server.server_close()
            thread.join(10)


def _handler(cluster: Pretended, name: str) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 5

        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            answer = cluster.answer(name, self.command, self.path)
            if answer is None:
                self.close_connection = True
                return
            status, content = answer
            raw = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        do_POST = do_GET

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return Handler
