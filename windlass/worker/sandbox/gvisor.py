"""gVisor: a kernel in a program of its own (runsc) stands between a job and the kernel of the host.

The strongest tier and the slowest, so it is used only when asked for. What is here turns a job into the
bundle of files that runsc takes. The keeper loads this: standard library only.

The job's working folder lies on the host's disk, and its size and count of files are looked at only. Its
processes are counted by gVisor; their memory and time, and those of gVisor itself, by whoever watches.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any, NoReturn

from windlass.worker.sandbox import bubblewrap, rlimits

HOME = bubblewrap.HOME
ROOT = 0  # whom an ordinary user's job takes itself for: without any right that root has


def run(order: dict[str, Any], *, user: int, folder: str, work: str) -> NoReturn:
    """Become runsc. `folder` is the job's own, and goes when it ends. Raises OSError."""
    bundle = f"{folder}/bundle"
    os.makedirs(f"{bundle}/root")
    for name, text in bubblewrap.WRITTEN.items():
        with open(f"{bundle}/{name}", "w") as file:
            file.write(text)
    with open(f"{bundle}/config.json", "w") as file:
        json.dump(_config(order, user if os.geteuid() == 0 else ROOT, bundle, work), file)
    rlimits.forbid_cores()
    os.execve(order["runsc"], _words(order, folder), dict(order["worker_env"]) | {"PATH": os.defpath})


def fault(folder: str) -> str:
    """Why runsc did not come as far as the program, in its words; "" when it did, or was not asked to."""
    try:
        with open(f"{folder}/log") as file:
            said = [json.loads(line) for line in file]
    except (OSError, ValueError):
        return ""
    return next((str(each.get("msg")) for each in said if each.get("level") == "error"), "")


def _words(order: dict[str, Any], folder: str) -> list[str]:
    network = "host" if _networked(order) else "none"
    words = [
        order["runsc"],
        "--root",
        f"{folder}/state",
        "--log",
        f"{folder}/log",
        "--ignore-cgroups",
        f"--network={network}",
    ]
    words += [] if os.geteuid() == 0 else ["--rootless"]
    words += ["run", "--bundle", f"{folder}/bundle"]
    return [*words, os.path.basename(folder)]  # a name that no other job of the machine has


def _networked(order: dict[str, Any]) -> bool:
    return bool(order["limits"]["network"] or "network" in order["without"])


def _config(order: dict[str, Any], user: int, bundle: str, work: str) -> dict[str, Any]:
    limits, without = order["limits"], order["without"]
    spaces = ["pid", "ipc", "uts", "mount", *([] if _networked(order) else ["network"])]
    env = {**bubblewrap.ENVIRONMENT, **order["worker_env"], **order["env"]}
    process = {
        "user": {"uid": user, "gid": user},
        "args": order["argv"],
        "env": [f"{name}={value}" for name, value in env.items()],
        "cwd": HOME,
        "capabilities": {},
        "rlimits": _rlimits(limits, without),
        "noNewPrivileges": True,
    }
    return {
        "ociVersion": "1.0.0",
        "process": process,
        "root": {"path": f"{bundle}/root", "readonly": True},
        "hostname": "sandbox",
        "mounts": _mounts(order["readable"], bundle, work, network=limits["network"]),
        "linux": {"namespaces": [{"type": each} for each in spaces]},
    }


def _rlimits(limits: dict[str, Any], without: Sequence[str]) -> list[dict[str, Any]]:
    counts = {"RLIMIT_NOFILE": limits["open_files"], "RLIMIT_CORE": 0}
    if "processes" not in without:
        counts["RLIMIT_NPROC"] = limits["processes"]
    if "disk" not in without:
        counts["RLIMIT_FSIZE"] = limits["disk_bytes"]
    return [{"type": name, "soft": count, "hard": count} for name, count in counts.items()]


def _mounts(readable: Sequence[str], bundle: str, work: str, *, network: bool) -> list[dict[str, Any]]:
    mounts: list[dict[str, Any]] = [
        {"destination": "/proc", "type": "proc", "source": "proc"},
        {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs"},  # in memory, and counted as such
        {"destination": HOME, "type": "bind", "source": work, "options": ["rw"]},
    ]
    etc = (*bubblewrap.ETC, *(bubblewrap.ETC_NETWORK if network else ()))
    places = ["/usr", *(f"/{name}" for name in bubblewrap.TOP), *(f"/etc/{name}" for name in etc), *readable]
    pairs = [(place, place) for place in places if os.path.exists(place)]
    pairs += [(f"{bundle}/{name}", f"/etc/{name}") for name in bubblewrap.WRITTEN]
    for source, target in pairs:
        mounts.append({"destination": target, "type": "bind", "source": source, "options": ["ro", "rbind"]})
    return mounts
