"""Control groups, against the kernel: version 1 or 2, whichever this machine has."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.waiting import wait_until
from tests.worker.sandbox import test_attacks as attacks
from tests.worker.sandbox.conftest import Workers
from tests.worker.sandbox.rig import PYTHON, SMALL, Bench
from windlass.worker.sandbox.cgroup import PREFIX, WORKER, Group, NoGroup, find

GROUPED = pytest.mark.parametrize("tier", ["bubblewrap+cgroup"], indirect=True)


@GROUPED
def test_processes_that_spin_share_the_processors_that_they_may_use(bench: Bench, token: str) -> None:
    limits = replace(SMALL, wall_s=1.0, cores=0.25)
    bound = bench.run(attacks.SPINS, token=token, limits=limits)
    assert bound.how == "timeout" and bound.cpu_s < 0.6 * bound.wall_s, bound
    free = bench.run(attacks.SPINS, token=token, limits=replace(limits, cores=0.0))
    assert free.cpu_s > 1.5 * bound.cpu_s, (free, bound)


def test_a_group_alone_bounds_processes_also_for_root() -> None:
    try:
        group = Group(find(), memory_bytes=0, processes=6)
    except NoGroup as error:
        pytest.skip(str(error))
    forks = [str(PYTHON), "-c", attacks.FORKS.replace("time.sleep(60)", "time.sleep(0.3)")]
    try:
        done = subprocess.run(forks, preexec_fn=group.join, capture_output=True, timeout=20, check=True)
        assert int(done.stdout) == 5
    finally:
        wait_until(lambda: _removed(group))


@GROUPED
def test_of_many_that_run_out_of_memory_none_goes_on_under_version_two(bench: Bench, token: str) -> None:
    if _version() != 2:
        pytest.skip("version 1 kills one after another")
    ran = bench.run(attacks.MEMORY_OF_MANY, token=token, without=["memory_watched"])
    assert ran.how == "memory" and b"alive" not in ran.stdout, ran


@GROUPED
def test_a_worker_under_version_two_moves_aside_for_its_jobs(workers: Workers, who: str, tier: str) -> None:
    if _version() != 2:
        pytest.skip("under version 1 a group may hold processes and groups")
    one = workers(who)
    tried = next(tried for tried in one.tiers if tried.name == tier)
    if not tried.works:
        pytest.skip(tried.reason)
    path = Path(f"/proc/{one.pid}/cgroup").read_text().strip()
    assert path.endswith(f"/{WORKER}"), path


def _version() -> int:
    try:
        return find().version
    except NoGroup:
        return 0


def _removed(group: Group) -> bool:
    group.remove()
    return not any(Path(base, f"{PREFIX}{os.getpid()}").exists() for base in find().folders.values())
