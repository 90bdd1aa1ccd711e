"""What is sealed opens with its key, under its name, and in no other way."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.vault import Keyring, Locked, Sealed, key_id

OLD, NEW = bytes(range(32)), bytes(range(1, 33))
PLACE = "secret/default/db"


@given(st.text(), st.text())
def test_what_is_sealed_opens_again(context: str, text: str) -> None:
    ring = Keyring([NEW])
    try:
        context.encode(), text.encode()
    except UnicodeEncodeError:
        return
    kept = ring.seal(context, text)
    assert ring.open(context, *kept) == text


def test_the_same_text_is_never_sealed_the_same_way_and_never_readable() -> None:
    ring = Keyring([NEW])
    one, two = ring.seal(PLACE, "hunter2 hunter2"), ring.seal(PLACE, "hunter2 hunter2")
    assert one.sealed != two.sealed
    assert b"hunter2" not in one.sealed


def test_the_first_key_seals_and_the_others_open() -> None:
    kept = Keyring([OLD]).seal(PLACE, "hunter2")
    ring = Keyring([NEW, OLD])
    assert ring.open(PLACE, *kept) == "hunter2"
    assert ring.seal(PLACE, "hunter2").key == key_id(NEW) == ring.key != kept.key
    assert ring.ids == (key_id(NEW), key_id(OLD))


def test_a_row_that_was_moved_to_another_name_does_not_open() -> None:
    ring = Keyring([NEW])
    kept = ring.seal(PLACE, "hunter2")
    with pytest.raises(Locked, match="damaged, or moved here"):
        ring.open("secret/default/other", *kept)


@pytest.mark.parametrize("at", [0, 12, -1])
def test_a_row_that_was_changed_does_not_open(at: int) -> None:
    ring = Keyring([NEW])
    kept = ring.seal(PLACE, "hunter2")
    changed = bytearray(kept.sealed)
    changed[at] ^= 1
    with pytest.raises(Locked):
        ring.open(PLACE, kept.key, bytes(changed))
    with pytest.raises(Locked):
        ring.open(PLACE, kept.key, kept.sealed[:5])


def test_another_key_does_not_open_it_even_under_its_name() -> None:
    kept = Keyring([OLD]).seal(PLACE, "hunter2")
    with pytest.raises(Locked, match="damaged"):
        Keyring([NEW]).open(PLACE, key_id(NEW), kept.sealed)


def test_a_missing_key_is_named_and_so_is_what_to_do() -> None:
    kept = Keyring([OLD]).seal(PLACE, "hunter2")
    with pytest.raises(Locked, match=f"{key_id(OLD)}, and this node has {key_id(NEW)}") as locked:
        Keyring([NEW]).open(PLACE, *kept)
    assert "--secrets-key-file" in str(locked.value) and "WINDLASS_SECRETS_KEY" in str(locked.value)


def test_without_a_key_nothing_is_sealed_or_opened() -> None:
    ring = Keyring()
    assert not ring and ring.key == ""
    with pytest.raises(Locked, match="no key to seal"):
        ring.seal(PLACE, "hunter2")
    with pytest.raises(Locked, match="has no key"):
        ring.open(PLACE, *Sealed("00000000", b"x" * 40))


def test_a_ring_shows_the_ids_of_its_keys_and_nothing_else() -> None:
    ring = Keyring([NEW, OLD])
    assert repr(ring) == f"Keyring({key_id(NEW)}, {key_id(OLD)})"
    with pytest.raises(TypeError):
        pickle.dumps(ring)


def test_a_key_has_32_bytes() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        Keyring([b"short"])
