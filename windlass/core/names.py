"""The identifiers everything else is spelled with."""

from __future__ import annotations

import hashlib
import re
from typing import Literal, NamedTuple, NewType, get_args

RunId = NewType("RunId", str)
WorkflowId = NewType("WorkflowId", str)
StepId = NewType("StepId", str)
Attempt = NewType("Attempt", int)
WorkerId = NewType("WorkerId", str)
SessionId = NewType("SessionId", str)  # one connection of a worker; a newer one closes the older

Kind = Literal["run", "workflow", "limit"]
KINDS: tuple[Kind, ...] = get_args(Kind)
DEFAULT_NAMESPACE = "default"
NAMESPACE = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?")  # how one is spelled, all of it


class Key(NamedTuple):
    """An entity's full name: kinds and namespaces never collide."""

    kind: Kind
    namespace: str
    id: str

    def text(self) -> str:
        return f"{self.kind}/{self.namespace}/{self.id}"

    @classmethod
    def parse(cls, text: str) -> Key:
        name, namespace, ident = text.split("/", 2)
        kind = next((kind for kind in KINDS if kind == name), None)
        assert kind is not None, f"{text!r} names no kind of entity"
        return cls(kind, namespace, ident)


def run_key(run: str, namespace: str = DEFAULT_NAMESPACE) -> Key:
    return Key("run", namespace, run)


def workflow_key(workflow: str, namespace: str = DEFAULT_NAMESPACE) -> Key:
    return Key("workflow", namespace, workflow)


def limit_key(limit: str, namespace: str = DEFAULT_NAMESPACE) -> Key:
    return Key("limit", namespace, limit)


def child_id(at: float, parent: Key, step: str, attempt: int) -> RunId:
    """The id of a run that another has begun: the same however often it is begun."""
    digest = hashlib.sha256(f"{parent.text()}\n{step}\n{attempt}".encode()).hexdigest()
    return RunId(f"exec_{int(at * 1000):012x}{digest[:16]}")


def run_id(now_s: float, chance: int, prefix: str = "") -> RunId:
    """A time-ordered run id: neighbours in time are neighbours in the journal's keys.

    The prefix is the strategy's (see strategies.run_prefix): it puts the run with its kind.
    """
    return RunId(f"{prefix}exec_{int(now_s * 1000):012x}{chance & 0xFFFFFFFFFFFF:012x}")
