"""Programs that try to hide from whoever watches them, or to leave something behind.

Like the attacks: in every tier, as root and as an ordinary user, and afterwards nothing is left.
"""

from __future__ import annotations

import platform
from dataclasses import replace

import pytest

from tests.worker.sandbox.rig import SMALL, Bench

# Each process lives only until it has a child: whoever looks for it comes too late.
HOPPERS = """
import os
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        while True:
            try:
                if os.fork():
                    os._exit(0)
            except OSError:
                pass
print("gone")
"""
THREADS = """
import os
import threading, time
count = 0
try:
    for _ in range(150):
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
        count += 1
except RuntimeError:
    pass
print(count, flush=True)
os._exit(0)
"""
STOPPED = """
import os, signal
if os.fork() == 0:
    os.kill(os.getppid(), signal.SIGSTOP)
os.kill(os.getpid(), signal.SIGSTOP)
print("went on")
"""
DEEP = """
import os
name = "d" * 200
for _ in range(100):
    os.mkdir(name)
    os.chdir(name)
for number in range(3):
    with open(f"big{number}", "wb") as file:
        file.write(b"x" * 2**22)
os.chdir("/")
import time
time.sleep(0.6)
print("hidden")
"""
SHUT = """
import os
os.mkdir("shut")
os.chmod("shut", 0o300)
for number in range(3):
    with open(f"shut/big{number}", "wb") as file:
        file.write(b"x" * 2**22)
import time
time.sleep(0.6)
print("hidden")
"""
LOCKED = """
import os
os.makedirs("a/b/c")
open("a/b/c/file", "w").close()
for path in ("a/b/c", "a/b", "a"):
    os.chmod(path, 0)
os.chmod(".", 0)
print("locked")
"""
FILE_KINDS = """
import os, socket, stat, sys
made = []
for name, kind in (("character", stat.S_IFCHR), ("block", stat.S_IFBLK)):
    for device in ((1, 3), (1, 5), (8, 0)):
        try:
            os.mknod(name, kind | 0o666, os.makedev(*device))
            print("made", name)
        except OSError:
            pass
try:
    with socket.socket(socket.AF_UNIX) as one:
        one.bind("socket")
except OSError:
    pass
os.symlink("socket", "dangling")
os.symlink("loop", "loop")
os.symlink("/proc/self/environ", "environ")
os.symlink("/dev/zero", "zero")
os.mkdir("folder")
os.rename("folder", "moved")
os.symlink("moved", "folder")
with open("moved/inside", "w") as file: file.write("inside")
with open("sparse", "wb") as file: file.truncate(4 * 2**20)
with open("secret", "w") as file: file.write("mine")
os.chmod("secret", 0)
"""
INPUT = """
import os
total = 0
for _ in range(200):
    total += len(os.read(0, 2**20))
print(total)
"""
ENDLESS = """
kept = []
with open("/dev/zero", "rb") as file:
    while True:
        kept.append(file.read(2**22))
"""
TWO_FLOODS = """
import os
if os.fork() == 0:
    while True:
        os.write(2, b"e" * 4096)
while True:
    os.write(1, b"o" * 4096)
"""
LATE_FLOOD = """
import os
if os.fork() == 0:
    os.setsid()
    while True:
        os.write(1, b"x" * 65536)
os._exit(0)
"""
# getpid as 32-bit programs ask for it: the numbers are others, so a filter must not let it through.
OLD_CALLS = """
import ctypes, mmap
code = bytes.fromhex("b814000000cd80c3")
area = mmap.mmap(-1, 4096, prot=7)
area.write(code)
call = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(area)))
print("pid", call())
"""
CALLS = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
calls = {
    "setns": (308, 0, 0), "pivot_root": (155, b"/", b"/"), "bpf": (321, 0, 0, 0), "keyctl": (250, 0, -3, 0),
    "perf_event_open": (298, 0, 0, -1, -1, 0), "userfaultfd": (323, 0), "io_uring_setup": (425, 1, 0),
    "open_tree": (428, -100, b"/", 0), "fsopen": (430, b"tmpfs", 0), "clone3": (435, 0, 0),
    "init_module": (175, 0, 0, b""), "name_to_handle_at": (303, -100, b"/", 0, 0, 0),
    "pidfd_getfd": (438, 0, 0, 0), "clone into a user namespace": (56, 0x10000011, 0, 0, 0, 0),
    "x32": (0x40000000 | 39,), "newest": (462, 0, 0, 0), "mq_open": (240, b"q", 0o102, 0o600, 0),
    "shmget": (29, 0, 4096, 0o1600), "memfd_secret": (447, 0), "personality": (135, 0x0040000),
    "tiocsti": (16, 0, 0x5412, b"x"), "settimeofday": (164, 0, 0), "sethostname": (170, b"x", 1),
}
for name, (number, *arguments) in calls.items():
    ctypes.set_errno(0)
    words = (ctypes.c_long(word) if isinstance(word, int) else word for word in arguments)
    answer = libc.syscall(ctypes.c_long(number), *words)
    if answer >= 0 or ctypes.get_errno() not in (1, 38):
        print(name, answer, ctypes.get_errno())
        if answer == 0 and "clone" in name:
            os._exit(0)
"""


def test_processes_that_hop_from_one_to_the_next_are_caught(bench: Bench, token: str) -> None:
    ran = bench.run(HOPPERS, token=token)
    assert (ran.how, ran.stdout) == ("exited", b"gone\n"), ran


def test_threads_count_as_processes_do(bench: Bench, token: str) -> None:
    ran = bench.run(THREADS, token=token)
    assert ran.how == "exited" and int(ran.stdout) < SMALL.processes, ran


def test_a_program_that_stops_itself_ends_with_its_time(bench: Bench, token: str) -> None:
    ran = bench.run(STOPPED, token=token, limits=replace(SMALL, wall_s=0.3))
    assert (ran.how, ran.stdout) == ("timeout", b""), ran


def test_files_are_counted_however_deep_they_lie(bench: Bench, token: str) -> None:
    ran = bench.run(DEEP, token=token)
    assert ran.how == "disk", ran


def test_files_are_counted_in_folders_that_are_shut(bench: Bench, token: str) -> None:
    ran = bench.run(SHUT, token=token)
    assert ran.how == "disk", ran


def test_folders_that_are_locked_are_removed(bench: Bench, token: str) -> None:
    ran = bench.run(LOCKED, token=token, wanted=["a/b/c/file"])
    assert ran.how in ("exited", "disk"), ran  # who looks at it meanwhile sees nothing


def test_no_kind_of_file_fools_who_brings_them_back(bench: Bench, token: str) -> None:
    names = ["character", "block", "socket", "dangling", "loop", "environ", "zero", "folder/inside", "moved"]
    ran = bench.run(FILE_KINDS, token=token, wanted=[*names, "moved/inside", "sparse", "secret"])
    assert (ran.how, ran.code, ran.stdout) == ("exited", 0, b""), ran
    sizes = {name: len(content) for name, content in ran.files.items() if name != "secret"}
    assert sizes == {"moved/inside": 6, "sparse": 4 * 2**20}, ran.detail


def test_input_ends_however_often_it_is_read(bench: Bench, token: str) -> None:
    ran = bench.run(INPUT, token=token, stdin=b"y" * 2**24)
    assert (ran.how, ran.stdout) == ("exited", b"16777216\n"), ran


def test_who_reads_without_end_ends_by_its_memory(bench: Bench, token: str) -> None:
    ran = bench.run(ENDLESS, token=token)
    assert ran.how == "memory" or (ran.how, ran.code) == ("exited", 1), ran


def test_both_outputs_are_cut(bench: Bench, token: str) -> None:
    ran = bench.run(TWO_FLOODS, token=token)
    assert ran.how == "output" and max(len(ran.stdout), len(ran.stderr)) <= SMALL.output_bytes, ran.how
    assert ran.stdout.strip(b"o") == ran.stderr.strip(b"e") == b""


def test_a_flood_after_the_end_is_cut_too(bench: Bench, token: str) -> None:
    ran = bench.run(LATE_FLOOD, token=token)
    assert ran.how in ("output", "exited") and len(ran.stdout) <= SMALL.output_bytes, ran.how
    assert ran.wall_s < 5


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the numbers are those of x86_64")
def test_calls_that_reach_deep_into_the_kernel_are_refused(bench: Bench, token: str) -> None:
    ran = bench.run(CALLS, token=token)
    assert (ran.how, ran.code, ran.stdout) == ("exited", 0, b""), ran


@pytest.mark.skipif(platform.machine() != "x86_64", reason="other machines have no older calls")
def test_calls_by_other_numbers_end_the_program(bench: Bench, token: str) -> None:
    ran = bench.run(OLD_CALLS, token=token)
    assert ran.how == "signalled" and ran.stdout == b"", ran
