"""Languages as data: how they are written, and how they are found on a machine."""

import os
from pathlib import Path

import pytest

from tests.worker.plain_sandbox import PlainSandbox
from tests.worker.rig import play
from windlass.core.errors import Invalid
from windlass.core.needs import language_of, offers
from windlass.worker.languages import Language, filled, ours, read
from windlass.worker.toolchains import Toolbox, find

ALL = [
    "python",
    "javascript",
    "typescript",
    "bash",
    "c",
    "cpp",
    "golang",
    "java",
    "rust",
    "ruby",
    "php",
    "lua",
    "perl",
]


def test_there_are_thirteen_by_their_one_names() -> None:
    assert set(ALL) == {each.name for each in ours().languages}
    assert all(language_of(name) == name for name in ALL)


def a_language(folder: Path, text: str) -> Path:
    path = folder / "languages.toml"
    path.write_text(text)
    return path


WELL = """
[[language]]
name = "py"
file = "main.py"
programs.python = ["/opt/python/bin/python3"]
version = ["{python}", "--version"]
run = ["{python}", "-I", "main.py"]

[limits]
memory = "8GB"
network = true
"""


def test_a_file_adds_languages_replaces_ours_and_sets_bounds(tmp_path: Path) -> None:
    book = read(a_language(tmp_path, WELL))
    (python,) = [each for each in book.languages if each.name == "python"]
    assert python.run == ["{python}", "-I", "main.py"]
    assert {each.name for each in book.languages} == set(ALL)
    assert (book.most.memory_bytes, book.most.network, book.most.processes) == (8 * 10**9, True, None)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (("name", "nmae"), "nmae"),
        (('"py"', '"Py thon"'), "no name of a language"),
        (('"main.py"\nprog', '"../main.py"\nprog'), "cannot be the name of a file"),
        (('"{python}", "-I"', '"{pyton}", "-I"'), "{pyton} is none of memory, python, warm"),
        (('file = "main.py"', 'file = "main.py"\ncompile = ["x"]'), "compile and makes belong together"),
        (('file = "main.py"', 'file = "main.py"\npattern = "x"'), "has to be in a group"),
        (('file = "main.py"', 'file = "main.py"\npattern = "("'), "pattern"),
        (('file = "main.py"', 'file = "main.py"\nleast = {memory = "big"}'), "least/memory"),
        (('"8GB"', '"8 horses"'), "limits/memory"),
        (("[limits]", "[limits"), "line"),
        (('programs.python = ["/opt/python/bin/python3"]', "programs = {}"), "name at least one"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused_in_words(
    tmp_path: Path, wrong: tuple[str, str], words: str
) -> None:
    assert wrong[0] in WELL
    with pytest.raises(Invalid) as refusal:
        read(a_language(tmp_path, WELL.replace(*wrong)))
    (fault,) = refusal.value.faults
    assert fault.pointer.endswith("languages.toml") and words in fault.message


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Invalid):
        read(tmp_path / "none.toml")


def test_what_is_no_place_is_left_alone() -> None:
    places = {"cc": "/usr/bin/cc"}
    assert filled(["{cc}", "-x{cc}", "{other}", "{ print }"], places) == [
        "/usr/bin/cc", "-x/usr/bin/cc", "{other}", "{ print }",
    ]  # fmt: skip


# On a machine.


def tool(folder: Path, name: str, says: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\necho {says}\n")
    path.chmod(0o755)
    return path


def a_tongue(*places: str, at_least: str = "", **more: list[str]) -> Language:
    return Language(
        name="tongue",
        file="main.t",
        programs={"tongue": list(places), **more},
        version=["{tongue}"],
        at_least=at_least,
        run=["{tongue}"],
    )


def found(language: Language, *folders: Path, home: Path = Path("/nonexistent")) -> Toolbox:
    box: list[Toolbox] = []

    async def look() -> None:
        path = ":".join(map(str, folders))
        box.append(await find([language], PlainSandbox(), path=path, home=home))

    play(look())
    return box[0]


def test_only_what_answers_is_offered(tmp_path: Path) -> None:
    tool(tmp_path, "tongue", "tongue 1.4.2")
    toolbox = found(a_tongue("tongue"), tmp_path)
    assert [each.version for each in toolbox.installed] == ["1.4.2"]
    words = [
        *offers(["tongue"]),
        "code/tongue/1",
        "code/tongue/1.4",
        "code/tongue/1.4.2",
        "code:time",
        "code:limits",
    ]
    assert toolbox.capabilities == set(words)
    assert found(a_tongue("tung"), tmp_path).capabilities == frozenset()
    (tmp_path / "tongue").write_text("#!/bin/sh\nexit 1\n")
    assert found(a_tongue("tongue"), tmp_path).installed == ()
    (tmp_path / "tongue").write_text("#!/bin/sh\necho who are you\n")
    assert found(a_tongue("tongue"), tmp_path).installed == ()


def test_a_version_is_picked_by_how_it_begins_and_the_first_in_the_path_is_usual(tmp_path: Path) -> None:
    for version in ("1.4.2", "1.40.0", "2.0.1"):
        tool(tmp_path / version, "tongue", version)
    folders = [tmp_path / version for version in ("1.40.0", "2.0.1", "1.4.2")]
    toolbox = found(a_tongue("tongue"), *folders)

    def picked(version: str) -> str:
        installed = toolbox.pick("tongue", version)
        return "" if installed is None else installed.version

    assert [picked(v) for v in ("", "1", "1.4", "2", "2.0.1", "3")] == [
        "1.40.0", "1.40.0", "1.4.2", "2.0.1", "2.0.1", "",
    ]  # fmt: skip
    assert toolbox.pick("other") is None


def test_one_that_is_too_old_is_not_found(tmp_path: Path) -> None:
    tool(tmp_path, "tongue", "v9.12")
    assert found(a_tongue("tongue", at_least="22.6"), tmp_path).installed == ()
    assert found(a_tongue("tongue", at_least="9.6"), tmp_path).installed != ()


def test_all_its_programs_have_to_be_there_best_beside_the_first(tmp_path: Path) -> None:
    tool(tmp_path / "a", "tongue", "1.0")
    language = a_tongue("tongue", ear=["ear"])
    assert found(language, tmp_path / "a").installed == ()
    tool(tmp_path / "b", "ear", "x")
    tool(tmp_path / "a", "ear", "x")
    (installed,) = found(language, tmp_path / "b", tmp_path / "a").installed
    assert installed.programs["ear"] == str(tmp_path / "a" / "ear")


def test_a_program_that_is_what_it_is_called_as_is_called_so(tmp_path: Path) -> None:
    many = tool(tmp_path, "many", '$(case "$0" in */tongue) echo 3.1;; *) echo none;; esac)')
    (tmp_path / "tongue").symlink_to(many)
    (installed,) = found(a_tongue("tongue"), tmp_path).installed
    assert installed.programs["tongue"] == str(tmp_path / "tongue")


def test_of_a_home_only_what_is_needed_is_shown(tmp_path: Path) -> None:
    tool(tmp_path / ".versions/1.2/bin", "tongue", "1.2")
    tool(tmp_path / ".versions/1.10/bin", "tongue", "1.10")
    toolbox = found(a_tongue("~/.versions/*/bin/tongue"), home=tmp_path)
    assert [(each.version, each.readable) for each in toolbox.installed] == [
        ("1.10", (tmp_path / ".versions/1.10",)),
        ("1.2", (tmp_path / ".versions/1.2",)),
    ]
    tool(tmp_path / ".tongue/bin", "tongue", "5.0")  # beside it may lie what nobody else may read
    (installed,) = found(a_tongue("~/.tongue/bin/tongue"), home=tmp_path).installed
    assert installed.readable == (tmp_path / ".tongue/bin/tongue",)


def test_each_program_is_asked_once_however_many_links_lead_to_it(tmp_path: Path) -> None:
    real = tool(tmp_path / "usr", "tongue-7", "7.1")
    for name in ("tongue", "tung"):
        (tmp_path / "usr" / name).symlink_to(real)
    (tmp_path / "bin").symlink_to(tmp_path / "usr")
    box = PlainSandbox()
    languages = [a_tongue("tongue", "tung"), a_tongue("tung", at_least="8"), a_tongue("none")]
    path = f"{tmp_path}/bin:{tmp_path}/usr"
    (installed,) = play_find(languages, box, path).installed
    assert (installed.version, installed.programs) == ("7.1", {"tongue": str(real)})
    assert len(box.jobs) == 1


def play_find(languages: list[Language], box: PlainSandbox, path: str) -> Toolbox:
    made: list[Toolbox] = []

    async def look() -> None:
        made.append(await find(languages, box, path=path, home=Path("/nonexistent")))

    play(look())
    return made[0]


def test_what_a_version_manager_puts_in_the_path_is_passed_over(tmp_path: Path) -> None:
    tool(tmp_path / "shims", "tongue", "1.0")
    box = PlainSandbox()
    assert play_find([a_tongue("tongue")], box, f"{tmp_path}/shims").installed == ()
    assert box.jobs == []


def test_a_package_of_npm_sees_those_beside_it(tmp_path: Path) -> None:
    real = tool(tmp_path / "lib/node_modules/tongue/bin", "tongue", "1.0")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/tongue").symlink_to(real)
    (installed,) = found(a_tongue("tongue"), tmp_path / "bin").installed
    assert installed.readable == (tmp_path / "lib/node_modules",)


def test_programs_are_asked_politely(tmp_path: Path) -> None:
    tool(tmp_path, "tongue", "$(nice).0")
    (installed,) = found(a_tongue("tongue"), tmp_path).installed
    assert int(installed.version.split(".")[0]) > os.nice(0)
