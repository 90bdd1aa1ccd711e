"""Large values that tasks have in common: taken out, put back, and never too many of them kept."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windlass.core.names import Attempt, RunId, StepId
from windlass.core.task import Json, Task
from windlass.wire import bulk
from windlass.wire.bulk import KEPT_BYTES_MAX, KEPT_MAX, LARGE_BYTES, Recent
from windlass.wire.filling import Kept, filled, looked_into
from windlass.wire.lightening import Light, Lightener

LARGE = ["x" * 100] * 100
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=10,
)
values = json_values | st.sampled_from(["y" * 5_000, LARGE, {"rows": LARGE}])


def a_task(given: Json = None, step: str = "s", **parents: Json) -> Task:
    return Task(RunId("r"), StepId(step), Attempt(1), "noop", input=given, parents=parents)


def as_sent(light: Light) -> Task:
    return msgspec.json.decode(light.encode(), type=Task)


def plain(task: Task) -> Task:
    return msgspec.json.decode(msgspec.json.encode(task), type=Task)


@given(st.lists(st.tuples(values, st.dictionaries(st.text(max_size=3), values, max_size=3)), max_size=6))
@settings(max_examples=60)
def test_what_is_put_back_is_what_was_taken_out_in_the_order_it_had(
    given: list[tuple[Json, dict[str, Json]]],
) -> None:
    lightener, kept = Lightener(), Kept()
    for value, parents in given:
        task = msgspec.structs.replace(a_task(value), parents=parents)
        light = lightener.lighten(task)
        fresh = {name: light.bodies[name] for name in light.fresh}
        assert kept.missing(light.places, fresh) == []
        whole = kept.fill(as_sent(light), light.places, fresh)
        assert plain(whole) == plain(task)
        assert list(whole.parents) == list(parents)


def test_a_value_is_taken_out_once_and_named_afterwards_even_as_another_object() -> None:
    lightener = Lightener()
    first = lightener.lighten(a_task(LARGE, fetch="small"))
    assert len(first.fresh) == 1
    assert set(first.places) == {"input"}
    assert len(first.encode()) < 200
    assert b'"small"' in first.encode()
    assert lightener.lighten(a_task(LARGE, "t")).fresh == set()
    again = lightener.lighten(a_task(list(LARGE), fetch={"a": LARGE}))
    assert again.places["input"] == first.places["input"]
    assert again.fresh == {again.places["parents/fetch"]}


def test_a_value_that_was_met_is_not_looked_into_again(monkeypatch: pytest.MonkeyPatch) -> None:
    lightener = Lightener()
    lightener.lighten(a_task(LARGE))
    monkeypatch.setattr("windlass.wire.lightening._encode", lambda value: pytest.fail("it was encoded again"))
    assert lightener.lighten(a_task(LARGE, "t")).places


def test_small_values_stay_in_the_task() -> None:
    edge = "e" * (LARGE_BYTES - 3)  # and two quotes
    light = Lightener().lighten(a_task(edge, fetch=edge + "e"))
    assert set(light.places) == {"parents/fetch"}
    assert as_sent(light).input == edge


def test_whoever_lacks_a_value_says_which() -> None:
    light = Lightener().lighten(a_task(LARGE, fetch={"a": LARGE}))
    kept = Kept()
    one = {light.places["input"]: light.bodies[light.places["input"]]}
    assert kept.missing(light.places, {}) == sorted(light.bodies)
    assert kept.missing(light.places, one) == [light.places["parents/fetch"]]
    kept.fill(as_sent(light), light.places, light.bodies)
    assert kept.missing(light.places, {}) == []
    with pytest.raises(KeyError):
        filled(as_sent(light), light.places, {})


def test_the_longest_unused_are_let_go_but_none_that_the_last_task_needs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    recent = Recent()
    for n in range(KEPT_MAX):
        recent.use(f"v{n}", 10)
    recent.use("v0", 10)
    recent.use("new", 10)
    assert recent.shrink(spare=()) == ["v1"]
    recent.use("huge", KEPT_BYTES_MAX)
    assert recent.shrink(spare=["huge", "v0"])[-1] == "new"
    assert "huge" in recent and "v0" in recent and "new" not in recent
    # The same on both ends of a connection.
    monkeypatch.setattr(bulk, "KEPT_MAX", 2)
    lightener, kept = Lightener(), Kept()
    for n in range(5):
        light = lightener.lighten(a_task([n, *LARGE]))
        kept.fill(as_sent(light), light.places, light.bodies)
    assert kept.missing(light.places, {}) == []
    assert lightener.lighten(a_task([0, *LARGE])).fresh
    assert len(kept.missing({"input": name_of([0, *LARGE])}, {})) == 1


def name_of(value: Json) -> str:
    return Lightener().lighten(a_task(value)).places["input"]


def test_who_looks_into_a_value_has_a_copy_of_his_own() -> None:
    raw = msgspec.Raw(msgspec.json.encode({"rows": [1]}))
    first, second = looked_into(raw), looked_into(raw)
    first["rows"].append(2)
    assert second == {"rows": [1]}
    assert looked_into([1]) == [1]
