"""A filter of system calls, as the kernel's own small machine code (BPF).

What a program of any language needs stays allowed. Refused is what reaches into other processes, mounts,
namespaces, modules, clocks and keys; what holds memory that nobody counts (memfd, System V); kinds of sockets
that no network namespace shuts in (vsock); and every call that is newer than this list. The keeper loads it:
standard library only.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from collections.abc import Iterator

AF_UNIX, AF_INET, AF_INET6, AF_NETLINK = 1, 2, 10, 16
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2

# name:number on x86_64:number on aarch64, -1 where a machine has no such call.
REFUSED = """
    ptrace:101:117 process_vm_readv:310:270 process_vm_writev:311:271 kcmp:312:272 mount:165:40
    umount2:166:39 pivot_root:155:41 chroot:161:51 unshare:272:97 setns:308:268 bpf:321:280
    perf_event_open:298:241 userfaultfd:323:282 keyctl:250:219 add_key:248:217 request_key:249:218
    kexec_load:246:104 kexec_file_load:320:294 init_module:175:105 finit_module:313:273
    delete_module:176:106 reboot:169:142 swapon:167:224 swapoff:168:225 acct:163:89 quotactl:179:60
    open_by_handle_at:304:265 name_to_handle_at:303:264 syslog:103:116 settimeofday:164:170
    adjtimex:159:171 clock_settime:227:112 clock_adjtime:305:266 sethostname:170:161
    setdomainname:171:162 vhangup:153:58 fanotify_init:300:262 move_pages:279:239 migrate_pages:256:238
    vmsplice:278:75 nfsservctl:180:42 iopl:172:-1 ioperm:173:-1 modify_ldt:154:-1 uselib:134:-1
    ustat:136:-1 sysfs:139:-1 io_uring_setup:425:425 io_uring_enter:426:426 io_uring_register:427:427
    open_tree:428:428 move_mount:429:429 fsopen:430:430 fsconfig:431:431 fsmount:432:432 fspick:433:433
    pidfd_getfd:438:438 process_madvise:440:440 mount_setattr:442:442 quotactl_fd:443:443
    process_mrelease:448:448 set_mempolicy_home_node:450:450
"""
# A program that meets these does without: it is told that they do not exist.
MISSING = """
    memfd_create:319:279 memfd_secret:447:447 shmget:29:194 msgget:68:186 semget:64:190 mq_open:240:180
    clone3:435:435
"""
CLONE, SOCKET, IOCTL, PERSONALITY = (56, 220), (41, 198), (16, 29), (135, 92)
NEWEST = 456  # later calls than this list knows
NAMESPACES = 0x7E020080  # every CLONE_NEW…
TIOCSTI, TIOCLINUX = 0x5412, 0x541C  # put words into the mouth of a terminal

ARCHES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}

LOAD, EQUAL, GREATER, ANY_BIT, RETURN = 0x20, 0x15, 0x25, 0x45, 0x06
ALLOW, KILL, ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
NUMBER_AT, ARCH_AT, ARGUMENTS_AT = 0, 4, 16


class Unfit(Exception):
    """There is no filter for this kind of machine."""


def program(machine: str, *, families: tuple[int, ...]) -> bytes:
    """The filter, ready for the kernel. Sockets may be made of these families only."""
    if machine not in ARCHES:
        raise Unfit(f"no filter of system calls is written for {machine}")
    column, arch = ARCHES[machine]
    return b"".join(_instructions(column, arch, families))


def _instructions(column: int, arch: int, families: tuple[int, ...]) -> Iterator[bytes]:
    yield _op(LOAD, ARCH_AT)
    yield from _unless_equal(arch, KILL)
    yield _op(LOAD, NUMBER_AT)
    yield from _when(GREATER, NEWEST, ERRNO | errno.ENOSYS)  # the second set of numbers of x86 (x32) too
    for names, answer in ((REFUSED, errno.EPERM), (MISSING, errno.ENOSYS)):
        for number in _numbers(names, column):
            yield from _when(EQUAL, number, ERRNO | answer)
    refuse = _op(RETURN, ERRNO | errno.EPERM)
    yield from _look(CLONE[column], 0, [_op(ANY_BIT, NAMESPACES, 0, 1), refuse])
    yield from _look(
        IOCTL[column], 1, [*_when(EQUAL, TIOCSTI, ERRNO | errno.EPERM), _op(EQUAL, TIOCLINUX, 0, 1), refuse]
    )
    yield from _look(SOCKET[column], 0, list(_only(families, errno.EACCES)))
    yield from _look(PERSONALITY[column], 0, list(_only((0, 0xFFFFFFFF), errno.EPERM)))
    yield _op(RETURN, ALLOW)


def _numbers(table: str, column: int) -> list[int]:
    numbers = (int(entry.split(":")[1 + column]) for entry in table.split())
    return [number for number in numbers if number >= 0]


def _op(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes, no, value)


def _when(test: int, value: int, answer: int) -> Iterator[bytes]:
    yield _op(test, value, 0, 1)
    yield _op(RETURN, answer)


def _unless_equal(value: int, answer: int) -> Iterator[bytes]:
    yield _op(EQUAL, value, 1, 0)
    yield _op(RETURN, answer)


def _only(values: tuple[int, ...], answer: int) -> Iterator[bytes]:
    """Let these values of an argument through."""
    for left, value in zip(range(len(values), 0, -1), values, strict=True):
        yield _op(EQUAL, value, left, 0)
    yield _op(RETURN, ERRNO | answer)


def _look(number: int, argument: int, checks: list[bytes]) -> Iterator[bytes]:
    """For one call, look at the lower half of an argument; then everything goes on as before."""
    body = [_op(LOAD, ARGUMENTS_AT + 8 * argument), *checks, _op(LOAD, NUMBER_AT)]
    yield _op(EQUAL, number, 0, len(body))
    yield from body


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def apply(filter_: bytes) -> None:
    """For this process and all that come from it, until they end."""
    libc = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(filter_, len(filter_))
    fprog = _Program(len(filter_) // 8, ctypes.addressof(buffer))
    none = ctypes.c_ulong(0)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, ctypes.c_ulong(1), none, none, none):
        raise OSError(ctypes.get_errno(), "no_new_privs could not be set")
    if libc.prctl(PR_SET_SECCOMP, ctypes.c_ulong(SECCOMP_MODE_FILTER), ctypes.byref(fprog), none, none):
        raise OSError(
            ctypes.get_errno(), f"the filter of system calls was refused: {os.strerror(ctypes.get_errno())}"
        )
