"""Effects carried out: what a committed batch owes the outside."""

from __future__ import annotations

from typing import assert_never

from windlass.core import run as run_core
from windlass.core.assign.policy import said
from windlass.core.cluster import NodeId
from windlass.core.effects import Dispatch, Effect, Recall, RecallAll, Watch, Withdraw
from windlass.core.names import Attempt, StepId
from windlass.core.needs import needs
from windlass.engine.dispatcher import Dispatcher
from windlass.engine.live import Live
from windlass.engine.queues import Holder, Owner


def carry_out(dispatcher: Dispatcher, owner: Owner, live: Live, effects: list[Effect]) -> None:
    key = live.key
    for effect in effects:
        match effect:
            case Dispatch(step, attempt):
                _offer(dispatcher, owner, live, step, attempt)
            case Watch():
                holder = Holder(effect.worker, effect.session, NodeId(effect.node), effect.survives)
                dispatcher.watch(owner, key, effect.step, effect.attempt, holder)
            case Recall(step, attempt):
                dispatcher.recall(key, step, attempt)
            case Withdraw():
                dispatcher.withdraw(key)
            case RecallAll():
                dispatcher.recall_all(key)
            case _:
                assert_never(effect)


def _offer(dispatcher: Dispatcher, owner: Owner, live: Live, step: StepId, attempt: Attempt) -> None:
    run = live.run
    i = run.definition.index[step]
    definition = run.definition.steps[i]
    assert run.started is not None
    dispatcher.offer(
        owner,
        live.key,
        step,
        attempt,
        priority=definition.priority + run.started.priority,
        requires=needs(definition),
        work=definition.kind,
        by=run.started.by,
        since=run.steps[i].since,
        assign=said(run.definition.assign, definition.assign),
        earlier=lambda: run_core.last_worker(run),
    )
