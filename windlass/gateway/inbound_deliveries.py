"""The door for programs outside: a delivery that proves itself starts a run, or sends one a signal.

There is no login here: the secret of the hook is the login. Whether a name, a secret or a signature was wrong
is not told to who comes, only to the log.
"""

from __future__ import annotations

import logging
import random
import secrets
from dataclasses import dataclass, field
from typing import Final

from aiohttp import web
from msgspec.structs import replace

from windlass.core import inbound, inbound_proof
from windlass.core.commands import SignalRun, StartRun
from windlass.core.errors import Fault, Invalid, NotFound, Refused, Unavailable, Unknown
from windlass.core.inbound import ID, NAME, Delivery, InboundRule
from windlass.core.names import DEFAULT_NAMESPACE, NAMESPACE, Key, RunId, run_key, workflow_key
from windlass.core.signing import BadSignature
from windlass.core.vocabulary import ENDED
from windlass.engine.node import Node
from windlass.engine.reading import in_time
from windlass.gateway import (
    answers,
    bodies,
    callers,
    control_level,
    inbound_bodies,
    inbound_hooks,
    runs,
    starts,
)
from windlass.gateway.answers import Problem
from windlass.gateway.audit import Audit
from windlass.gateway.callers import Caller
from windlass.gateway.inbound_shapes import Taken
from windlass.gateway.lock import HEADER, Lock
from windlass.gateway.quota import Quota
from windlass.registry import AuditRow, InboundRow
from windlass.vault import Locked

log = logging.getLogger(__name__)

NAME_OF_ROUTE: Final = "receiveHook"
# The same words for all of them: who guesses learns nothing.
TURNED_AWAY: Final = (
    "nothing is taken here from who does not prove to know the hook's secret: its name, the secret or the "
    "signature is wrong, or it was sent too long ago"
)


@dataclass(slots=True)
class InboundDeliveries:
    node: Node
    quota: Quota
    lock: Lock
    audit: Audit
    chance: random.Random = field(default_factory=random.SystemRandom)
    _nobody: str = field(default_factory=lambda: secrets.token_hex(32))  # as the secret of no hook

    async def receive(self, request: web.Request) -> web.Response:
        inbound_bodies.check_length(request.content_length or 0)
        body = await request.read()
        inbound_bodies.check_length(len(body))
        row = await self._admitted(request, body)
        rule, delivery = inbound_hooks.rule_of(row), inbound_bodies.delivery(request, body)
        caller = Caller(f"hook {row.name}", "submit", row.namespace)
        callers.enter(request, caller, row.namespace)
        if not inbound.is_wanted(rule, delivery):
            event = inbound.event_of(delivery) or "no event at all"
            return answers.json(Taken(action=rule.action, run_id=None, ignored=f"it is about {event}"), 202)
        number = inbound.delivery_of(rule, delivery)
        if rule.action == "start":
            taken = await self._start(row, rule, delivery, number, caller)
        else:
            taken = await self._signal(row, rule, delivery, number, caller)
        await self._note(request, row, taken)
        return answers.json(taken, 202)

    async def _admitted(self, request: web.Request, body: bytes) -> InboundRow:
        """The hook that the delivery proves to be for. Raises a Problem, 401, or Unavailable."""
        name = request.match_info["hook"]
        namespace = request.headers.get(HEADER) or request.query.get("namespace") or DEFAULT_NAMESPACE
        row = None
        if NAME.fullmatch(name) and NAMESPACE.fullmatch(namespace):
            row = await in_time(self.node.registry.inbound(namespace, name))
        secret, check = self._nobody, inbound.CHECKS[0]
        if row is not None:
            check = inbound_hooks.rule_of(row).check
            try:
                secret = inbound_hooks.unsealed(self.node, row)
            except Locked as error:
                log.error("the secret of a hook cannot be opened", extra={"hook": name, "reason": str(error)})
                raise Unavailable("this node cannot check a secret now; try another") from None
        try:
            headers = inbound_bodies.small(request.headers)
            inbound_proof.verify(check, secret, headers, body, now=self.node.clock.now())
        except BadSignature as error:
            reason = "there is no such hook" if row is None else str(error)
            log.info("a delivery was turned away", extra={"hook": name[:100], "reason": reason})
            raise self.lock.failed(Problem(401, "Unauthorized", TURNED_AWAY), request.remote) from None
        assert row is not None, "nobody knows the secret of no hook"
        return row

    async def _start(
        self, row: InboundRow, rule: InboundRule, delivery: Delivery, number: str, caller: Caller
    ) -> Taken:
        workflow = workflow_key(rule.workflow, row.namespace)
        document = await starts.document_of(self.node, workflow, rule.version)
        inputs = self.node.definitions.add(row.namespace, document).inputs
        declared = frozenset() if inputs is None else frozenset(spec.name for spec in inputs.specs)
        asked = bodies.Asked(input=inbound.input_of(rule, delivery, declared), labels=rule.labels)
        command = starts.command(self.node, document, asked, caller, fresh=not number)
        key = self._key(row, command, number)
        if number:
            # Of the delivery alone: sent again, it has another time in its headers, or meets a newer version.
            command = replace(command, request_hash=inbound.digest(row.namespace, row.name, number))
        await self.quota.admit(caller, [key])
        try:
            reply = await self.node.router.send(key, command)
        except Unknown as error:
            raise answers.about(error, runId=key.id) from None
        return Taken(action="start", run_id=key.id, duplicate=not reply.changed)

    def _key(self, row: InboundRow, command: StartRun, number: str) -> Key:
        if not number:
            return run_key(starts.new_id(self.node, command, self.chance), row.namespace)
        prefix = self.node.settings.run_prefix(command.workflow)
        return run_key(
            RunId(f"{prefix}hook_{inbound.digest(row.namespace, row.name, number)[:24]}"), row.namespace
        )

    async def _signal(
        self, row: InboundRow, rule: InboundRule, delivery: Delivery, number: str, caller: Caller
    ) -> Taken:
        run = inbound.at(delivery, rule.run)
        if not isinstance(run, str) or not ID.fullmatch(run):
            told = f"`{rule.run}` holds no id of a run"
            raise Invalid(told, [Fault("", told)])
        unique = inbound.digest(row.namespace, row.name, number) if number else secrets.token_hex(16)
        command = SignalRun(
            id=f"hook {unique}",
            name=rule.signal or row.name,
            data=delivery.body,
            by=caller.name,
            at=self.node.clock.now(),
        )
        control_level.check(self.node)
        try:
            reply = await self.node.router.send(run_key(run, row.namespace), command)
        except Unknown as error:
            raise answers.about(error, runId=run) from None
        except NotFound:
            raise
        except Refused:
            return await self._late(run_key(run, row.namespace), command)
        return Taken(action="signal", run_id=run, duplicate=not reply.changed)

    async def _late(self, run: Key, command: SignalRun) -> Taken:
        """For a run that is deaf: the first time may have ended it. Sending it again would never help."""
        seen, _ = await runs.see(self.node, run)
        if seen.image is not None and command.id in seen.image.seen:
            return Taken(action="signal", run_id=run.id, duplicate=True)
        if seen.row.status not in ENDED:
            raise Refused(f"the run {run.id} takes no more signals now")
        return Taken(action="signal", run_id=run.id, ignored=f"the run has ended: {seen.row.status}")

    async def _note(self, request: web.Request, row: InboundRow, taken: Taken) -> None:
        if self.audit.everything:
            line = AuditRow(
                at=self.node.clock.now(),
                who=f"hook {row.name}",
                namespace=row.namespace,
                act=NAME_OF_ROUTE,
                thing=f"run/{taken.run_id}",
                address=request.remote or "",
                outcome=202,
                request=answers.REQUEST_ID.get(),
            )
            await self.audit.write(line, wait=False)
