"""Keys come from a file that only its owner reads, or from a variable; faults never repeat what is there."""

import base64
import os
from pathlib import Path

import pytest

from windlass.core.errors import Invalid
from windlass.process import keyring_of
from windlass.vault import key_id, keys

ONE, TWO = bytes(range(32)), bytes(range(100, 132))
HEX, BASE64 = ONE.hex(), base64.b64encode(TWO).decode()


def a_file(folder: Path, text: str, mode: int = 0o600) -> Path:
    path = folder / "keys"
    path.write_text(text)
    path.chmod(mode)
    return path


@pytest.mark.parametrize(
    "text",
    [
        f"{HEX},{BASE64}",
        f"{HEX}\n{BASE64}\n",
        f"# new\n{HEX.upper()}\n\n{BASE64.rstrip('=')}  # old\r\n",
        f"{base64.urlsafe_b64encode(ONE).decode()} , {BASE64}",
    ],
)
def test_keys_are_hex_or_base64_and_keep_their_order(text: str) -> None:
    assert keys.from_text(text, "here").ids == (key_id(ONE), key_id(TWO))


def test_a_new_key_is_another_each_time() -> None:
    made = {keys.new_key() for _ in range(20)}
    assert len(made) == 20
    assert all(keys.from_text(key, "here").key for key in made)


@pytest.mark.parametrize("bad", ["tooShortToBeAKey", "zz" * 32, HEX[:-2], BASE64 + "AAAA"])
def test_what_is_no_key_is_told_by_its_place_and_not_repeated(bad: str) -> None:
    with pytest.raises(Invalid, match=r"WINDLASS_SECRETS_KEY, key 2 is no key") as invalid:
        keys.from_text(f"{HEX},{bad}", "WINDLASS_SECRETS_KEY")
    assert bad not in str(invalid.value) and HEX not in str(invalid.value)


def test_a_file_without_keys_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="holds no key"):
        keys.from_file(a_file(tmp_path, "# none yet\n"))


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o644])
def test_a_file_that_others_can_read_or_change_is_refused(tmp_path: Path, mode: int) -> None:
    with pytest.raises(Invalid, match="chmod 600"):
        keys.from_file(a_file(tmp_path, HEX, mode))


def test_a_file_that_is_not_there_or_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="No such file"):
        keys.from_file(tmp_path / "none")
    path = a_file(tmp_path, "")
    path.write_bytes(ONE + b"\xff")
    with pytest.raises(Invalid, match="is no text"):
        keys.from_file(path)


def test_a_key_of_our_own_is_made_once_and_only_for_us(tmp_path: Path) -> None:
    path = tmp_path / "secrets.key"
    before = os.umask(0)
    try:
        made = keys.from_own_file(path)
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o600
    assert keys.from_own_file(path).ids == made.ids
    assert os.listdir(tmp_path) == ["secrets.key"]


def test_the_file_goes_before_the_variable_and_both_before_a_file_of_our_own(tmp_path: Path) -> None:
    path, environ, own = a_file(tmp_path, HEX), {"WINDLASS_SECRETS_KEY": BASE64}, tmp_path / "own"
    assert keyring_of(path, environ, own=own).key == key_id(ONE)
    assert keyring_of(None, environ, own=own).key == key_id(TWO)
    assert not own.exists()
    assert keyring_of(None, {}, own=own) and own.exists()
    assert not keyring_of(None, {})
