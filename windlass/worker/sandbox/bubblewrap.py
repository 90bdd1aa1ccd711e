"""What bubblewrap is told: namespaces for everything, and a view of the host that holds no secrets.

The keeper loads this: standard library only.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

HOME = "/sandbox"  # the working folder, as the job sees it
ENVIRONMENT = {"HOME": HOME, "TMPDIR": "/tmp", "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
USER = 1000  # as the job sees itself

TOP = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
# What programs look up in /etc, and what says nothing about this machine's users.
ETC = (
    *("alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "mime.types"),
    *("ssl/certs", "ssl/openssl.cnf"),
)
ETC_NETWORK = ("hosts", "resolv.conf", "nsswitch.conf", "services", "protocols", "gai.conf")
WRITTEN = {
    "passwd": f"sandbox:x:{USER}:{USER}::{HOME}:/bin/sh\n",
    "group": f"sandbox:x:{USER}:\n",
}


def arguments(
    *,
    env: Mapping[str, str],
    stage: str,
    readable: Sequence[tuple[str, str]],
    network: bool,
    without: Sequence[str],
    disable_userns: bool,
) -> list[str]:
    """All but the program itself; `readable` are (where it lies for us, where the job sees it)."""
    spaces = ["user", "ipc", "uts", "cgroup-try"]
    spaces += [] if network else ["net"]
    spaces += [] if "processes" in without else ["pid"]
    words = [f"--unshare-{name}" for name in spaces]
    words += ["--disable-userns"] if disable_userns and "seccomp" not in without else []
    words += ["--cap-drop", "ALL", "--die-with-parent", "--new-session"]
    words += ["--uid", str(USER), "--gid", str(USER), "--hostname", "sandbox"]
    words += _view(stage, readable, network) if "filesystem" not in without else ["--bind", "/", "/"]
    disk = f"{stage}/disk"
    words += ["--proc", "/proc", "--dev", "/dev", "--bind", f"{disk}/shm", "/dev/shm", "--remount-ro", "/dev"]
    if "filesystem" in without:
        words += ["--chdir", f"{disk}/work"]
    else:
        words += ["--bind", f"{disk}/tmp", "/tmp", "--bind", f"{disk}/work", HOME]
        for source, target in readable:
            words += ["--ro-bind", source, target]
        words += ["--remount-ro", "/", "--chdir", HOME]
    for name, value in {**ENVIRONMENT, **env}.items():
        words += ["--setenv", name, value]
    return words


def _view(stage: str, readable: Sequence[tuple[str, str]], network: bool) -> list[str]:
    words = ["--ro-bind", "/usr", "/usr"]
    for name in TOP:
        if os.path.islink(f"/{name}"):
            words += ["--symlink", os.readlink(f"/{name}"), f"/{name}"]
        elif os.path.isdir(f"/{name}"):
            words += ["--ro-bind", f"/{name}", f"/{name}"]
    words += ["--dir", "/etc"]
    for name in (*ETC, *(ETC_NETWORK if network else ())):
        words += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    for name in WRITTEN:
        words += ["--ro-bind", f"{stage}/{name}", f"/etc/{name}"]
    return words
