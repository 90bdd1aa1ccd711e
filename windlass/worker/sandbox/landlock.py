"""Landlock: a process gives up most of the file system, and signals to those outside, for good.

Needs no root and no namespace. The keeper loads it: standard library only.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from collections.abc import Iterable

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # the same numbers on every machine
VERSION_FLAG, PATH_BENEATH = 1, 1

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
REFER, TRUNCATE, IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
FIRST_RIGHTS = (1 << 13) - 1  # of the first version of Landlock
MAKE_DEVICES = 1 << 6 | 1 << 11  # character and block devices
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV  # rights that mean something for a file
READ = EXECUTE | READ_FILE | READ_DIR
SCOPE_ABSTRACT_UNIX, SCOPE_SIGNAL = 1, 2
ABI_SCOPES = 6  # from this version on, signals can be kept in

_libc = ctypes.CDLL(None, use_errno=True)


def abi() -> int:
    """The version that this kernel has; 0: none, or it is switched off."""
    return max(0, int(_libc.syscall(CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint(VERSION_FLAG))))


def restrict(*, readable: Iterable[str], writable: Iterable[str], devices: Iterable[str]) -> None:
    """From here on this process and all that come from it see these places only. Raises OSError.

    It must have given up new privileges before. A place that is not there is left out.
    """
    version = abi()
    if version == 0:
        raise OSError("this kernel has no Landlock")
    every = _rights(version)
    scopes = SCOPE_ABSTRACT_UNIX | SCOPE_SIGNAL if version >= ABI_SCOPES else 0
    attribute = struct.pack("=QQQ", every, 0, scopes)[
        : 24 if version >= ABI_SCOPES else 16 if version >= 4 else 8
    ]
    ruleset = _call(CREATE_RULESET, attribute, ctypes.c_size_t(len(attribute)), ctypes.c_uint(0))
    try:
        for rights, places in (
            (READ, readable),
            (every & ~MAKE_DEVICES, writable),
            (READ_FILE | WRITE_FILE, devices),
        ):
            for place in places:
                _allow(ruleset, place, rights & every)
        _call(RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint(0))
    finally:
        os.close(ruleset)


def _rights(version: int) -> int:
    newer = ((2, REFER), (3, TRUNCATE), (5, IOCTL_DEV))
    return FIRST_RIGHTS | sum(right for since, right in newer if version >= since)


def _allow(ruleset: int, place: str, rights: int) -> None:
    try:
        fd = os.open(place, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(fd).st_mode):
            rights &= OF_FILES
        rule = struct.pack("=Qi", rights, fd)
        _call(ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(PATH_BENEATH), rule, ctypes.c_uint(0))
    finally:
        os.close(fd)


def _call(number: int, *arguments: object) -> int:
    answer = int(_libc.syscall(ctypes.c_long(number), *arguments))
    if answer < 0:
        raise OSError(ctypes.get_errno(), f"Landlock refused: {os.strerror(ctypes.get_errno())}")
    return answer
