"""The layers, as code: who may import whom, and a few rules that keep the house tidy.

A room is a package under `windlass/`; imports point down. A port is the `__init__.py` of its package, and the
rooms above it see the port, never the adapters beside it.
"""

import ast
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
PACKAGE = REPOSITORY / "windlass"
LINES_MAX = 600

PORTS = {"journal", "leases", "peers", "registry"}
MAY_IMPORT = {
    "core": {"core"},
    "wire": {"core", "wire"},
    "postgres": {"core", "postgres"},  # what the adapters of several ports share
    "journal": {"core", "wire", "journal", "postgres"},
    "leases": {"core", "wire", "leases", "postgres"},
    "sockets": {"wire"},  # WebSockets as pipes
    "peers": {"core", "wire", "sockets", "peers"},
    "registry": {"core", "journal", "postgres", "registry"},  # its errors are the journal's
    "vault": {"core", "vault"},
    "engine": {"core", "wire", "vault", "engine"} | PORTS,
    "gateway": {"core", "wire", "sockets", "vault", "engine", "gateway"} | PORTS,
    "outward": {"core", "vault", "registry", "outward", "windlass"},  # calls to the outside world
    "worker": {"core", "wire", "sockets", "vault", "outward", "worker"},
    "sdk": {"core", "wire", "sdk"},
    "load": {"core"},  # how busy a process is
    "examples": {"windlass", "sdk"},  # written as a user would write them
    "windlass": {"core", "sdk"},  # windlass/__init__.py is what users import
}
# Programs, the wiring of programs, the simulator, and the engine for users' tests: they see everything.
SEES_EVERYTHING = {
    "__main__",
    "alone",
    "assignment",
    "cli",
    "config",
    "demo",
    "direct",
    "fleet_config",
    "listener",
    "local_cluster",
    "load",
    "locks",
    "node_token",
    "own_postgres",
    "process",
    "reach",
    "serve",
    "serve_node",
    "serve_worker",
    "sim",
    "strategy",
    "testing",
}
# Modules of a port's package that belong to the port.
PORT_MODULES = {"windlass.journal.committer"}

PURE = {
    *("__future__", "bisect", "collections", "dataclasses", "enum", "functools", "hashlib", "heapq"),
    *("itertools", "math", "re", "typing", "msgspec"),
    *("base64", "hmac", "ipaddress"),  # for proofs, and for what addresses mean
    *("datetime", "difflib", "json"),  # for reading times, for hints, for canonical bytes: no clock is asked
    *(
        "calendar",
        "zoneinfo",
    ),  # for schedules: files of the time zone database, which answer alike whenever read
}

PURE_IN_ONE_PLACE = {"re2": "windlass.core.patterns"}  # libraries that are wrapped there


@cache
def modules() -> dict[Path, ast.Module]:
    """Every Python file of the package, parsed."""
    return {path: ast.parse(path.read_text(), str(path)) for path in sorted(PACKAGE.rglob("*.py"))}


def room_of(name: str) -> str:
    """The room a dotted name lies in; `windlass` itself is a room of one file."""
    parts = name.split(".")
    return parts[1] if len(parts) > 1 else parts[0]


def name_of(path: Path) -> str:
    """The dotted name of a file: `windlass.core.run`, or `windlass.core` for its `__init__.py`."""
    parts = path.relative_to(REPOSITORY).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def is_module(name: str) -> bool:
    place = REPOSITORY.joinpath(*name.split("."))
    return place.with_suffix(".py").exists() or place.is_dir()


def imported(path: Path, node: ast.stmt) -> list[str]:
    """The dotted names of the modules that one statement imports; names inside a module are left off."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    origin = node.module or ""
    if node.level:
        parts = name_of(path).split(".")
        package = parts if path.name == "__init__.py" else parts[:-1]
        origin = ".".join([*package[: len(package) - node.level + 1], *filter(None, [node.module])])
    within = [f"{origin}.{alias.name}" for alias in node.names]
    return [name if origin.startswith("windlass") and is_module(name) else origin for name in within]


def imports() -> Iterator[tuple[Path, int, str]]:
    for path, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                for name in dict.fromkeys(imported(path, node)):
                    yield path, node.lineno, name


def ours(name: str) -> bool:
    return name.split(".")[0] == "windlass"


def report(faults: list[str], advice: str) -> None:
    assert not faults, "\n".join([advice, *faults])


def at(path: Path, line: int, what: str) -> str:
    return f"  {path.relative_to(REPOSITORY)}:{line}: {what}"


def test_every_room_has_its_place_in_the_table() -> None:
    rooms = {room_of(name_of(path)) for path in modules()}
    unknown = sorted(rooms - MAY_IMPORT.keys() - SEES_EVERYTHING)
    report(
        [f"  windlass/{room}" for room in unknown], "say in tests/test_layers.py what these rooms may import:"
    )


def test_imports_point_down() -> None:
    faults = []
    for path, line, name in imports():
        room = room_of(name_of(path))
        if room in MAY_IMPORT and ours(name) and room_of(name) not in MAY_IMPORT[room]:
            faults.append(at(path, line, f"{room} may not import {name}"))
    report(faults, "an arrow points up; move the type to a lower room, or pass the thing in as an argument:")


@pytest.mark.accepts("S3.35")
def test_nobody_above_a_port_knows_its_adapters() -> None:
    faults = []
    for path, line, name in imports():
        room, theirs = room_of(name_of(path)), room_of(name)
        if room in SEES_EVERYTHING or room == theirs or theirs not in PORTS or not ours(name):
            continue
        if name != f"windlass.{theirs}" and name not in PORT_MODULES:
            faults.append(at(path, line, f"{room} imports {name}"))
    report(faults, "use the port (the package itself); only programs choose an adapter:")


def test_the_core_imports_only_what_is_pure() -> None:
    faults = [
        at(path, line, f"{name} is not on the list of pure modules")
        for path, line, name in imports()
        if room_of(name_of(path)) == "core" and not ours(name) and name.split(".")[0] not in PURE
        if PURE_IN_ONE_PLACE.get(name) != name_of(path)
    ]
    report(faults, "the core has no clock, chance or I/O; let the value come in with the command:")


def test_the_core_awaits_nothing() -> None:
    waits = ast.AsyncFunctionDef | ast.Await | ast.AsyncFor | ast.AsyncWith
    faults = [
        at(path, node.lineno, "async code")
        for path, tree in modules().items()
        if room_of(name_of(path)) == "core"
        for node in ast.walk(tree)
        if isinstance(node, waits)
    ]
    report(faults, "the core is values in, values out; whoever waits belongs in the engine:")


def test_no_import_is_only_for_types() -> None:
    faults = [
        at(path, node.lineno, "TYPE_CHECKING")
        for path, tree in modules().items()
        for node in ast.walk(tree)
        if (isinstance(node, ast.Name) and node.id == "TYPE_CHECKING")
        or (isinstance(node, ast.Attribute) and node.attr == "TYPE_CHECKING")
        or (isinstance(node, ast.alias) and node.name == "TYPE_CHECKING")
    ]
    report(faults, "a type lives too high; move it down, and import it plainly:")


def test_no_import_hides_in_a_function_or_class() -> None:
    faults = {
        at(path, node.lineno, "import inside a body")
        for path, tree in modules().items()
        for scope in ast.walk(tree)
        if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        for node in ast.walk(scope)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    report(sorted(faults), "import at the top of the file; if that makes a circle, an arrow points up:")


def test_no_import_takes_everything() -> None:
    faults = [
        at(path, node.lineno, f"from {node.module} import *")
        for path, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names)
    ]
    report(faults, "name what you import:")


def test_no_file_is_too_long_to_read_in_one_sitting() -> None:
    lengths = {path: len(path.read_text().splitlines()) for path in modules()}
    faults = [at(path, n, f"{n} lines") for path, n in lengths.items() if n > LINES_MAX]
    report(faults, f"a file over {LINES_MAX} lines has a second reason to change; make it a second file:")


@cache
def text_lines() -> list[tuple[Path, int, str]]:
    """Every line of every text file that is, or is about to be, in the repository."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)
    if listing.returncode:
        pytest.skip("not a git checkout: nobody can say which files belong to the repository")
    lines = []
    for name in listing.stdout.split("\0"):
        path = REPOSITORY / name
        content = path.read_bytes() if path.is_file() else b""
        if b"\0" in content:
            continue
        text = content.decode(errors="replace")
        lines += [(path, number, line) for number, line in enumerate(text.splitlines(), start=1)]
    return lines


def test_no_file_names_a_place_on_one_machine() -> None:
    homes = re.compile(r"(?<![\w.:/}-])/(?:home|root|work|workspace|Users)/\w")
    faults = [
        at(path, number, line.strip()[:100])
        for path, number, line in text_lines()
        if homes.search(line) or str(REPOSITORY) in line
    ]
    report(faults, "this path exists on one machine only; make it relative:")


def test_no_file_promises_to_be_finished_later() -> None:
    promise = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME)\b")
    faults = [
        at(path, number, line.strip()[:100]) for path, number, line in text_lines() if promise.search(line)
    ]
    report(faults, "do it now, or open an issue:")
