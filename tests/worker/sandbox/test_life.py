"""The ordinary life of a job: what goes in, what comes out, and every way to end."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.waiting import wait_until
from tests.worker.sandbox.conftest import Workers
from tests.worker.sandbox.hands import Ask
from tests.worker.sandbox.rig import SMALL, Bench, marked, python_job
from windlass.worker.sandbox import Job

BUSY = """
import os, time
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        time.sleep(60)
print("ready", flush=True)
time.sleep(60)
"""


def test_a_job_says_how_it_ended(bench: Bench) -> None:
    ran = bench.run("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)")
    assert (ran.how, ran.code, ran.stdout, ran.stderr) == ("exited", 3, b"out\n", b"err\n")
    assert (ran.stdout_bytes, ran.stderr_bytes) == (4, 4)
    assert 0 < ran.wall_s < 5 and 0 < ran.cpu_s < 5 and ran.peak_bytes > 1024**2
    assert ran.protections == next(one.protections for one in bench.worker.tiers if one.name == bench.tier)


def test_a_job_that_is_killed_says_by_which_signal(bench: Bench) -> None:
    ran = bench.run("import os; os.kill(os.getpid(), 11)")
    assert (ran.how, ran.code) == ("signalled", signal.SIGSEGV)


def test_files_words_and_input_go_in_and_files_come_out(bench: Bench) -> None:
    code = """
    import os, sys
    print(open("in/a.txt").read(), sys.stdin.read(), os.environ["WORD"], os.environ["HOME"] == os.getcwd())
    open("out.bin", "wb").write(bytes(range(256)))
    """
    ran = bench.run(
        code, stdin=b"given", env={"WORD": "word"}, files={"in/a.txt": b"text"}, wanted=["out.bin", "no"]
    )
    assert ran.stdout == b"text given word True\n", ran
    assert ran.files == {"out.bin": bytes(range(256))} and ran.detail == ""


def test_a_kept_folder_has_what_one_job_made_for_the_next(bench: Bench, common: Path) -> None:
    keep = common / "kept"
    keep.mkdir()
    os.chown(keep, *_owner(bench))
    made = """
    import os
    os.mkdir("deep")
    with open("deep/tool", "w") as file: file.write("#!/bin/sh\\necho made")
    os.chmod("deep/tool", 0o6755)
    os.symlink("/etc/passwd", "link")
    """
    assert bench.run(made, keep=keep).how == "exited"
    assert sorted(path.name for path in keep.rglob("*")) == ["deep", "tool"]
    assert (keep / "deep/tool").stat().st_mode & 0o7777 == 0o755
    again = bench.worker.ask(Ask(bench.tier, Job(["deep/tool"], SMALL, keep=keep))).ran
    assert again is not None and again.stdout == b"made\n", again


def test_what_a_job_prints_is_heard_while_it_runs(bench: Bench, token: str) -> None:
    answer = bench.worker.ask(Ask(bench.tier, python_job(BUSY, token=token), cancel=True))
    assert answer.ran is None and answer.heard == b"ready\n"
    assert marked(token) == []  # cancelled: all is dead before it returns


@pytest.mark.parametrize(
    "change",
    [
        {"argv": ["no-such-program"]},
        {"readable": [Path("/no/such/toolchain")]},
        {"files": {"../outside": b""}},
        {"files": {"/tmp/outside": b""}},
        {"keep": Path("/no/such/folder")},
        {"files": {"big": b"x" * (SMALL.disk_bytes + 1)}},
    ],
    ids=["program", "toolchain", "above", "absolute", "folder", "size"],
)
def test_what_cannot_be_done_as_asked_is_not_started(bench: Bench, change: dict[str, object]) -> None:
    if not bench.namespaces and ("readable" in change or "big" in str(change)[:20]):
        pytest.skip("under Landlock what is not there cannot be read, and the size is only watched")
    job = replace(python_job("print('ran')"), **change)  # type: ignore[arg-type]  # fields of a Job
    ran = bench.worker.ask(Ask(bench.tier, job)).ran
    assert ran is not None and ran.how == "not_started" and ran.detail and ran.stdout == b"", ran


@pytest.mark.parametrize("who", ["user"], indirect=True)
def test_a_job_whose_control_group_cannot_be_made_does_not_run(workers: Workers, who: str) -> None:
    one = workers(who)
    tried = next(tried for tried in one.tiers if tried.name == "bubblewrap+cgroup")
    if tried.works or "could be made" not in tried.reason:
        pytest.skip("an ordinary user may make control groups here, or nobody may")
    ran = one.ask(Ask("bubblewrap+cgroup", python_job("print('ran')"))).ran
    assert ran is not None and (ran.how, ran.stdout) == ("not_started", b""), ran
    assert "no control group could be made" in ran.detail


def test_a_worker_that_stands_still_does_not_give_its_job_more_time(bench: Bench, token: str) -> None:
    # More than the socket between them holds: who waits for the worker there watches no clock.
    talks = "import sys, time; sys.stdout.write('x' * 2**20); sys.stdout.flush(); time.sleep(60)"
    limits = replace(SMALL, wall_s=0.5, output_bytes=2**21)
    bench.worker.send(Ask(bench.tier, python_job(talks, limits=limits, token=token)))
    wait_until(lambda: marked(token))
    bench.worker.process.send_signal(signal.SIGSTOP)
    try:
        began = time.monotonic()
        wait_until(lambda: not marked(token), 5)
        assert time.monotonic() - began < 3
    finally:
        bench.worker.process.send_signal(signal.SIGCONT)
    ran = bench.worker.hear().ran
    assert ran is not None and ran.how == "timeout", ran.how if ran else None


def _owner(bench: Bench) -> tuple[int, int]:
    seen = bench.worker.scratch.stat()
    return seen.st_uid, seen.st_gid
