"""What each protection is good for: with it alone taken away, its attack gets through.

So the tests of the attacks can fail, and no layer is there that another one makes idle.
"""

from __future__ import annotations

import os
import signal
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from tests.waiting import wait_until
from tests.worker.sandbox import test_attacks as attacks
from tests.worker.sandbox.hands import Ask
from tests.worker.sandbox.rig import SMALL, Bench, marked, python_job
from windlass.worker.minder.tree import look

ROOMY = replace(SMALL, memory_bytes=2**30)
LOOKED_AT = "import time; time.sleep(0.3)"  # where use is only looked at, somebody looks within this time
HIDDEN = """
for number in range(12):
    with open(f"file{number}", "wb") as file:
        file.write(b"x" * 2**24)
print("had", 12 * 16)
"""  # of memory, in files: no process has it
WAITS_TO_BE_TOLD = f"""
import os, signal, time
told = []
signal.signal(signal.SIGUSR1, lambda *_: told.append(1))
while not told:
    time.sleep(0.005)
if os.fork() == 0:
    {attacks.MEMORY.strip().replace(chr(10), chr(10) + "    ")}
    os._exit(0)
os.wait()
os._exit(0)
"""


def test_without_a_limit_of_processes_a_program_forks_on(bench: Bench, token: str) -> None:
    ran = bench.run(attacks.FORKS, token=token, without=["processes"])
    assert int(ran.stdout) == attacks.MANY and not ran.protections.processes, ran


def test_without_either_bound_memory_is_taken(bench: Bench, token: str) -> None:
    ran = bench.run(attacks.MEMORY, token=token, without=["memory_hard", "memory_watched"])
    assert (ran.how, ran.stdout) == ("exited", b"had 400\n"), ran


@pytest.mark.parametrize("attack", [attacks.MEMORY, attacks.MEMORY_OF_MANY], ids=["one", "many"])
def test_watching_is_enough_to_end_who_takes_too_much_memory(bench: Bench, token: str, attack: str) -> None:
    ran = bench.run(attack, token=token, without=["memory_hard"])
    assert ran.how == "memory", ran


@pytest.mark.parametrize("tier", ["bubblewrap+cgroup"], indirect=True)
@pytest.mark.parametrize("attack", [attacks.MEMORY, attacks.MEMORY_OF_MANY], ids=["one", "many"])
def test_a_control_group_is_enough_to_bound_memory(bench: Bench, token: str, attack: str) -> None:
    ran = bench.run(attack, token=token, without=["memory_watched"])
    assert ran.how == "memory" and ran.peak_bytes <= SMALL.memory_bytes, ran


@pytest.mark.parametrize("tier", ["bubblewrap+cgroup"], indirect=True)
def test_without_a_control_group_memory_is_taken_where_nobody_looks(bench: Bench, token: str) -> None:
    limits = replace(SMALL, disk_bytes=2**28)
    assert bench.run(HIDDEN, token=token, limits=limits).how == "memory"
    ran = bench.run(HIDDEN, token=token, limits=limits, without=["memory_hard"])
    assert (ran.how, ran.stdout) == ("exited", b"had 192\n"), ran


@pytest.mark.parametrize("tier", ["bubblewrap+cgroup"], indirect=True)
def test_the_want_of_memory_is_told_also_when_nobody_looked_meanwhile(bench: Bench, token: str) -> None:
    """The keeper stands still while a child is killed and its parent says that all is well."""
    job = python_job(WAITS_TO_BE_TOLD, token=token)
    bench.worker.send(Ask(bench.tier, job, frozenset({"memory_watched"})))
    wait_until(lambda: any(map(_waits, marked(token))))
    program = next(filter(_waits, marked(token)))
    keeper = _above(program, token)
    os.kill(keeper, signal.SIGSTOP)
    try:
        os.kill(program, signal.SIGUSR1)
        wait_until(lambda: not marked(token))
    finally:
        os.kill(keeper, signal.SIGCONT)
    ran = bench.worker.hear().ran
    assert ran is not None and ran.how == "memory", ran


def test_without_a_limit_of_cpu_time_a_program_spins_on(bench: Bench, token: str) -> None:
    limits = replace(SMALL, cpu_s=0.05, wall_s=0.7)
    ran = bench.run(attacks.SPIN, token=token, limits=limits, without=["cpu"])
    assert ran.how == "timeout" and ran.cpu_s > limits.cpu_s, ran


def test_without_a_size_the_disk_is_filled(bench: Bench, token: str) -> None:
    ran = bench.run(attacks.DISK + LOOKED_AT, token=token, limits=ROOMY, without=["disk"])
    assert int(ran.stdout) > 2 * SMALL.disk_bytes, ran


def test_without_a_count_inodes_are_used_up(bench: Bench, token: str) -> None:
    ran = bench.run(attacks.INODES, token=token, limits=ROOMY, without=["inodes"])
    assert int(ran.stdout) == (2700 if bench.namespaces else 900), ran  # in each place that may be written


def test_without_a_bound_output_is_taken_whole(bench: Bench, token: str) -> None:
    much = "import os; [os.write(1, b'x' * 65536) for _ in range(32)]"
    assert bench.run(much, token=token).how == "output"
    ran = bench.run(much, token=token, without=["output"])
    assert ran.how == "exited" and len(ran.stdout) == 32 * 65536 > SMALL.output_bytes, ran.how


def test_without_a_clock_a_program_stays_as_long_as_it_likes(bench: Bench, token: str) -> None:
    limits = replace(SMALL, wall_s=0.2)
    ran = bench.run(
        "import time; time.sleep(0.5); print('woke')", token=token, limits=limits, without=["wall"]
    )
    assert (ran.how, ran.stdout) == ("exited", b"woke\n"), ran


def test_without_a_network_of_its_own_a_program_reaches_out(bench: Bench, token: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        ran = bench.run(attacks.CONNECT, str(server.getsockname()[1]), token, without=["network"])
    assert b"reached AF_INET\n" in ran.stdout, ran


def test_without_the_filter_system_calls_get_through(bench: Bench, token: str) -> None:
    ran = bench.run(attacks.REACH, token=token, without=["seccomp"])
    assert b"could ptrace\n" in ran.stdout and b"could unshare user\n" in ran.stdout, ran


def test_without_the_filter_sockets_are_made_that_no_namespace_holds(bench: Bench, token: str) -> None:
    try:
        socket.socket(socket.AF_VSOCK).close()
    except OSError:
        pytest.skip("this kernel has no vsock")
    ran = bench.run(attacks.CONNECT, "9", token, without=["seccomp"])
    assert b"made 40\n" in ran.stdout, ran


def test_without_a_view_of_its_own_files_of_the_host_are_read(bench: Bench, token: str) -> None:
    ran = bench.run(attacks.FILES, token=token, without=["filesystem"])
    assert b"read /var\n" in ran.stdout, ran


def test_without_a_clean_environment_the_worker_s_secret_is_seen(bench: Bench, token: str) -> None:
    ran = bench.run(attacks.PRY, token=token, without=["environment"])
    assert b"secret in self environ\n" in ran.stdout or b"secret in 1 environ\n" in ran.stdout, ran


def _waits(pid: int) -> bool:
    """Whether it would take a SIGUSR1."""
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
    taken = next(line.split()[1] for line in text.splitlines() if line.startswith("SigCgt:"))
    return bool(int(taken, 16) >> (signal.SIGUSR1 - 1) & 1)


def _above(pid: int, token: str) -> int:
    """The first process above this one that is not the job's."""
    while token.encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
        seen = look(pid)
        assert seen is not None
        pid = seen[1]
    return pid
