"""`make test-cgroup2`: the tests of the tier bubblewrap+cgroup under control groups of version 2.

On a machine whose own group may be divided (as root, or under `systemd-run --user --scope -p Delegate=yes`)
they run right here. Else a virtual machine is started for them, which takes half a minute or so.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

from tests.tools import install, say
from tests.vm import delegated, image
from windlass.worker.sandbox.cgroup import NoGroup

REPOSITORY = Path(__file__).resolve().parents[2]
CACHE = REPOSITORY / "build/vm"
BOOT_S = 1200.0  # emulated, all takes many times as long
MARK = "the tests ended with "
TESTS = [f"tests/worker/sandbox/test_{name}.py" for name in ("cgroup", "attacks", "each_layer")]
QUIET = [
    "--no-header",
    "-p",
    "no:cacheprovider",
    "--color=no",
    "--tb=short",
    "-rs",
    "--durations=5",
    "-v",
    "--maxfail=10",
]
PYTEST = ["-m", "pytest", *QUIET, "-k", "bubblewrap+cgroup", *TESTS]


def main() -> int:
    try:
        group = delegated.take_over()
    except (NoGroup, OSError) as error:
        say(f"Not on this machine itself: {error}. So in a virtual one.")
        return in_machine()
    say(f"In the control group {group}.")
    return subprocess.run(
        [sys.executable, *PYTEST], env={**os.environ, delegated.NAME: str(group)}, check=False
    ).returncode


def in_machine() -> int:
    install(["qemu-system-x86", "busybox-static", "cpio", "bubblewrap"])
    try:
        kernel, initrd = image.build(CACHE, PYTEST, mark=MARK, variable=delegated.NAME)
    except image.Missing as error:
        say(f"No virtual machine either: {error}")
        return 2
    qemu = shutil.which("qemu-system-x86_64")
    assert qemu is not None, "image.build looks for it"
    # Emulated, though a processor could help: that it says it can does not mean that it does.
    words = [qemu, "-accel", "tcg,thread=multi", "-cpu", "max", "-m", "2048", "-smp", "2", "-nographic"]
    words += ["-no-reboot", "-nic", "none", "-kernel", str(kernel), "-initrd", str(initrd)]
    words += ["-append", "console=ttyS0 loglevel=1 panic=-1"]
    return _code(words)


def _code(words: list[str]) -> int:
    """What the machine says at last, while all it says is passed on."""
    code = 1
    with subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, errors="replace"
    ) as machine:
        assert machine.stdout is not None
        timer = threading.Timer(BOOT_S, machine.kill)
        timer.start()
        try:
            for line in machine.stdout:
                say(line.rstrip())
                if MARK in line:
                    code = int(line.partition(MARK)[2])
        finally:
            timer.cancel()
            machine.kill()
    return code


if __name__ == "__main__":
    sys.exit(main())
