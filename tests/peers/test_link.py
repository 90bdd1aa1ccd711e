"""The parts of a link: what becomes a frame, and when the other side counts as silent."""

from __future__ import annotations

import pytest

from tests.peers.clusters import numbered
from windlass.core.names import run_key
from windlass.peers import Unreachable, outbox, pulse
from windlass.peers.outbox import FRAME_BYTES_MAX, FRAME_MESSAGES_MAX, Outbox
from windlass.peers.pulse import PING, PING_EVERY, PONG, SILENT_MAX, Pulse
from windlass.wire import messages
from windlass.wire.messages import Calling, Envelope, IsQuiet, News, Telling


def frames(box: Outbox) -> list[bytes]:
    return list(iter(box.next_frame, None))


def news(size: int) -> Telling:
    return Telling(News(run_key("r"), 1, (bytes(size),)))


@pytest.mark.parametrize("count", [1, 15, 16, 1000])
def test_what_waits_becomes_one_frame_as_the_codec_would_write_it(count: int) -> None:
    box = Outbox()
    given: list[Envelope] = [Telling(numbered(n)) for n in range(count)]
    for envelope in given:
        box.give(envelope)
    assert frames(box) == [messages.encode_frame(given)]
    assert box.waiting_bytes == 0


def test_a_frame_has_a_size_and_a_larger_message_travels_alone() -> None:
    box = Outbox()
    for size in (400_000, 400_000, 400_000, 5_000_000, 10):
        box.give(news(size))
    sent = frames(box)
    assert [len(messages.decode_frame(frame)) for frame in sent] == [2, 1, 1, 1]
    assert all(len(frame) < FRAME_BYTES_MAX + 100 for frame in sent if len(frame) < 5_000_000)


def test_a_frame_has_no_more_messages_than_its_head_can_count() -> None:
    box = Outbox()
    body = messages.Hungry(True)
    for _ in range(FRAME_MESSAGES_MAX + 1):
        box.give(Telling(body))
    assert [len(messages.decode_frame(frame)) for frame in frames(box)] == [FRAME_MESSAGES_MAX, 1]


def test_what_is_thrown_away_names_its_calls() -> None:
    box = Outbox()
    box.give(Calling(7, IsQuiet(run_key("r"))), 7)
    box.next_frame()
    box.give(Telling(numbered(1)))
    box.give(Calling(8, IsQuiet(run_key("r"))), 8)
    assert 8 in box.empty()
    assert 7 not in box.empty()
    assert frames(box) == []


def test_what_is_too_large_is_refused_when_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "MESSAGE_BYTES_MAX", 100)
    box = Outbox()
    with pytest.raises(Unreachable):
        box.give(news(101))
    assert frames(box) == []


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_link_says_something_every_second_and_measures_the_trip() -> None:
    clock = Clock()
    beating = Pulse(clock)
    assert beating.next_beat() == bytes((PING, 1))
    assert beating.next_beat() is None
    clock.now = 0.5
    beating.take(bytes((PONG, 1)))
    assert beating.trip_s == 0.5
    assert [beating.tick() for _ in range(PING_EVERY - 1)] == [False] * (PING_EVERY - 1)
    assert beating.next_beat() is None
    beating.tick()
    assert beating.next_beat() == bytes((PING, 2))
    clock.now = 0.6
    beating.take(bytes((PONG, 2)))
    assert beating.trip_s == pytest.approx(0.5 + pulse.SMOOTHING * (0.1 - 0.5))


def test_a_ping_that_is_answered_late_still_measures_from_its_beginning() -> None:
    clock = Clock()
    beating = Pulse(clock)
    assert beating.next_beat() == bytes((PING, 1))
    clock.now = 1.0
    for _ in range(PING_EVERY):
        beating.tick()
    assert beating.next_beat() == bytes((PING, 1))
    clock.now = 1.5
    beating.take(bytes((PONG, 1)))
    assert beating.trip_s == 1.5
    beating.take(bytes((PONG, 1)))
    beating.take(bytes((PONG, 9)))
    assert beating.trip_s == 1.5


def test_every_ping_is_answered_and_only_the_newest() -> None:
    beating = Pulse(Clock())
    beating.next_beat()
    beating.take(bytes((PING, 3)))
    beating.take(bytes((PING, 4)))
    assert beating.next_beat() == bytes((PONG, 4))
    assert beating.next_beat() is None


def test_silence_is_counted_in_our_own_ticks() -> None:
    """When our own process stood still, the other side is not blamed."""
    clock = Clock()
    beating = Pulse(clock)
    clock.now = 1000.0
    assert not beating.tick()
    beating.heard()
    assert [beating.tick() for _ in range(SILENT_MAX)] == [False] * SILENT_MAX
    assert beating.tick()


@pytest.mark.parametrize("frame", [b"", b"\x01", bytes((PING, 1, 1)), b"\x91\x01", b"\x90"])
def test_nothing_else_is_taken_for_a_sign_of_life(frame: bytes) -> None:
    assert not pulse.is_beat(frame)
