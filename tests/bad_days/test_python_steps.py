"""Python steps that misbehave: the step fails and says why, and nobody else notices."""

import os
import signal
from functools import partial
from pathlib import Path

import pytest

from tests.bad_days.house import House, failed_step, python
from tests.waiting import wait_until

pytestmark = pytest.mark.usefixtures("neighbour")

BAD = """
import os, signal, subprocess, sys, threading, time
from windlass import Result

def give(what): return eval(what)

def nested(levels):
    value = None
    for _ in range(levels): value = [value]
    return value

def note(file, pid):
    with open(file, "a") as notes: notes.write(f"{pid}\\\\n")

def hang(file):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    note(file, os.getpid())
    while True: time.sleep(1000)

def fork(file):
    for _ in range(5):
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0: note(file, os.getpid())
            time.sleep(1000)
    while sum(1 for _ in open(file)) < 5 if os.path.exists(file) else True: time.sleep(0.01)
    return "forked"

def flood():
    block = b"x" * 1023 + b"\\\\n"
    block *= 1024
    for _ in range(1024): os.write(1, block)
    return "said"

def die_once(ctx, file):
    note(file, os.getpid())
    if ctx.attempt == 1:
        while True: time.sleep(1000)
    return "second"
"""


@pytest.fixture(autouse=True)
def bad(home: House) -> None:
    source = BAD.replace("\\\\", "\\")
    if not (home.app / "bad.py").exists():
        (home.app / "bad.py").write_text(source)
        (home.app / "broken.py").write_text("def f():\n    return (\n")


def pids(file: Path) -> list[int]:
    return [int(line) for line in file.read_text().split()] if file.exists() else []


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.parametrize(
    ("call", "type_", "words"),
    [
        ("nowhere:f", "ModuleNotFoundError", ["no module 'nowhere': searched", "nowhere.py", "--app"]),
        ("bad:nothing", "NoSuchFunction", ["bad:nothing: there is no 'nothing' in", "bad.py"]),
        ("bad:os.sep", "NoSuchFunction", ["bad:os.sep is a str, not a function"]),
        ("broken:f", "SyntaxError", ["module 'broken' cannot be read", "broken.py line 2"]),
        ("bad:give", "TypeError", ["bad:give(what) cannot be called with these args", "'what'"]),
    ],
)
def test_a_function_that_is_missing_or_cannot_be_called_is_named_and_not_tried_again(
    home: House, call: str, type_: str, words: list[str]
) -> None:
    step = failed_step(home.play(python(call, retry={"attempts": 3, "backoff": "10ms"})))
    assert (step["error"]["type"], step["attempts"]) == (type_, 1)
    for word in words:
        assert word in step["error"]["message"]


@pytest.mark.parametrize(
    ("what", "type_", "message"),
    [
        ("{}['rows']", "KeyError", "'rows'"),
        ("sys.exit(3)", "SystemExit", "the step called sys.exit(3)"),
        ("os._exit(3)", "ProcessDied", "exited with 3 before it answered"),
        (
            "os.kill(os.getpid(), signal.SIGKILL)",
            "ProcessDied",
            "was killed by SIGKILL: perhaps out of memory",
        ),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "ProcessDied", "was killed by SIGSEGV"),
        ("(_ for _ in ()).throw(KeyboardInterrupt())", "KeyboardInterrupt", ""),
        ("os.kill(os.getppid(), signal.SIGKILL)", "ProcessDied", "its minder process was killed, perhaps by"),
    ],
)
def test_a_function_that_raises_or_ends_its_process_fails_and_is_tried_again(
    home: House, what: str, type_: str, message: str
) -> None:
    ended = home.play(
        python("bad:give", args={"what": what}, retry={"attempts": 2, "backoff": "10ms"}, timeout="20s")
    )
    step = failed_step(ended)
    assert (step["error"]["type"], step["attempts"]) == (type_, 2)
    assert step["error"]["message"].startswith(message)
    assert ended["error"]["step"] == "only"


def test_a_function_that_hangs_is_killed_when_its_time_is_over(home: House, tmp_path: Path) -> None:
    file = tmp_path / "pids"
    step = failed_step(home.play(python("bad:hang", args={"file": str(file)}, timeout="3s")))
    assert step["error"] == {"type": "Timeout", "message": "took longer than 3s"}
    (pid,) = pids(file)
    wait_until(lambda: is_gone(pid))


def test_a_function_that_hangs_without_a_timeout_is_killed_when_its_run_is_cancelled(
    home: House, tmp_path: Path
) -> None:
    file = tmp_path / "pids"
    document = python("bad:hang", args={"file": str(file)})
    home.save(document)
    run = home.start(document["id"])
    wait_until(lambda: pids(file))
    assert home.api("POST", f"runs/{run}/cancel", {}).status == 200
    assert home.end_of(run)["status"] == "cancelled"
    (pid,) = pids(file)
    wait_until(lambda: is_gone(pid))


def test_whatever_a_function_forked_is_gone_when_it_has_ended(home: House, tmp_path: Path) -> None:
    file = tmp_path / "pids"
    ended = home.play(python("bad:fork", args={"file": str(file)}, timeout="20s"))
    assert (ended["status"], ended["output"]) == ("succeeded", {"only": "forked"})
    assert len(pids(file)) == 5
    for pid in pids(file):
        wait_until(partial(is_gone, pid))


def test_a_function_that_prints_a_gigabyte_fills_neither_memory_nor_disk(home: House) -> None:
    before_kb = home.peak_kb()
    ended = home.play(python("bad:flood"), within_s=100)
    assert (ended["status"], ended["output"]) == ("succeeded", {"only": "said"})
    assert home.peak_kb() - before_kb < 300_000
    data = home.app.parent / "data"
    assert sum(file.stat().st_size for file in data.iterdir()) < 100_000_000


@pytest.mark.parametrize(
    ("what", "type_", "message"),
    [
        ("{1, 2}", "NotJson", "value is a set, which JSON cannot hold: make it a list"),
        ("{'a': [b'x']}", "NotJson", 'value["a"][0] is a bytes, which JSON cannot hold: decode it, or use'),
        ("object()", "NotJson", "value is an object, which JSON cannot hold"),
        ("lambda: 1", "NotJson", "value is a function, which JSON cannot hold"),
        ("[float('nan')]", "NotJson", "value[0] is nan, which JSON does not know"),
        ("{1: 2}", "NotJson", "value has the key 1, an int: keys must be text"),
        ("['ok', chr(0xd800)]", "NotJson", "value[1] is a str with a lone surrogate (half a character)"),
        ("(lambda x: x.append(x) or x)([])", "NotJson", "value[0] contains itself"),
        ("nested(100_000)", "NotJson", "value[0][0]"),
        ("10 ** 5000", "NotJson", "value: Exceeds the limit (4300 digits)"),
        ("'x' * 9_000_000", "TooLarge", "value is 9,000,002 bytes as JSON; at most 8,388,608 are allowed."),
        ("Result(1, context={'k': {2}})", "NotJson", 'context["k"] is a set, which JSON cannot hold'),
        ("Result(1, context={'k': 'x' * 300_000})", "TooLarge", "context is 300,008 bytes as JSON; at most"),
    ],
)
def test_what_cannot_be_kept_is_named_with_its_place_and_not_tried_again(
    home: House, what: str, type_: str, message: str
) -> None:
    ended = home.play(python("bad:give", args={"what": what}, retry={"attempts": 3, "backoff": "10ms"}))
    step = failed_step(ended)
    assert (step["error"]["type"], step["attempts"], step["output"]) == (type_, 1, None)
    assert step["error"]["message"].startswith(message)
    assert ended["context"] == {}


def test_patches_that_together_are_too_large_for_the_context_fail_the_one_that_was_too_much(
    home: House,
) -> None:
    put = "Result(1, context={'%s': 'x' * 200_000})"
    document = python("bad:give", args={"what": put % "a"})
    document["steps"]["more"] = {
        "kind": "python",
        "needs": ["only"],
        "with": {"call": "bad:give", "args": {"what": put % "b"}},
    }
    ended = home.play(document)
    assert (ended["status"], ended["error"]["step"]) == ("failed", "more")
    assert ended["error"]["type"] == "ContextTooLarge"
    assert ended["error"]["message"].startswith(
        "the shared context would take 400015 bytes and may take 262144;"
    )
    assert list(ended["context"]) == ["a"]


@pytest.mark.parametrize("who", ["child", "minder"])
def test_a_child_that_somebody_kills_fails_its_attempt_and_the_next_one_ends_well(
    home: House, tmp_path: Path, who: str
) -> None:
    file = tmp_path / "pids"
    document = python("bad:die_once", args={"file": str(file)}, retry={"attempts": 2, "backoff": "10ms"})
    home.save(document)
    run = home.start(document["id"])
    wait_until(lambda: pids(file))
    (child,) = pids(file)
    os.kill(child if who == "child" else parent_of(child), signal.SIGKILL)
    ended = home.end_of(run)
    assert (ended["status"], ended["output"]) == ("succeeded", {"only": "second"})
    events = home.api("GET", f"runs/{run}/events").body["items"]
    (failed,) = [event for event in events if event["type"] == "AttemptFailed"]
    assert failed["failure"]["type"] == "ProcessDied"
    assert "killed" in failed["failure"]["message"]
    assert is_gone(child)


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
