"""Debian's packages that tests can use: put in place where we may, else said once how to.

`python -m tests.tools`, which `make test` calls and which never fails: bubblewrap, without which the better
sandboxes are not tested, languages, and a browser for the web page. What is there is left alone, so it costs
nothing the second time.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

PROGRAMS = {  # of a package: a program that it brings, or a file
    "bubblewrap": "bwrap",
    "chromium": "chromium",
    "fonts-wqy-microhei": "/usr/share/fonts/truetype/wqy/wqy-microhei.ttc",
    "ruby": "ruby",
    "php-cli": "php",
    "lua5.4": "lua5.4",
    "golang-go": "go",
    "qemu-system-x86": "qemu-system-x86_64",
    "busybox-static": "busybox",
    "cpio": "cpio",
}
FOR_TESTS = ("bubblewrap", "chromium", "ruby", "php-cli", "lua5.4", "golang-go")
FOR_PICTURES = ("chromium", "fonts-wqy-microhei")
MORE_PLACES = ("/usr/local/go/bin", "/usr/sbin", "/sbin")  # where programs lie that PATH may not name
FETCH_S = 240.0


def install(packages: Iterable[str]) -> None:
    lacking = [name for name in packages if not _there(PROGRAMS[name])]
    if not lacking:
        return
    words = ["apt-get", "install", "--yes", "--no-install-recommends", *lacking]
    as_root = _as_root()
    if as_root is not None:
        say(f"Installing {', '.join(lacking)} for the tests ...")
        for step in (["apt-get", "update"], words):
            _run([*as_root, *step])
        lacking = [name for name in lacking if not _there(PROGRAMS[name])]
    if lacking:
        say(f"Some tests are skipped for want of {', '.join(lacking)}. On Debian: sudo {' '.join(words)}")


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _there(program: str) -> bool:
    if program.startswith("/"):
        return Path(program).exists()
    path = os.pathsep.join([os.environ.get("PATH", ""), *MORE_PLACES])
    return shutil.which(program, path=path) is not None


def _as_root() -> list[str] | None:
    """What to put before a command so that it may install; None: we may not."""
    if shutil.which("apt-get") is None:
        return None
    if os.geteuid() == 0:
        return []
    sudo = ["sudo", "-n"]
    return sudo if shutil.which("sudo") is not None and _run([*sudo, "true"]) else None


def _run(words: list[str]) -> bool:
    quietly = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    with suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(
            words, env=quietly, stdin=subprocess.DEVNULL, capture_output=True, timeout=FETCH_S, check=False
        )
        return done.returncode == 0
    return False


if __name__ == "__main__":
    install(FOR_TESTS)
    sys.exit(0)
