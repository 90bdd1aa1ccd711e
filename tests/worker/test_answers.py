"""What programs said is remembered from start to start, as long as it can be trusted."""

import os
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from tests.worker.plain_sandbox import PlainSandbox
from tests.worker.rig import play
from windlass.worker.answers import (
    BAD_S,
    ENTRIES_MAX,
    FILE,
    GOOD_S,
    Answer,
    Answers,
    make_own,
    own_folder,
    question,
)
from windlass.worker.code_config import CodeConfig
from windlass.worker.code_tools import CodeTools, tools_of
from windlass.worker.languages import Book, Language
from windlass.worker.sandbox import Job, Protections, Ran

TONGUE = Language(
    name="tongue",
    file="main.t",
    programs={"tongue": ["tongue"]},
    version=["{tongue}"],
    run=["{tongue}"],
)
NEWER = msgspec.structs.replace(TONGUE, name="newer", at_least="9")  # of the same program


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "own"
    made.mkdir(0o700)
    return made


def tool(folder: Path, says: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "tongue").write_text(f"#!/bin/sh\n{says}\n")
    (folder / "tongue").chmod(0o755)


def asked(
    bin: Path, *, data: Path | None = None, cache: Path | None = None, box: PlainSandbox | None = None
) -> tuple[list[str], int]:
    """The versions that a worker finds when it starts, and how often it asked a program for them."""
    sandbox = box or PlainSandbox()

    async def best() -> PlainSandbox:
        return sandbox

    tools = CodeTools(book=Book((TONGUE, NEWER)), path=str(bin), cache=cache)
    play(tools.look(best, data=data))
    return [each.version for each in tools.toolbox.installed], len(sandbox.jobs)


def test_a_program_is_asked_once_by_all_workers_of_a_user(tmp_path: Path, folder: Path) -> None:
    tool(tmp_path / "bin", "echo 1.2")
    cache = tmp_path / "cache/windlass"  # is made
    assert asked(tmp_path / "bin", data=folder, cache=cache) == (["1.2"], 1)
    assert asked(tmp_path / "bin", cache=cache) == (["1.2"], 0)
    assert asked(tmp_path / "bin", data=folder) == (["1.2"], 0)
    assert cache.stat().st_mode & 0o777 == 0o700
    assert asked(tmp_path / "bin") == (["1.2"], 1)


def test_a_program_that_was_replaced_is_asked_again(tmp_path: Path, folder: Path) -> None:
    tool(tmp_path / "bin", "echo 1.2")
    asked(tmp_path / "bin", data=folder)
    program = tmp_path / "bin" / "tongue"
    before = program.stat()
    tool(tmp_path / "bin", "echo 1.3")
    os.utime(program, ns=(before.st_atime_ns, before.st_mtime_ns))  # as some installers do
    assert program.stat().st_size == before.st_size
    assert asked(tmp_path / "bin", data=folder) == (["1.3"], 1)


class Other(PlainSandbox):
    name = "other"


class Stricter(PlainSandbox):
    protections = Protections(environment=True, seccomp=True)


@pytest.mark.parametrize("box", [Other(), Stricter()], ids=["tier", "protections"])
def test_another_sandbox_asks_for_itself(tmp_path: Path, folder: Path, box: PlainSandbox) -> None:
    tool(tmp_path / "bin", "echo 1.2")
    asked(tmp_path / "bin", data=folder)
    assert asked(tmp_path / "bin", data=folder, box=box) == (["1.2"], 1)
    assert asked(tmp_path / "bin", data=folder) == (["1.2"], 0)


def test_who_does_not_answer_is_not_asked_at_every_start(tmp_path: Path, folder: Path) -> None:
    tool(tmp_path / "bin", "exit 1")
    assert asked(tmp_path / "bin", data=folder) == ([], 1)
    assert asked(tmp_path / "bin", data=folder) == ([], 0)


class Tired(PlainSandbox):
    async def run(self, job: Job, printing: object = None) -> Ran:
        self.jobs.append(job)
        return Ran("not_started", detail="no more processes")


def test_a_bad_moment_is_not_remembered(tmp_path: Path, folder: Path) -> None:
    tool(tmp_path / "bin", "echo 1.2")
    assert asked(tmp_path / "bin", data=folder, box=Tired())[0] == []
    assert asked(tmp_path / "bin", data=folder) == (["1.2"], 1)


def test_nothing_is_believed_for_ever(folder: Path) -> None:
    now = [1000.0]
    answers = Answers([folder], clock=lambda: now[0])
    answers.put("good", "1.2")
    answers.put("bad", None)
    answers.save()

    def known() -> list[str]:
        later = Answers([folder], clock=lambda: now[0])
        return [name for name in ("good", "bad") if later.get(name) is not None]

    assert known() == ["good", "bad"]
    now[0] += BAD_S
    assert known() == ["good"]
    now[0] = 1000.0 + GOOD_S
    assert known() == []
    now[0] = 999.0  # a clock that was put back
    assert known() == []


def test_the_file_is_bounded(folder: Path) -> None:
    answers = Answers([folder])
    for number in range(ENTRIES_MAX + 50):
        answers.put(str(number), "x" * 5000)
    answers.save()
    later = Answers([folder])
    kept = [number for number in range(ENTRIES_MAX + 50) if later.get(str(number))]
    assert len(kept) == ENTRIES_MAX
    assert (folder / FILE).stat().st_size < 1024 * 1024


def garbled(folder: Path) -> None:
    (folder / FILE).write_bytes(b'{"form":1,"answers":{"k":{"said":')


def another_form(folder: Path) -> None:
    (folder / FILE).write_text('{"form": 0, "answers": {"k": {"said": "1", "at": 99999999999}}}')


def of_others(folder: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    os.chown(folder / FILE, 65534, 65534)


def writable(folder: Path) -> None:
    (folder / FILE).chmod(0o666)


def in_an_open_folder(folder: Path) -> None:
    folder.chmod(0o777)


def a_link(folder: Path) -> None:
    (folder / FILE).rename(folder / "elsewhere")
    (folder / FILE).symlink_to(folder / "elsewhere")


def a_pipe(folder: Path) -> None:
    (folder / FILE).unlink()
    os.mkfifo(folder / FILE, 0o600)


@pytest.mark.parametrize(
    "spoil", [garbled, another_form, of_others, writable, in_an_open_folder, a_link, a_pipe]
)
def test_what_is_damaged_or_may_be_of_others_is_not_read(folder: Path, spoil: Callable[[Path], None]) -> None:
    answers = Answers([folder])
    answers.put("k", "1.2")
    answers.save()
    assert Answers([folder]).get("k") is not None
    spoil(folder)
    assert Answers([folder]).get("k") is None


def test_an_open_folder_is_not_written_to(folder: Path) -> None:
    folder.chmod(0o777)
    answers = Answers([folder, folder / "missing"])
    answers.put("k", "1.2")
    answers.save()
    assert os.listdir(folder) == []


def test_many_that_save_at_once_leave_a_file_that_can_be_read(folder: Path) -> None:
    def learn(who: int) -> None:
        for number in range(20):
            answers = Answers([folder])
            answers.put(f"{who}-{number}", "1.2")
            answers.save()

    threads = [threading.Thread(target=learn, args=(who,)) for who in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert os.listdir(folder) == [FILE]
    page = msgspec.json.decode((folder / FILE).read_bytes())
    kept = {name: msgspec.convert(answer, Answer) for name, answer in page["answers"].items()}
    assert 20 <= len(kept) <= 80 and all(answer.said == "1.2" for answer in kept.values())


def test_the_folder_of_a_user_is_where_others_keep_theirs(tmp_path: Path) -> None:
    assert own_folder(tmp_path) == tmp_path / ".cache/windlass"
    assert own_folder(tmp_path, "/var/cache/me") == Path("/var/cache/me/windlass")
    assert own_folder(tmp_path, "relative") == tmp_path / ".cache/windlass"
    environ = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "x")}
    tools = tools_of(CodeConfig(), environ)
    assert tools is not None and tools.cache == tmp_path / "x/windlass"
    make_own(own_folder(tmp_path / "no home"))
    assert os.listdir(tmp_path) == []


def test_a_question_names_all_that_its_answer_depends_on(tmp_path: Path) -> None:
    tool(tmp_path, "echo 1")
    program = str(tmp_path / "tongue")
    first = question([program], {"A": "1"}, [program], "here")
    assert first == question([program], {"A": "1"}, [program], "here")
    others = [
        question([program, "-v"], {"A": "1"}, [program], "here"),
        question([program], {"A": "2"}, [program], "here"),
        question([program], {"A": "1"}, [program, "/bin/sh"], "here"),
        question([program], {"A": "1"}, [program], "there"),
    ]
    assert len({first, *others}) == 5
