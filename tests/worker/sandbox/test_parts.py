"""The parts of a sandbox that can be looked at alone."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from tests.worker.sandbox.conftest import Workers
from tests.worker.sandbox.rig import SMALL, worker
from windlass.worker.sandbox import Job, Sandbox, Tried, best, files, probe, seccomp
from windlass.worker.sandbox.cgroup import Bases, Group, NoGroup
from windlass.worker.sandbox.probe import INSTALL, unsandboxed
from windlass.worker.sandbox.watch import folder_use


def test_a_link_is_not_followed_out_of_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secret").write_text("secret")
    box = tmp_path / "box"
    box.mkdir()
    (box / "link").symlink_to(tmp_path / "secret")
    folder = os.open(box, files.FOLDER)
    try:
        found, faults = files.fetch(folder, ["link"], bytes_max=100)
        assert found == {} and len(faults) == 1
        # What keeps it in is this flag alone.
        monkeypatch.setattr(files, "LOOK", files.LOOK & ~os.O_NOFOLLOW)
        assert files.fetch(folder, ["link"], bytes_max=100) == ({"link": b"secret"}, [])
    finally:
        os.close(folder)


def test_files_are_brought_back_as_long_as_there_is_room(tmp_path: Path) -> None:
    for name, size in (("a", 60), ("b", 60), ("c", 40)):
        (tmp_path / name).write_bytes(b"x" * size)
    folder = os.open(tmp_path, files.FOLDER)
    try:
        found, faults = files.fetch(folder, ["a", "b", "c"], bytes_max=100)
    finally:
        os.close(folder)
    assert sorted(found) == ["a", "c"]
    assert faults == ["b was not brought back: there is room for 40 bytes more"]


@pytest.mark.parametrize("name", ["", "/etc/passwd", "..", "a/../b", "a//b", "a\0b", "./a", "a/" * 40 + "b"])
def test_a_name_that_leads_elsewhere_is_refused(name: str) -> None:
    with pytest.raises(files.BadName):
        files.parts_of(name)


def test_there_is_no_filter_for_a_machine_that_nobody_wrote_one_for() -> None:
    with pytest.raises(seccomp.Unfit):
        seccomp.program("riscv64", families=())
    for machine in seccomp.ARCHES:
        assert len(seccomp.program(machine, families=(1, 2, 10))) % 8 == 0


def test_a_group_of_version_two_gets_its_limits(tmp_path: Path) -> None:
    """Against plain files: what is written where. For the kernel's side there is `make test-cgroup2`."""
    group = Group(Bases(2, {"": str(tmp_path)}), memory_bytes=1000, processes=7)
    place = tmp_path / f"windlass-job-{os.getpid()}"
    said = {path.name: path.read_text() for path in place.iterdir()}
    assert said == {"memory.max": "1000", "memory.oom.group": "1", "pids.max": "7"}
    (place / "memory.events").write_text("low 0\noom 1\noom_kill 0\noom_group_kill 0\n")
    (place / "cpu.stat").write_text("usage_usec 1500000\nuser_usec 1\n")
    assert (group.ran_out(), group.cpu_s(), group.peak_bytes()) == (False, 1.5, 0)
    (place / "memory.events").write_text("oom 1\noom_kill 2\n")
    assert group.ran_out()
    (place / "cpu.max").write_text("max 100000")
    group.limit(memory_bytes=0, processes=0, cores=0.5)
    assert (place / "cpu.max").read_text() == "50000 100000" and (place / "memory.max").read_text() == "1000"


def test_a_folder_that_goes_deeper_than_any_path_is_removed(tmp_path: Path) -> None:
    top = tmp_path / "top"
    top.mkdir()
    (tmp_path / "kept").write_text("kept")
    here = os.open(top, files.FOLDER)
    for _ in range(1500):  # more than a path, or the stack of a program, holds
        os.mkdir("d" * 20, dir_fd=here)
        os.symlink(tmp_path / "kept", "link", dir_fd=here)
        here, above = os.open("d" * 20, files.FOLDER, dir_fd=here), here
        os.close(above)
    os.close(here)
    assert folder_use(str(top))[1] > 2**60
    files.remove(str(top))
    assert not top.exists() and (tmp_path / "kept").read_text() == "kept"


@pytest.mark.parametrize("only", ["bubblewrap", "landlock", "gvisor"])
def test_a_sandbox_that_is_asked_for_is_that_one_or_none(only: str) -> None:
    async def ask() -> tuple[Sandbox | None, list[Tried]]:
        return await best(only=only, allow_unsandboxed=True), await probe(only)

    sandbox, tried = asyncio.run(ask())
    assert tried and all(one.name.startswith(only) for one in tried)
    working = [one.name for one in tried if one.works]
    assert (sandbox.name if sandbox else None) == (working[0] if working else None)


def test_gvisor_is_never_chosen_of_itself() -> None:
    assert "gvisor" not in [one.name for one in asyncio.run(probe())]


def test_a_group_that_cannot_be_made_leaves_nothing(tmp_path: Path) -> None:
    bases = Bases(1, {"memory": str(tmp_path), "pids": str(tmp_path / "missing")})
    with pytest.raises(NoGroup):
        Group(bases, memory_bytes=1, processes=1)
    assert list(tmp_path.iterdir()) == []


def test_where_bubblewrap_is_missing_the_probe_says_how_to_get_it(common: Path, who: str) -> None:
    with worker(who, common / "bare", {"PATH": "/nowhere"}) as bare:
        tiers = {tried.name: tried for tried in bare.tiers}
    assert not tiers["bubblewrap"].works and tiers["bubblewrap"].reason == INSTALL
    if "landlock" in tiers and not tiers["landlock"].works:
        assert tiers["landlock"].reason


def test_many_jobs_at_once_do_not_meet(workers: Workers) -> None:
    async def run() -> list[bytes]:
        sandbox = await best()
        if sandbox is None:
            pytest.skip("no sandbox works here")
        script = "echo $0 > mine; sleep 0.2; cat mine; ls /proc | grep -c '^[0-9]' >&2"
        jobs = [Job(["/bin/sh", "-c", script, str(number)], SMALL) for number in range(8)]
        return [ran.stdout for ran in await asyncio.gather(*map(sandbox.run, jobs))]

    assert asyncio.run(run()) == [f"{number}\n".encode() for number in range(8)]


def test_without_a_sandbox_limits_hold_and_nothing_else_is_claimed() -> None:
    tier = unsandboxed()
    ran = asyncio.run(tier.run(Job(["/bin/sh", "-c", "echo $HOME; sleep 60 & exit 4"], SMALL)))
    assert (ran.how, ran.code) == ("exited", 4) and ran.stdout.endswith(b"/work\n"), ran
    held = {name for name in ran.protections.__struct_fields__ if getattr(ran.protections, name)}
    assert held == {"cpu", "memory_watched", "environment"}


def test_the_keeper_loads_nothing_but_the_standard_library_and_its_own_modules() -> None:
    folder = Path(seccomp.__file__).parent
    ours = {"keeper", "launch", "talk", "watch", "stage", "files", "rlimits", "cgroup", "seccomp", "landlock"}
    for name in (*ours, "bubblewrap", "nursery", "program", "scratch", "ending", "gvisor"):
        for line in (folder / f"{name}.py").read_text().splitlines():
            if line.startswith(("import ", "from ")):
                root = line.split()[1].split(".")[0]
                assert root in sys.stdlib_module_names or root == "windlass", (name, line)
