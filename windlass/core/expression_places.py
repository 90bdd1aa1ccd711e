"""Where a document may hold expressions, and what each of them may refer to."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final

from windlass.core import templates
from windlass.core.definition import Definition, Loop, Mapped, Step, Switch
from windlass.core.faults import Faults, join
from windlass.core.names import StepId
from windlass.core.task import Json
from windlass.core.templates import Allowance, Known

# Looks at steps, for a whole document: more are only needed where many steps refer to far-away ones.
_LOOKS_MAX: Final = 5_000_000


def check(document: Mapping[str, Json], definition: Definition, faults: Faults) -> None:
    """Adds a fault for each expression that could not be evaluated. Of a document that is sound otherwise."""
    names = None if definition.inputs is None else frozenset(spec.name for spec in definition.inputs.specs)
    whole = _Checker(definition, names, faults)
    nothing = Known((), definition.index, names, False, whole.allowance)
    for key in ("concurrency", "rate"):
        templates.check(document.get(key), f"/{key}", faults, nothing)
    steps = document["steps"]
    if whole.looks_at(document):
        for place, given in steps.items() if isinstance(steps, dict) else enumerate(steps):
            step = definition.steps[definition.index[given["id"] if isinstance(place, int) else place]]
            whole.step(step, given, join("/steps", place))
    everything = Known(definition.index, definition.index, names, False, whole.allowance)
    templates.check(document.get("output"), "/output", faults, everything)


class _Checker:
    def __init__(self, definition: Definition, inputs: Collection[str] | None, faults: Faults) -> None:
        self._definition = definition
        self._inputs = inputs
        self._faults = faults
        self._looks = _LOOKS_MAX
        self.allowance = Allowance()

    def looks_at(self, document: Mapping[str, Json]) -> bool:
        """Whether there is anything to look at: most documents have no expression at all."""
        conditions = any(
            step.when is not None or isinstance(step.control, Loop | Switch) or step.undo is not None
            for step in self._definition.steps
        )
        return conditions or templates.has(document["steps"])

    def step(self, step: Step, given: dict[str, Json], at: str) -> None:
        before = _Ancestors(self._definition, step, self)
        known = self._known(before, item=False)
        self._common(step, given, at, known)
        if step.undo is not None:
            after = self._known(_Ancestors(self._definition, step, self, itself=True), item=False)
            self._undo(step.undo, given["undo"], join(at, "undo"), after)
        place = join(at, "with")
        within = given.get("with", {})
        match step.control:
            case Mapped(body=body):
                templates.check(within.get("over"), join(place, "over"), self._faults, known)
                self._body(step, body, within["step"], join(place, "step"))
            case Loop(body=body):
                turn = self._known(before, item=True)
                for key in ("until", "while"):
                    if key in within:
                        templates.check_condition(_text(within[key]), join(place, key), self._faults, turn)
                self._body(step, body, within["step"], join(place, "step"))
            case Switch():
                for n, case in enumerate(step.control.cases):
                    where = join(join(join(place, "cases"), n), "when")
                    templates.check_condition(case.when, where, self._faults, known)
            case _:
                templates.check(within, place, self._faults, known)

    def _body(self, owner: Step, body: Step, given: dict[str, Json], at: str) -> None:
        """The step that is repeated. What undoes one of its turns sees that one by its owner's name."""
        known = self._known(_Ancestors(self._definition, owner, self), item=True)
        self._common(body, given, at, known)
        templates.check(given.get("with"), join(at, "with"), self._faults, known)
        if body.undo is not None:
            after = self._known(_Ancestors(self._definition, owner, self, itself=True), item=True)
            self._undo(body.undo, given["undo"], join(at, "undo"), after)

    def _undo(self, step: Step, given: dict[str, Json], at: str, known: Known) -> None:
        self._common(step, given, at, known)
        templates.check(given.get("with"), join(at, "with"), self._faults, known)

    def _common(self, step: Step, given: dict[str, Json], at: str, known: Known) -> None:
        if step.when is not None:
            templates.check_condition(step.when, join(at, "when"), self._faults, known)
        for key in ("concurrency", "rate"):
            templates.check(given.get(key), join(at, key), self._faults, known)

    def _known(self, steps: Collection[str], *, item: bool) -> Known:
        return Known(steps, self._definition.index, self._inputs, item, self.allowance)

    def spend(self, looks: int) -> bool:
        self._looks -= looks
        return self._looks > 0


class _Ancestors(Collection[str]):
    """The steps that have surely ended when a step begins."""

    def __init__(
        self, definition: Definition, step: Step, checker: _Checker, *, itself: bool = False
    ) -> None:
        self._definition = definition
        self._step = step
        self._checker = checker
        self._itself = itself
        self._all: set[StepId] | None = None

    def __contains__(self, name: object) -> bool:
        if name in self._step.needs or (self._itself and name == self._step.id):
            return True
        return name in self._found()

    def __iter__(self) -> Iterator[str]:
        return iter(self._found())

    def __len__(self) -> int:
        return len(self._found())

    def _found(self) -> set[StepId]:
        if self._all is None:
            self._all, ahead = set(), list(self._step.needs)
            while ahead and self._checker.spend(1):
                name = ahead.pop()
                if name not in self._all:
                    self._all.add(name)
                    ahead += self._definition.steps[self._definition.index[name]].needs
            if self._itself:
                self._all.add(self._step.id)
        return self._all


def _text(value: Json) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else value
