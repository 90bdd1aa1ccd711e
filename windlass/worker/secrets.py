"""The secrets of one attempt: read as it starts, handed to what runs it, hidden in what comes out."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Set
from functools import cached_property
from typing import Final

import msgspec

from windlass.core import secret_refs
from windlass.core.errors import NotFound, Unavailable
from windlass.core.task import Failure, Outcome, Task
from windlass.vault import Locked
from windlass.worker.link import Ended, Stream
from windlass.worker.masking import Mask, mask_of

RESOLVE_S: Final = 10.0

# The values of secrets of a namespace, by name. Raises NotFound, Locked or Unavailable; says no value there.
Resolve = Callable[[str, Set[str]], Awaitable[Mapping[str, str]]]


class NotOpened(Exception):
    """The attempt cannot start: its secrets could not be had."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class Opened:
    """What an executor gets beside the task, which itself holds references only."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self.values = dict(values)

    def __repr__(self) -> str:
        return f"Opened({', '.join(self.values)})"

    @cached_property
    def mask(self) -> Mask:
        return mask_of(frozenset(self.values.values()))

    def filled(self, task: Task) -> Task:
        """With values instead of references: for whoever runs it, and for nobody else."""
        if not self.values:
            return task
        return msgspec.structs.replace(task, with_=secret_refs.filled(task.with_, self.values))

    def ended(self, ended: Ended) -> Ended:
        """With what it wrote masked, before anybody cuts it."""
        if not self.values:
            return ended
        return Ended(
            ended.how, ended.code, ended.answer, self._stream(ended.stdout), self._stream(ended.stderr)
        )

    async def masked(self, outcome: Outcome) -> Outcome:
        # In a thread: it may be large, and others wait.
        return await asyncio.to_thread(self.mask.outcome, outcome) if self.values else outcome

    def _stream(self, stream: Stream) -> Stream:
        cut = stream.total_bytes - len(stream.end)
        # What is kept may begin in the middle of a value.
        text = self.mask.between(stream.end.decode(errors="replace"), self.mask.reach if cut else 0)
        end = text.encode(errors="replace")
        return Stream(cut + len(end), end)


NONE: Final = Opened({})


async def no_secrets(namespace: str, names: Set[str]) -> Mapping[str, str]:
    """For a worker that cannot ask for any."""
    raise Locked(f"this worker has no access to secrets, and the step needs {', '.join(sorted(names))}")


async def opened(task: Task, resolve: Resolve) -> Opened:
    """The secrets that the task refers to, as they are now. Raises NotOpened."""
    names = secret_refs.names(task.with_)
    if not names:
        return NONE
    try:
        async with asyncio.timeout(RESOLVE_S) as limit:
            secrets = Opened(await resolve(task.namespace, names))
    except NotFound as error:
        raise NotOpened(Failure("SecretMissing", str(error), retryable=False)) from None
    except Locked as error:
        # Another node may have the key, and an operator may bring it.
        raise NotOpened(Failure("SecretLocked", str(error))) from None
    except Unavailable as error:
        raise NotOpened(Failure("SecretUnavailable", f"{_of(names)} cannot be read now: {error}")) from None
    except TimeoutError:
        if not limit.expired():
            raise
        message = f"{_of(names)} cannot be read now: no answer within {RESOLVE_S:g}s"
        raise NotOpened(Failure("SecretUnavailable", message)) from None
    # Made where it may take its time: a long value is a long pattern.
    await asyncio.to_thread(lambda: secrets.mask)
    return secrets


def _of(names: Set[str]) -> str:
    return f"the secret{'s' if len(names) > 1 else ''} {', '.join(sorted(names))}"
