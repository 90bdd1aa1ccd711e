"""Python steps: what a function returns, raises, prints or does to its process."""

import asyncio
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import until
from tests.worker.rig import STEPS, a_task, on_both_loops, play, python, working
from windlass.core.task import Failure, Outcome, Success, Task
from windlass.worker.minder.tree import look

Loop = Callable[[], asyncio.AbstractEventLoop]


def outcome_of(folder: Path, source: str, task: Task | None = None) -> Outcome:
    """What comes of a step `f` with this source."""
    outcomes: list[Outcome] = []

    async def story() -> None:
        async with working(folder, steps=STEPS + source) as rig:
            outcomes.append(await rig.run(task or python("f")))

    play(story())
    return outcomes[0]


def failure_of(folder: Path, source: str, task: Task | None = None) -> Failure:
    outcome = outcome_of(folder, source, task)
    assert isinstance(outcome, Failure), outcome
    return outcome


@pytest.mark.accepts("S2.12")
@on_both_loops
def test_a_function_gets_its_arguments_and_its_context(tmp_path: Path, loop: Loop) -> None:
    source = """
def f(day, ctx):
    return Result(
        [day, ctx.run, ctx.workflow, ctx.step, ctx.attempt, ctx.input, ctx.context, ctx.parents, ctx.labels],
        context={"seen": day},
    )
"""

    async def story() -> None:
        task = a_task(
            "python",
            {"call": "steps:f", "args": {"day": "2026-01-01"}},
            input={"n": 1},
            context={"shared": [True]},
            parents={"fetch": {"status": 200}},
            labels={"team": "sales"},
        )
        async with working(tmp_path, steps=STEPS + source) as rig:
            outcome = await rig.run(task)
        seen = ["run-1", "nightly", task.step, 1, {"n": 1}, {"shared": [True]}]
        parents_and_labels = [{"fetch": {"status": 200}}, {"team": "sales"}]
        assert outcome == Success(["2026-01-01", *seen, *parents_and_labels], context={"seen": "2026-01-01"})

    play(story(), loop)


def test_an_async_function_is_awaited(tmp_path: Path) -> None:
    assert outcome_of(tmp_path, "async def f():\n    await asyncio.sleep(0)\n    return 7") == Success(7)


def test_a_method_of_a_class_can_be_named(tmp_path: Path) -> None:
    source = "class Report:\n    @staticmethod\n    def make(): return 'made'"
    assert outcome_of(tmp_path, source, python("Report.make")) == Success("made")


@pytest.mark.accepts("S2.14")
def test_an_exception_becomes_a_failure_with_the_users_frames(tmp_path: Path) -> None:
    async def story() -> None:
        source = """
class NoStock(LookupError): pass
def g(): raise NoStock("none left")
def f(): g()
"""
        async with working(tmp_path, steps=STEPS + source) as rig:
            neighbour = python("add", a=1, b=2)
            rig.start(neighbour)
            failure = await rig.failure(python("f"))
            assert (failure.type, failure.message, failure.retryable) == ("NoStock", "none left", True)
            assert failure.bases == ("LookupError", "Exception", "BaseException")
            assert "in f" in failure.detail
            assert "in g" in failure.detail
            assert "windlass/worker" not in failure.detail
            assert await rig.outcome(neighbour) == Success(3)

    play(story())


def test_an_async_exception_shows_no_frames_of_asyncio(tmp_path: Path) -> None:
    failure = failure_of(tmp_path, "async def f(): raise ValueError('so')")
    assert (failure.type, failure.message) == ("ValueError", "so")
    assert "in f" in failure.detail
    assert "asyncio" not in failure.detail


def test_a_long_traceback_and_message_are_cut(tmp_path: Path) -> None:
    failure = failure_of(
        tmp_path, "def f(n=200):\n    if n: f(n - 1)\n    raise ValueError('x' * 9000 + 'end')"
    )
    assert len(failure.detail.encode()) <= 8 * 1024
    assert failure.detail.rstrip().endswith("end")
    assert len(failure.message) < 3000


@pytest.mark.parametrize(
    ("body", "type_", "message"),
    [
        ("sys.exit(3)", "SystemExit", "the step called sys.exit(3)"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt", ""),
        ("os._exit(3)", "ProcessDied", "exited with 3 before it answered"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "ProcessDied", "was killed by SIGSEGV"),
        ("os.kill(os.getpid(), 9)", "ProcessDied", "was killed by SIGKILL: perhaps out of memory"),
        ("raise ValueError(chr(0xd800))", "ValueError", "?"),
        ("raise asyncio.CancelledError", "CancelledError", ""),
    ],
)
def test_a_step_that_ends_its_process_or_tries_to_fails(
    tmp_path: Path, body: str, type_: str, message: str
) -> None:
    failure = failure_of(tmp_path, f"def f(): {body}")
    assert (failure.type, failure.message, failure.retryable) == (type_, message, True)


def test_a_crash_shows_where_it_was(tmp_path: Path) -> None:
    failure = failure_of(tmp_path, "def f():\n    os.kill(os.getpid(), signal.SIGSEGV)")
    assert "Segmentation fault" in failure.detail
    assert "in f" in failure.detail


@pytest.mark.accepts("S2.16")
def test_other_tasks_are_unaffected_by_a_crash(tmp_path: Path) -> None:
    source = """
def f(file):
    while not os.path.exists(file): time.sleep(0.001)
    return "fine"
"""

    async def story() -> None:
        async with working(tmp_path, steps=STEPS + source) as rig:
            neighbours = [python("f", file=str(tmp_path / "go")) for _ in range(2)]
            for task in neighbours:
                rig.start(task)
            assert (await rig.failure(python("daemon", marker="", then="die"))).type == "ProcessDied"
            (tmp_path / "go").touch()
            for task in neighbours:
                assert await rig.outcome(task) == Success("fine")

    play(story())


def lives(pid: int) -> bool:
    """One that is dead may still be in the table, until its parent has seen it."""
    seen = look(pid)
    return seen is not None and seen[0]


@pytest.mark.accepts("S2.15")
@on_both_loops
def test_an_endless_loop_is_killed_when_it_takes_too_long(tmp_path: Path, loop: Loop) -> None:
    async def story() -> None:
        async with working(tmp_path, slots=1) as rig:
            child = await rig.value(python("pid"))
            failure = await rig.failure(python("forever", timeout_s=0.2))
            assert (failure.type, failure.message) == ("Timeout", "took longer than 0.2s")
            assert not lives(child)
            assert await rig.value(python("add", a=1, b=2)) == 3

    play(story(), loop)


@on_both_loops
def test_an_endless_loop_is_killed_when_it_is_stopped(tmp_path: Path, loop: Loop) -> None:
    source = "def f(file):\n    open(file, 'w').close()\n    forever()"

    async def story() -> None:
        async with working(tmp_path, slots=1, steps=STEPS + source) as rig:
            child = await rig.value(python("pid"))
            task = python("f", file=str(tmp_path / "here"))
            rig.start(task)
            await until((tmp_path / "here").exists)
            rig.worker.stop(task.name)
            await until(lambda: rig.worker.free == 1)
            assert not lives(child)
            assert await rig.value(python("add", a=1, b=2)) == 3

    play(story(), loop)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("{'rows': [1, 2, 3, {4}]}", 'value["rows"][3] is a set, which JSON cannot hold: make it a list'),
        ("[0.5, float('nan')]", "value[1] is nan, which JSON does not know"),
        ("{'a': [float('-inf')]}", 'value["a"][0] is -inf, which JSON does not know'),
        ("{'a': {1: 2}}", 'value["a"] has the key 1, an int: keys must be text'),
        ("b'x'", "value is a bytes, which JSON cannot hold: decode it, or use base64"),
        ("object()", "value is an object, which JSON cannot hold"),
        (
            "['ok', chr(0xd800)]",
            "value[1] is a str with a lone surrogate (half a character), which JSON cannot hold",
        ),
        ("Result(1, context={'k': {2}})", 'context["k"] is a set, which JSON cannot hold: make it a list'),
        ("Result(1, context=[])", "context is a list: it must be a dict"),
        (
            "Result(Result(1))",
            "value is a Result, which JSON cannot hold: only the step itself may return a Result",
        ),
        ("(lambda x: x.append(x) or x)([])", "value[0] contains itself"),
    ],
)
def test_a_value_that_json_cannot_hold_is_named_with_its_place(
    tmp_path: Path, value: str, message: str
) -> None:
    failure = failure_of(tmp_path, f"def f(): return {value}")
    assert (failure.type, failure.message, failure.retryable) == ("NotJson", message, False)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("(1, (2, 3))", [1, [2, 3]]),
        ("None", None),
        ("{'ünï': ['\\U0001f600', 10**30, 0.1, True]}", {"ünï": ["😀", 10**30, 0.1, True]}),
        ("[[[]], {}]", [[[]], {}]),
    ],
)
def test_a_value_that_json_can_hold_arrives_as_it_was(tmp_path: Path, value: str, expected: Any) -> None:
    assert outcome_of(tmp_path, f"def f(): return {value}") == Success(expected)


def test_eight_megabytes_pass_and_more_is_too_large(tmp_path: Path) -> None:
    async def story() -> None:
        async with working(tmp_path, steps=STEPS + "def f(n): return 'x' * n") as rig:
            size = 8 * 1024 * 1024 - 2
            assert len(await rig.value(python("f", n=size))) == size
            failure = await rig.failure(python("f", n=size + 1))
            assert (failure.type, failure.retryable) == ("TooLarge", False)
            assert "8,388,609 bytes" in failure.message

    play(story())


@pytest.mark.parametrize(
    ("task", "type_", "words"),
    [
        (
            a_task("python", {"call": "nowhere:f"}),
            "ModuleNotFoundError",
            ["'nowhere'", "searched", "nowhere.py"],
        ),
        (
            a_task("python", {"call": "needs:f"}),
            "ModuleNotFoundError",
            ["'needs'", "'not_there'", "not installed"],
        ),
        (a_task("python", {"call": "broken:f"}), "SyntaxError", ["broken.py line 2"]),
        (a_task("python", {"call": "steps:nothing"}), "NoSuchFunction", ["'nothing'", "steps.py"]),
        (a_task("python", {"call": "steps:os.sep"}), "NoSuchFunction", ["not a function"]),
        (a_task("python", {"call": "steps"}), "BadCall", ["module:function"]),
        (a_task("python", {"cal": "steps:f"}), "BadStep", ["call"]),
        (python("add", a=1), "TypeError", ["steps:add(a, b)", "'b'"]),
        (python("add", a=1, b=2, c=3), "TypeError", ["'c'"]),
    ],
)
def test_what_cannot_be_called_is_said_clearly_and_not_retried(
    tmp_path: Path, task: Task, type_: str, words: list[str]
) -> None:
    (tmp_path / "broken.py").write_text("def f():\n    return (\n")
    (tmp_path / "needs.py").write_text("import not_there")
    failure = failure_of(tmp_path, "", task)
    assert (failure.type, failure.retryable) == (type_, False)
    for word in words:
        assert word in failure.message


def test_what_a_step_prints_is_kept_and_cannot_disturb_its_answer(tmp_path: Path) -> None:
    source = """
def f():
    print("hello")
    print("oops", file=sys.stderr)
    os.write(1, b"raw")
    return [sys.stdin.read(), os.read(0, 10).decode()]
"""

    async def story() -> None:
        async with working(tmp_path, steps=STEPS + source) as rig:
            task = python("f")
            assert await rig.value(task) == ["", ""]
            printed = [(line.stream, line.text) for line in rig.lines(task)]
            assert sorted(printed) == [("stderr", "oops"), ("stdout", "hello"), ("stdout", "raw")]

    play(story())


def test_edited_code_is_used_without_a_restart(tmp_path: Path) -> None:
    async def story() -> None:
        async with working(tmp_path, slots=1) as rig:
            for answer in (1, 2, 3):  # within a second, and of the same size
                (tmp_path / "edited.py").write_text(f"from part import n\ndef f(): return [{answer}, n]")
                (tmp_path / "part.py").write_text(f"n = {answer}")
                task = a_task("python", {"call": "edited:f"})
                assert await rig.value(task) == [answer, answer]

    play(story())


def test_a_module_that_was_missing_is_found_once_it_is_there(tmp_path: Path) -> None:
    async def story() -> None:
        async with working(tmp_path, slots=1) as rig:
            await rig.failure(a_task("python", {"call": "late:f"}))
            (tmp_path / "late.py").write_text("def f(): return 'here'")
            assert await rig.value(a_task("python", {"call": "late:f"})) == "here"

    play(story())


def test_two_hundred_quick_steps_share_a_warm_child(tmp_path: Path, record_property: Any) -> None:
    async def story() -> None:
        async with working(tmp_path, slots=1) as rig:
            os.utime(tmp_path / "steps.py", (1, 1))  # not written this very moment: see Freshness
            pids = {await rig.value(python("pid"))}
            began = time.perf_counter()
            for _ in range(200):
                pids.add(await rig.value(python("pid")))
            record_property("ms_per_step", round((time.perf_counter() - began) * 1000 / 200, 3))
            assert len(pids) == 1

    play(story())


def test_a_step_that_forks_answers_once(tmp_path: Path) -> None:
    source = "def f():\n    return 'child' if os.fork() == 0 else os.wait()[1]"

    async def story() -> None:
        async with working(tmp_path, slots=1, steps=STEPS + source) as rig:
            assert await rig.value(python("f")) == 0
            assert await rig.value(python("add", a=1, b=2)) == 3

    play(story())


@pytest.mark.parametrize(
    "spoil",
    [
        "threading.Thread(target=forever).start()",
        "sys.stdout.close()",
        "os.close(3)",
        "os.close(4)",
        "signal.setitimer(signal.ITIMER_REAL, 0.05)",
        "subprocess.Popen(['sleep', '1000'])",
        "os.chdir('/')",
        "os.rmdir(os.getcwd()) if os.chdir(os.mkdir('d') or 'd') else None",
        "sys.setrecursionlimit(60)",
    ],
)
def test_a_step_that_spoils_its_process_does_not_spoil_the_next(tmp_path: Path, spoil: str) -> None:
    async def story() -> None:
        async with working(
            tmp_path, slots=1, steps=STEPS + f"def f(): {spoil}\ndef cwd(): return os.getcwd()"
        ) as rig:
            await rig.run(python("f"))
            await asyncio.sleep(0)
            assert await rig.value(python("cwd")) == str(tmp_path)

    play(story())
