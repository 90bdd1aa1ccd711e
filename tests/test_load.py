"""How busy a process is: what the kernel says of it, and what follows."""

import time
from pathlib import Path

import pytest

from windlass.load import PAGE_BYTES, Judge, Probe

MIB = 1024 * 1024
MEMINFO = "MemTotal: 1000000 kB\nMemFree: 1 kB\nMemAvailable: 600000 kB\n"


def judge() -> Judge:
    return Judge(overload_cpu=0.85, overload_memory=0.9, refuse_memory=0.95)


def verdicts(judge: Judge, *readings: tuple[float, float]) -> list[bool]:
    told = []
    for cpu, memory in readings:
        judge.read(cpu, memory)
        told.append(judge.overloaded)
    return told


class Machine:
    """The files of a kernel, and the clocks, as a test wants them."""

    def __init__(self, folder: Path, files: dict[str, str]) -> None:
        self.folder = folder
        self.now = self.cpu_s = 0.0
        self.write({"proc/meminfo": MEMINFO, "proc/self/statm": "900 300 20 1 0 200 0", **files})

    def write(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{text}\n")

    def probe(self, **more: float) -> Probe:
        return Probe(
            proc=self.folder / "proc",
            groups=self.folder / "cgroup",
            monotonic=lambda: self.now,
            cpu_time=lambda: self.cpu_s,
            **more,
        )

    def pass_time(self, seconds: float, *, cpu_s: float) -> None:
        self.now += seconds
        self.cpu_s += cpu_s


# What follows.


def test_one_or_two_high_readings_are_no_overload_and_three_in_a_row_are() -> None:
    high, low = (0.9, 0.1), (0.2, 0.1)
    assert verdicts(judge(), high, high, low, high, high, high) == [False] * 5 + [True]


def test_an_overload_is_over_after_three_low_readings_in_a_row() -> None:
    high, low = (0.9, 0.1), (0.2, 0.1)
    told = verdicts(judge(), high, high, high, low, low, high, low, low, low)
    assert told == [False, False] + [True] * 6 + [False]


@pytest.mark.parametrize(
    ("reading", "overloaded"), [((0.85, 0.0), True), ((0.0, 0.9), True), ((0.84, 0.89), False)]
)
def test_either_processor_or_memory_is_enough_for_an_overload(
    reading: tuple[float, float], overloaded: bool
) -> None:
    assert verdicts(judge(), *[reading] * 3)[-1] is overloaded


def test_a_shortage_of_memory_needs_no_second_reading() -> None:
    assert [judge().short(share) for share in (0.94, 0.95, 1.0)] == [False, True, True]


# What the kernel says.


def test_processor_time_counts_since_the_last_reading_and_against_one_core(tmp_path: Path) -> None:
    here = Machine(tmp_path, {})
    probe = here.probe()
    here.pass_time(2.0, cpu_s=0.5)
    assert probe().cpu == 0.25
    here.pass_time(1.0, cpu_s=0.9)
    assert probe().cpu == 0.9
    here.pass_time(1.0, cpu_s=1.7)  # threads that left the interpreter
    assert probe().cpu == 1.0
    assert probe().cpu == 0.0  # no time has passed at all


@pytest.mark.parametrize(
    "files",
    [
        {"proc/self/cgroup": "0::/pod/node", "cgroup/pod/cpu.max": "50000 100000"},
        {
            "proc/self/cgroup": "2:cpu,cpuacct:/pod",
            "cgroup/cpu/pod/cpu.cfs_quota_us": "50000",
            "cgroup/cpu/pod/cpu.cfs_period_us": "100000",
        },
    ],
)
def test_who_may_use_half_a_core_is_busy_with_half_a_core(tmp_path: Path, files: dict[str, str]) -> None:
    here = Machine(tmp_path, files)
    probe = here.probe()
    here.pass_time(1.0, cpu_s=0.5)
    assert probe().cpu == 1.0


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"proc/self/cgroup": "0::/pod", "cgroup/pod/cpu.max": "max 100000", "cgroup/pod/memory.max": "max"},
        {"proc/self/cgroup": "nonsense\n7:memory", "cgroup/memory/memory.limit_in_bytes": "?"},
        {
            "proc/self/cgroup": "4:memory:/x",
            "cgroup/memory/x/memory.limit_in_bytes": "9223372036854771712",
            "cgroup/memory/x/memory.usage_in_bytes": "99999999999",
        },
    ],
)
def test_without_a_narrower_limit_the_memory_of_the_machine_counts(
    tmp_path: Path, files: dict[str, str]
) -> None:
    here = Machine(tmp_path, files)
    load = here.probe()()
    assert load.memory == 0.4
    assert load.memory_bytes == 300 * PAGE_BYTES


@pytest.mark.parametrize(
    "files",
    [
        {
            "proc/self/cgroup": "0::/pod/node",
            "cgroup/pod/memory.max": str(100 * MIB),
            "cgroup/pod/memory.current": str(70 * MIB),
            "cgroup/pod/memory.stat": (
                f"anon 1\ninactive_file {10 * MIB}\nactive_file {8 * MIB}\nslab_reclaimable {2 * MIB}"
            ),
            "cgroup/pod/node/memory.max": str(200 * MIB),  # the wider one inside counts less
            "cgroup/pod/node/memory.current": str(60 * MIB),
            "cgroup/pod/node/memory.stat": "",
        },
        {
            # As a container sees it that does not know its own name outside.
            "proc/self/cgroup": "4:memory:/docker/0123",
            "cgroup/memory/memory.limit_in_bytes": str(100 * MIB),
            "cgroup/memory/memory.usage_in_bytes": str(70 * MIB),
            "cgroup/memory/memory.stat": f"total_inactive_file {12 * MIB}\ntotal_active_file {8 * MIB}",
        },
    ],
)
def test_the_narrowest_limit_counts_and_what_can_be_dropped_is_not_in_use(
    tmp_path: Path, files: dict[str, str]
) -> None:
    here = Machine(tmp_path, files)
    assert here.probe()().memory == 0.5


def test_a_probe_says_what_it_read_and_what_follows(tmp_path: Path) -> None:
    here = Machine(tmp_path, {})
    probe = here.probe(overload_cpu=0.5, refuse_memory=0.4)
    loads = []
    for _ in range(3):
        here.pass_time(1.0, cpu_s=0.6)
        loads.append(probe())
    assert [load.overloaded for load in loads] == [False, False, True]
    assert all(load.short for load in loads)
    here.write({"proc/meminfo": MEMINFO.replace("600000", "700000")})
    assert not probe().short


def test_where_nothing_can_be_read_nothing_is_said_of_it(tmp_path: Path) -> None:
    load = Probe(proc=tmp_path, groups=tmp_path)()
    assert (load.memory, load.memory_bytes, load.overloaded, load.short) == (0.0, 0, False, False)


def test_of_this_very_process_it_tells_something_and_that_is_cheap() -> None:
    probe, took_s = Probe(), []
    for _ in range(100):
        began = time.thread_time()
        load = probe()
        took_s.append(time.thread_time() - began)
    assert sorted(took_s)[len(took_s) // 2] < 0.001
    assert 0.0 < load.memory < 1.0
    assert 0.0 <= load.cpu <= 1.0
    assert load.memory_bytes > 5 * MIB
