"""A run once more: which results of the old one the new one takes over.

     old run      a ✔ ──► b ✘ ──► c              from: b      a is kept, b and c run
                                                 patch: b     a is kept, b is what was said, c runs
                                                 skip: b      a is kept, b is skipped, and so is c

What runs again takes everything after it along: a result is kept only if all that it came from is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from windlass.core import scope
from windlass.core.definition import Definition, Switch
from windlass.core.faults import Faults, code, join
from windlass.core.names import StepId
from windlass.core.run_model import Run
from windlass.core.task import Json, Kept

PERSON: Final = "person"


class Asked(msgspec.Struct, frozen=True, omit_defaults=True):
    from_: tuple[str, ...] = ()  # these run again, and all that comes after them
    patch: dict[str, Json] = msgspec.field(default_factory=dict)  # results to take instead of running a step
    skip: tuple[str, ...] = ()
    edited: bool = False  # the new run has another input


def plan(old: Run, definition: Definition, asked: Asked) -> dict[str, Kept]:
    """The results that a run of this definition begins with. Raises Invalid with every fault at once.

    Without `from`, what did not end well runs again; with another input, everything does. A step that an
    undo step has taken back is done no longer, and runs again in any case.
    """
    places = _check_names(definition, old, asked)
    said = {StepId(name): Kept(value=value, by=PERSON) for name, value in asked.patch.items()}
    said |= {StepId(name): Kept(status="skipped", by=PERSON) for name in asked.skip}
    past = {} if asked.edited and not asked.from_ else _past(old, definition, passed_over=bool(asked.from_))
    again = {step.id for step in definition.steps if step.id not in past} | set(map(StepId, asked.from_))
    runs = after(definition, again - said.keys()) | after(definition, said, themselves=False)
    runs -= said.keys() | _in_place(definition)
    results = {name: result for name, result in past.items() if name not in runs} | said
    results |= _chosen_after_all(definition, results, asked.from_)
    for name, result in _not_chosen(definition, results).items():
        # One that comes after what runs again is left out when that has ended.
        if name in runs and _before(definition, name, runs) is None:
            results[name] = result
    runs -= results.keys()
    _check_order(definition, results, runs, {name: places[name] for name in said})
    if not runs and not said:
        faults = Faults()
        faults.add("/from", "everything ended well, so nothing would run again; name a step to run from")
        faults.refuse("the request")
    return dict(results.items())


def after(definition: Definition, steps: Iterable[StepId], *, themselves: bool = True) -> set[StepId]:
    """All that come after these steps, with or without the steps themselves."""
    first = [definition.index[step] for step in steps]
    found = set(first) if themselves else set[int]()
    open_ = list(first)
    while open_:
        for child in definition.children[open_.pop()]:
            if child not in found:
                found.add(child)
                open_.append(child)
    return {definition.steps[i].id for i in found}


def context(
    initial: Mapping[str, Json],
    patches: Iterable[tuple[StepId, Mapping[str, Json]]],
    kept: Mapping[str, Kept],
    definition: Definition,
) -> dict[str, Json]:
    """What the steps share at first: as the old run began, and what the kept steps added, in their order."""
    shared = dict(initial)
    for step, patch in patches:
        result = kept.get(_of_document(step, definition))
        if result is not None and result.by != PERSON:
            shared |= patch
    return shared


def _of_document(step: StepId, definition: Definition) -> str:
    """The step itself, or the one that it was an item or a turn of. What undoes one is of none."""
    return step if step in definition.index else step.partition("[")[0]


def _past(old: Run, definition: Definition, *, passed_over: bool) -> dict[StepId, Kept]:
    """How steps ended that ended well. Of another version, those that are the same in both.

    `passed_over`: so did those whose failure the run did not mind.
    """
    undone, in_place = _undone(old), _in_place(definition)
    found: dict[StepId, Kept] = {}
    for step in definition.steps:
        i = old.definition.index.get(step.id)
        if i is None or i in undone or step.id in in_place or old.definition.steps[i] != step:
            continue
        result = _result(old, i, passed_over=passed_over)
        if result is not None:
            found[step.id] = result
    return found


def _result(old: Run, i: int, *, passed_over: bool) -> Kept | None:
    state, step = old.steps[i], old.definition.steps[i]
    match state.phase:
        case "succeeded":
            return Kept(value=scope.output(old, step.id))  # of a map: the list of what its items gave
        case "skipped" if state.why:  # one without a reason was only never reached
            return Kept(status="skipped")
        case "failed" if passed_over and step.on_failure == "skip":
            return Kept()
        case "replaced" if step.fallback is not None:
            return _result(old, old.definition.index[step.fallback], passed_over=passed_over)
        case _:
            return None


def _undone(old: Run) -> set[int]:
    """Steps of the document that were taken back, or that somebody began to take back."""
    found: set[int] = set()
    for _, state in old.all_steps():
        if state.of >= 0 and state.item < 0 and (state.started_at or state.phase == "succeeded"):
            of = state.of
            while old.steps[of].of >= 0:  # an item of a map counts as the map
                of = old.steps[of].of
            found.add(of)
    return found


def _not_chosen(definition: Definition, results: Mapping[StepId, Kept]) -> dict[StepId, Kept]:
    """The steps that a switch does not lead to whose choice is made already."""
    found: dict[StepId, Kept] = {}
    for name, result in results.items():
        control = definition.steps[definition.index[name]].control
        if isinstance(control, Switch) and result.status == "succeeded":
            left_out = control.left_out(result.value)
            found |= {step: Kept(status="skipped", by=result.by) for step in left_out}
    return found


def _chosen_after_all(
    definition: Definition, results: Mapping[StepId, Kept], wanted: Iterable[str]
) -> dict[StepId, Kept]:
    """Switches that are kept, and chose otherwise than somebody now wants: what they chose is more."""
    found: dict[StepId, Kept] = {}
    for name, result in results.items():
        control = definition.steps[definition.index[name]].control
        if isinstance(control, Switch) and result.status == "succeeded":
            more = [step for step in map(StepId, wanted) if step in control.left_out(result.value)]
            before = result.value if isinstance(result.value, dict) else {}
            if more:
                choice = {**before, "then": [*control.chosen(result.value), *more]}
                found[name] = msgspec.structs.replace(result, value=choice)
    return found


def _in_place(definition: Definition) -> set[StepId]:
    """Steps that run only in place of others: whether they do is seen then."""
    return {definition.steps[i].id for i in definition.fallbacks}


def _check_names(definition: Definition, old: Run, asked: Asked) -> dict[str, str]:
    """Where each step is named."""
    faults = Faults()
    owners = {step.fallback: step.id for step in definition.steps if step.fallback is not None}
    places: dict[str, str] = {}
    for place, name in _named(asked):
        if name in places:
            faults.add(place, f"{code(name)} is named at {places[name]} already; keep one")
            continue
        places[name] = place
        if name in owners:
            faults.add(place, f"{code(name)} runs only in place of {code(owners[StepId(name)])}; name that")
        elif name not in definition.index:
            faults.add(place, _unknown(StepId(name), definition, old, faults))
    for name, value in asked.patch.items():
        i = definition.index.get(StepId(name))
        control = None if i is None else definition.steps[i].control
        if isinstance(control, Switch) and not _is_choice(value, control):
            words = f"{code(name)} chooses among steps; write what it chose, e.g. {{then: [big]}}"
            faults.add(places[name], words)
    faults.refuse("the request")
    return places


def _is_choice(value: Json, switch: Switch) -> bool:
    then = value.get("then") if isinstance(value, dict) else None
    return (
        isinstance(then, list)
        and all(isinstance(name, str) for name in then)
        and switch.named.issuperset(then)
    )


def _unknown(name: StepId, definition: Definition, old: Run, faults: Faults) -> str:
    made = old.place(name)
    if made is not None and (of := old.steps[made].of) >= 0:
        return f"{code(name)} was made for {code(old.step(of).id)}, which runs as a whole; name that"
    return f"no step is named {code(name)}{faults.hint(name, definition.index)}"


def _named(asked: Asked) -> Iterable[tuple[str, str]]:
    yield from ((join("/from", i), name) for i, name in enumerate(asked.from_))
    yield from ((join("/patch", name), name) for name in asked.patch)
    yield from ((join("/skip", i), name) for i, name in enumerate(asked.skip))


def _check_order(
    definition: Definition, kept: Mapping[StepId, Kept], runs: set[StepId], said: Mapping[StepId, str]
) -> None:
    """What is said of a step is there at once: nobody may go by it before what comes first has run."""
    faults = Faults()
    idle = _idle(definition, kept)
    for name, place in said.items():
        children = (definition.steps[child].id for child in definition.children[definition.index[name]])
        early = next((child for child in children if child in runs and child not in idle), None)
        before = None if early is None else _before(definition, name, runs)
        if early is not None and before is not None:
            words = (
                f"{code(name)} comes after {code(before)}, which runs again, and {code(early)} would begin"
            )
            faults.add(place, f"{words} before that has ended; patch {code(before)}, too, or leave this out")
    faults.refuse("the request")


def _idle(definition: Definition, kept: Mapping[StepId, Kept]) -> set[StepId]:
    """Steps that are skipped because all that they need is."""
    idle = {name for name, result in kept.items() if result.status == "skipped"}
    open_ = [definition.index[name] for name in idle]
    while open_:
        for child in definition.children[open_.pop()]:
            step = definition.steps[child]
            if step.id not in idle and step.id not in kept and idle.issuperset(step.needs):
                idle.add(step.id)
                open_.append(child)
    return idle


def _before(definition: Definition, step: StepId, runs: set[StepId]) -> str | None:
    """One of the steps that run again, and that this one comes after."""
    open_, seen = [step], {step}
    while open_:
        for parent in definition.steps[definition.index[open_.pop()]].needs:
            if parent in runs:
                return parent
            if parent not in seen:
                seen.add(parent)
                open_.append(parent)
    return None
