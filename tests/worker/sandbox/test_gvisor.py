"""gVisor, which runs only where it is asked for: the same promises, shown by a few of the attacks."""

from __future__ import annotations

import os
import socket
from dataclasses import replace

import pytest

from tests.worker.sandbox import test_attacks as attacks
from tests.worker.sandbox.hands import Ask
from tests.worker.sandbox.rig import SECRET, SMALL, Bench
from windlass.worker.sandbox import Job

SLOW = replace(SMALL, memory_bytes=256 * 1024**2)  # its own kernel takes a part of it


@pytest.fixture
def tier() -> str:
    return "gvisor"


def test_a_job_runs_on_a_kernel_that_is_not_the_host_s(bench: Bench) -> None:
    code = """
    import os, sys
    print(open("/proc/version").read().split()[2])
    print(open("in.txt").read(), sys.stdin.read(), os.environ["WORD"])
    open("out.txt", "w").write("made")
    sys.exit(3)
    """
    word, file = {"WORD": "word"}, {"in.txt": b"file"}
    ran = bench.run(code, limits=SLOW, stdin=b"given", env=word, files=file, wanted=["out.txt"])
    assert (ran.how, ran.code, ran.files) == ("exited", 3, {"out.txt": b"made"}), ran
    version, said, _ = ran.stdout.decode().split("\n")
    assert said == "file given word" and version != os.uname().release
    held = {name for name in ran.protections.__struct_fields__ if not getattr(ran.protections, name)}
    assert held == {"memory_hard", "disk", "inodes"}


def test_no_more_processes_than_it_may_have(bench: Bench, token: str) -> None:
    ran = bench.run(attacks.FORKS, limits=SLOW, token=token)
    assert ran.how == "exited" and int(ran.stdout) < SLOW.processes, ran


@pytest.mark.parametrize("attack", [attacks.MEMORY, attacks.MEMORY_OF_MANY], ids=["one", "many"])
def test_no_more_memory_than_it_may_have(bench: Bench, token: str, attack: str) -> None:
    ran = bench.run(attack.replace("range(8)", "range(12)"), limits=SLOW, token=token)
    assert ran.how == "memory", ran


def test_no_more_time_than_it_may_have(bench: Bench, token: str) -> None:
    ran = bench.run(attacks.SPIN, limits=replace(SLOW, cpu_s=1.0), token=token)
    assert ran.how == "cpu", ran
    ran = bench.run("import time; time.sleep(60)", limits=replace(SLOW, wall_s=1.0), token=token)
    assert ran.how == "timeout", ran


def test_what_it_writes_is_looked_at(bench: Bench, token: str) -> None:
    ran = bench.run(attacks.DISK + "import time; time.sleep(1)", limits=SLOW, token=token)
    assert ran.how == "disk", ran
    flood = bench.run(attacks.FLOOD, limits=SLOW, token=token)
    assert flood.how == "output" and len(flood.stdout) == SLOW.output_bytes, flood.how


def test_nothing_of_the_host_is_reached(bench: Bench, token: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as abstract:
        abstract.bind(f"\0{token}")
        abstract.listen()
        ran = bench.run(attacks.CONNECT, str(server.getsockname()[1]), token, limits=SLOW)
    assert b"reached" not in ran.stdout and ran.how == "exited", ran
    ran = bench.run(attacks.PRY, "4000000", limits=SLOW, token=token)
    assert b"secret" not in ran.stdout and SECRET.encode() not in ran.stdout, ran
    ran = bench.run(attacks.FILES, str(bench.worker.scratch), limits=SLOW, token=token)
    assert (ran.how, ran.stdout) == ("exited", b""), ran


def test_the_network_is_there_when_asked_for(bench: Bench, token: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as abstract:
        abstract.bind(f"\0{token}")
        abstract.listen()
        limits = replace(SLOW, network=True)
        ran = bench.run(attacks.CONNECT, str(server.getsockname()[1]), token, limits=limits)
    assert b"reached AF_INET\n" in ran.stdout and b"AF_UNIX" not in ran.stdout, ran


def test_daemons_end_with_their_job(bench: Bench, token: str) -> None:
    ran = bench.run(attacks.DAEMONS, limits=SLOW, token=token)
    assert (ran.how, ran.stdout) == ("exited", b"left\n"), ran


def test_a_program_that_is_not_there_is_not_started(bench: Bench) -> None:
    ran = bench.worker.ask(Ask(bench.tier, Job(["no-such-program"], SLOW))).ran
    assert ran is not None and ran.how == "not_started" and "no-such-program" in ran.detail, ran
