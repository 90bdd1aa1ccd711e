"""Formats that change while programs of two ages share a cluster."""

from collections.abc import Iterator

import msgspec
import pytest

from tests.core.outside import Outside, lose, start
from tests.core.test_run import begin, step
from windlass.core import placement
from windlass.core.cluster import Holding, Member, NodeId, Plan, View
from windlass.core.commands import LoseStep
from windlass.core.document import read
from windlass.core.events import RetryScheduled, StepReleased
from windlass.core.names import Attempt, StepId
from windlass.core.run_model import Run
from windlass.core.run_state import image
from windlass.core.task import Json
from windlass.wire import codec, versions
from windlass.wire.versions import NewerFormat

EVENT = RetryScheduled(step=StepId("a"), attempt=Attempt(1), due=2.0, at=1.0)


def renamed(old: str, new: str) -> versions.Change:
    def change(body: dict[str, Json]) -> dict[str, Json]:
        return {new if key == old else key: value for key, value in body.items()}

    return change


@pytest.fixture
def an_event_has_changed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As if version 1 of it had said `node` where version 2, which came with level 2, says `step`."""
    monkeypatch.setitem(versions.CURRENT, "RetryScheduled", 2)
    monkeypatch.setitem(versions.SINCE, ("RetryScheduled", 2), 2)
    monkeypatch.setitem(versions.UPGRADES, ("RetryScheduled", 1), renamed("node", "step"))
    monkeypatch.setitem(versions.DOWNGRADES, ("RetryScheduled", 2), renamed("step", "node"))
    yield


@pytest.mark.usefixtures("an_event_has_changed")
def test_while_an_old_reader_is_about_the_old_format_is_written() -> None:
    version, body = codec.write_event(EVENT, level=1)
    assert version == 1
    assert msgspec.json.decode(body)["node"] == "a"
    assert codec.decode_event("RetryScheduled", 1, body) == EVENT, "who can read more reads it all the same"


@pytest.mark.usefixtures("an_event_has_changed")
def test_once_everybody_reads_it_the_new_format_is_written() -> None:
    version, body = codec.write_event(EVENT, level=2)
    assert version == 2
    assert codec.decode_event("RetryScheduled", 2, body) == EVENT


def test_what_a_newer_program_wrote_is_refused_and_never_guessed_at() -> None:
    with pytest.raises(NewerFormat, match="run the newer Windlass"):
        codec.decode_event("RetryScheduled", 2, codec.encode_event(EVENT))


@pytest.mark.parametrize("level", [1, versions.LEVEL])
def test_an_event_that_came_with_a_level_is_refused_as_newer_by_a_program_before_it(
    level: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    event = StepReleased(step=StepId("a"), command="c", at=1.0)
    version, body = codec.write_event(event, level)
    assert codec.decode_event("StepReleased", version, body) == event
    monkeypatch.delitem(versions.CURRENT, "StepReleased")  # as it was in that program
    with pytest.raises(NewerFormat, match="run the newer Windlass"):
        codec.decode_event("StepReleased", version, body)


def test_only_the_state_of_a_run_with_a_parked_step_is_too_new_for_a_program_before_it() -> None:
    def written(command: LoseStep) -> tuple[int, bytes]:
        outside = begin(step("a"), step("b"))
        outside.play(command)
        version, body = codec.write_image(image(outside.run), level=1)
        assert msgspec.to_builtins(codec.decode_run(version, body)) == msgspec.to_builtins(image(outside.run))
        return version, body

    assert written(lose("a"))[0] == 1
    assert written(lose("a", failover=False))[0] == 2
    with pytest.raises(NewerFormat, match="RunImage has format 5 and this Windlass reads up to 4"):
        codec.decode_run(5, written(lose("a"))[1])


def test_a_run_that_brings_its_document_is_refused_as_newer_by_a_program_before_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    document = {"id": "w", "steps": {"a": {"kind": "noop"}}}
    for given, wanted in ((None, (1, 1)), (document, (2, 3))):
        outside = Outside(Run(read(document)))
        (started, *_) = outside.play(start(document=given))
        version, body = codec.write_event(started, level=3)
        of_image, its_body = codec.write_image(image(outside.run), level=3)
        assert (version, of_image) == wanted
        assert codec.decode_event("RunStarted", version, body) == started
        assert codec.decode_run(of_image, its_body).started == started
    monkeypatch.delitem(versions.CURRENT, "RunStarted")
    monkeypatch.delitem(versions.ALIKE, "RunStarted")
    monkeypatch.setitem(versions.CURRENT, versions.RUN_IMAGE, 2)
    with pytest.raises(NewerFormat):
        codec.decode_event("RunStarted", version, body)
    with pytest.raises(NewerFormat):
        codec.decode_run(of_image, its_body)


def member(name: str, level: int) -> Member:
    return Member(id=NodeId(name), name=name, address=name, level=level)


def view(*members: Member, plan: Plan | None = None, shards: int = 6) -> View:
    owners = {n: Holding(members[0].id, 1) for n in range(shards)}
    return View(members={m.id: m for m in members}, shards=owners, plan=plan or Plan())


def test_the_cluster_writes_what_its_oldest_program_reads() -> None:
    planned = placement.plan(view(member("old", 1), member("new", 2)), reason="joined")
    assert planned is not None and planned.level == 1
    planned = placement.plan(view(member("new", 2), member("newer", 3)), reason="joined")
    assert planned is not None and planned.level == 2


def test_the_level_never_falls_and_who_cannot_read_it_is_given_nothing() -> None:
    raised = Plan(round=7, level=2)
    planned = placement.plan(view(member("new", 2), member("old", 1), plan=raised), reason="joined")
    assert planned is not None and planned.level == 2
    assert planned.moves == (), "the old one has no shards, and gets none"
    assert placement.heirs([9], view(member("new", 2), member("old", 1), plan=raised)) == {9: "new"}
