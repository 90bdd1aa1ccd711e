"""A small system for a virtual machine: a kernel of Debian's, this Python, bubblewrap, and the tests."""

from __future__ import annotations

import platform
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
FETCH_S = 300.0
KERNEL = "linux-image-cloud-amd64"
PACKAGES = ("msgspec", "_pytest", "pytest", "pluggy", "iniconfig", "packaging", "pygments", "py.py")
UNNEEDED = ("__pycache__", "test", "idlelib", "tkinter", "ensurepip", "*-packages", "config-*", "lib2to3")
# The first root cannot be exchanged for another (pivot_root), which bubblewrap does: so move to a second one.
FIRST = """#!/bin/sh
mount --bind / /second
cd /second
mount --move . /
exec chroot . /second-init
"""
SECOND = """#!/bin/sh
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
mount -t tmpfs -o mode=1777 none /tmp
mount -t cgroup2 none /sys/fs/cgroup
ip link set lo up 2>/dev/null
cd /repository
export PATH=/usr/bin:/bin:/sbin HOME=/tmp PYTHONPATH=/repository:/site-packages PYTHONDONTWRITEBYTECODE=1
export {variable}=/sys/fs/cgroup
echo +memory +pids +cpu > /sys/fs/cgroup/cgroup.subtree_control
{command}
echo "{mark}$?"
poweroff -f
"""


class Missing(Exception):
    """What it takes is not here; in words."""


def build(cache: Path, command: list[str], *, mark: str, variable: str) -> tuple[Path, Path]:
    """(kernel, file system in memory) of a machine that runs Python so, says `mark` and a number, and ends.

    `variable` tells the command where groups may be made. Raises Missing.
    """
    if platform.machine() != "x86_64":
        raise Missing(f"the machine is written for x86_64 alone, not for {platform.machine()}")
    for program in ("qemu-system-x86_64", "busybox", "cpio", "bwrap", "ldd"):
        if shutil.which(program) is None:
            raise Missing(f"there is no {program}")
    cache.mkdir(parents=True, exist_ok=True)
    kernel = _kernel(cache)
    root = cache / "root"
    shutil.rmtree(root, ignore_errors=True)
    _fill(root)
    line = shlex.join([str(_python()), *command])
    _script(root / "init", FIRST)
    _script(root / "second-init", SECOND.format(command=line, mark=mark, variable=variable))
    packed = cache / "initrd"
    with packed.open("wb") as file:
        names = b"\n".join(str(path.relative_to(root)).encode() for path in [root, *sorted(root.rglob("*"))])
        words = ["cpio", "--quiet", "--create", "--format=newc", "--owner=+0:+0"]
        subprocess.run(words, input=names, cwd=root, stdout=file, check=True)
    return kernel, packed


def _kernel(cache: Path) -> Path:
    """Debian's for machines in clouds, which has all that is needed built in; fetched once."""
    for found in sorted(cache.glob("kernel/boot/vmlinuz-*")):
        return found
    apt = shutil.which("apt-get")
    if apt is None:
        raise Missing("a kernel comes from Debian's packages, and there is no apt-get")
    try:
        told = subprocess.run(
            ["apt-cache", "depends", KERNEL], capture_output=True, text=True, timeout=FETCH_S
        )
        names = re.findall(r"Depends: (linux-image-\S+)", told.stdout)
        if not names:
            raise Missing(f"apt knows no {KERNEL} (apt-get update may help)")
        words = [apt, "download", "-o", "APT::Sandbox::User=root", names[0]]
        subprocess.run(words, cwd=cache, capture_output=True, timeout=FETCH_S, check=True)
        (package,) = cache.glob(f"{names[0]}_*.deb")
        subprocess.run(["dpkg-deb", "-x", package, cache / "kernel"], timeout=FETCH_S, check=True)
    except (subprocess.SubprocessError, OSError) as error:
        raise Missing(f"the kernel could not be fetched: {error}") from error
    return next(cache.glob("kernel/boot/vmlinuz-*"))


def _fill(root: Path) -> None:
    for name in (
        "proc",
        "sys",
        "dev",
        "tmp",
        "etc",
        "var",
        "home",
        "second",
        "usr/bin",
        "usr/sbin",
        "usr/lib",
        "usr/lib64",
    ):
        (root / name).mkdir(parents=True)
    for name in ("bin", "sbin", "lib", "lib64"):
        (root / name).symlink_to(f"usr/{name}")
    busybox = _put(root, Path(str(shutil.which("busybox"))))
    listed = subprocess.run([busybox, "--list"], capture_output=True, text=True, check=True).stdout.split()
    for name in listed:
        if name != "busybox":
            (root / "usr/bin" / name).symlink_to("busybox")
    stdlib = Path(sysconfig.get_path("stdlib"))
    _copy(root, stdlib)
    for name in PACKAGES:
        source = Path(sysconfig.get_path("purelib"), name)
        if source.is_dir():
            _copy(root, source, Path("site-packages") / name)
        else:
            shutil.copy(source, root / "site-packages")
    for name in ("windlass", "tests"):
        _copy(root, REPOSITORY / name, Path("repository") / name)
    (root / "repository/pytest.ini").write_text("[pytest]\nfilterwarnings = error\nmarkers = accepts(*ids)\n")
    (root / "repository/tests/conftest.py").unlink()  # what all tests share needs much more
    programs = [_put(root, Path(str(shutil.which("bwrap")))), _put(root, _python())]
    _put_libraries(root, [*programs, *stdlib.rglob("*.so"), *(root / "site-packages").rglob("*.so")])
    for folder in root.rglob("*"):
        if folder.is_dir() and not folder.is_symlink():
            folder.chmod(0o755)  # also for an ordinary user, wherever this Python lies


def _python() -> Path:
    return Path(sys.executable).resolve()


def _put(root: Path, program: Path) -> Path:
    """At the same place, and in /usr instead of beside it."""
    place = root / str(program).lstrip("/")
    place.parent.mkdir(parents=True, exist_ok=True)
    if not place.exists():
        shutil.copy(program, place)
    return program


def _copy(root: Path, source: Path, target: Path | None = None) -> None:
    place = root / (target or str(source).lstrip("/"))
    shutil.copytree(source, place, ignore=shutil.ignore_patterns(*UNNEEDED), dirs_exist_ok=True)


def _put_libraries(root: Path, programs: Iterable[Path]) -> None:
    """All that the loader would look for. What it does not find belongs to parts that are not used."""
    done = subprocess.run(["ldd", *programs], capture_output=True, text=True, check=False)
    for library in sorted(set(re.findall(r"(/\S+) \(0x", done.stdout))):
        _put(root, Path(library))


def _script(place: Path, text: str) -> None:
    place.write_text(text)
    place.chmod(0o755)
