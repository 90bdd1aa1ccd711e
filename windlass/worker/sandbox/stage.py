"""Where a job's files lie: a file system of its own, sized and counted by the kernel, that nobody else sees.

The keeper goes into a mount namespace (if not root, by way of a user namespace) and mounts it there. It is
gone with the keeper and the job: there is nothing to clean up. Standard library only.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence

CLONE_NEWNS, CLONE_NEWUSER = 0x20000, 0x10000000
MS_NOSUID, MS_NODEV, MS_BIND, MS_REC = 2, 4, 4096, 16384
MS_PRIVATE, MS_SLAVE = 1 << 18, 1 << 19

SLOT_UID = 0x70000000  # beyond what systems and containers hand out; one for each keeper, by its pid
NOBODY = 65534
PLACE = "/tmp"  # where it is mounted: whoever the job runs as gets there, and bubblewrap needs it anyway
FOLDERS = 4  # disk/ itself, and work/, tmp/ and shm/ in it: not of the job's making

_libc = ctypes.CDLL(None, use_errno=True)


def slot_user() -> int:
    """Whom a job of a root worker runs as: nobody else, as long as it runs."""
    wanted = SLOT_UID + os.getpid()
    with open("/proc/self/uid_map") as file:
        spans = [(int(line.split()[0]), int(line.split()[2])) for line in file]
    for user in (wanted, NOBODY):
        if any(first <= user < first + count for first, count in spans):
            return user
    raise OSError("root has no other user here to run a job as")


def become(user: int) -> None:
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)


def withdraw() -> None:
    """Into a mount namespace of our own. Raises OSError.

    What the host unmounts goes away in here too, until we `shut` it: who waits for a job must not keep a disk
    busy, nor offer one that is gone.
    """
    user, group = os.geteuid(), os.getegid()
    flags = CLONE_NEWNS if user == 0 else CLONE_NEWNS | CLONE_NEWUSER
    if _libc.unshare(flags):
        raise _failed("namespaces are forbidden here")
    if user != 0:
        for name, text in (
            ("setgroups", "deny"),
            ("uid_map", f"{user} {user} 1"),
            ("gid_map", f"{group} {group} 1"),
        ):
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)
    mount("none", "/", "", MS_REC | MS_SLAVE, "")


def shut() -> None:
    """Nothing that the host mounts from now on is seen in our mount namespace. Raises OSError."""
    mount("none", "/", "", MS_REC | MS_PRIVATE, "")


def build(*, disk_bytes: int, inodes: int, readable: Sequence[int], owner: int) -> list[str]:
    """In our own PLACE: disk/ for the job, and one place for each open folder of `readable`.

    Whoever may not pass the folders above those reaches them here. The places come back in that order.
    """
    mount("tmpfs", PLACE, "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,mode=755")
    disk = f"{PLACE}/disk"
    os.mkdir(disk)
    size = f"size={disk_bytes}" + (f",nr_inodes={inodes + FOLDERS}" if inodes else "")
    mount("tmpfs", disk, "tmpfs", MS_NOSUID | MS_NODEV, f"{size},mode=755")
    os.chown(disk, owner, owner if os.geteuid() == 0 else -1)
    places = []
    for number, fd in enumerate(readable):
        place = f"{PLACE}/{number}"
        if os.path.isdir(f"/proc/self/fd/{fd}"):
            os.mkdir(place)
        else:
            os.close(os.open(place, os.O_CREAT | os.O_WRONLY, 0o644))
        mount(f"/proc/self/fd/{fd}", place, "", MS_BIND | MS_REC, "")
        places.append(place)
    return places


def mount(source: str, target: str, kind: str, flags: int, data: str) -> None:
    arguments = (source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), data.encode())
    if _libc.mount(*arguments):
        raise _failed(f"{target} cannot be mounted")


def _failed(what: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, f"{what}: {os.strerror(number)}")
