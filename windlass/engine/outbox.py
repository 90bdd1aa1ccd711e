"""Effects carried out: what a committed batch owes the outside."""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

import msgspec

from windlass.core import run as run_core
from windlass.core.assign.policy import said
from windlass.core.cluster import NodeId
from windlass.core.effects import Dispatch, Effect, Forget, Nudge, Recall, RecallAll, Watch, Withdraw
from windlass.core.errands import CancelOther, CheckHolder, Errand, GiveBack, Permit, StartOther
from windlass.core.limit_key import SHARE_MAX
from windlass.core.names import Attempt, StepId
from windlass.core.needs import needs
from windlass.core.run_model import Run
from windlass.engine.dispatcher import Dispatcher
from windlass.engine.errands import Errands
from windlass.engine.live import Live
from windlass.engine.queues import Holder, Owner


def carry_out(
    dispatcher: Dispatcher,
    errands: Errands,
    nudge: Callable[[Nudge], None],
    owner: Owner,
    live: Live,
    effects: list[Effect],
) -> None:
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
            case StartOther() | CancelOther() | Permit() | GiveBack() | CheckHolder():
                errands.begin(key, _dressed(live, effect, dispatcher.table.fair_label))
            case Forget(errand):
                errands.forget(key, errand)
            case Nudge():
                nudge(effect)
            case _:
                assert_never(effect)


def _dressed(live: Live, errand: Errand, fair_label: str) -> Errand:
    """With what a run hands on to the runs it begins, and to its place in a queue."""
    started = live.entity.started if isinstance(live.entity, Run) else None
    if started is None:
        return errand
    if isinstance(errand, StartOther):
        return msgspec.structs.replace(errand, priority=started.priority, by=started.by)
    if isinstance(errand, Permit):
        share = started.labels.get(fair_label, "")[:SHARE_MAX]
        return msgspec.structs.replace(errand, priority=started.priority, share=share)
    return errand


def _offer(dispatcher: Dispatcher, owner: Owner, live: Live, step: StepId, attempt: Attempt) -> None:
    run = live.run
    i = run.at(step)
    definition = run.step(i)
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
        labels=run.started.labels,
        since=run.steps[i].since,
        assign=said(run.definition.assign, definition.assign),
        by_step=definition.assign is not None and bool(definition.assign.strategy),
        earlier=lambda: run_core.last_worker(run),
    )
