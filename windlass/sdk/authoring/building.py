"""A workflow while it is compiled: its function is called once, and every call of a step in it is kept."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import msgspec

from windlass.core.task import Json
from windlass.sdk.authoring import typed
from windlass.sdk.authoring.options import Options, settings_of
from windlass.sdk.authoring.places import CannotCompile, Place, here
from windlass.sdk.authoring.values import Value, member, mentioned


class Compiled(Protocol):
    """A workflow, as far as whoever calls it as a child needs to know it."""

    id: str

    def document(self) -> dict[str, Json]: ...


@dataclass(slots=True)
class Builder:
    workflow: str
    steps: dict[str, dict[str, Json]] = field(default_factory=dict)
    places: dict[str, Place] = field(default_factory=dict)
    children: dict[str, Compiled] = field(default_factory=dict)
    _gate: list[str] = field(default_factory=list)  # what every step waits for that is written from now on
    _fallbacks: set[str] = field(default_factory=set)

    def add_gate(self, name: str, kind: str, with_: Mapping[str, object], options: Options) -> str:
        """A step as a statement of Python is: it waits for all before it, and all after it wait for it.

        With `needs` it is a step like others, and holds up only those who name it.
        """
        if "needs" in options:
            return self.add(name, kind, with_, options)
        if "when" in options and not self.steps:
            # Who needs nothing but a step that was skipped is skipped, too: here is one that is not.
            self.add("start", "noop", {}, {})
        ident = self.new_id(name, options)
        before = [step for step in self._ends() if step != ident]
        named: Options = {**options, "id": ident, "needs": before}
        self.add(ident, kind, with_, named)
        self._gate = [ident, *(before if "when" in options else ())]
        return ident

    def add_fallback(
        self,
        name: str,
        kind: str,
        with_: Mapping[str, object],
        options: Options,
        *,
        undo: Mapping[str, object] | None = None,
        on_failure: Json = None,
    ) -> str:
        """A step that waits for nobody: it runs when another one has failed."""
        gate, self._gate = self._gate, []
        ident = self.add(name, kind, with_, options, undo=undo, on_failure=on_failure)
        self._gate = gate
        self._fallbacks.add(ident)
        return ident

    def add(
        self,
        name: str,
        kind: str,
        with_: Mapping[str, object],
        options: Options,
        *,
        undo: Mapping[str, object] | None = None,
        on_failure: Json = None,
    ) -> str:
        """Keep a step, and answer its id. It needs whatever its values come from."""
        ident = self.new_id(name, options)
        entry: dict[str, Json] = {"kind": kind}
        entry |= {"with": rendered(with_)} if with_ else {}
        entry |= {key: rendered(value) for key, value in settings_of(options).items()}
        entry |= {"on_failure": on_failure} if on_failure is not None else {}
        needs = [*(_needed(value) for value in options.get("needs", ())), *mentioned(entry)]
        needs = [step for step in dict.fromkeys(needs) if step in self.steps]
        needs += [step for step in self._gate if not self._known(step, needs)]
        entry |= {"needs": needs} if needs else {}
        entry |= {"undo": rendered(undo)} if undo is not None else {}
        self.steps[ident] = entry
        self.places[ident] = here()
        return ident

    def _ends(self) -> list[str]:
        """Steps that nobody waits for yet."""
        waited_for = {step for entry in self.steps.values() for step in entry.get("needs", ())}
        return [step for step in self.steps if step not in waited_for | self._fallbacks]

    def _known(self, step: str, needs: list[str]) -> bool:
        """Whether who needs these has waited for that step anyway."""
        todo, seen = list(needs), set[str]()
        while todo:
            at = todo.pop()
            if at == step:
                return True
            if at not in seen:
                seen.add(at)
                todo += self.steps[at].get("needs", ())
        return False

    def new_id(self, name: str, options: Options) -> str:
        """The one that is asked for; else the name, with a number from the second on."""
        asked = options.get("id")
        if asked is not None:
            if asked in self.steps:
                taken = f"the id {asked} is taken by {self.places[asked]}; choose another"
                raise CannotCompile(taken, here())
            return asked
        count, ident = 1, name
        while ident in self.steps:
            count += 1
            ident = f"{name}_{count}"
        return ident


_BUILDING: Final[ContextVar[Builder | None]] = ContextVar("windlass_building", default=None)


def current() -> Builder | None:
    return _BUILDING.get()


def needed(what: str) -> Builder:
    """For what means nothing outside of a workflow."""
    builder = _BUILDING.get()
    if builder is None:
        advice = "run the workflow with windlass.testing, or on an engine"
        raise CannotCompile(f"{what} can only be called while a workflow is compiled; {advice}", here())
    return builder


@contextmanager
def building(builder: Builder) -> Iterator[None]:
    token = _BUILDING.set(builder)
    try:
        yield
    finally:
        _BUILDING.reset(token)


def output_of(step: str) -> Any:  # Any: of the type that the step returns
    return Value(f"{member('steps', step)}.output")


def rendered(given: object) -> Json:
    """As documents have it: values of the run become expressions."""
    match given:
        case Value():
            return str(given)
        case None | bool() | int() | float() | str():
            return given
        case Mapping():
            return {_key(key): rendered(item) for key, item in given.items()}
        case list() | tuple():
            return [rendered(item) for item in given]
        case set() | frozenset():
            return [rendered(item) for item in sorted(given, key=repr)]  # the same whenever it is compiled
        case _ if dataclasses.is_dataclass(given) and not isinstance(given, type):
            return {each.name: rendered(getattr(given, each.name)) for each in dataclasses.fields(given)}
        case _:
            return _plain(given)


def _plain(given: object) -> Json:
    try:
        return rendered(msgspec.to_builtins(given, enc_hook=_told))
    except TypeError:
        message = f"a {type(given).__name__} cannot be kept in a workflow; pass text, numbers, lists or dicts"
        raise CannotCompile(message, here()) from None


def _told(given: object) -> Json:
    """What msgspec does not know, inside of something it does."""
    return str(given) if isinstance(given, Value) else typed.write(given)


def _key(key: object) -> str:
    if not isinstance(key, str) or "${{" in key:
        raise CannotCompile(f"{key!r} is no key: keys are text that is known already", here())
    return key


def _needed(given: object) -> str:
    """The step that a value comes from."""
    found = list(mentioned(str(given))) if isinstance(given, Value) else [given]
    if len(found) != 1 or not isinstance(found[0], str):
        message = f"needs names steps by what they returned, not by {given!r}; write needs=[fetched]"
        raise CannotCompile(message, here())
    return found[0]
