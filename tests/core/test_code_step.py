"""What steps of kind code say under `with`: files, limits, versions; and sizes as people write them."""

from typing import Any

import pytest

from windlass.core import document, sizes
from windlass.core.code_step import KEYS, PROTECTIONS, CodeStep, read
from windlass.core.errors import Invalid
from windlass.core.faults import Faults
from windlass.core.fields import Fields
from windlass.worker.sandbox import Protections


def code(**more: Any) -> dict[str, Any]:
    return {"language": "python", "code": "1", **more}


def understood(**more: Any) -> CodeStep:
    faults = Faults()
    step = read(Fields(code(**more), "", faults, KEYS))
    assert faults.listed == []
    return step


def faults_of(**more: Any) -> dict[str, str]:
    with pytest.raises(Invalid) as refusal:
        document.read({"id": "w", "steps": {"a": {"kind": "code", "with": code(**more)}}})
    place = "/steps/a/with"
    return {fault.pointer.removeprefix(place): fault.message for fault in refusal.value.faults}


def test_all_that_can_be_said_is_understood() -> None:
    limits = {
        "timeout": "10s", "cpu": 5, "memory": "64MB", "processes": 3, "disk": "1MiB", "output": "1KB",
        "network": True, "cores": 1.5, "open_files": 64, "inodes": 500,
    }  # fmt: skip
    files = {"a/b.txt": "ä", "raw": {"base64": "AAH/"}}
    step = understood(version="3.11", stdin="x", files=files, outputs=["o", "o", "p/q"], limits=limits)
    assert understood(protections=["cpu", "disk", "cpu"]).protections == ("cpu", "disk")
    assert (step.language, step.version, step.stdin) == ("python", "3.11", "x")
    assert step.files == {"a/b.txt": "ä".encode(), "raw": b"\x00\x01\xff"}
    assert step.outputs == ("o", "p/q")
    asked = step.limits
    assert (asked.timeout_s, asked.cpu_s, asked.memory_bytes, asked.processes) == (10.0, 5.0, 64_000_000, 3)
    assert (asked.disk_bytes, asked.output_bytes, asked.network) == (2**20, 1000, True)
    assert (asked.cores, asked.open_files, asked.inodes) == (1.5, 64, 500)


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        ({"timeout": "soon"}, "is no duration"),
        ({"timeout": 0}, "from 10ms to 1d"),
        ({"cpu": "2d"}, "from 10ms to 1d"),
        ({"memory": "much"}, "is no size; write e.g. 512MB"),
        ({"memory": True}, "is no size"),
        ({"memory": 12}, "from 1MB to"),
        ({"disk": "99TB"}, "to 1024GiB"),
        ({"output": "0B"}, "from 1B to 8MiB"),
        ({"processes": 0}, "a whole number from 1 to 10000"),
        ({"processes": "4"}, "a whole number"),
        ({"network": "yes"}, "expected true or false"),
        ({"cores": 0}, "a number from 0.01 to 1024"),
        ({"cores": "1"}, "a number"),
        ({"open_files": 3}, "a whole number from 16"),
        ({"inodes": 1.5}, "a whole number from 16"),
        ({"memroy": "1GB"}, "did you mean `memory`?"),
    ],
)
def test_limits_that_make_no_sense_are_told_with_their_place(limit: dict[str, Any], words: str) -> None:
    (key,) = limit
    faults = faults_of(limits=limit)
    assert set(faults) == {f"/limits/{key}"}
    assert words in faults[f"/limits/{key}"]


def test_protections_are_those_that_a_sandbox_can_have() -> None:
    assert set(PROTECTIONS) == set(Protections.__struct_fields__)
    assert "did you mean `seccomp`?" in faults_of(protections=["cpu", "secomp"])["/protections/1"]
    assert "there are filesystem, network" in faults_of(protections="luck")["/protections"]
    assert "a list with names of protections" in faults_of(protections={})["/protections"]


def test_limits_are_an_object() -> None:
    assert "an object such as" in faults_of(limits="10s")["/limits"]


@pytest.mark.parametrize(
    "name", ["/etc/passwd", "../up", "a/../b", "a//b", ".", "a/", "", "a\0b", "ü", "x" * 201]
)
def test_a_file_is_below_the_folder_of_the_program_and_nowhere_else(name: str) -> None:
    assert any("cannot be the name of a file" in message for message in faults_of(files={name: ""}).values())
    if name:
        told = faults_of(outputs=[name])
        assert "cannot be the name of a file" in told["/outputs/0"]


def test_files_hold_text_or_base64_and_not_too_much_of_it() -> None:
    assert "expected the text of a file" in faults_of(files={"a": 3})["/files/a"]
    assert "expected the text of a file" in faults_of(files={"a": {"base64": "", "more": ""}})["/files/a"]
    assert faults_of(files={"a": {"base64": "%"}})["/files/a/base64"] == "this is no base64"
    assert "1,048,577 bytes" in faults_of(files={"a": "x" * 2**20, "b": "x"})["/files"]
    assert "at most 64" in faults_of(files={str(n): "" for n in range(65)})["/files"]
    assert "at most 64" in faults_of(outputs=[str(n) for n in range(65)])["/outputs"]
    assert "a file and a folder" in faults_of(files={"a": "", "a/b": ""})["/files"]


def test_a_version_is_a_text_and_looks_like_one() -> None:
    assert "put it in quotes" in faults_of(version=3.1)["/version"]
    assert "is no version" in faults_of(version="latest")["/version"]
    assert understood(version="17").version == "17"


@pytest.mark.parametrize(
    ("text", "size"), [("512MB", 512 * 10**6), ("2 GiB", 2**31), ("7", 7), ("1kb", 1000)]
)
def test_sizes_are_read_as_people_write_them(text: str, size: int) -> None:
    assert sizes.parse(text) == size
    assert sizes.parse(sizes.show(size)) == size


@pytest.mark.parametrize("size", [0, 1, 999, 1000, 1024, 10**9, 2**30, 3 * 2**20, 10**9 + 1])
def test_a_size_is_shown_so_that_it_can_be_read_again(size: int) -> None:
    assert sizes.parse(sizes.show(size)) == size


@pytest.mark.parametrize("text", ["", "-1", "1.5GB", "GB", "1 horse", None, 1.5, True])
def test_what_is_no_size_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match="is no size"):
        sizes.parse(text)
