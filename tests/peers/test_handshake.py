"""Both sides prove that they know the secret; nothing that was overheard can be used again."""

from __future__ import annotations

import random

import pytest

from windlass.core.cluster import NodeId
from windlass.peers import handshake
from windlass.peers.handshake import OPEN_MAX, OPEN_S, Hello, Keyring, NoCommonLevel, Unproven

DIALER, ACCEPTOR = NodeId("a"), NodeId("b")


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def keyring(secret: str = "secret", clock: Clock | None = None) -> Keyring:
    return Keyring(secret, token=random.Random(secret).randbytes, clock=clock or Clock())


def greeting(dialer: Keyring, acceptor: Keyring) -> tuple[str, str, str]:
    """The dialer's hello, the acceptor's, and the dialer's proof."""
    mine = dialer.hello(id=DIALER, to=ACCEPTOR, level=1)
    theirs, _ = acceptor.challenge(mine, me=ACCEPTOR, level=1)
    return mine, theirs, dialer.prove("dialer", dialer=mine, acceptor=theirs)


def test_two_that_know_the_secret_are_sure_of_each_other() -> None:
    dialer, acceptor = keyring(), keyring()
    mine = dialer.hello(id=DIALER, to=ACCEPTOR, level=4)
    theirs, proof = acceptor.challenge(mine, me=ACCEPTOR, level=2)
    dialer.check(proof, "acceptor", dialer=mine, acceptor=theirs)
    assert handshake.read(theirs).id == ACCEPTOR
    greeted, answered = acceptor.admit(mine, theirs, dialer.prove("dialer", dialer=mine, acceptor=theirs))
    assert (greeted.id, greeted.to, answered.id, answered.to) == (DIALER, ACCEPTOR, ACCEPTOR, DIALER)
    assert handshake.common_level(greeted, answered) == 2


def test_the_dialer_finds_out_that_the_other_has_another_secret() -> None:
    dialer, acceptor = keyring(), keyring("another")
    mine = dialer.hello(id=DIALER, to=ACCEPTOR, level=1)
    theirs, proof = acceptor.challenge(mine, me=ACCEPTOR, level=1)
    with pytest.raises(Unproven, match="another secret"):
        dialer.check(proof, "acceptor", dialer=mine, acceptor=theirs)


def test_the_acceptor_admits_nobody_with_another_secret() -> None:
    dialer, acceptor = keyring("another"), keyring()
    with pytest.raises(Unproven):
        acceptor.admit(*greeting(dialer, acceptor))


def test_a_greeting_is_good_for_one_link() -> None:
    dialer, acceptor = keyring(), keyring()
    said = greeting(dialer, acceptor)
    acceptor.admit(*said)
    with pytest.raises(Unproven):
        acceptor.admit(*said)


def test_a_wrong_proof_uses_the_greeting_up() -> None:
    dialer, acceptor = keyring(), keyring()
    mine, theirs, proof = greeting(dialer, acceptor)
    with pytest.raises(Unproven):
        acceptor.admit(mine, theirs, "0" * 64)
    with pytest.raises(Unproven):
        acceptor.admit(mine, theirs, proof)


def test_a_greeting_is_good_for_a_few_seconds() -> None:
    clock = Clock()
    dialer, acceptor = keyring(), keyring(clock=clock)
    said = greeting(dialer, acceptor)
    clock.now = OPEN_S + 0.1
    with pytest.raises(Unproven, match="too old"):
        acceptor.admit(*said)


def test_a_proof_of_the_acceptor_is_no_proof_of_a_dialer() -> None:
    """Else whoever is asked to prove itself could ask the same back."""
    dialer, acceptor = keyring(), keyring()
    mine = dialer.hello(id=DIALER, to=ACCEPTOR, level=1)
    theirs, proof = acceptor.challenge(mine, me=ACCEPTOR, level=1)
    with pytest.raises(Unproven):
        acceptor.admit(mine, theirs, proof)


@pytest.mark.parametrize("change", [{"id": "x"}, {"to": "x"}, {"level": 9}, {"nonce": b"x"}])
def test_nothing_in_a_hello_can_be_changed_on_the_way(change: dict[str, object]) -> None:
    dialer, acceptor = keyring(), keyring()
    mine, theirs, proof = greeting(dialer, acceptor)
    said = handshake.read(mine)
    fields = {name: getattr(said, name) for name in said.__struct_fields__} | change
    with pytest.raises(Unproven):
        acceptor.admit(Hello(**fields).text(), theirs, proof)


def test_strangers_cannot_fill_the_memory_of_a_node() -> None:
    dialer, acceptor = keyring(), keyring()
    for _ in range(OPEN_MAX + 100):
        greeting(dialer, acceptor)
    assert len(acceptor._open) == OPEN_MAX
    with pytest.raises(Unproven):
        acceptor.challenge("A" * 2000, me=ACCEPTOR, level=1)


@pytest.mark.parametrize("text", ["", "?", "AAAA", "\udcff", "é", "A" * 5000, "wAAA===="])
def test_what_is_no_hello_is_refused(text: str) -> None:
    with pytest.raises(Unproven):
        keyring().challenge(text, me=ACCEPTOR, level=1)
    mine, theirs, _ = greeting(keyring(), ring := keyring())
    with pytest.raises(Unproven):
        ring.admit(mine, theirs, text)


def test_the_secret_does_not_travel() -> None:
    dialer, acceptor = keyring("hunter2"), keyring("hunter2")
    mine, theirs, proof = greeting(dialer, acceptor)
    assert not any("hunter2" in said for said in (mine, theirs, proof))


@pytest.mark.parametrize(("old", "lowest", "common"), [(3, 1, 3), (3, 3, 3), (3, 4, None)])
def test_the_newest_format_both_read_is_used(old: int, lowest: int, common: int | None) -> None:
    one = Hello(id=DIALER, to=ACCEPTOR, level=5, lowest=lowest, nonce=b"")
    other = Hello(id=ACCEPTOR, to=DIALER, level=old, lowest=1, nonce=b"")
    if common is not None:
        assert handshake.common_level(one, other) == handshake.common_level(other, one) == common
        return
    with pytest.raises(NoCommonLevel, match="node b reads formats up to 3, node a writes none before 4"):
        handshake.common_level(other, one)
