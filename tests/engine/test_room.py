"""Whoever has much to tell, or is told much, leaves room for the others."""

from __future__ import annotations

from windlass.engine.room import Bounds, Room
from windlass.journal import Notice

BOUNDS = Bounds(all=10, hook=2, receiver=3, namespace=4, callbacks=6)


def notice(hook: str, namespace: str = "default") -> Notice:
    return Notice(
        id="n", hook=hook, namespace=namespace, workflow="w", run="r", what="failed", at=0.0, body=b""
    )


def fill(room: Room, *notices: Notice) -> int:
    """How many of these, each again and again, find room."""
    count = 0
    for each in notices:
        while room.fits(each):
            room.enter(each)
            count += 1
    return count


def callback(host: int | str, namespace: str = "default") -> Notice:
    return notice(f"callback:https://{host}:443", namespace)


def test_each_webhook_and_each_receiver_has_a_share() -> None:
    assert fill(Room(BOUNDS), notice("h")) == BOUNDS.hook
    assert fill(Room(BOUNDS), callback("a")) == BOUNDS.receiver


def test_a_namespace_has_a_share_however_many_receivers_it_names() -> None:
    room = Room(BOUNDS)
    assert fill(room, *(callback(n) for n in range(10))) == BOUNDS.namespace
    assert room.fits(callback(0, "theirs"))


def test_callbacks_leave_room_to_webhooks_however_many_namespaces_there_are() -> None:
    room = Room(BOUNDS)
    assert fill(room, *(callback(n, f"n{n}") for n in range(10))) == BOUNDS.callbacks
    assert fill(room, *(notice(f"h{n}") for n in range(10))) == BOUNDS.all - BOUNDS.callbacks
    assert room.full


def test_who_leaves_makes_room() -> None:
    room = Room(BOUNDS)
    fill(room, callback("a"), callback("b"))
    assert not room.fits(callback("c"))
    room.leave(callback("a"))
    assert not room.full
    assert room.fits(callback("c"))
    assert fill(room, callback("a"), callback("c")) == 1
