"""Secrets for the tasks of workers: only those that the task refers to, and only for who holds it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Set

from windlass.core import secret_refs
from windlass.core.errors import NotFound, Unavailable, WindlassError
from windlass.core.names import run_key
from windlass.core.task import TaskName
from windlass.engine.crew_holds import Hold
from windlass.engine.crew_ports import Opening
from windlass.engine.definitions import Definitions
from windlass.engine.reading import in_time
from windlass.journal import Store, StoreError
from windlass.vault import Locked
from windlass.wire.crew import NeedSecrets, Secrets

log = logging.getLogger(__name__)

# The secrets that a task refers to which another node has given.
RefersTo = Callable[[TaskName], Coroutine[None, None, Set[str]]]


class NotHis(Exception):
    """The task does not refer to it: who asks wants to know too much."""


async def answer(asked: NeedSecrets, hold: Hold, secrets: Opening, refers_to: RefersTo) -> Secrets:
    """Raises NotHis."""
    task, wanted = hold.task, frozenset(asked.names)
    try:
        allowed = await refers_to(task.name) if hold.adopted else secret_refs.names(task.with_)
        if not wanted <= allowed:
            raise NotHis(f"the task refers to no secret {min(wanted - allowed)[:64]!r}")
        return Secrets(asked.number, await secrets.open(task.namespace, wanted))
    except (NotFound, Locked) as error:
        return Secrets(asked.number, error=type(error).__name__, text=str(error))
    except WindlassError as error:
        return Secrets(asked.number, error="Unavailable", text=str(error))
    except NotHis:
        raise
    except Exception:
        log.exception("secrets could not be opened", extra={"run": task.run})
        return Secrets(asked.number, error="Unavailable", text="a fault of the node")


def references(store: Store, definitions: Definitions, shard_of: Callable[[str], int]) -> RefersTo:
    """As the journal knows them: a task may have come here with its worker."""

    async def refers_to(name: TaskName) -> Set[str]:
        namespace, run, step, _ = name
        try:
            (stored,) = await in_time(store.load(shard_of(run), [run_key(run, namespace)]))
            if stored.run is None:
                raise NotFound(f"there is no run {run}")
            definition = await in_time(definitions.of(stored, stored.run))
        except StoreError as error:
            raise Unavailable(f"the database does not answer: {error}") from None
        found = definition.find(step)
        return frozenset() if found is None else secret_refs.names(found.with_)

    return refers_to


async def refers_to_unknown(_: TaskName) -> Set[str]:
    raise Unavailable("the node that gave this task is gone, and this one does not know what it refers to")
