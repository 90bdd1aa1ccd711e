"""Who may share which reading, and what of an answer is news."""

import asyncio
from dataclasses import dataclass, field

import msgspec
from aiohttp import web

from windlass.core.task import Json
from windlass.gateway import answers
from windlass.gateway.live_readings import Place, Readings, Told, result, told

RUNS = Place("/api/v1/runs", "default", "read", "default")


@dataclass
class Source:
    """Something to read that changes each time, on a clock that stands still unless it is moved."""

    now: float = 100.0
    count: int = 0
    gate: asyncio.Event = field(default_factory=asyncio.Event)

    async def answer(self) -> web.Response:
        self.count += 1
        number = self.count
        await self.gate.wait()
        return answers.json(number)


def begin(
    readings: Readings, source: Source, *, arrived: float, beat: float, place: Place = RUNS
) -> asyncio.Task[Told]:
    return readings.begin(place, source.answer, (), arrived=arrived, beat=beat)


def scene() -> tuple[Source, Readings]:
    source = Source()
    source.gate.set()
    return source, Readings(lambda: source.now)


def test_in_one_beat_all_get_the_same_and_in_the_next_another() -> None:
    async def play() -> None:
        source, readings = scene()
        first = await begin(readings, source, arrived=90, beat=100)
        source.now = 100.9
        assert await begin(readings, source, arrived=50, beat=100) is first
        source.now = 101
        assert (await begin(readings, source, arrived=90, beat=101)).body == b"2"

    asyncio.run(play())


def test_who_has_just_come_hears_of_what_was_done_before() -> None:
    async def play() -> None:
        source, readings = scene()
        await begin(readings, source, arrived=90, beat=100)
        source.now = 100.5
        assert (await begin(readings, source, arrived=100.5, beat=100.5)).body == b"2"
        # Which will do for the others.
        assert (await begin(readings, source, arrived=90, beat=100)).body == b"2"

    asyncio.run(play())


def test_what_is_on_its_way_is_not_begun_again_and_serves_those_of_the_beat_in_which_it_comes() -> None:
    async def play() -> None:
        source, readings = scene()
        source.gate.clear()
        going = begin(readings, source, arrived=90, beat=100)
        await asyncio.sleep(0)
        source.now = 103.5
        assert begin(readings, source, arrived=90, beat=103) is going and result(going) is None
        source.gate.set()
        assert (await going).body == b"1"
        assert begin(readings, source, arrived=90, beat=103) is going
        assert source.count == 1

    asyncio.run(play())


def test_other_rights_or_another_namespace_are_another_reading() -> None:
    async def play() -> None:
        source, readings = scene()
        others = [
            RUNS,
            RUNS._replace(namespace="team"),
            RUNS._replace(role="admin"),
            RUNS._replace(scope="*"),
            RUNS._replace(read="/api/v1/runs?"),
        ]
        bodies = [(await begin(readings, source, arrived=90, beat=100, place=each)).body for each in others]
        assert bodies == [b"1", b"2", b"3", b"4", b"5"]

    asyncio.run(play())


def test_what_nobody_asks_for_is_forgotten() -> None:
    async def play() -> None:
        source, readings = scene()
        await begin(readings, source, arrived=90, beat=100)
        source.now = 200
        await begin(readings, source, arrived=90, beat=200, place=RUNS._replace(read="/health"))
        assert len(readings) == 1

    asyncio.run(play())


def test_a_reading_that_was_given_up_is_none() -> None:
    async def play() -> None:
        source, readings = scene()
        source.gate.clear()
        going = begin(readings, source, arrived=90, beat=100)
        await asyncio.sleep(0)
        going.cancel()
        await asyncio.wait([going])
        assert result(going) is None
        source.gate.set()
        assert (await begin(readings, source, arrived=90, beat=100)).body == b"2"

    asyncio.run(play())


def answered(body: Json, status: int = 200, *passing: str) -> Told:
    return told("/x", answers.json(body, status), passing, began=0, ended=0)


def test_what_always_changes_makes_no_news_at_any_depth() -> None:
    one = answered({"asOf": "1", "items": [{"age": 1.5, "n": 1}, {"age": None, "n": 2}]}, 200, "asOf", "age")
    two = answered({"asOf": '2"\\', "items": [{"age": None, "n": 1}, {"age": 7, "n": 2}]}, 200, "asOf", "age")
    assert one.mark == two.mark and one.whole != two.whole
    three = answered({"asOf": "1", "items": [{"age": 1.5, "n": 1}, {"age": 7, "n": 3}]}, 200, "asOf", "age")
    assert three.mark != one.mark


def test_a_text_that_looks_like_a_field_is_news() -> None:
    one, two = (answered({"log": f'"asOf":"{number}"'}, 200, "asOf") for number in (1, 2))
    assert one.mark != two.mark


def test_another_status_is_news_and_another_number_of_a_refusal_is_not() -> None:
    assert answered({}, 200).mark != answered({}, 201).mark
    assert answered({"requestId": "a"}, 404).mark == answered({"requestId": "b"}, 404).mark
    assert answered({"requestId": "a"}, 200).mark != answered({"requestId": "b"}, 200).mark


def test_an_answer_is_one_event_of_one_line() -> None:
    frame = answered({"text": "two\nlines"}, 404).frame().decode()
    name, data, *rest = frame.split("\n")
    assert name == "event: answer" and rest == ["", ""]
    assert msgspec.json.decode(data.removeprefix("data: ")) == {
        "read": "/x",
        "status": 404,
        "body": {"text": "two\nlines"},
    }
