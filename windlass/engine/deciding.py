"""What each letter means: from here to the append nothing awaits."""

from __future__ import annotations

from typing import assert_never

import msgspec

from windlass.core import limit_key
from windlass.core import run as run_core
from windlass.core import workflow as workflow_core
from windlass.core.commands import (
    AskPermit,
    Command,
    DefineWorkflow,
    LimitCommand,
    ReturnPermit,
    RunCommand,
    StartRun,
    Wake,
    WorkflowCommand,
)
from windlass.core.errors import NotFound, Refused, Stuck, WindlassError
from windlass.core.events import AnyEvent
from windlass.core.limit_key import LimitKey
from windlass.core.names import Key, WorkflowId
from windlass.core.orders import Free, Holds, Nudged, Purge, Read, Refresh, Reply, Sleep, Strand
from windlass.core.run_model import Run
from windlass.core.workflow import Workflow
from windlass.engine.batch import Batch
from windlass.engine.definitions import own
from windlass.engine.errands import Errands
from windlass.engine.letters import Letter
from windlass.engine.live import Live
from windlass.engine.memory import Found, Memory
from windlass.engine.surroundings import Surroundings
from windlass.journal import RunRow, StuckRow


class Deciding:
    def __init__(self, around: Surroundings, memory: Memory, errands: Errands) -> None:
        self._around = around
        self._memory = memory
        self._errands = errands

    def decide(self, batch: Batch, letter: Letter, found: dict[Key, Found], *, alone: bool) -> None:
        if letter.key in batch.broken:
            batch.again.append(letter)
            return
        letter.failure = letter.answer = None
        try:
            self._perform(batch, letter, found.get(letter.key))
        except WindlassError as refusal:
            letter.failure = refusal
        except Exception as error:  # whatever core code raises stays with its entity
            busy = letter.key.kind == "run" or self._memory.has_alarm(letter.key)
            again = busy or isinstance(letter.order, Wake)
            self._memory.forget(letter.key)
            batch.drop(letter.key)
            if not alone:
                batch.again.append(letter)
            elif isinstance(error, UnicodeError | OverflowError):
                letter.failure = Refused(f"this cannot be written down: {error}")
            else:
                letter.failure = self._memory.broke(letter.key, error, again=again)

    def _perform(self, batch: Batch, letter: Letter, found: Found | None) -> None:
        key, order = letter.key, letter.order
        live = self._memory.get(key)
        match order:
            case Read():
                if live is None:
                    letter.answer = _absent(key, found)
                else:
                    batch.touch(live)
                    batch.reads.append(letter)
            case Sleep():
                if live is not None:
                    self._put_to_sleep(batch, live)
                letter.answer = Reply(0, "asleep")
            case Strand(error=error):
                if live is not None:  # somebody wrote to it meanwhile, and so it was read once more
                    self._memory.forget(key)
                    batch.drop(key)
                batch.stranded.append(StuckRow(key=key, since=self._around.clock.now(), error=error))
                if key in batch.known:
                    batch.rows.append(_set_aside(batch.known[key], error))
                letter.answer = Reply(0, "stuck")
            case Free():
                if not isinstance(found, StuckRow):
                    raise _not_stuck(key, live, found)
                batch.freed.append(key)
                batch.relieved.append(found)
                if key in batch.known:
                    batch.rows.append(msgspec.structs.replace(batch.known[key], status="running", error=""))
                letter.answer = Reply(0, "freed")
            case Refresh():
                if live is not None and isinstance(live.entity, Run):
                    batch.touch(live).rewrites = True
                letter.answer = Reply(0, "refreshed")
            case Nudged(errand=errand):
                self._errands.nudge(key, errand)
                letter.answer = Reply(0, "nudged")
            case Holds(number=number):
                held = live is not None and run_core.holds(live.run, number)
                letter.answer = Reply(
                    0, "held" if held or isinstance(found, Exception | StuckRow) else "gone"
                )
            case Purge():
                if isinstance(found, RunRow):
                    batch.purged.append(key)
                letter.answer = Reply(0, "purged")
            case _:
                self._obey(batch, letter, order, live, found)

    def _obey(
        self, batch: Batch, letter: Letter, order: Command, live: Live | None, found: Found | None
    ) -> None:
        if live is None:
            live = self._create(letter, order, found)
            if live is None:
                return
        events: list[AnyEvent] = []
        version, status, reason = 0, "", ""
        match live.entity:
            case Run() as run:
                assert isinstance(order, RunCommand), f"a run was sent {order!r}"
                events += run_core.perform(run, order)
            case Workflow() as workflow:
                assert isinstance(order, WorkflowCommand), f"a workflow was sent {order!r}"
                events += workflow_core.perform(workflow, order, WorkflowId(live.key.id))
                version = workflow.version
            case LimitKey() as limit:
                assert isinstance(order, LimitCommand), f"a limit was sent {order!r}"
                events += limit_key.perform(limit, order)
                if isinstance(order, AskPermit | ReturnPermit):
                    status, reason = limit_key.reply(limit, order), limit_key.reason(limit, order)
            case _:
                assert_never(live.entity)
        self._memory.keep(live)
        batch.record(live, letter, events)
        letter.answer = Reply(
            live.seq, status or live.status, changed=bool(events), version=version, reason=reason
        )

    def _create(self, letter: Letter, order: Command, found: Found | None) -> Live | None:
        """A new entity for the commands that make one; None if an ended run took the command."""
        match found:
            case Exception():
                raise found
            case StuckRow():
                raise Stuck(f"{letter.key.id} is stuck: {found.error}; mend it, then windlass retry-stuck")
            case RunRow():
                assert isinstance(order, RunCommand)
                run_core.answer_ended(found.status, found.request_hash, order)
                letter.answer = Reply(0, found.status)
                return None
            case None:
                pass
        match order:
            case StartRun(document=dict()):
                return Live(letter.key, Run(own(order), letter.key))
            case StartRun(workflow=workflow, version=version):
                definition = self._around.definitions.cached(letter.key.namespace, workflow, version)
                assert definition is not None, "the definition was read before"
                return Live(letter.key, Run(definition, letter.key))
            case DefineWorkflow():
                return Live(letter.key, Workflow())
            case AskPermit():
                return Live(letter.key, LimitKey())
            case ReturnPermit():
                letter.answer = Reply(0, "returned")  # nobody holds anything of it
                return None
            case _:
                raise NotFound(f"there is no {letter.key.kind} {letter.key.id}")

    def _put_to_sleep(self, batch: Batch, live: Live) -> None:
        if live.key in batch.touched:
            return
        if not isinstance(live.entity, Run):
            batch.idle.append(live.key)  # its alarm stays, and so do its errands
        elif run_core.may_sleep(live.entity):
            batch.touch(live).sleeps = True
        elif live.entity.counts["queued"] == 0:
            batch.idle.append(live.key)  # only what runs is out: its result or its alarm brings the run back


def _set_aside(row: RunRow, error: str) -> RunRow:
    """Nobody can answer it before it is freed."""
    return msgspec.structs.replace(row, status="stuck", error=error, waiting_for="")


def _not_stuck(key: Key, live: Live | None, found: Found | None) -> Exception:
    if isinstance(found, Exception):
        return found
    if live is None and found is None:
        return NotFound(f"there is no {key.kind} {key.id}")
    return Refused(f"{key.kind} {key.id} is not stuck")


def _absent(key: Key, found: Found | None) -> Reply:
    match found:
        case None:
            raise NotFound(f"there is no {key.kind} {key.id}")
        case RunRow():
            return Reply(0, found.status)
        case StuckRow():
            return Reply(0, "stuck")
        case _:
            raise found
