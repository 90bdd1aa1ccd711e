"""A run once more: what is kept of the old one, what runs, and what makes no sense to ask."""

from collections.abc import Collection
from typing import Any

import msgspec
import pytest
from hypothesis import given as giving
from hypothesis import strategies as st

from windlass.core import document
from windlass.core import run as core
from windlass.core.commands import FinishStep, StartRun
from windlass.core.definition import Case, Definition, Mapped, Switch
from windlass.core.effects import Dispatch
from windlass.core.errors import Invalid
from windlass.core.names import StepId, WorkerId, WorkflowId
from windlass.core.rerun import PERSON, Asked, after, context, plan
from windlass.core.run_model import Family, Run
from windlass.core.step_state import Phase, StepState
from windlass.core.task import Failure, Json, Kept, Success

# a ──► b ──► c ──► d,  a ──► e
LINE: dict[str, list[str]] = {"a": [], "b": ["a"], "c": ["b"], "d": ["c"], "e": ["a"]}


def workflow(needs: dict[str, list[str]], **more: dict[str, Json]) -> Definition:
    steps = {
        name: {"kind": "noop", "needs": above, **more.get(name, {})} if above else {"kind": "noop"}
        for name, above in needs.items()
    }
    for name, extra in more.items():
        steps[name] = {**steps[name], **extra}
    return document.read({"id": "w", "steps": steps})


def ended(definition: Definition, **phases: Phase) -> Run:
    """A run whose steps succeeded, each with its own name as its output, but for these."""
    run = Run(definition)
    for step, state in zip(definition.steps, run.steps, strict=True):
        state.phase = phases.get(step.id, "succeeded")
        state.value = step.id if state.phase == "succeeded" else None
    return run


def kept(run: Run, definition: Definition | None = None, **asked: Any) -> dict[str, Kept]:
    return plan(run, definition or run.definition, Asked(**asked))


def faults(run: Run, **asked: Any) -> dict[str, str]:
    with pytest.raises(Invalid) as refused:
        plan(run, run.definition, Asked(**asked))
    return {fault.pointer: fault.message for fault in refused.value.faults}


FAILED: dict[str, Phase] = {"b": "failed", "c": "skipped", "d": "skipped"}


def test_unless_it_is_said_what_did_not_end_well_runs_again() -> None:
    run = ended(workflow(LINE), **FAILED)
    assert kept(run) == {"a": Kept(value="a"), "e": Kept(value="e")}


def test_from_a_step_that_succeeded_it_and_all_after_it_run_again() -> None:
    run = ended(workflow(LINE))
    assert set(kept(run, from_=("c",))) == {"a", "b", "e"}
    assert set(kept(run, from_=("a",))) == set()
    assert set(kept(run, from_=("e", "d"))) == {"a", "b", "c"}


def test_a_patched_step_is_not_run_and_what_comes_after_it_is() -> None:
    run = ended(workflow(LINE), **FAILED)
    assert kept(run, patch={"b": 42}) == {
        "a": Kept(value="a"),
        "b": Kept(value=42, by=PERSON),
        "e": Kept(value="e"),
    }
    assert set(kept(ended(workflow(LINE)), patch={"c": None})) == {"a", "b", "c", "e"}


def test_a_skipped_step_is_kept_as_skipped() -> None:
    run = ended(workflow(LINE), **FAILED)
    assert kept(run, skip=("b",))["b"] == Kept(status="skipped", by=PERSON)
    assert set(kept(run, skip=("b",))) == {"a", "b", "e"}


def test_with_another_input_everything_runs_again_unless_it_is_said_from_where() -> None:
    run = ended(workflow(LINE), **FAILED)
    assert kept(run, edited=True) == {}
    assert kept(run, edited=True, patch={"a": 1}) == {"a": Kept(value=1, by=PERSON)}
    assert set(kept(run, edited=True, from_=("b",))) == {"a", "e"}


def test_what_was_skipped_for_a_reason_stays_skipped_and_what_was_never_reached_runs() -> None:
    run = ended(workflow(LINE), c="skipped", d="skipped", e="failed")
    run.steps[2].why = "`when` is false"
    assert kept(run)["c"] == Kept(status="skipped")
    assert "d" not in kept(run)


def test_a_failure_that_the_run_did_not_mind_is_tried_again_unless_another_step_is_named() -> None:
    definition = workflow(LINE, b={"on_failure": "skip"})
    run = ended(definition, b="failed")
    assert set(kept(run)) == {"a", "e"}
    assert kept(run, from_=("e",)) == {
        "a": Kept(value="a"),
        "b": Kept(),
        "c": Kept(value="c"),
        "d": Kept(value="d"),
    }


def test_a_step_whose_place_was_taken_is_kept_with_what_its_fallback_gave() -> None:
    needs = {"a": [], "b": ["a"], "f": []}
    definition = workflow(needs, a={"on_failure": {"fallback": "f"}})
    run = ended(definition, a="replaced", b="failed")
    assert kept(run) == {"a": Kept(value="f")}
    assert "in place of `a`" in faults(run, from_=("f",))["/from/0"]
    assert "in place of `a`" in faults(run, patch={"f": 1})["/patch/f"]
    both = ended(definition, a="replaced", f="failed", b="skipped")
    assert kept(both) == {}


def made(run: Run, of: int, item: int, name: str, **more: Any) -> None:
    state = StepState(of=of, item=item, **more)
    run.made_at[StepId(name)] = len(run.steps)
    run.made.append(run.step(of))
    run.steps.append(state)


def test_what_was_taken_back_runs_again_whatever_is_asked_for() -> None:
    run = ended(workflow(LINE), **FAILED)
    made(run, 0, -1, "undo:a", phase="succeeded")
    assert kept(run) == {}
    assert kept(run, from_=("d",)) == {}
    assert set(kept(run, patch={"a": 1})) == {"a"}
    never = ended(workflow(LINE), **FAILED)
    made(never, 0, -1, "undo:a", phase="cancelled")
    assert set(kept(never)) == {"a", "e"}


def test_an_item_that_was_taken_back_takes_its_map_along() -> None:
    run = ended(workflow(LINE), **FAILED)
    made(run, 4, 0, "e[0]", phase="succeeded")
    made(run, len(run.steps) - 1, -1, "undo:e[0]", phase="failed", started_at=3.0)
    assert set(kept(run)) == {"a"}


def test_a_map_is_kept_with_what_its_items_gave() -> None:
    definition = workflow({"each": [], "b": ["each"]})
    body = msgspec.structs.replace(definition.steps[0], id=StepId("each"))
    each = msgspec.structs.replace(definition.steps[0], kind="map", control=Mapped(body=body))
    definition = Definition(id=WorkflowId("w"), steps=(each, definition.steps[1]))
    run = ended(definition, b="failed")
    run.steps[0].value, run.steps[0].items = None, [7, 8]
    run.families[0] = Family(total=2, parallel=1)
    for n, value in enumerate((70, 80)):
        run.families[0].members.append(len(run.steps))
        run.made_at[StepId(f"each[{n}]")] = len(run.steps)
        run.made.append(msgspec.structs.replace(body, id=StepId(f"each[{n}]")))
        run.steps.append(StepState(of=0, item=n, phase="succeeded", value=value))
    assert kept(run) == {"each": Kept(value=[70, 80])}


def test_of_another_version_only_steps_that_are_the_same_are_kept() -> None:
    run = ended(workflow(LINE), d="failed")
    newer = workflow({**LINE, "x": ["a"]}, c={"with": {"value": 3}})
    assert set(kept(run, newer)) == {"a", "b", "e"}
    other_needs = workflow({**LINE, "e": ["b"]})
    assert set(kept(run, other_needs)) == {"a", "b", "c"}


def test_steps_that_are_not_there_are_told_with_their_places() -> None:
    run = ended(workflow({"fetch": [], "sum": ["fetch"]}))
    told = faults(run, from_=("fetc",), patch={"sun": 1}, skip=("zzz",))
    assert set(told) == {"/from/0", "/patch/sun", "/skip/0"}
    assert "did you mean `fetch`?" in told["/from/0"]
    made(run, 0, 3, "fetch[3]", phase="succeeded")
    assert "was made for `fetch`" in faults(run, from_=("fetch[3]",))["/from/0"]
    assert "at /from/0 already" in faults(run, from_=("sum",), skip=("sum",))["/skip/0"]


def test_nothing_to_run_is_a_mistake_but_a_patch_of_the_last_step_is_none() -> None:
    run = ended(workflow(LINE))
    assert "name a step to run from" in faults(run)["/from"]
    assert kept(run, patch={"d": 9})["d"] == Kept(value=9, by=PERSON)


def test_nobody_begins_before_what_runs_again_has_ended() -> None:
    run = ended(workflow(LINE))
    told = faults(run, from_=("a",), patch={"b": 1})
    assert "`b` comes after `a`, which runs again, and `c` would begin" in told["/patch/b"]
    assert "/skip/0" in faults(ended(workflow({**LINE, "d": ["c", "e"]})), from_=("b",), skip=("c",))
    assert "/patch/c" in faults(run, patch={"a": 1, "c": 2})
    # Nobody goes by these: they are the last, or what follows is skipped with them.
    assert set(kept(run, from_=("b",), skip=("d",))) == {"a", "d", "e"}
    assert set(kept(run, from_=("b",), skip=("c",))) == {"a", "c", "e"}


def routed() -> Definition:
    """A switch that leads to big or small; `after` follows both."""
    steps = workflow({"route": [], "big": ["route"], "small": ["route"], "after": ["big", "small"]}).steps
    control = Switch(cases=(Case(when="x", then=(StepId("big"),)),), default=(StepId("small"),))
    route = msgspec.structs.replace(steps[0], kind="switch", control=control)
    return Definition(id=WorkflowId("w"), steps=(route, *steps[1:]))


def test_a_choice_that_is_kept_leaves_out_what_it_left_out() -> None:
    run = ended(routed(), small="skipped", after="failed")
    run.steps[0].value, run.steps[2].why = {"case": 0, "then": ["big"]}, "route chose otherwise"
    assert set(kept(run)) == {"route", "big", "small"}
    assert kept(run)["small"] == Kept(status="skipped")
    assert set(kept(run, from_=("big",))) == {"route", "small"}
    # Somebody may want it nevertheless.
    assert set(kept(run, from_=("small",))) == {"route", "big"}


def test_a_choice_can_be_made_by_a_person() -> None:
    run = ended(routed(), big="failed", small="skipped", after="skipped")
    run.steps[0].value, run.steps[2].why = {"case": 0, "then": ["big"]}, "route chose otherwise"
    result = kept(run, patch={"route": {"then": ["small"]}})
    assert result["big"] == Kept(status="skipped", by=PERSON)
    assert set(result) == {"route", "big"}
    for wrong in ("small", {"then": "small"}, {"then": ["after"]}, None):
        assert "chooses among steps" in faults(run, patch={"route": wrong})["/patch/route"]


def test_the_context_is_what_kept_steps_made_of_it_in_their_order() -> None:
    definition = workflow(LINE)
    patches: list[tuple[StepId, dict[str, Json]]] = [
        (StepId("a"), {"n": 1, "who": "a"}),
        (StepId("e[0]"), {"item": 0}),
        (StepId("b"), {"n": 2}),
        (StepId("c"), {"n": 3}),
        (StepId("undo:a"), {"n": 4}),
    ]
    taken: dict[str, Kept] = {"a": Kept(), "e": Kept(), "c": Kept(by=PERSON)}
    assert context({"first": True, "who": "-"}, patches, taken, definition) == {
        "first": True,
        "n": 1,
        "who": "a",
        "item": 0,
    }


graphs = st.integers(2, 8).flatmap(
    lambda n: st.tuples(*(st.sets(st.integers(0, max(i - 1, 0)), max_size=i) for i in range(n)))
)


@giving(graphs, st.data())
def test_a_result_is_kept_only_if_all_that_it_came_from_is(
    graph: tuple[set[int], ...], data: st.DataObject
) -> None:
    definition = workflow({f"s{i}": [f"s{j}" for j in sorted(above)] for i, above in enumerate(graph)})
    names = [step.id for step in definition.steps]
    ends: list[Phase] = ["succeeded", "failed", "skipped", "cancelled"]
    run = ended(definition, **{name: data.draw(st.sampled_from(ends)) for name in names})
    first = data.draw(st.sets(st.sampled_from(names), min_size=1))
    result = plan(run, definition, Asked(from_=tuple(sorted(first))))
    assert not result.keys() & after(definition, first)
    for step in definition.steps:
        if step.id in result:
            assert set(step.needs) <= result.keys()
        elif run.steps[definition.index[step.id]].phase == "succeeded":
            assert step.id in first or not set(step.needs) <= result.keys()


def play(
    definition: Definition, bad: Collection[str], kept: dict[str, Kept] | None = None
) -> tuple[Run, list[str]]:
    """A run from its start to its end, in which these steps fail; and what was handed to workers."""
    run, given_out = Run(definition), list[str]()
    begin = StartRun(
        workflow=definition.id, version=1, document_hash="", request_hash="", kept=kept or {}, at=1.0
    )
    effects = core.effects(core.perform(run, begin))
    while effects:
        effect = effects.pop(0)
        if not isinstance(effect, Dispatch) or run.ended is not None:
            continue
        given_out.append(effect.step)
        outcome = Failure("Odd", "no") if effect.step in bad else Success(effect.step)
        finish = FinishStep(
            step=effect.step,
            attempt=effect.attempt,
            outcome=outcome,
            worker=WorkerId("w"),
            started_at=1.0,
            at=1.0,
        )
        effects += core.effects(core.perform(run, finish))
    assert run.ended is not None
    return run, given_out


@giving(graphs, st.data())
def test_a_rerun_does_what_is_left_once_and_ends_as_if_nothing_had_gone_wrong(
    graph: tuple[set[int], ...], data: st.DataObject
) -> None:
    needs = {f"s{i}": [f"s{j}" for j in sorted(above)] for i, above in enumerate(graph)}
    skips = {name: {"on_failure": data.draw(st.sampled_from(["fail", "skip"]))} for name in needs}
    definition = workflow(needs, **skips)
    bad = data.draw(st.sets(st.sampled_from(sorted(needs)), min_size=1))
    old, _ = play(definition, bad)
    assert old.status in ("failed", "partial_success")
    result = plan(old, definition, Asked())
    new, ran = play(definition, (), result)
    assert new.status == "succeeded"
    assert sorted(ran) == sorted(needs.keys() - result.keys())
    assert core.outputs(new) == core.outputs(play(definition, ())[0])
