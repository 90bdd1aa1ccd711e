"""What programs try that nobody trusts; in every tier, as root and as an ordinary user.

After each attack the fixture `bench` looks: the worker lives, its next job runs, and nothing is left.
"""

from __future__ import annotations

import os
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from tests.worker.sandbox.rig import READABLE, SMALL, Bench, shared

MANY = 150
FORKS = f"""
import os, time
count = 0
try:
    while count < {MANY}:
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        count += 1
except OSError:
    pass
print(count)
"""
BOMB = """
import os
while True:
    try:
        os.fork()
    except OSError:
        pass
"""
MEMORY = """
kept = []
for _ in range(25):
    kept.append(bytearray(b"x" * 2**20) * 16)
print("had", len(kept) * 16)
"""
MEMORY_OF_MANY = """
import os, time
for _ in range(8):
    if os.fork() == 0:
        kept = bytearray(b"x" * 2**20) * 40
        time.sleep(1)
        os._exit(0)
alive = sum(os.waitstatus_to_exitcode(os.wait()[1]) == 0 for _ in range(8))
print("alive", alive)
"""
SPIN = "while True: pass"
SPINS = """
import os
for _ in range(3):
    os.fork()
while True: pass
"""
DISK = """
import os
total = 0
for folder in (".", "/tmp", "/dev/shm", "/", "/usr", "/etc", "/dev", "/var/tmp", "/run", "/proc"):
    for number in range(12):
        try:
            with open(f"{folder}/fill-{number}", "wb", buffering=0) as file:
                for _ in range(4):
                    total += file.write(b"x" * 2**20)
        except OSError:
            pass
print(total)
"""
INODES = """
count = 0
for folder in (".", "/tmp", "/dev/shm"):
    try:
        for number in range(900):
            open(f"{folder}/f{number}", "w").close()
            count += 1
    except OSError:
        pass
import time
time.sleep(0.3)
print(count)
"""
FLOOD = """
import os
while True:
    os.write(1, b"x" * 65536)
"""
CONNECT = """
import socket, sys
port, name = int(sys.argv[2]), sys.argv[3]
for family, address in ((socket.AF_INET, ("127.0.0.1", port)), (socket.AF_UNIX, "\\0" + name)):
    try:
        with socket.socket(family) as one:
            one.settimeout(2)
            one.connect(address)
        print("reached", family.name)
    except OSError:
        pass
for family in (40, 17, 31, 38):  # vsock, packets, bluetooth, the kernel's ciphers
    try:
        socket.socket(family, socket.SOCK_STREAM if family == 40 else socket.SOCK_RAW).close()
        print("made", family)
    except OSError:
        pass
"""
PRY = """
import os, sys
secret = b"WORKER_" + b"SECRET"
def listed():
    try:
        return [name for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []
for pid in (*sys.argv[2:], "self", "1", *listed()):
    for name in ("environ", "cmdline", "cwd/x", "root/etc/shadow", "mem"):
        try:
            with open(f"/proc/{pid}/{name}", "rb") as file:
                if pid in sys.argv[2:] or name.endswith("shadow"):
                    print("opened", pid, name)
                if secret in file.read(100000):
                    print("secret in", pid, name)
        except OSError:
            pass
if secret.decode() in os.environ:
    print("secret at hand")
"""
FILES = """
import os, sys
for path in ("/etc/shadow", "/root", "/home", "/var", "/etc/hostname", *sys.argv[2:]):
    try:
        os.listdir(path) if os.path.isdir(path) else open(path).read()
        print("read", path)
    except OSError:
        pass
for path in sys.argv[2:]:
    try:
        open(path, "a").close()
        print("written", path)
    except OSError:
        pass
"""
REACH = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
tries = {
    "ptrace": lambda: libc.ptrace(0, 0, 0, 0),
    "process_vm_readv": lambda: libc.process_vm_readv(os.getppid(), None, 0, None, 0, 0),
    "unshare user": lambda: libc.unshare(0x10000000),
    "mount": lambda: libc.mount(b"none", b"/tmp", b"tmpfs", 0, None),
    "chroot": lambda: libc.chroot(b"/usr"),
    "keyctl": lambda: libc.syscall(250, 0, -3, 0),
    "memfd": lambda: libc.memfd_create(b"x", 0),
    "setuid": lambda: libc.setuid(0),
    "setgid": lambda: libc.setgid(0),
}
for name, attempt in tries.items():
    if os.fork() == 0:
        if attempt() >= 0:
            print("could", name, flush=True)
        os._exit(0)
    os.wait()
"""
PRIVILEGES = """
import os, shutil, subprocess, sys
status = dict(line.split(":", 1) for line in open("/proc/self/status").read().splitlines())
print(*(int(status[name], 16) for name in ("NoNewPrivs", "CapEff", "CapPrm", "Seccomp")))
shutil.copy("/bin/true", "mine")
try:
    os.chmod("mine", 0o6755)
except OSError:
    pass
for program in ("su", "mount", "newgrp", "passwd"):
    path = shutil.which(program)
    if path:
        done = subprocess.run([path], stdin=subprocess.DEVNULL, capture_output=True, timeout=5)
print(os.getuid() != 0, os.geteuid() != 0)
"""
LINKS = """
import os, sys
secret = sys.argv[2]
os.symlink(secret, "link")
os.symlink(os.path.dirname(secret), "folder")
os.mkfifo("pipe")
os.mkdir("empty")
with open("honest", "w") as file: file.write("honest")
os.link("honest", "twice")
os.mkdir("deep")
with open("deep/honest", "w") as file: file.write("deep")
try:
    os.link(secret, "hard")
except OSError:
    pass
try:
    with open("huge", "wb") as file: file.truncate(2**40)
except OSError:
    pass
"""
SIGNALS = """
import os, signal, sys
targets = [os.getppid(), *map(int, sys.argv[2:])]
for pid in targets:
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            if pid != 1:
                os.kill(pid, number)
                print("hit", pid)
        except OSError:
            pass
"""
SIGNAL_ALL = """
import os, time
if os.fork() == 0:
    time.sleep(60)
os.kill(-1, 9)
os.wait()
print("alone")
"""
DAEMONS = """
import os, signal, time
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
    signal.signal(number, signal.SIG_IGN)
for _ in range(5):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.closerange(0, 10)
            time.sleep(60)
        os._exit(0)
print("left")
"""
STDIN = """
import os
for path in ("/proc/self/fd/0", "/dev/stdin"):
    try:
        with open(path, "r+b", buffering=0) as file:
            file.write(b"x" * 2**20)
        print("wrote", path)
    except OSError:
        pass
try:
    os.write(0, b"x" * 2**20)
    print("wrote")
except OSError:
    pass
"""


def test_a_program_that_forks_gets_no_more_processes_than_it_may_have(bench: Bench, token: str) -> None:
    ran = bench.run(FORKS, token=token)
    assert ran.how == "exited" and int(ran.stdout) < SMALL.processes, ran


def test_a_fork_bomb_ends_with_its_time(bench: Bench, token: str) -> None:
    ran = bench.run(BOMB, token=token, limits=replace(SMALL, wall_s=0.4))
    assert ran.how == "timeout" and ran.wall_s < 3, ran


def test_one_process_cannot_take_more_memory_than_its_job_has(bench: Bench, token: str) -> None:
    ran = bench.run(MEMORY, token=token)
    assert ran.how == "memory", ran


def test_many_processes_cannot_take_more_memory_than_their_job_has(bench: Bench, token: str) -> None:
    ran = bench.run(MEMORY_OF_MANY, token=token)
    assert ran.how == "memory", ran


def test_a_program_that_spins_ends_with_its_cpu_time(bench: Bench, token: str) -> None:
    ran = bench.run(SPIN, token=token, limits=replace(SMALL, cpu_s=0.3))
    assert ran.how == "cpu" and ran.cpu_s < 1.5, ran


def test_processes_that_spin_share_one_cpu_time(bench: Bench, token: str) -> None:
    ran = bench.run(SPINS, token=token, limits=replace(SMALL, cpu_s=0.4))
    assert ran.how == "cpu" and ran.wall_s < 10, ran


def test_a_program_that_sleeps_ends_with_its_time(bench: Bench, token: str) -> None:
    ran = bench.run("import time; time.sleep(60)", token=token, limits=replace(SMALL, wall_s=0.3))
    assert ran.how == "timeout" and 0.3 <= ran.wall_s < 2, ran


def test_a_program_cannot_fill_the_disk(bench: Bench, token: str) -> None:
    ran = bench.run(DISK + "import time; time.sleep(0.3)", token=token)
    if bench.namespaces:
        assert ran.how == "exited" and int(ran.stdout) <= SMALL.disk_bytes, ran
    else:
        assert ran.how == "disk", ran  # seen, not held


def test_a_program_that_fails_on_a_full_disk_is_told_apart(bench: Bench, token: str) -> None:
    ran = bench.run("open('big', 'wb').write(b'x' * 2**25)", token=token)
    assert ran.how == ("disk" if bench.namespaces else "exited") and ran.code != 0, ran


def test_a_program_cannot_use_up_the_inodes(bench: Bench, token: str) -> None:
    ran = bench.run(INODES, token=token)
    if bench.namespaces:
        assert ran.how == "exited" and int(ran.stdout) <= SMALL.inodes, ran
    else:
        assert ran.how == "disk", ran  # seen, not held


def test_a_flood_of_output_is_cut(bench: Bench, token: str) -> None:
    ran = bench.run(FLOOD, token=token)
    assert ran.how == "output" and ran.stdout == b"x" * SMALL.output_bytes and ran.wall_s < 3, ran.how


def test_nobody_outside_is_reached_over_any_kind_of_socket(bench: Bench, token: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as abstract:
        abstract.bind(f"\0{token}")
        abstract.listen()
        ran = bench.run(CONNECT, str(server.getsockname()[1]), token)
    assert (ran.how, ran.code, ran.stdout) == ("exited", 0, b""), ran


def test_the_network_is_there_when_asked_for_and_abstract_sockets_are_not(bench: Bench, token: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as abstract:
        abstract.bind(f"\0{token}")
        abstract.listen()
        limits = replace(SMALL, network=True)
        ran = bench.run(CONNECT, str(server.getsockname()[1]), token, limits=limits)
    assert (ran.how, ran.code, ran.stdout) == ("exited", 0, b"reached AF_INET\n"), ran


def test_neither_the_worker_nor_its_environment_is_seen(bench: Bench, token: str) -> None:
    ran = bench.run(PRY, str(bench.worker.pid), token=token)
    assert (ran.how, ran.code, ran.stdout) == ("exited", 0, b""), ran


def test_files_of_the_host_are_neither_read_nor_written(bench: Bench, token: str, common: Path) -> None:
    mine = shared(common, "mine", "secret")
    ran = bench.run(FILES, str(mine), str(bench.worker.scratch), token=token)
    above = {
        f"read {folder}" for place in READABLE for folder in place.parents
    }  # they lead to what it may read
    assert ran.how == "exited" and ran.code == 0 and set(ran.stdout.decode().splitlines()) <= above, ran
    assert mine.read_text() == "secret"


def test_other_processes_mounts_and_users_are_out_of_reach(bench: Bench, token: str) -> None:
    ran = bench.run(REACH, token=token)
    assert ran.how == "exited" and ran.stdout == b"", ran


def test_nothing_gives_a_program_more_rights(bench: Bench, token: str) -> None:
    ran = bench.run(PRIVILEGES, token=token)
    assert ran.stdout == b"1 0 0 2\nTrue True\n", ran


def test_only_honest_files_are_brought_back(bench: Bench, token: str, common: Path) -> None:
    secret = shared(common, "secret", "secret")
    wanted = [
        *("honest", "deep/honest", "link", "folder/secret", "pipe", "empty", "twice", "hard", "huge"),
        *("missing", "../../../etc/hostname", "/etc/hostname"),
    ]
    ran = bench.run(LINKS, str(secret), token=token, wanted=wanted)
    assert ran.how == "exited" and ran.code == 0, ran
    assert ran.files == {"deep/honest": b"deep", "huge": b""}, ran.files  # it could not be made huge
    for name in ("link", "folder/secret", "pipe", "twice", "../../../etc/hostname"):
        assert f"{name} was not brought back" in ran.detail


def test_signals_do_not_get_out(bench: Bench, token: str) -> None:
    ran = bench.run(SIGNALS, str(bench.worker.pid), token=token)
    assert ran.how == "exited" and ran.stdout == b"", ran
    assert bench.worker.process.poll() is None


def test_a_signal_to_all_reaches_only_the_job(bench: Bench, token: str) -> None:
    if not bench.namespaces and os.geteuid() != 0:
        pytest.skip("were the scope of signals broken, this would end whoever runs the tests")
    ran = bench.run(SIGNAL_ALL, token=token)
    assert ran.stdout == b"alone\n" and bench.worker.process.poll() is None, ran


def test_daemons_end_with_their_job(bench: Bench, token: str) -> None:
    ran = bench.run(DAEMONS, token=token)
    assert (ran.how, ran.stdout) == ("exited", b"left\n"), ran


def test_stdin_that_nobody_reads_holds_nothing_up_and_cannot_be_written(bench: Bench, token: str) -> None:
    ran = bench.run(STDIN, token=token, stdin=b"y" * 2**24)
    assert (ran.how, ran.code, ran.stdout) == ("exited", 0, b""), ran


def test_no_open_file_of_the_worker_comes_along(bench: Bench, token: str) -> None:
    ran = bench.run("import os; print(sorted(map(int, os.listdir('/proc/self/fd')))[:-1])", token=token)
    assert ran.stdout == b"[0, 1, 2]\n", ran
