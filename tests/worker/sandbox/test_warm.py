"""Keepers come warm from a nursery; and whoever of these is killed, nothing of a job is left."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path

from tests.waiting import wait_until
from tests.worker.sandbox.hands import Ask
from tests.worker.sandbox.rig import SMALL, Bench, Worker, children, groups, marked, python_job, worker
from windlass.worker.minder.tree import look
from windlass.worker.sandbox import scratch

CROWD = 50
BUSY = """
import os, time
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        time.sleep(60)
print("ready", flush=True)
time.sleep(60)
"""
SIZE = 4  # processes of it
DEATHS = 4  # which of several processes that are killed together is gone first differs from time to time
SETTLED = 40  # looks in a row that see the same keepers
SURROUNDINGS = """
import os, sys
fds = sorted(int(name) for name in os.listdir("/proc/self/fd"))
print(fds[:3], len(fds), sorted(os.listdir(".")), sorted(os.environ), sys.stdin.read())
open("left.txt", "w").write("for the next one")
"""


def nursery_of(one: Worker) -> int:
    (nursery,) = children(one.pid)
    return nursery


def waiting_at(nursery: int) -> list[int]:
    """Its keepers, once there are none but those that have all ready for a job, and none is on its way."""
    seen: list[list[int]] = []

    def settled() -> bool:
        keepers = children(nursery)
        seen.append(keepers if all(children(keeper) for keeper in keepers) else [])
        return bool(seen[-1]) and seen[-SETTLED:] == [seen[-1]] * SETTLED

    wait_until(settled)
    return seen[-1]


def keeper_of(token: str, nursery: int) -> int:
    """The process below the nursery that the marked one came from."""
    pid = marked(token)[0]
    while (seen := look(pid)) is not None and seen[1] != nursery:
        pid = seen[1]
    assert seen is not None
    return pid


def begin(bench: Bench, one: Worker, token: str, wall_s: float = 20.0) -> int:
    """Start the busy job; its keeper."""
    one.send(Ask(bench.tier, python_job(BUSY, limits=replace(SMALL, wall_s=wall_s), token=token)))
    wait_until(lambda: len(marked(token)) >= SIZE)
    return keeper_of(token, nursery_of(one))


def test_a_job_finds_a_keeper_that_was_there_before_it(bench: Bench, token: str) -> None:
    for _ in range(2):
        assert bench.run("").how == "exited"
    nursery = nursery_of(bench.worker)
    waiting = waiting_at(nursery)
    keeper = begin(bench, bench.worker, token, wall_s=1.5)
    assert keeper in waiting
    # It was forked, not started: the interpreter is the nursery's own.
    assert Path(f"/proc/{keeper}/cmdline").read_bytes() == Path(f"/proc/{nursery}/cmdline").read_bytes()
    ran = bench.worker.hear().ran
    assert ran is not None and ran.how == "timeout", ran
    assert nursery_of(bench.worker) == nursery


def test_neither_nursery_nor_waiting_keepers_have_the_environment_of_the_worker(bench: Bench) -> None:
    for _ in range(2):
        assert bench.run("").how == "exited"
    nursery = nursery_of(bench.worker)
    for pid in (nursery, *waiting_at(nursery)):
        assert Path(f"/proc/{pid}/environ").read_bytes() == b""


def test_a_job_finds_nothing_of_the_one_before(bench: Bench) -> None:
    first = bench.run(SURROUNDINGS, stdin=b"secret", env={"WORD": "secret"}, files={"secret.txt": b"secret"})
    assert b"secret" in first.stdout, first
    second = bench.run(SURROUNDINGS)
    names = sorted(["HOME", "LANG", "PATH", "TMPDIR", *(["PWD"] if bench.namespaces else [])])
    # Three streams, and what listing itself opens.
    assert second.stdout.decode() == f"[0, 1, 2] 4 [] {names} \n", second


def test_fifty_jobs_at_once_all_go_well(bench: Bench, token: str) -> None:
    job = python_job("import os; print(os.getcwd() and 6 * 7)", token=token)
    answer = bench.worker.ask(Ask(bench.tier, job, crowd=CROWD))
    assert [(ran.how, ran.code, ran.stdout) for ran in answer.crowd] == [("exited", 0, b"42\n")] * CROWD
    assert marked(token) == [] and list(bench.worker.scratch.iterdir()) == []


def test_when_a_keeper_is_killed_nothing_of_its_job_is_left(bench: Bench, token: str) -> None:
    keeper = begin(bench, bench.worker, token)
    os.kill(keeper, signal.SIGKILL)
    ran = bench.worker.hear().ran
    assert marked(token) == [] and list(bench.worker.scratch.iterdir()) == []
    assert ran is not None and ran.how == "not_started" and "killed" in ran.detail, ran


def test_a_keeper_that_is_killed_while_it_waits_costs_no_job(bench: Bench) -> None:
    for _ in range(2):
        assert bench.run("").how == "exited"
    for keeper in waiting_at(nursery_of(bench.worker)):
        os.kill(keeper, signal.SIGKILL)
    assert bench.run("print('ran')").stdout == b"ran\n"


def test_when_the_nursery_is_killed_its_jobs_go_on_and_the_next_one_starts_another(
    bench: Bench, token: str
) -> None:
    keeper = begin(bench, bench.worker, token, wall_s=2.0)
    before = nursery_of(bench.worker)
    os.kill(before, signal.SIGKILL)
    ran = bench.worker.hear().ran
    assert ran is not None and (ran.how, ran.stdout) == ("timeout", b"ready\n"), ran
    assert marked(token) == [] and look(keeper) is None
    assert bench.run("print('ran')").stdout == b"ran\n"
    wait_until(lambda: nursery_of(bench.worker) != before)


def test_when_nursery_and_keeper_are_killed_nothing_is_left_either(bench: Bench, token: str) -> None:
    for number in range(DEATHS):
        word = f"{token}-{number}"
        keeper = begin(bench, bench.worker, word)
        for pid in (nursery_of(bench.worker), keeper):
            os.kill(pid, signal.SIGKILL)
        ran = bench.worker.hear().ran
        assert marked(word) == []
        assert ran is not None and ran.how == "not_started", ran
        # The next nursery removes the folder, if it had one.
        assert bench.run("print('ran')").stdout == b"ran\n"
        assert list(bench.worker.scratch.iterdir()) == []


def test_a_worker_that_is_killed_takes_all_along(bench: Bench, token: str, base: Path) -> None:
    with worker(bench.who, base / f"doomed-{os.urandom(4).hex()}") as doomed:
        begin(bench, doomed, token)
        nursery = nursery_of(doomed)
        keepers = children(nursery)
        doomed.process.kill()
        wait_until(lambda: not marked(token))
        wait_until(lambda: not any(look(pid) for pid in (nursery, *keepers)))
        assert list(doomed.scratch.iterdir()) == []
        wait_until(lambda: groups() == [])  # others may make and remove some at this very moment


def test_a_worker_that_is_killed_together_with_a_keeper_leaves_nothing(
    bench: Bench, token: str, base: Path
) -> None:
    with worker(bench.who, base / f"doomed-{os.urandom(4).hex()}") as doomed:
        keeper = begin(bench, doomed, token)
        nursery = nursery_of(doomed)
        for pid in (keeper, doomed.pid):
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not marked(token) and look(nursery) is None)
        assert list(doomed.scratch.iterdir()) == []


def test_a_folder_that_nobody_holds_any_more_is_swept(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    held, lock = scratch.make(str(tmp_path))
    left, its = scratch.make(str(tmp_path))
    Path(left, "deep", "er").mkdir(parents=True)
    os.close(its)  # as when its keeper was killed
    scratch.sweep(str(tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["other", Path(held).name])
    os.close(lock)
    scratch.sweep(str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["other"]
