"""The values of secrets are hidden, however programs write them, and across every cut."""

import base64
import html
import json
import shlex
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.worker.rig import shell
from windlass.core.log import LINE_BYTES_MAX, Bounds, Printed
from windlass.core.task import Failure, Success
from windlass.worker.lines import Lines, Log
from windlass.worker.link import Ended, Stream
from windlass.worker.masking import Mask
from windlass.worker.secrets import Opened

VALUES = [
    "hunter2",
    "p@ss w/rd+1=&",
    'it\'s "quoted" \\ $HOME',
    "пароль-№1",
    "a%20b?c#d",
    "tab\there",
    "back\\\\slash\\",
]
WAYS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "json": lambda value: json.dumps({"a": value}),
    "json with signs": lambda value: json.dumps({"a": value}, ensure_ascii=False),
    "json in json": lambda value: json.dumps({"a": json.dumps({"b": value})}),
    "json in json in json": lambda value: json.dumps(json.dumps(json.dumps(value))),
    "repr": repr,
    "ascii": ascii,
    "url": quote,
    "url, all of it": lambda value: quote(value, safe=""),
    "form": quote_plus,
    "shell": shlex.quote,
    "html": html.escape,
    "base64": lambda value: base64.b64encode(value.encode()).decode(),
    "base64 for urls": lambda value: base64.urlsafe_b64encode(value.encode()).decode(),
    "basic auth": lambda value: base64.b64encode(f"user:{value}".encode()).decode(),
    "in base64": lambda value: base64.b64encode(f"u:{value}, and more".encode()).decode(),
    "hex": lambda value: value.encode().hex(),
}


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("way", WAYS)
def test_a_value_is_hidden_in_every_usual_way_to_write_it(value: str, way: str) -> None:
    written = WAYS[way](value)
    masked = Mask([value]).text(f"before {written} after")
    assert "***" in masked
    assert value not in masked and written not in masked
    assert masked.startswith("before ") and masked.endswith(" after")


@given(st.text(min_size=4).filter(lambda text: len(text.strip()) >= 4), st.text(), st.text())
def test_no_value_is_left_in_any_text(value: str, before: str, after: str) -> None:
    try:
        value.encode()
    except UnicodeEncodeError:
        return
    mask = Mask([value])
    assert value not in mask.text(before + value + after).replace("***", "")


def test_each_line_of_a_value_is_hidden_too() -> None:
    mask = Mask(["-----BEGIN-----\n  c2VjcmV0\nabc\n"])
    assert mask.text("x c2VjcmV0 x") == "x *** x"
    assert mask.text("x abc x") == "x abc x"  # too short to be told from chance


def test_base64_in_lines_is_hidden_too() -> None:
    value = "0123456789 abcdefghij " * 10
    wrapped = base64.encodebytes(value.encode()).decode().splitlines()
    mask = Mask([value])
    assert len(wrapped) > 2
    assert all(mask.text(line) == "***" for line in wrapped)


def test_values_are_hidden_in_outcomes_keys_and_numbers_included() -> None:
    mask = Mask(["12345", "hunter2"])
    value = {"a hunter2": ["x12345", 12345, 12345.5, 7, True, None, {"b": "hunter2"}]}
    hidden = {"a ***": ["x***", "***", "***", 7, True, None, {"b": "***"}]}
    assert mask.outcome(Success(value, {"c": "hunter2"})) == Success(hidden, {"c": "***"})
    failure = Failure("E", "no hunter2", bases=("B",), detail="in hunter2", retryable=False)
    assert mask.outcome(failure) == Failure("E", "no ***", bases=("B",), detail="in ***", retryable=False)


def test_without_values_nothing_changes() -> None:
    mask = Mask()
    assert not mask and mask.reach == 0
    outcome = Success({"a": "***"})
    assert mask.outcome(outcome) is outcome
    assert mask.between("abcdef", 1, 3) == "bc"


@given(st.integers(0, 30), st.integers(0, 30))
def test_a_cut_never_leaves_half_a_value(start: int, end: int) -> None:
    text = "ab hunter2 cd hunter2hunter2 e"
    cut = Mask(["hunter2"]).between(text, start, end)
    assert "hunt" not in cut and "ter2" not in cut and "nter" not in cut


class Paper:
    def __init__(self, value: str, bounds: Bounds | None = None) -> None:
        self.printed: list[Printed] = []
        log = Log(lambda _, printed: self.printed.append(printed), bounds or Bounds(), lambda: 1.0)
        self.lines = Lines(shell("x"), log, Mask([value]))

    @property
    def texts(self) -> list[str]:
        return [line.text for printed in self.printed for line in printed.lines]


@pytest.mark.parametrize("at", [LINE_BYTES_MAX - 20, LINE_BYTES_MAX - 3, LINE_BYTES_MAX, LINE_BYTES_MAX + 5])
@pytest.mark.parametrize("size", [1, 7, 100_000])
def test_a_value_across_the_end_of_a_long_line_is_hidden_whole(at: int, size: int) -> None:
    paper = Paper("hunter2")
    raw = b"x" * at + b"hunter2" + b"y" * 50 + b"hunter2" * 9 + b"\nnext hunter2\n"
    with paper.lines:
        for i in range(0, len(raw), size):
            paper.lines.take([(1, raw[i : i + size])], False)
    first, second = paper.texts
    assert "hun" not in first and "bytes cut]" in first
    assert second == "next ***"


def test_a_line_that_was_torn_off_in_the_middle_of_a_value_does_not_tell_its_beginning() -> None:
    paper = Paper("correct-horse-battery")
    with paper.lines:
        paper.lines.take([(1, b"whole correct-horse-battery\n" + b"z" * 400 + b"correct-hor")], True)
    whole, torn = paper.texts
    assert whole == "whole ***"
    assert torn.startswith("zzz") and "c" not in torn.partition(" … ")[0]


def test_values_in_pieces_and_of_both_streams_are_hidden() -> None:
    paper = Paper("hunter2")
    with paper.lines:
        for piece in ([(1, b"a hun")], [(2, b"b hunter")], [(1, b"ter2\n")], [(2, b"2")]):
            paper.lines.take(piece, False)
    assert paper.texts == ["a ***", "b ***"]


def test_the_kept_end_of_a_stream_may_begin_in_the_middle_of_a_value() -> None:
    secrets = Opened({"A": "correct-horse-battery"})
    end = b"se-battery " + b"." * 500 + b" correct-horse-battery"
    ended = secrets.ended(Ended("exited", 0, b"", Stream(10_000, end), Stream(21, b"correct-horse-battery")))
    assert b"battery" not in ended.stdout.end and ended.stdout.end.endswith(b". ***")
    assert ended.stdout.text().startswith(f"[{10_000 - len(end)} bytes cut]\n")
    assert ended.stderr == Stream(3, b"***")


def test_the_secrets_of_an_attempt_show_their_names_only() -> None:
    assert repr(Opened({"A": "hunter2"})) == "Opened(A)"


def test_a_large_value_of_many_lines_is_hidden_line_by_line() -> None:
    value = "\n".join(base64.b64encode(bytes([i % 251, i // 251] * 24)).decode() for i in range(900))
    mask = Mask([value])
    text = "an ordinary line of words, as steps print them\n" * 2000
    assert mask.text(text) == text
    assert value.splitlines()[500] not in mask.text(value)
