"""What a worker asks its node for, while a task waits: the values of secrets."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Mapping, Set

from windlass.core.errors import NotFound, Unavailable
from windlass.vault import Locked
from windlass.wire.crew import NeedSecrets, Secrets, Token


class Questions:
    """Asked again of every new node until one answers; `say` sends them."""

    def __init__(self, say: Callable[[NeedSecrets], None]) -> None:
        self._say = say
        self._numbers = itertools.count(1)
        self._open: dict[int, tuple[NeedSecrets, asyncio.Future[Secrets]]] = {}

    async def secrets(self, token: Token, names: Set[str]) -> Mapping[str, str]:
        """For the task of this token. Raises NotFound, Locked or Unavailable."""
        question = NeedSecrets(next(self._numbers), token, tuple(sorted(names)))
        answer: asyncio.Future[Secrets] = asyncio.get_running_loop().create_future()
        self._open[question.number] = question, answer
        self._say(question)
        try:
            secrets = await answer
        finally:
            del self._open[question.number]
        match secrets.error:
            case "":
                return secrets.values
            case "NotFound":
                raise NotFound(secrets.text)
            case "Locked":
                raise Locked(secrets.text)
            case _:
                raise Unavailable(secrets.text)

    def answered(self, secrets: Secrets) -> None:
        """One that nobody waits for any more is fine."""
        if secrets.number in self._open:
            _, answer = self._open[secrets.number]
            if not answer.done():
                answer.set_result(secrets)

    def ask_again(self) -> None:
        for question, _ in self._open.values():
            self._say(question)
