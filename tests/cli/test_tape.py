"""What a program prints, passed on by a line-based log and a result: exactly, and nothing twice."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.cli.tape import Tape
from windlass.core.log import Bounds, Printed
from windlass.core.names import Attempt, RunId, StepId
from windlass.core.task import Task
from windlass.worker.lines import Log

PRINTED = st.text(st.sampled_from("ab\n\r\té…"), max_size=40)
BOUNDS = Bounds(lines=6, bytes=1000)


def shown() -> tuple[list[str], Tape]:
    pieces: list[str] = []
    return pieces, Tape(pieces.append)


def logged(pieces: list[str]) -> list[str | None]:
    """The lines that a worker makes of them; None where it has dropped what follows."""
    told: list[Printed] = []
    task = Task(RunId("r"), StepId("s"), Attempt(1), "code")
    with Log(lambda _, printed: told.append(printed), BOUNDS).of(task, exact=True) as lines:
        for piece in pieces:
            lines.take([(1, piece.encode())], False)
    found: list[str | None] = []
    for printed in told:
        found += [line.text for line in printed.lines]
        found += [None] if printed.dropped else []
    return found


def feed(tape: Tape, lines: list[str | None]) -> None:
    for line in lines:
        if line is None:
            tape.cut()
        else:
            tape.line(line)


@given(st.lists(PRINTED, max_size=8))
def test_whatever_is_printed_comes_out_exactly(pieces: list[str]) -> None:
    out, tape = shown()
    feed(tape, logged(pieces))
    assert "".join(pieces).startswith("".join(out))
    assert tape.finish("".join(pieces))
    assert "".join(out) == "".join(pieces)


@given(st.lists(PRINTED, max_size=8), st.lists(PRINTED, max_size=8))
def test_an_attempt_that_prints_the_same_as_the_one_before_is_shown_once(
    lost: list[str], more: list[str]
) -> None:
    out, tape = shown()
    feed(tape, logged(lost))
    tape.again()
    feed(tape, logged([*lost, *more]))
    tape.finish("".join([*lost, *more]))
    assert "".join(out) == "".join([*lost, *more])


def test_a_line_too_long_for_the_log_is_taken_from_the_result() -> None:
    out, tape = shown()
    long = "x" * 20_000
    feed(tape, logged([f"before\n{long}\nafter"]))
    assert "".join(out) == "before"
    tape.finish(f"before\n{long}\nafter")
    assert "".join(out) == f"before\n{long}\nafter"


def test_a_line_ends_when_nothing_follows_for_a_while() -> None:
    out, tape = shown()
    tape.line("tick")
    assert "".join(out) == "tick" and tape.open
    tape.settle()
    assert "".join(out) == "tick\n" and not tape.open
    tape.line("tock")
    assert tape.finish("tick\ntock\n")
    assert "".join(out) == "tick\ntock\n"


def test_an_attempt_that_goes_another_way_goes_on_in_a_line_of_its_own() -> None:
    out, tape = shown()
    feed(tape, ["same", "one"])
    tape.again()
    feed(tape, ["same", "two"])
    tape.finish("same\ntwo\n")
    assert "".join(out) == "same\none\ntwo\n"


@pytest.mark.parametrize(
    ("lines", "whole", "said"),
    [
        (["warning", "err"], "err\n", "warning\nerr\n"),
        (["warning"], "", "warning"),
        (["warning", "err"], "err\nmore\n", "warning\nerr\nmore\n"),
        (["warning", "err", "e"], "err\neach\n", "warning\nerr\neach\n"),
    ],
)
def test_what_a_compiler_printed_before_is_no_part_of_the_result(
    lines: list[str], whole: str, said: str
) -> None:
    out, tape = shown()
    for line in lines:
        tape.line(line)
    tape.finish(whole, after_others=True)
    assert "".join(out) == said


def test_of_a_result_without_its_beginning_the_rest_is_shown() -> None:
    out, tape = shown()
    tape.line("0123456")
    assert tape.finish("[4 characters cut]\n456789\n")
    assert "".join(out) == "0123456789\n"


def test_a_result_that_does_not_fit_is_not_shown() -> None:
    out, tape = shown()
    tape.line("one")
    assert not tape.finish("two\n")
    assert "".join(out) == "one\n"
