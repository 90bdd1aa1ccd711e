"""A control group (version 2) of our own, in which every worker under test gets one that is handed to it."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from windlass.worker.sandbox.cgroup import NoGroup, find

NAME = "WINDLASS_TEST_GROUP"  # in the environment: where those of the workers are made
CONTROLLERS = ("memory", "pids", "cpu")


def take_over() -> Path:
    """Make our own group one that has groups in it. Raises NoGroup, with the reason in words."""
    bases = find()
    if bases.version != 2:
        raise NoGroup("this machine has control groups of version 1")
    group = Path(bases.folders[""])
    try:
        if (group / "cgroup.type").exists():  # the root of all may hold processes beside groups
            leaf = group / "windlass-tests"
            leaf.mkdir(exist_ok=True)
            for pid in (group / "cgroup.procs").read_text().split():
                with suppress(ProcessLookupError):
                    (leaf / "cgroup.procs").write_text(pid)
        (group / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in CONTROLLERS))
    except OSError as error:
        raise NoGroup(f"the group that we are in is not ours: {error.strerror}") from error
    return group


def hand_over(name: str, user: int) -> Path | None:
    """A group for a worker of this user, where there is one to make it in."""
    base = os.environ.get(NAME)
    if base is None:
        return None
    group = Path(base, name)
    group.mkdir()
    for place in (group, *(group / f"cgroup.{each}" for each in ("procs", "subtree_control", "threads"))):
        os.chown(place, user, user)
    return group


def enter(group: Path, user: int | None) -> None:
    """For a process that is about to become the worker: only root may move it in from outside."""
    (group / "cgroup.procs").write_text("0")
    if user is not None:
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)


def is_empty(group: Path) -> bool:
    return "populated 0" in (group / "cgroup.events").read_text()


def take_back(group: Path) -> None:
    """Its processes are gone. What is left in there fails here: a group is removed only when it is empty."""
    for inner in group.iterdir():
        if inner.is_dir():
            inner.rmdir()
    group.rmdir()
