"""What one worker holds, by token: when it was given, when it was last said to be there, what became of it.

given ──► listed in beats ──► ended ──► kept          forgotten
    └──► stopped: recalled, or overdue ──► listed no more
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from windlass.core.task import Failure, Task, TaskName
from windlass.wire.crew import Token

LATER_S: Final = 2.0  # than the worker itself, before the node ends an attempt
IGNORED_S: Final = 10.0  # a recall
CROSSING_S: Final = 2.0  # a beat may have left before the task arrived


@dataclass(slots=True)
class Hold:
    task: Task  # of one that was adopted only its name is known
    token: Token
    at: float  # when it was sent, or greeted with
    listed_at: float
    lively_at: float  # when it was sent, or told of its progress
    adopted: bool = False
    listed: bool = False  # in any beat
    stopped_at: float | None = None  # when it was first told to stop
    ended: bool = False  # its result is on its way
    overdue: bool = False  # the node has ended it

    @property
    def name(self) -> TaskName:
        return self.task.name

    def fault(self, now: float) -> Failure | None:
        """Why the node ends the attempt: the worker should have, and did not."""
        timeout_s, silence_s = self.task.timeout_s, self.task.heartbeat_timeout_s
        if timeout_s is not None and now - self.at > timeout_s + LATER_S:
            return Failure("Timeout", f"took longer than {timeout_s:g}s", bases=("TimeoutError",))
        if silence_s is not None and now - self.lively_at > silence_s + LATER_S:
            return Failure("HeartbeatTimeout", f"told nothing for {silence_s:g}s", bases=("TimeoutError",))
        return None


def adopted(name: TaskName, token: Token, now: float) -> Hold:
    namespace, run, step, attempt = name
    task = Task(run=run, step=step, attempt=attempt, kind="", namespace=namespace)
    return Hold(task, token, at=now, listed_at=now, lively_at=now, adopted=True, listed=True)


class Holds:
    def __init__(self) -> None:
        self._by_token: dict[Token, Hold] = {}
        self._strange: dict[Token, float] = {}  # tokens of nothing we know, and since when they are listed

    def __len__(self) -> int:
        return len(self._by_token)

    def __iter__(self) -> Iterator[Hold]:
        return iter(self._by_token.values())

    def put(self, hold: Hold) -> None:
        self._by_token[hold.token] = hold

    def get(self, token: Token) -> Hold | None:
        return self._by_token.get(token)

    def pop(self, token: Token) -> Hold | None:
        return self._by_token.pop(token, None)

    def listed(self, tokens: tuple[Token, ...], now: float) -> tuple[list[Token], list[Hold], bool]:
        """A beat lists these. Answers what is to be stopped, what was stopped and is gone by now, and whether
        a recall was ignored for too long.
        """
        stop, ignored, strange = list[Token](), False, dict[Token, float]()
        for token in tokens:
            hold = self._by_token.get(token)
            if hold is None:
                since: float | None = strange.setdefault(token, self._strange.get(token, now))
            else:
                hold.listed, hold.listed_at, since = True, now, None if hold.ended else hold.stopped_at
            if since is not None:
                stop.append(token)
                ignored = ignored or now - since > IGNORED_S
        self._strange = strange
        stopped = [hold for hold in self if hold.stopped_at is not None and not hold.ended]
        present = set(tokens) if stopped else set()
        gone = [
            hold
            for hold in stopped
            if hold.token not in present and (hold.listed or now - hold.at > CROSSING_S)
        ]
        for hold in gone:
            del self._by_token[hold.token]
        return stop, gone, ignored
