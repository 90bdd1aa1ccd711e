"""A limit key and its holders, over a bad network: words are lost, late, repeated, overtaken by others."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Literal, TypeVar

import msgspec

from windlass.core import limit_key
from windlass.core.commands import Answered, AskPermit, LimitCommand, ReturnPermit, Wake
from windlass.core.effects import Effect, Forget, Nudge
from windlass.core.errands import CancelOther, CheckHolder
from windlass.core.events import LimitEvent
from windlass.core.limit_key import LimitKey
from windlass.core.names import run_key

T = TypeVar("T")
Stage = Literal["asking", "using", "done", "denied"]


def ask(holder: str, number: int = 1, most: int = 1, at: float = 0.0, **more: object) -> AskPermit:
    fields = {
        "holder": run_key(holder).text(),
        "number": number,
        "most": most,
        "at": at,
        "errand": "e",
        **more,
    }
    return AskPermit(**fields)  # type: ignore[arg-type]  # the tests give fields by name


def give_back(holder: str, number: int = 1, at: float = 0.0) -> ReturnPermit:
    return ReturnPermit(holder=run_key(holder).text(), number=number, at=at)


def fold(events: list[LimitEvent]) -> LimitKey:
    limit = LimitKey()
    for event in events:
        limit_key.apply(limit, msgspec.json.decode(msgspec.json.encode(event), type=LimitEvent))
    return limit


def state(limit: LimitKey) -> bytes:
    """All there is to it, the order of everything included."""
    return msgspec.json.encode(limit)


@dataclass
class Want:
    """One permit, as its holder sees it."""

    asked: AskPermit
    stage: Stage = "asking"
    returned: bool = False  # it has heard so


@dataclass
class World:
    chance: random.Random
    most: int = 2
    per_s: float | None = None
    conflicts: tuple[str, ...] = ("queue", "queue", "skip", "replace")
    shares: tuple[str, ...] = ("", "a", "b")
    faults: bool = True
    at: float = 1_000.0
    limit: LimitKey = field(default_factory=LimitKey)
    events: list[LimitEvent] = field(default_factory=list)
    wants: dict[str, Want] = field(default_factory=dict)
    letters: list[AskPermit | ReturnPermit] = field(default_factory=list)
    answers: list[tuple[AskPermit | ReturnPermit, str]] = field(default_factory=list)  # on their way back
    owed: dict[str, Effect] = field(default_factory=dict)
    answered: list[Answered] = field(default_factory=list)
    most_used: int = 0

    def play(self, command: LimitCommand) -> list[LimitEvent]:
        if not self.limit.exists and not isinstance(command, AskPermit):
            return []  # nothing creates it but a question
        events = limit_key.perform(self.limit, command)
        self.events += events
        if isinstance(command, Answered):
            self.owed.pop(command.errand, None)
        for effect in limit_key.effects(events):
            match effect:
                case CancelOther() | CheckHolder():
                    self.owed[effect.errand] = effect
                case Forget(errand=errand):
                    self.owed.pop(errand, None)
                case Nudge(key=holder):
                    self._nudged(holder)
        return events

    def step(self) -> None:
        """Something happens, often something bad."""
        moves = [self.come, self.deliver, self.deliver, self.hear, self.hear, self.finish, self.wait]
        moves += [self.answer, self.wake, self.repeat]
        if self.faults:
            moves += [self.lose, self.crash]
        self.chance.choice(moves)()
        using = sum(want.stage == "using" for want in self.wants.values())
        self.most_used = max(self.most_used, using)

    def come(self) -> None:
        number = self.chance.randrange(1, 4)
        asked = ask(
            f"r{len(self.wants)}" if self.chance.random() < 0.7 else "r0",
            number + 3 * len(self.wants),
            self.most,
            self.at,
            per_s=self.per_s,
            on_conflict=self.chance.choice(self.conflicts),
            share=self.chance.choice(self.shares),
            priority=self.chance.choice([0, 0, 5]),
        )
        self.wants[_name(asked)] = Want(asked)
        self.letters.append(asked)

    def deliver(self) -> None:
        if self.letters:
            letter = self._drawn(self.letters)
            self.play(msgspec.structs.replace(letter, at=self.at))
            if self.limit.exists or isinstance(letter, AskPermit):
                self.answers.append((letter, limit_key.reply(self.limit, letter)))
            else:
                self.answers.append((letter, "returned"))

    def hear(self) -> None:
        if not self.answers:
            return
        letter, status = self._drawn(self.answers)
        want = self.wants[_name(letter)]
        if isinstance(letter, ReturnPermit):
            want.returned = True
        elif want.stage == "asking" and status == "granted":
            want.stage = "using"
        elif want.stage == "asking" and status == "denied":
            want.stage = "denied"

    def finish(self) -> None:
        """A holder needs its permit no longer, or gives up waiting for it."""
        open_ = [want for want in self.wants.values() if want.stage in ("asking", "using")]
        if open_:
            want = self.chance.choice(open_)
            if want.stage == "using" or (self.faults and self.chance.random() < 0.3):
                self._end(want)

    def repeat(self) -> None:
        """Who has heard nothing says it again."""
        for want in self.wants.values():
            if want.stage == "asking":
                self.letters.append(want.asked)
            elif want.stage == "done" and not want.returned:
                self.letters.append(_back(want.asked))

    def wait(self) -> None:
        self.at += self.chance.choice([0.1, 1.0, 10.0, 70.0] if self.faults else [0.1, 1.0, 10.0])
        if self.faults and self.chance.random() < 0.05:
            self.at += 700.0

    def wake(self) -> None:
        due = limit_key.wake_at(self.limit)
        if due is not None and due <= self.at:
            self.play(Wake(at=self.at))

    def answer(self) -> None:
        """An errand is carried out; its answer may come later, and again."""
        if self.owed and self.chance.random() < 0.7:
            errand = self.owed[self.chance.choice(list(self.owed))]
            self.answered.append(self._carried_out(errand))
        if self.answered:
            answered = self._drawn(self.answered)
            self.play(msgspec.structs.replace(answered, at=self.at))

    def lose(self) -> None:
        for words in (self.letters, self.answers, self.answered):
            if words and self.chance.random() < 0.3:
                words.pop(self.chance.randrange(len(words)))

    def crash(self) -> None:
        if self.chance.random() < 0.2:
            self.limit = fold(self.events)
            self.owed = {effect.errand: effect for effect in limit_key.resume(self.limit)}  # type: ignore[union-attr]

    def heal(self, *, turns: int = 2_000) -> None:
        """The network is well again, everybody does their part: until all is over."""
        self.faults = False
        for _ in range(turns):
            over = all(want.stage in ("done", "denied") for want in self.wants.values())
            if over and not self.limit.held and not self.limit.places:
                return
            self.at += 5.0 + (self.per_s or 0.0)
            self.repeat()
            while self.letters:
                self.deliver()
            while self.answers:
                self.hear()
            for want in list(self.wants.values()):
                if want.stage == "using":
                    self._end(want)
            self.wake()
            while self.owed:
                self.answer()
        raise AssertionError(f"it never ended: {self.limit}")

    def _end(self, want: Want) -> None:
        want.stage = "done"
        self.letters.append(_back(want.asked))

    def _carried_out(self, errand: Effect) -> Answered:
        match errand:
            case CheckHolder(errand=name):
                want = self.wants[name.partition(":")[2]]
                held = want.stage in ("asking", "using")
                return Answered(errand=name, status="held" if held else "gone", at=self.at)
            case CancelOther(errand=name):
                want = self.wants[name.partition(":")[2]]
                if want.stage in ("asking", "using"):
                    self._end(want)
                return Answered(errand=name, status="cancelled", at=self.at)
            case _:
                raise AssertionError(errand)

    def _nudged(self, holder: str) -> None:
        for want in self.wants.values():
            if want.asked.holder == holder and want.stage == "asking" and self.chance.random() < 0.8:
                self.letters.append(want.asked)

    def _drawn(self, words: list[T]) -> T:
        """Any of them, in any order; now and then it comes once more later."""
        if not self.faults:
            return words.pop(0)
        i = self.chance.randrange(len(words))
        return words[i] if self.chance.random() < 0.2 else words.pop(i)


def _name(letter: AskPermit | ReturnPermit) -> str:
    return f"{letter.holder}#{letter.number}"


def _back(asked: AskPermit) -> ReturnPermit:
    return ReturnPermit(holder=asked.holder, number=asked.number, at=asked.at)
