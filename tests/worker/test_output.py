"""What steps print reaches the engine line by line while they run, bounded, and never holds them up."""

import asyncio
import os
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.waiting import until
from tests.worker.rig import STEPS, a_marker, marked, on_both_loops, play, python, shell, working
from windlass.core.log import LINE_BYTES_MAX, Bounds, Line, Printed
from windlass.core.task import Failure, Task
from windlass.worker.lines import Lines, Log
from windlass.worker.link import MinderLink, Order
from windlass.worker.masking import Mask

Loop = Callable[[], asyncio.AbstractEventLoop]

PRINTING = """
def talk(file):
    print("first")
    print("second", file=sys.stderr)
    while not os.path.exists(file): time.sleep(0.005)
    print("third")

def gigabyte():
    block = b"x" * 1023 + b"\\n"
    block *= 1024
    for _ in range(1024): os.write(1, block)
    status = open(f"/proc/{os.getppid()}/status").read()
    return int(status.split("VmHWM:")[1].split()[0])
"""


def talking(kind: str, file: Path) -> Task:
    if kind == "python":
        return python("talk", file=str(file))
    return shell(f"echo first; echo second >&2; while [ ! -e {file} ]; do sleep 0.01; done; echo third")


def shown(lines: list[Line]) -> list[tuple[str, str]]:
    return [(line.stream, line.text) for line in lines]


@on_both_loops
@pytest.mark.parametrize("kind", ["python", "shell"])
def test_lines_come_while_the_step_still_runs(tmp_path: Path, kind: str, loop: Loop) -> None:
    async def story() -> None:
        async with working(tmp_path, steps=STEPS + PRINTING) as rig:
            task = talking(kind, tmp_path / "go")
            rig.start(task)
            await until(lambda: len(rig.lines(task)) == 2)
            assert task.name in rig.worker.held()
            (tmp_path / "go").touch()
            await rig.outcome(task)
            lines = rig.lines(task)
            assert sorted(shown(lines[:2])) == [("stderr", "second"), ("stdout", "first")]
            assert shown(lines[2:]) == [("stdout", "third")]
            assert all(before.at <= after.at for before, after in pairwise(lines))
            # The last word comes before the result does, and only once.
            assert [printed.last for _, printed in rig.told].count(True) == 1
            assert rig.told[-1][1].last

    play(story(), loop)


def test_the_output_of_a_shell_step_is_what_it_was(tmp_path: Path) -> None:
    async def story() -> None:
        async with working(tmp_path) as rig:
            value = await rig.value(shell("printf 'a\\nb'; echo c >&2"))
            assert value == {"exitCode": 0, "stdout": "a\nb", "stderr": "c\n"}

    play(story())


def test_a_step_that_prints_nothing_says_nothing(tmp_path: Path) -> None:
    async def story() -> None:
        async with working(tmp_path) as rig:
            await rig.value(shell("true"))
            await rig.value(python("add", a=1, b=2))
            assert rig.told == []

    play(story())


def test_what_one_step_prints_is_not_told_of_the_next(tmp_path: Path) -> None:
    async def story() -> None:
        source = "\ndef say(text):\n    sys.stdout.write(text)\n"
        async with working(tmp_path, steps=STEPS + source, slots=1) as rig:
            for text in ("one", "two"):  # by the same warm child
                task = python("say", text=text)
                await rig.value(task)
                assert shown(rig.lines(task)) == [("stdout", text)]

    play(story())


@pytest.mark.parametrize("how", ["timeout", "stop"])
def test_what_a_killed_step_printed_is_told(tmp_path: Path, how: str) -> None:
    async def story() -> None:
        async with working(tmp_path, slots=1) as rig:
            task = shell("echo alive; while :; do sleep 1; done", timeout_s=3.0 if how == "timeout" else None)
            rig.start(task)
            if how == "timeout":
                outcome = await rig.outcome(task)
                assert isinstance(outcome, Failure)
            else:
                await until(lambda: rig.lines(task))
                rig.worker.stop(task.name)
                await until(lambda: rig.worker.free == 1)
            assert shown(rig.lines(task)) == [("stdout", "alive")]
            assert rig.told[-1][1].last

    play(story())


def test_more_lines_than_are_kept_are_dropped_and_that_is_told_once(tmp_path: Path) -> None:
    async def story() -> None:
        async with working(tmp_path, log_bounds=Bounds(lines=10)) as rig:
            task = shell("seq 1 100000; sleep 0.1; seq 1 100000")
            await rig.value(task)
            assert shown(rig.lines(task)) == [("stdout", str(n)) for n in range(1, 11)]
            assert [printed.dropped for _, printed in rig.told].count(True) == 1

    play(story())


def test_more_bytes_than_are_kept_are_dropped_and_that_is_told_once(tmp_path: Path) -> None:
    async def story() -> None:
        async with working(tmp_path, log_bounds=Bounds(bytes=1000)) as rig:
            task = shell("seq -f %09.0f 1 100000; sleep 0.1; seq 1 1000 >&2")
            await rig.value(task)
            assert shown(rig.lines(task)) == [("stdout", f"{n:09}") for n in range(1, 101)]
            assert [printed.dropped for _, printed in rig.told].count(True) == 1

    play(story())


def test_printing_a_gigabyte_neither_blocks_nor_fills_anything(tmp_path: Path) -> None:
    async def story() -> None:
        async with working(tmp_path, steps=STEPS + PRINTING) as rig:
            task = python("gigabyte")
            assert await rig.value(task, within_s=100) < 30_000  # kB, of the minder that read it all
            lines = rig.lines(task)
            assert len(lines) == 1024
            assert {line.text for line in lines} == {"x" * 1023}
            assert [printed.dropped for _, printed in rig.told].count(True) == 1

    play(story())


def test_a_worker_that_does_not_listen_holds_no_step_up(tmp_path: Path) -> None:
    async def story() -> None:
        got: list[bytes] = []
        link = await MinderLink.start()
        order = Order(
            "shell",
            ["sh", "-c", f"head -c 9000000 /dev/zero; touch {tmp_path}/done"],
            {"PATH": os.environ["PATH"]},
            "/",
            forward_bytes=1 << 20,
            printing=lambda pieces, _: got.extend(piece for _, piece in pieces),
        )
        running = asyncio.create_task(link.run(order))
        await asyncio.sleep(0)
        assert link._transport is not None
        link._transport.pause_reading()
        await until((tmp_path / "done").exists)
        assert not running.done()
        link._transport.resume_reading()
        ended = await running
        assert (ended.how, ended.stdout.total_bytes) == ("exited", 9_000_000)
        assert sum(map(len, got)) == 1 << 20
        link.hang_up()
        assert await link.ended() == 0

    play(story())


def test_a_minder_whose_worker_dies_with_lines_unread_still_cleans_up(tmp_path: Path) -> None:
    async def story() -> None:
        marker, scratch = a_marker(), tmp_path / "scratch"
        scratch.mkdir()
        away = f"(setsid sh -c 'while :; do sleep 1; done # {marker}' >/dev/null 2>&1 &)"
        command = f"{away}; head -c 500000 /dev/zero; touch {tmp_path}/done; while :; do sleep 1; done"
        link = await MinderLink.start()
        order = Order(
            "shell",
            ["sh", "-c", command],
            {"PATH": os.environ["PATH"]},
            "/",
            scratch=str(scratch),
            forward_bytes=1 << 20,
        )
        running = asyncio.create_task(link.run(order))
        await asyncio.sleep(0)
        assert link._transport is not None
        link._transport.pause_reading()
        await until(lambda: (tmp_path / "done").exists() and marked(marker))
        link.hang_up()
        assert await link.ended() == 0
        await asyncio.gather(running, return_exceptions=True)
        assert marked(marker) == []
        assert not scratch.exists()

    play(story())


class Told:
    """The lines of one task, without processes."""

    def __init__(self, bounds: Bounds) -> None:
        self.printed: list[Printed] = []
        self.lines = Lines(
            shell("x"), Log(lambda _, printed: self.printed.append(printed), bounds, lambda: 1.0), Mask()
        )

    def texts(self) -> list[str]:
        return [line.text for printed in self.printed for line in printed.lines]


def cut_up(*pieces: bytes, bounds: Bounds | None = None) -> list[str]:
    told = Told(bounds or Bounds())
    with told.lines:
        for piece in pieces:
            told.lines.take([(1, piece)], False)
    return told.texts()


@given(
    st.lists(st.binary(max_size=40).map(lambda raw: raw.replace(b"\r", b"").replace(b"\0", b"")), max_size=20)
)
def test_however_the_pieces_are_cut_the_lines_are_the_same(pieces: list[bytes]) -> None:
    whole = b"".join(pieces)
    lines = whole.split(b"\n")
    expected = lines if lines[-1] else lines[:-1]
    assert cut_up(*pieces) == [line.decode(errors="replace") for line in expected]


def test_what_a_journal_cannot_hold_is_replaced() -> None:
    assert cut_up(b"a\0b\r\n\xff\xc3", b"\xa4\n") == ["a�b", "�ä"]


@pytest.mark.parametrize("alone", [True, False])
def test_of_a_long_line_the_beginning_is_kept_and_the_cut_marked(alone: bool) -> None:
    long = b"x" * (LINE_BYTES_MAX - 1) + "é".encode() * 10
    pieces = [long, b"more", b"\nafter"] if alone else [b"before\n" + long + b"more\nafter"]
    *_, cut, after = cut_up(*pieces)
    assert cut == "x" * (LINE_BYTES_MAX - 1) + " … [23 bytes cut]"
    assert after == "after"


def test_a_line_without_an_end_is_told_when_the_step_has_ended() -> None:
    told = Told(Bounds())
    with told.lines:
        told.lines.take([(2, b"half a")], False)
        assert told.printed == []
    assert told.printed == [Printed([Line(1.0, "stderr", "half a")], last=True)]


def test_exactly_as_many_lines_as_are_kept_drop_nothing() -> None:
    told = Told(Bounds(lines=3))
    with told.lines:
        told.lines.take([(1, b"1\n2\n3\n")], False)
    assert told.texts() == ["1", "2", "3"]
    assert not any(printed.dropped for printed in told.printed)
