"""Taking a code task in: is there anybody who could run it, is there room, was the same run before?"""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import msgspec

from windlass.core import document, roles, secret_refs
from windlass.core.birthplace import at_home
from windlass.core.code_request import CodeRequest
from windlass.core.commands import StartRun
from windlass.core.definition import Definition
from windlass.core.errors import Fault, Invalid, Unknown
from windlass.core.execution_task import PREFIX, task_id
from windlass.core.names import Key, WorkflowId, run_key
from windlass.core.needs import CODE, needs
from windlass.core.task import Json
from windlass.core.task_fold import WORKFLOW
from windlass.engine.definitions import OWN
from windlass.engine.node import Node
from windlass.gateway import answers, lock, storable, task_views
from windlass.gateway.callers import Caller
from windlass.gateway.quota import Quota
from windlass.gateway.starts import DRAWS_MAX
from windlass.gateway.task_errors import (
    CLIENTS_AFTER_S,
    NO_CLIENTS,
    TOO_OLD,
    TaskProblem,
)
from windlass.journal import RunRow

LEVEL: Final = 3  # of a cluster whose nodes all know runs that bring their document along
SUFFIXES_MAX: Final = 20  # tasks of one content in the same span of time that are of no use to others
# How a program itself may end: the next one of the same content would end the same way.
OWN_DOING: Final = frozenset(
    {
        "ExitCode", "Signal", "CompileError", "TimeLimit", "CpuLimit", "MemoryLimit", "DiskLimit",
        "OutputLimit", "InodeLimit",
    }
)  # fmt: skip


class Begun(NamedTuple):
    key: Key
    known: bool  # it was there before
    cached: bool


@dataclass(slots=True)
class TaskStarts:
    node: Node
    quota: Quota
    queue_max: int
    chance: random.Random = field(default_factory=random.SystemRandom)

    async def choose(self, asked: CodeRequest, namespace: str, once: str | None) -> Begun:
        """The id that the task has: named by the client's key, by its content, or new."""
        self._check_callback(asked)
        if once is not None:
            key = run_key(f"{PREFIX}{_digest(once.encode())[:24]}", namespace)
            return Begun(key, known=await self._row(key) is not None, cached=False)
        if asked.cache_s:
            return await self._cached(asked, namespace)
        return Begun(run_key(self._new_id(), namespace), known=False, cached=False)

    async def start(self, begun: Begun, asked: CodeRequest, caller: Caller, once: str | None) -> None:
        """Start it, unless it was; raises Refused if the same key stood for another request."""
        limited = True
        if not begun.known:
            limited = self._placed(asked, begun.key.namespace)
            await self.quota.admit(caller, [begun.key])
        told = asked.document(limited=limited)
        command = StartRun(
            workflow=WorkflowId(WORKFLOW),
            version=OWN,
            document_hash=document.digest(told),
            request_hash=_request_hash(asked, shared=bool(asked.cache_s) and once is None),
            input={"metadata": asked.metadata} if asked.metadata else None,
            priority=asked.priority,
            labels=asked.labels,
            by=caller.name,
            document=told,
            callback=asked.callback,
            callback_secret=asked.callback_secret,
            fresh=once is None and not asked.cache_s,
            at=self.node.clock.now(),
        )
        try:
            await self.node.router.send(begun.key, command)
        except Unknown as error:
            # Whoever asks again with the same key starts nothing twice.
            raise answers.about(error, taskId=begun.key.id) from None

    def check_secrets(self, asked: CodeRequest, caller: Caller) -> None:
        """A program that has a secret can print it: who may only start runs may not write one that does."""
        if secret_refs.names(asked.program) and not roles.may(caller.role, "operate"):
            wanted = " or ".join(roles.holders("operate"))
            raise lock.forbidden(
                f"the task refers to secrets; that needs a token with the role {wanted}, "
                f"and this one has the role {caller.role}"
            )

    def estimate_s(self, language: str) -> float | None:
        """How long it may take until a result is there, by what was measured here; None: nothing was."""
        usual_s = self.node.stats.code.usual_s(language)
        if usual_s is None:
            return None
        dispatcher = self.node.dispatcher
        return usual_s * (1 + self._waiting() / max(1, dispatcher.free + len(dispatcher.held_here)))

    def _check_callback(self, asked: CodeRequest) -> None:
        if not asked.callback:
            return
        why = self.node.herald.post.why_not(asked.callback)
        if why:
            raise Invalid("the request has a fault", [Fault("/callbackUrl", why)])
        if asked.cache_s:
            words = "a result that is there already is answered and told to nobody; leave out `cache`"
            raise Invalid("the request has a fault", [Fault("/callbackUrl", words)])

    def _placed(self, asked: CodeRequest, namespace: str) -> bool:
        """Whether it runs under limits. Raises a TaskProblem if nobody can run it, or too many wait."""
        if self.node.membership.level < LEVEL:
            words = "a node of the cluster is too old to know of code tasks; try again when all are updated"
            raise TaskProblem(TOO_OLD, words, retry_after_s=CLIENTS_AFTER_S)
        able = self.node.fleet.dispatcher.choosing.can_run
        limited = document.read_literally(asked.document())
        if not able(_needs(limited), namespace):
            # Clients of the oldest dialects know of no limits: they do where nothing was said of any.
            plain = document.read_literally(asked.document(limited=False)) if asked.modest else None
            if plain is None or not able(_needs(plain), namespace):
                raise _nobody(limited, asked)
        waiting = self._waiting()
        if waiting >= self.queue_max:
            words = f"{waiting} tasks wait for a client already; nothing was kept, try again later"
            raise TaskProblem(NO_CLIENTS, words, retry_after_s=CLIENTS_AFTER_S)
        return able(_needs(limited), namespace)

    def _waiting(self) -> int:
        return self.node.dispatcher.table.queues.count(CODE)

    async def _cached(self, asked: CodeRequest, namespace: str) -> Begun:
        """Ids are made of the content and a span of time: whoever starts such a run finds the one that is."""
        now, content = self.node.clock.now(), asked.content()
        span = int(now // asked.cache_s)
        for number in (span - 1, span):
            named = f"{PREFIX}{_digest(content, b'%r %d' % (asked.cache_s, number))[:40]}"
            for suffix in range(1, SUFFIXES_MAX + 1):
                key = run_key(named if suffix == 1 else f"{named}_{suffix}", namespace)
                row = await self._row(key)
                if row is None and number == span:
                    return Begun(key, known=False, cached=False)
                if row is None:
                    break
                if _is_of_use(row) and row.started_at >= now - asked.cache_s:
                    return Begun(key, known=True, cached=True)
        return Begun(run_key(self._new_id(), namespace), known=False, cached=False)

    async def _row(self, key: Key) -> RunRow | None:
        return await self.node.store.run(self.node.shard_of(key.id), key)

    def _new_id(self) -> str:
        """Of a shard that is here, if this node keeps what is asked of it."""
        membership, now = self.node.membership, self.node.clock.now()
        draws = DRAWS_MAX if at_home(membership.me.id, membership.members) else 1
        for _ in range(draws):
            run = task_id(now, self.chance.getrandbits(48))
            if self.node.router.shard(self.node.shard_of(run)) is not None:
                break
        return run


def _is_of_use(row: RunRow) -> bool:
    """Whether it tells what the program does: it is at it, has ended, or failed by its own doing."""
    if row.purged or row.status == "stuck":
        return False
    kind, _ = task_views.failure_of(row)
    return row.status not in ("failed", "cancelled") or kind in OWN_DOING


def _needs(definition: Definition) -> frozenset[str]:
    (step,) = definition.steps
    return needs(step)


def _nobody(definition: Definition, asked: CodeRequest) -> TaskProblem:
    wanted = ", ".join(sorted(_needs(definition)))
    name = f"{asked.language} {asked.program.get('version', '')}".strip()
    words = f"All client nodes are busy or offline: none that is well can run {name} (it needs {wanted})"
    return TaskProblem(NO_CLIENTS, words, retry_after_s=CLIENTS_AFTER_S)


def _request_hash(asked: CodeRequest, *, shared: bool) -> str:
    """The same for the same request. A result that is `shared` has requests of many: its content counts."""
    if shared:
        return _digest(asked.content())
    others: list[Json] = [
        asked.priority, asked.metadata, asked.callback, asked.callback_secret, asked.retries,
        asked.queue_timeout_s,
    ]  # fmt: skip
    encoded = msgspec.json.encode(others, order="sorted")
    flaw = storable.flaw(encoded)
    if flaw is not None:
        raise Invalid("the request has a fault", [Fault("/metadata", flaw)])
    return _digest(asked.content(), encoded)


def _digest(*parts: bytes) -> str:
    return hashlib.sha256(b"\n".join(parts)).hexdigest()
