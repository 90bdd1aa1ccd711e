"""Workers over HTTP: who there is and how they do, orders to one of them, and how they are chosen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, Literal, get_args

import msgspec
from aiohttp import web

from windlass.core.assign.policy import STRATEGIES, Policy
from windlass.core.errors import Fault, Invalid, NotFound, Unavailable, Unknown
from windlass.core.fleet import Status, Told
from windlass.core.names import WorkerId
from windlass.core.roles import EVERYWHERE
from windlass.engine.node import Node
from windlass.gateway import answers, callers, guard, views
from windlass.gateway.answers import Problem
from windlass.gateway.fleet_shapes import (
    Assignment,
    AssignmentAsked,
    AssignmentRules,
    AssignmentSwitch,
    AssignmentWeights,
    Worker,
    Workers,
    WorkerTask,
)

Order = Literal["drain", "pause", "resume", "kick"]
ORDERS: Final[tuple[Order, ...]] = get_args(Order)

_decoder: Final = msgspec.json.Decoder(AssignmentAsked)
# What a request calls the fields of a policy, where that is not the same.
_ASKED_AS: Final = {"trip_max_s": "trip_max_seconds", "hold_s": "hold_seconds"}


@dataclass(frozen=True, slots=True)
class Fleet:
    node: Node

    async def index(self, request: web.Request) -> web.Response:
        found = await self._seen_by(request)
        counts = Counter(told.status for told in found)
        return answers.json(
            Workers(
                items=[self._worker(told, request) for told in found],
                counts={status: counts[status] for status in get_args(Status)},
                as_of=views.iso(self.node.clock.now()),
            )
        )

    async def read(self, request: web.Request) -> web.Response:
        return answers.json(self._worker(await self._find(request), request))

    def order(self, order: Order) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def handler(request: web.Request) -> web.Response:
            worker = WorkerId(request.match_info["worker"])
            try:
                told = await self.node.fleet.order(worker, order)
            except Unavailable as error:  # its node may have heard us
                raise Unknown(f"{error}; look at the worker, or ask again: twice is the same") from None
            return answers.json(self._worker(told, request))

        return handler

    # How they are chosen.

    async def assignment(self, _request: web.Request) -> web.Response:
        return answers.json(self._assignment())

    async def assign(self, request: web.Request) -> web.Response:
        body, kind = await request.read(), guard.kind_of(request.headers.get("Content-Type"))
        return await self._set(request, _changed(self.node.fleet.assignment.policy, _asked(body, kind)))

    async def reset(self, request: web.Request) -> web.Response:
        """What is configured holds again."""
        return await self._set(request, None)

    async def _set(self, request: web.Request, policy: Policy | None) -> web.Response:
        callers.about(request, "assignment/" + ("configured" if policy is None else policy.strategy))
        try:
            await self.node.fleet.assign(policy, callers.of(request).who)
        except Invalid as invalid:
            faults = [Fault(_pointer(fault.pointer), fault.message) for fault in invalid.faults]
            raise Invalid(str(invalid), faults) from None
        return answers.json(self._assignment())

    def _assignment(self) -> Assignment:
        found = self.node.fleet.assignment
        policy = found.policy
        return Assignment(
            strategy=policy.strategy,
            load=policy.load,
            weights=AssignmentWeights(**msgspec.structs.asdict(policy.weights)),
            memory_weight=policy.memory_weight,
            fit=policy.fit,
            adaptive=AssignmentRules(
                **{
                    _ASKED_AS.get(name, name): value
                    for name, value in msgspec.structs.asdict(policy.adaptive).items()
                }
            ),
            configured=found.usual.strategy,
            set_by=found.set_by or None,
            set_at=None if found.set_at is None else views.iso(found.set_at),
            strategies=list(STRATEGIES),
            switches=[
                AssignmentSwitch(at=views.iso(each.at), before=each.before, after=each.after, why=each.why)
                for each in found.switches
            ],
        )

    # Workers, as the caller may see them.

    async def _seen_by(self, request: web.Request) -> list[Told]:
        """All of them for who is of all namespaces; else those that may work for the caller's own."""
        namespace = callers.of(request).namespace
        found = [
            told
            for told in await self.node.fleet.workers()
            if namespace == EVERYWHERE or not told.facts.namespaces or namespace in told.facts.namespaces
        ]
        return sorted(found, key=lambda told: (told.facts.id, not told.connected, told.silent_for_s))

    async def _find(self, request: web.Request) -> Told:
        """The one that is connected, if several lives of it are known."""
        worker = request.match_info["worker"]
        for told in await self._seen_by(request):
            if told.facts.id == worker:
                return told
        raise NotFound(f"there is no worker {worker}")

    def _worker(self, told: Told, request: web.Request) -> Worker:
        facts, namespace = told.facts, callers.of(request).namespace
        return Worker(
            id=facts.id,
            session=facts.session,
            node=self.node.membership.name(told.node),
            state=told.status,
            halt=told.halt,
            connected=told.connected,
            built_in=told.built_in,
            slots=facts.slots,
            active=told.active,
            cpu=round(told.cpu, 3),
            memory=round(told.memory, 3),
            success_rate=round(told.success, 3),
            results=round(told.results, 1),
            latency_seconds=round(told.latency_s, 4),
            round_trip_seconds=round(told.trip_s, 4),
            last_heartbeat=views.iso(self.node.clock.now() - told.silent_for_s),
            capabilities=sorted(facts.capabilities),
            labels=dict(facts.labels),
            namespaces=sorted(facts.namespaces),
            host=facts.host,
            host_group=facts.host_group,
            weight=facts.weight,
            program=facts.program,
            address=facts.address,
            connected_by=(told.by or None) if namespace == EVERYWHERE else None,
            tasks=[
                WorkerTask(namespace=whose, run_id=run, step=step, attempt=attempt)
                for whose, run, step, attempt in told.tasks
                if namespace in (EVERYWHERE, whose)
            ],
        )


# From what was asked for to a policy.


def _asked(body: bytes, kind: guard.Kind) -> AssignmentAsked:
    if kind != "json":
        raise Problem(415, "Unsupported media type", "an assignment comes as JSON; send application/json")
    try:
        asked = _decoder.decode(body)
    except msgspec.ValidationError as error:
        message, _, place = str(error).partition(" - at `$")
        raise _wrong(place.rstrip("`").replace(".", "/"), message) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise Problem(400, "Malformed request", "the body is no JSON") from None
    if asked == AssignmentAsked():
        raise _wrong("", "nothing is asked for; write e.g. {'strategy': 'load-balanced'}")
    if asked.strategy and asked.assignment_strategy and asked.strategy != asked.assignment_strategy:
        raise _wrong("/assignmentStrategy", "this is another one than `strategy`; write one of them")
    return asked


def _changed(policy: Policy, asked: AssignmentAsked) -> Policy:
    said = _said(asked)
    strategy = said.pop("assignment_strategy", None)
    said |= {} if strategy is None else {"strategy": strategy}
    if asked.weights is not None:
        said["weights"] = msgspec.structs.replace(policy.weights, **_said(asked.weights))
    if asked.adaptive is not None:
        given = _said(asked.adaptive)
        ours = {name: given[_ASKED_AS.get(name, name)] for name in policy.adaptive.__struct_fields__
                if _ASKED_AS.get(name, name) in given}  # fmt: skip
        said["adaptive"] = msgspec.structs.replace(policy.adaptive, **ours)
    return msgspec.structs.replace(policy, **said)


def _said(asked: msgspec.Struct) -> dict[str, object]:
    return {name: value for name, value in msgspec.structs.asdict(asked).items() if value is not None}


def _pointer(pointer: str) -> str:
    """As the request has it: /adaptive/trip_max_s is /adaptive/tripMaxSeconds."""
    parts = [_ASKED_AS.get(part, part) for part in pointer.split("/")]
    return "/".join(_camel(part) for part in parts)


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def _wrong(pointer: str, message: str) -> Invalid:
    return Invalid(f"the assignment cannot be set: {message}", [Fault(pointer, message)])
