"""Effects carried out: what a committed batch owes the outside."""

from __future__ import annotations

from typing import assert_never

from windlass.core.effects import Dispatch, Effect, Recall, RecallAll, Watch, Withdraw
from windlass.engine.dispatcher import Dispatcher
from windlass.engine.live import Live
from windlass.engine.queues import Owner


def carry_out(dispatcher: Dispatcher, owner: Owner, live: Live, effects: list[Effect]) -> None:
    key = live.key
    for effect in effects:
        match effect:
            case Dispatch(step, attempt):
                run = live.run
                definition = run.definition.steps[run.definition.index[step]]
                assert run.started is not None
                priority = definition.priority + run.started.priority
                requires = (definition.kind, *definition.requires)
                dispatcher.offer(
                    owner, key, step, attempt, priority=priority, requires=requires, by=run.started.by
                )
            case Watch(step, attempt, worker, session):
                dispatcher.watch(owner, key, step, attempt, worker=worker, session=session)
            case Recall(step, attempt):
                dispatcher.recall(key, step, attempt)
            case Withdraw():
                dispatcher.withdraw(key)
            case RecallAll():
                dispatcher.recall_all(key)
            case _:
                assert_never(effect)
