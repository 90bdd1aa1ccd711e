"""What is around the sandbox: the cache of compilers, bounds, secrets, and how endings become outcomes."""

import asyncio
import os
import stat
from collections.abc import Callable, Mapping, Set
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.worker.plain_sandbox import PlainSandbox
from tests.worker.rig import Rig, a_task, play, working
from windlass.core.code_step import Asked
from windlass.core.log import Bounds
from windlass.core.task import VALUE_BYTES_MAX, Failure, Success, Task
from windlass.worker import code_outcome
from windlass.worker.code_limits import Most, TooMuch, limits_of, most_of
from windlass.worker.code_outcome import About
from windlass.worker.code_tools import CodeTools
from windlass.worker.compiled import Compiled, key_of
from windlass.worker.compiling import identity
from windlass.worker.languages import Book, Language
from windlass.worker.link import Printing
from windlass.worker.masking import Mask
from windlass.worker.sandbox import How, Job, Limits, Protections, Ran
from windlass.worker.toolchains import Installed, Toolbox

# A language whose compiler is a copy: what it makes is run by the shell.
COPIED = Language(
    name="copied",
    file="main.txt",
    programs={"sh": ["sh"]},
    version=["{sh}", "-c", "echo 1.2.3"],
    compile=[
        "{sh}",
        "-c",
        "grep -q syntax main.txt && { echo 'error: syntax' >&2; exit 1; }; cp main.txt made",
    ],
    makes=["made"],
    run=["{sh}", "made"],
    env={"ROOM": "{memory}"},
)
SHELL = Language(
    name="bash",
    file="main.sh",
    programs={"sh": ["sh"]},
    version=["{sh}", "-c", "echo 5.0"],
    run=["{sh}", "main.sh"],
)
INSTALLED = Installed(SHELL, "5.0", {"sh": "/bin/sh"})
ABOUT = About(INSTALLED, "plain", Mask())


def code(text: str, language: str = "copied", timeout_s: float | None = None, **more: Any) -> Task:
    return a_task("code", {"language": language, "code": text, **more}, timeout_s=timeout_s)


def on_a_worker(
    folder: Path,
    story: Callable[[Rig, PlainSandbox], Any],
    box: PlainSandbox | None = None,
    most: Asked | None = None,
    languages: tuple[Language, ...] = (COPIED, SHELL),
    **more: Any,
) -> None:
    async def told() -> None:
        sandbox = box or PlainSandbox()

        async def best() -> PlainSandbox:
            return sandbox

        tools = CodeTools(book=Book(languages, most or Asked()), path=os.environ["PATH"])
        await tools.look(best)
        sandbox.jobs.clear()
        async with working(folder, code=tools, **more) as rig:
            await story(rig, sandbox)

    play(told())


# The cache.


def test_the_same_program_is_compiled_once(tmp_path: Path) -> None:
    async def story(rig: Rig, box: PlainSandbox) -> None:
        first = await rig.value(code("echo one"))
        assert (first["stdout"], first["compile"]["cached"], len(box.jobs)) == ("one\n", False, 2)
        again = await rig.value(code("echo one", stdin="other"))
        assert (again["stdout"], again["compile"]["cached"], len(box.jobs)) == ("one\n", True, 3)
        assert again["compile"]["timeS"] >= 0 and "compile" not in await rig.value(code("true", "bash"))
        box.jobs.pop()
        assert (await rig.value(code("echo two")))["stdout"] == "two\n"
        assert len(box.jobs) == 5
        await rig.value(code("echo one", files={"more.h": "x"}))  # compilers may read it
        assert len(box.jobs) == 7

    on_a_worker(tmp_path, story)
    on_a_worker(tmp_path, lambda rig, box: _runs_one(rig, box))  # and a worker that starts later finds it


async def _runs_one(rig: Rig, box: PlainSandbox) -> None:
    await rig.value(code("echo one"))
    assert len(box.jobs) == 1


def test_many_that_want_the_same_at_once_wait_for_one_compiler(tmp_path: Path) -> None:
    async def story(rig: Rig, box: PlainSandbox) -> None:
        values = await asyncio.gather(*(rig.value(code("echo all")) for _ in range(4)))
        assert [value["stdout"] for value in values] == ["all\n"] * 4
        assert len(box.jobs) == 5

    on_a_worker(tmp_path, story)


def test_what_was_not_compiled_is_not_kept(tmp_path: Path) -> None:
    async def story(rig: Rig, box: PlainSandbox) -> None:
        for _ in range(2):
            failure = await rig.failure(code("syntax"))
            assert (failure.type, failure.retryable) == ("CompileError", False)
            assert failure.message == "copied 1.2.3: error: syntax"
            assert (failure.value["stderr"], failure.value["exitCode"]) == ("error: syntax\n", 1)
            assert failure.value["compile"]["cached"] is False and not failure.elsewhere
        assert len(box.jobs) == 2

    on_a_worker(tmp_path, story)


def test_half_of_an_entry_counts_as_none(tmp_path: Path) -> None:
    async def story() -> None:
        cache = Compiled(tmp_path / "made")
        await cache.put("k", {"main": b"x" * 100})
        assert await cache.get("k") == {"main": b"x" * 100}
        entry = tmp_path / "made" / "k.made"
        entry.write_bytes(entry.read_bytes()[:50])
        assert await cache.get("k") is None
        assert not entry.exists()

    play(story())


def test_the_cache_is_bounded_and_what_was_used_last_stays(tmp_path: Path) -> None:
    async def story() -> None:
        cache = Compiled(tmp_path, bytes_max=350)
        for number, key in enumerate("abc"):
            await cache.put(key, {"main": b"x" * 50})
            os.utime(tmp_path / f"{key}.made", (number, number))
        assert await cache.get("a")  # used just now: b is the oldest
        await cache.put("d", {"main": b"x" * 50})
        assert [key for key in "abcd" if await cache.get(key)] == ["a", "c", "d"]
        await cache.put("huge", {"main": b"x" * 400})
        assert await cache.get("huge") is None
        few = Compiled(tmp_path, entries_max=1)
        await few.put("last", {})
        assert os.listdir(tmp_path) == ["last.made"]

    play(story())


def test_another_version_or_another_flag_is_another_program() -> None:
    other = msgspec.structs.replace(COPIED, compile=[*COPIED.compile, "-O3"])
    ways = [Installed(COPIED, "1.2.3", {"sh": "/bin/sh"}), Installed(COPIED, "1.2.4", {"sh": "/bin/sh"})]
    ways += [Installed(COPIED, "1.2.3", {"sh": "/opt/sh"}), Installed(other, "1.2.3", {"sh": "/bin/sh"})]
    assert len({key_of(identity(each), {"main.txt": b"x"}) for each in ways}) == 4


def test_what_a_program_leaves_under_the_name_of_its_own_file_is_not_kept(tmp_path: Path) -> None:
    """A job gets a copy: what it writes there nobody else ever runs."""

    async def story(rig: Rig, box: PlainSandbox) -> None:
        text = "echo echo stolen > made; echo fine"
        assert (await rig.value(code(text)))["stdout"] == "fine\n"
        assert (await rig.value(code(text)))["stdout"] == "fine\n"

    on_a_worker(tmp_path, story)


def test_nobody_else_on_the_machine_reads_the_cache(tmp_path: Path) -> None:
    play(Compiled(tmp_path / "made").put("k", {"main": b""}))
    assert stat.S_IMODE((tmp_path / "made").stat().st_mode) == 0o700


def test_a_cache_that_cannot_be_written_costs_time_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "compiled").write_text("in the way")

    async def story(rig: Rig, box: PlainSandbox) -> None:
        assert (await rig.value(code("echo one")))["stdout"] == "one\n"
        assert (await rig.value(code("echo one")))["stdout"] == "one\n"
        assert len(box.jobs) == 4

    on_a_worker(tmp_path, story)


def test_nothing_looks_like_another_program() -> None:
    keys = [
        key_of({"version": "1"}, {"a": b"bc"}),
        key_of({"version": "2"}, {"a": b"bc"}),
        key_of({"version": "1"}, {"ab": b"c"}),
        key_of({"version": "1"}, {"a": b"b", "c": b""}),
        key_of({"version": "1"}, {}),
    ]
    assert len(set(keys)) == len(keys)
    assert key_of({"x": 1, "y": 2}, {"a": b"", "b": b""}) == key_of({"y": 2, "x": 1}, {"b": b"", "a": b""})


WARMED = msgspec.structs.replace(
    COPIED,
    name="warmed",
    warm="standard library",
    # Where there is no folder yet, it makes what others find there.
    compile=["{sh}", "-c", "cp ${WARM:-.}/library made || { cp main.txt library && cp main.txt made; }"],
    compile_env={"WARM": "{warm}"},
    run=["{sh}", "-c", "cat made"],
)


def test_what_all_programs_need_is_compiled_once_and_no_program_changes_it(tmp_path: Path) -> None:
    async def story(rig: Rig, box: PlainSandbox) -> None:
        for text in ("one", "two"):
            assert (await rig.value(code(text, "warmed")))["stdout"] == "standard library"
        warming, trying, *programs = box.jobs
        assert (warming.keep, warming.files["main.txt"]) == (warm_folder(tmp_path), b"standard library")
        assert trying.files == warming.files and trying.keep is None
        assert [job.keep for job in programs] == [None] * 4
        assert [warm_folder(tmp_path) in job.readable for job in programs] == [True, False, True, False]

    on_a_worker(tmp_path, story, languages=(WARMED,))

    async def later(rig: Rig, box: PlainSandbox) -> None:
        await rig.value(code("three", "warmed"))
        assert all(job.keep is None for job in box.jobs)

    on_a_worker(tmp_path, later, languages=(WARMED,))


def warm_folder(folder: Path) -> Path:
    (done,) = (folder / "warm").glob("*.done")
    return done.with_suffix("")


class Narrow(PlainSandbox):
    """Nobody in there gets at what lies outside."""

    async def run(self, job: Job, printing: Printing | None = None) -> Ran:
        if any("warm" in str(place) for place in job.readable):
            return Ran("exited", code=1, stderr=b"permission denied")
        return await super().run(job, printing)


def test_where_it_cannot_be_reached_each_program_does_without(tmp_path: Path) -> None:
    async def story(rig: Rig, box: PlainSandbox) -> None:
        assert (await rig.value(code("one", "warmed")))["stdout"] == "one"
        assert (await rig.value(code("two", "warmed")))["stdout"] == "two"

    on_a_worker(tmp_path, story, Narrow(), languages=(WARMED,))


# Secrets.


async def resolve(_namespace: str, names: Set[str]) -> Mapping[str, str]:
    return dict.fromkeys(names, "sesame-open")


def test_a_secret_reaches_the_program_and_is_hidden_in_all_it_says(tmp_path: Path) -> None:
    task = code(
        "echo {{ secrets.KEY }}; cat; cp made left", stdin="{{ secrets.KEY }}", outputs=["left", "made"]
    )

    async def story(rig: Rig, box: PlainSandbox) -> None:
        value = await rig.value(task)
        assert box.jobs[-1].stdin == b"sesame-open"
        assert value["stdout"] == "***\n***"
        assert "sesame" not in str(value)
        assert not any("sesame" in line.text for line in rig.lines(task))
        # What was made of it must not stay on the disk.
        assert not (tmp_path / "compiled").exists()
        failure = await rig.failure(code("echo {{ secrets.KEY }} | tee left; exit 4", outputs=["left"]))
        assert failure.value["files"] == {"left": "***\n"}
        assert "sesame" not in str(failure)

    on_a_worker(tmp_path, story, resolve=resolve)


def test_half_a_secret_at_the_end_of_what_was_cut_is_left_out() -> None:
    mask = Mask(["sesame-open"])
    raw = b"x" * 2000 + b"sesame-o"
    ran = Ran("output", stdout=raw, stdout_bytes=len(raw) + 3)
    outcome = code_outcome.outcome_of(ran, About(INSTALLED, "plain", mask), Limits())
    assert isinstance(outcome, Failure)
    assert "sesame" not in outcome.detail and "sesame" not in outcome.value["stdout"]


# Limits.


def test_what_a_step_asks_for_is_what_the_sandbox_is_told(tmp_path: Path) -> None:
    asked = {
        "timeout": "5s", "cpu": "2s", "memory": "64MB", "processes": 7, "disk": "1MB", "output": "5KB",
        "cores": 0.5, "open_files": 99, "inodes": 100,
    }  # fmt: skip

    async def story(rig: Rig, box: PlainSandbox) -> None:
        await rig.value(code("true", limits=asked))
        limits = box.jobs[-1].limits
        assert (limits.wall_s, limits.cpu_s, limits.memory_bytes) == (5.0, 2.0, 64_000_000)
        assert (limits.processes, limits.disk_bytes, limits.output_bytes) == (7, 1_000_000, 5000)
        assert (limits.network, limits.cores, limits.open_files, limits.inodes) == (False, 0.5, 99, 100)
        assert box.jobs[-1].env["ROOM"] == "64000000"
        # The compiler has limits of its own: it is not the program.
        assert box.jobs[0].limits.wall_s == 60.0 and box.jobs[0].limits.network is False

    on_a_worker(tmp_path, story)


def test_more_than_the_worker_gives_is_refused_in_words(tmp_path: Path) -> None:
    async def story(rig: Rig, box: PlainSandbox) -> None:
        failure = await rig.failure(code("true", limits={"memory": "2GB", "timeout": "2h", "network": True}))
        assert (failure.type, failure.retryable, failure.elsewhere) == ("TooMuch", False, True)
        for words in ("memory 2GB, of at most 1GB", "timeout 2h, of at most 1m", "the network"):
            assert words in failure.message
        assert box.jobs == []

    on_a_worker(tmp_path, story, most=Asked(timeout_s=60.0, memory_bytes=10**9))


def test_the_timeout_of_a_step_is_how_long_its_program_may_take() -> None:
    usual = Most()
    assert limits_of(Asked(), least=Asked(), most=usual, timeout_s=None) == Limits()
    longer = limits_of(Asked(), least=Asked(), most=usual, timeout_s=300.0)
    assert (longer.wall_s, longer.cpu_s) == (300.0, 300.0)
    assert limits_of(Asked(timeout_s=9.0), least=Asked(), most=usual, timeout_s=300.0).wall_s == 9.0
    assert limits_of(Asked(), least=Asked(), most=usual, timeout_s=99_999.0).wall_s == usual.timeout_s


def test_a_language_gets_what_it_needs_to_start() -> None:
    least = Asked(memory_bytes=512 * 2**20, processes=128)
    given = limits_of(Asked(memory_bytes=10**6, processes=1), least=least, most=Most(), timeout_s=None)
    assert (given.memory_bytes, given.processes) == (512 * 2**20, 128)


def test_a_small_machine_gives_half_of_its_memory_unless_it_is_told_otherwise() -> None:
    small = most_of(Asked(), machine_bytes=2**30)
    assert small.memory_bytes == 2**29
    assert most_of(Asked(memory_bytes=10**9, network=True), machine_bytes=2**30).memory_bytes == 10**9
    assert (
        limits_of(Asked(), least=Asked(), most=Most(memory_bytes=10**8), timeout_s=None).memory_bytes == 10**8
    )
    with pytest.raises(TooMuch, match="processes 2000, of at most 1024"):
        limits_of(Asked(processes=2000), least=Asked(), most=small, timeout_s=None)


def test_processors_are_not_bound_unless_somebody_says_so() -> None:
    assert limits_of(Asked(cores=64.0), least=Asked(), most=Most(), timeout_s=None).cores == 64.0
    bounded = most_of(Asked(cores=2.0), machine_bytes=2**30)
    assert limits_of(Asked(), least=Asked(), most=bounded, timeout_s=None).cores == 2.0
    with pytest.raises(TooMuch, match=r"cores 2\.5, of at most 2; inodes 99999, of at most 65536"):
        limits_of(Asked(cores=2.5, inodes=99_999), least=Asked(), most=bounded, timeout_s=None)


# Endings.


@pytest.mark.parametrize(
    ("how", "number", "type", "words"),
    [
        ("timeout", 0, "TimeLimit", "took longer than 30s"),
        ("cpu", 0, "CpuLimit", "used more than 30s of processor time"),
        ("memory", 9, "MemoryLimit", "used more than 256MiB of memory"),
        ("disk", 0, "DiskLimit", "wrote more than 64MiB to disk"),
        ("output", 0, "OutputLimit", "printed more than 1MiB"),
        ("exited", 7, "ExitCode", "exited with 7: the last line"),
        ("signalled", 11, "Signal", "was killed by SIGSEGV"),
        ("signalled", 24, "CpuLimit", "used more than 30s of processor time"),
        ("signalled", 25, "DiskLimit", "wrote more than 64MiB to disk"),
        ("not_started", 0, "SandboxFailed", "the sandbox did not start: no namespaces"),
    ],
)
def test_every_ending_but_the_good_one_is_a_failure(how: How, number: int, type: str, words: str) -> None:
    ran = Ran(how, code=number, stderr=b"first\nthe last line\n", detail="no namespaces", peak_bytes=5)
    outcome = code_outcome.outcome_of(ran, ABOUT, Limits())
    assert isinstance(outcome, Failure)
    assert (outcome.type, outcome.message) == (type, words)
    # What the program did is tried again if its step says so; a sandbox may start on another worker.
    assert (outcome.retryable, outcome.elsewhere) == (True, type == "SandboxFailed")
    if type != "SandboxFailed":
        assert outcome.value["stderr"] == "first\nthe last line\n"
        assert outcome.value["exitCode"] == (number if how == "exited" else None)
        assert ("exceeded" in outcome.value) is ("Limit" in type)


def test_a_failure_holds_what_fits_whatever_was_printed() -> None:
    flood = bytes(range(256)) * 4096
    ran = Ran("exited", code=1, stdout=flood, stderr=flood, stdout_bytes=len(flood), stderr_bytes=len(flood))
    outcome = code_outcome.outcome_of(ran, ABOUT, Limits())
    assert isinstance(outcome, Failure)
    assert len(outcome.detail.encode()) <= 8 * 1024
    facts = outcome.value
    assert (facts["exitCode"], facts["language"], facts["version"]) == (1, "bash", "5.0")
    assert facts["stdout"].endswith(flood[-50:].decode(errors="replace"))
    assert len(msgspec.json.encode(facts)) <= VALUE_BYTES_MAX


def test_what_is_printed_is_text_that_every_journal_can_hold() -> None:
    outcome = code_outcome.outcome_of(Ran("exited", stdout=b"a\0\xffb"), ABOUT, Limits())
    assert isinstance(outcome, Success)
    assert outcome.value["stdout"] == "a��b"


def test_more_than_a_value_can_hold_is_no_success() -> None:
    files = {"a": b"\xff" * VALUE_BYTES_MAX}
    outcome = code_outcome.outcome_of(Ran("exited", files=files), ABOUT, Limits())
    assert isinstance(outcome, Failure)
    assert (outcome.type, outcome.value["exceeded"]) == ("OutputLimit", "output")
    assert "files" not in outcome.value


class Broken(PlainSandbox):
    async def run(self, job: Job, printing: Printing | None = None) -> Ran:
        if "main.txt" in job.files or "main.sh" in job.files:
            return Ran("not_started", detail="no more processes")
        return await super().run(job, printing)


@pytest.mark.parametrize("language", ["copied", "bash"])
def test_a_sandbox_that_does_not_start_is_worth_another_worker(tmp_path: Path, language: str) -> None:
    async def story(rig: Rig, box: PlainSandbox) -> None:
        failure = await rig.failure(code("true", language))
        assert (failure.type, failure.retryable, failure.elsewhere) == ("SandboxFailed", True, True)
        assert "no more processes" in failure.message

    on_a_worker(tmp_path, story, Broken())


def test_what_makes_no_sense_is_said_with_its_place(tmp_path: Path) -> None:
    async def story(rig: Rig, box: PlainSandbox) -> None:
        failure = await rig.failure(code("true", limits={"memory": "much"}))
        assert (failure.type, failure.retryable) == ("BadStep", False)
        assert "with/limits/memory" in failure.message
        failure = await rig.failure(code("true", files={"made": "x"}))
        assert (failure.type, "made is the program itself" in failure.message) == ("BadStep", True)
        failure = await rig.failure(code("true", "cobol"))
        assert failure.message == "this worker does not run cobol code"
        failure = await rig.failure(code("true", version="2"))
        assert failure.message == "this worker does not run copied 2 code" and failure.elsewhere
        failure = await rig.failure(code("true", protections=["environment", "memory_hard"]))
        assert (failure.type, failure.elsewhere) == ("NoProtection", True)
        assert "memory_hard" in failure.message
        assert box.jobs == []

    on_a_worker(tmp_path, story)


def test_the_log_holds_as_much_as_it_may_and_says_that_there_was_more(tmp_path: Path) -> None:
    task = code("printf 'one\\ntwo\\nthree\\n'; exit 0", "bash")

    async def story(rig: Rig, box: PlainSandbox) -> None:
        value = await rig.value(task)
        assert value["stdout"] == "one\ntwo\nthree\n"
        assert [line.text for line in rig.lines(task)][:2] == ["one", "two"]
        assert any(printed.dropped for _, printed in rig.told)

    on_a_worker(tmp_path, story, log_bounds=Bounds(lines=100, bytes=8))


def test_what_a_worker_offers_follows_from_what_was_found() -> None:
    box = PlainSandbox()
    tools = CodeTools(sandbox=box, toolbox=Toolbox((Installed(SHELL, "5.2.15", {}),)))
    assert tools.capabilities == {
        "code", "code/bash", "code/bash/5", "code/bash/5.2", "code/bash/5.2.15", "code:time", "code:limits",
        "sandbox:environment",
    }  # fmt: skip
    tools.most = Most(network=True)
    assert "code:network" in tools.capabilities
    assert CodeTools(sandbox=box).capabilities == frozenset()
    assert CodeTools(toolbox=tools.toolbox).capabilities == frozenset()
    assert Protections().filesystem is False


def test_without_a_sandbox_no_code_is_offered() -> None:
    async def none() -> None:
        return None

    tools = CodeTools(book=Book((SHELL,)), path=os.environ["PATH"])
    play(tools.look(none))
    assert tools.capabilities == frozenset()
