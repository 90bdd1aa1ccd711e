"""Disks that go wrong for real: one that is too small, one that cannot be written, one that fails to sync.

What is mounted is mounted in a namespace of its own, which ends with its last process: nothing can be left
behind, however a test ends. Root makes one at once, others by way of a user namespace.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

BLOCK_BYTES = 4096
SOURCE = Path(__file__).with_name("bad_disk.c")


@dataclass(frozen=True, slots=True)
class Disk:
    """A file system of its own, which only those see who are started with `prefix`."""

    place: Path  # as they see it
    here: Path  # as we see it
    prefix: tuple[str, ...]

    def fill(self) -> None:
        """Until not one block is left."""
        handle = os.open(self.here / "filler", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            with suppress(OSError):
                while os.write(handle, b"x" * BLOCK_BYTES):
                    pass
        finally:
            os.close(handle)

    def free(self) -> None:
        (self.here / "filler").unlink()

    def mount(self, *words: str) -> None:
        done = subprocess.run(
            [*self.prefix, "mount", *words], capture_output=True, text=True, timeout=30, check=False
        )
        assert done.returncode == 0, f"mount {' '.join(words)}: {done.stderr}"


@contextmanager
def disk(place: Path, size_bytes: int) -> Iterator[Disk]:
    """A small tmpfs at this folder."""
    place.mkdir()
    enter = ["--mount"] if os.geteuid() == 0 else ["--user", "--mount"]
    make = enter if os.geteuid() == 0 else [*enter, "--map-root-user"]
    script = f'mount -t tmpfs -o size={size_bytes} tmpfs "$0" && echo mounted && exec cat'
    keeper = subprocess.Popen(
        ["unshare", *make, "sh", "-c", script, str(place)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert keeper.stdout is not None and keeper.stderr is not None
        if keeper.stdout.readline() != "mounted\n":
            # Not skipped: whoever reads "passed" must be able to believe it.
            pytest.fail(f"these tests mount a tmpfs, as root or in a user namespace: {keeper.stderr.read()}")
        keep = [] if os.geteuid() == 0 else ["--preserve-credentials"]
        prefix = ("nsenter", "--target", str(keeper.pid), *enter, *keep)
        yield Disk(place, Path(f"/proc/{keeper.pid}/root{place}"), prefix)
    finally:
        keeper.communicate(timeout=30)  # closes its stdin, and so it ends


@dataclass(frozen=True, slots=True)
class Syncs:
    """How a program syncs its files that is started with `env`."""

    env: dict[str, str]
    fail: Path  # while this file exists, syncs fail
    hang: Path  # while this one exists, they do not return


def syncs(folder: Path) -> Syncs:
    library, fail, hang = compiled(SOURCE, folder), folder / "syncs-fail", folder / "syncs-hang"
    variables = {"FSYNC_FAILS_WHILE": str(fail), "FSYNC_HANGS_WHILE": str(hang)}
    return Syncs({"LD_PRELOAD": str(library), **variables}, fail, hang)


def compiled(source: Path, folder: Path) -> Path:
    """A library to preload, made from a small C file."""
    compiler = _compiler() or _install_compiler()
    if compiler is None:
        pytest.fail("these tests compile a small C file: install a compiler (apt install gcc libc6-dev)")
    library = folder / f"{source.stem}.so"
    command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(source)]
    made = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert made.returncode == 0, made.stderr
    return library


def _compiler() -> str | None:
    return shutil.which("cc") or shutil.which("gcc")


def _install_compiler() -> str | None:
    """On a bare Debian machine whoever may install it does."""
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return None
    quietly = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for words in (["update"], ["install", "--yes", "--no-install-recommends", "gcc", "libc6-dev"]):
        subprocess.run(["apt-get", *words], env=quietly, capture_output=True, timeout=100, check=False)
    return _compiler()
