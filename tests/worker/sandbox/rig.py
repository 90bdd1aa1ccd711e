"""Workers with sandboxes, as root and as an ordinary user, and a look at what they left behind."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import msgspec
import pytest

from tests.vm import delegated
from tests.waiting import wait_until
from tests.worker.sandbox.hands import Answer, Ask
from windlass.worker.minder.tree import all_pids, look
from windlass.worker.sandbox import Job, Limits, Ran, Tried
from windlass.worker.sandbox.cgroup import PREFIX, NoGroup, find

REPOSITORY = Path(__file__).resolve().parents[3]
# An ordinary user without a name, for tests that run as root. Who runs them at the same time takes another:
# the kernel counts the processes of a user, wherever they come from.
USER = 61000 + os.getpid() % 4000
SECRET = "worker-secret-" + secrets.token_hex(8)
# The jobs of these tests are Python, best of all one that everybody may read.
SYSTEM_PYTHON = Path("/usr/bin/python3")
PYTHON = SYSTEM_PYTHON if SYSTEM_PYTHON.exists() else Path(sys.executable).resolve()
READABLE = () if SYSTEM_PYTHON.exists() else (Path(sys.base_prefix),)
SMALL = Limits(
    wall_s=20.0,
    memory_bytes=96 * 1024**2,
    processes=20,
    disk_bytes=8 * 1024**2,
    inodes=500,
    output_bytes=64 * 1024,
)


@dataclass
class Worker:
    process: subprocess.Popen[bytes]
    scratch: Path  # its TMPDIR
    tiers: list[Tried] = field(default_factory=list)

    @property
    def pid(self) -> int:
        return self.process.pid

    def ask(self, ask: Ask) -> Answer:
        self.send(ask)
        return self.hear()

    def send(self, ask: Ask) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(msgspec.json.encode(ask, enc_hook=str) + b"\n")
        self.process.stdin.flush()

    def hear(self) -> Answer:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the worker is dead"
        return msgspec.json.decode(line, type=Answer)


@dataclass(frozen=True, slots=True)
class Bench:
    """One tier of one worker."""

    worker: Worker
    tier: str
    who: str

    def run(
        self,
        code: str,
        *words: str,
        limits: Limits = SMALL,
        without: Sequence[str] = (),
        token: str = "",
        **rest: object,
    ) -> Ran:
        """Run a piece of Python. `token` marks its processes."""
        job = python_job(code, *words, limits=limits, token=token, **rest)
        ran = self.worker.ask(Ask(self.tier, job, frozenset(without))).ran
        assert ran is not None
        return ran

    @property
    def namespaces(self) -> bool:
        return self.tier != "landlock"


def python_job(code: str, *words: str, limits: Limits = SMALL, token: str = "", **rest: object) -> Job:
    argv = [str(PYTHON), "-I", "-S", "-c", textwrap.dedent(code), token or "-", *words]
    return Job(argv=argv, limits=limits, readable=READABLE, **rest)  # type: ignore[arg-type]  # as Job says


def shared(folder: Path, name: str, text: str) -> Path:
    """A file that every user of this machine could read and write."""
    place = folder / name
    place.write_text(text)
    place.chmod(0o666)
    return place


def marked(token: str) -> list[int]:
    """The processes that live with this word in their command lines."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            try:
                if token.encode() in Path(f"/proc/{name}/cmdline").read_bytes():
                    found.append(int(name))
            except OSError:
                continue
    return found


def children(parent: int) -> list[int]:
    seen = ((pid, look(pid)) for pid in all_pids())
    return [pid for pid, found in seen if found is not None and found[0] and found[1] == parent]


def mounts(pid: int) -> set[str]:
    """Where something is mounted, as this process sees it."""
    return {line.split()[4] for line in Path(f"/proc/{pid}/mountinfo").read_text().splitlines()}


def groups() -> list[Path]:
    """The control groups of keepers that are gone; those of other workers here may be busy."""
    try:
        bases = find().folders.values()
    except NoGroup:
        return []
    # Some go while we look.
    walks = (os.walk(base) for base in bases)
    made = [Path(above, name) for walk in walks for above, names, _ in walk for name in names]
    made = [place for place in made if place.name.startswith(PREFIX)]
    return [place for place in made if not Path("/proc", place.name.removeprefix(PREFIX)).exists()]


@contextmanager
def worker(who: str, folder: Path, extra: Mapping[str, str] | None = None) -> Iterator[Worker]:
    """As root or as an ordinary user; skips, with words, where that cannot be."""
    program, user = _program(who)
    folder.mkdir()
    if user is not None:
        os.chown(folder, user, user)
    env = {
        **os.environ,
        **(extra or {}),
        "PYTHONPATH": os.pathsep.join(
            [str(REPOSITORY), *(path for path in sys.path if "site-packages" in path)]
        ),
        "PYTHONDONTWRITEBYTECODE": "1",
        "TMPDIR": str(folder),
        "WORKER_SECRET": SECRET,
    }
    group = delegated.hand_over(folder.name, os.geteuid() if user is None else user)
    process = subprocess.Popen(
        [program, "-m", "tests.worker.sandbox.hands"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd="/",
        env=env,
        preexec_fn=None if group is None else partial(delegated.enter, group, user),
        **({"user": user, "group": user, "extra_groups": []} if user is not None and group is None else {}),  # type: ignore[call-overload]
    )
    started = Worker(process, folder)
    try:
        started.tiers = started.hear().tiers
        yield started
    finally:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.close()
        try:
            process.wait(20)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
            if group is not None:
                wait_until(lambda: delegated.is_empty(group))
                delegated.take_back(group)


def _program(who: str) -> tuple[str, int | None]:
    """Which Python runs it, and as whom (None: as ourselves)."""
    if who == "root" and os.geteuid() != 0:
        pytest.skip("only root can try what root's workers do")
    if who == "root" or os.geteuid() != 0:
        return sys.executable, None
    for program in dict.fromkeys([sys.executable, str(SYSTEM_PYTHON)]):
        if _runs(program):
            return program, USER
    pytest.skip("no Python here that an ordinary user could run Windlass with")


def _runs(program: str) -> bool:
    paths = os.pathsep.join([str(REPOSITORY), *(path for path in sys.path if "site-packages" in path)])
    try:
        done = subprocess.run(
            [program, "-c", "import windlass.worker.sandbox"],
            cwd="/",
            env={"PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"},
            user=USER,
            group=USER,
            extra_groups=[],
            capture_output=True,
            timeout=30,
            check=False,
        )
    except OSError:
        return False
    return done.returncode == 0
