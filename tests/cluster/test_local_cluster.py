"""`make cluster`, as a newcomer has it: started, hurt, stopped, started again."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests import postgres
from tests.cluster.bad_nodes import environment, members
from tests.waiting import wait_until
from windlass.sdk.client import Client

REPOSITORY = Path(__file__).resolve().parents[2]
START_S = 60.0
STOP_S = 40.0
# What a user has set for nodes elsewhere: those that are started here must not go there.
FOR_OTHERS = {
    "WINDLASS_DATABASE": "postgresql://nowhere.invalid/x",
    "WINDLASS_NAME": "me",
    "PGSSLMODE": "require",
}


class Started:
    """The program, with what it says in a file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._said = folder / "said.txt"
        with self._said.open("w") as said:
            self.process = subprocess.Popen(
                [sys.executable, "-u", "-m", "windlass.local_cluster", "--data", str(folder / "data")],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                cwd=folder,
                env=environment({"PYTHONPATH": str(REPOSITORY), **FOR_OTHERS}),
                start_new_session=True,
            )

    @property
    def says(self) -> str:
        return self._said.read_text()

    def has_said(self, words: str) -> str:
        wait_until(lambda: words in self.says or self.process.poll() is not None, START_S)
        assert words in self.says, f"{words!r} was not said: {self.says}"
        return self.says

    def found(self, pattern: str) -> str:
        found = re.search(pattern, self.says)
        assert found, f"{pattern!r} was not said: {self.says}"
        return found[1]

    def everybody(self) -> list[int]:
        """All that it has started, by the folder that they all work in."""
        mark = str(self.folder / "data").encode()
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != self.process.pid:
                try:
                    words = (entry / "cmdline").read_bytes()
                except OSError:
                    continue
                found += [int(entry.name)] if mark in words else []
        return found


@pytest.fixture
def folder() -> Iterator[Path]:
    postgres.url()  # or the tests are skipped
    made = postgres.folder()
    yield made
    shutil.rmtree(made)


@contextmanager
def cluster(folder: Path) -> Iterator[Started]:
    started = Started(folder)
    try:
        yield started
    finally:
        if started.process.poll() is None:
            started.process.kill()
        started.process.wait(STOP_S)
        wait_until(lambda: not started.everybody(), STOP_S)


@pytest.mark.usefixtures("usual_ports")
def test_a_cluster_on_this_machine_survives_kill_9_of_a_node_and_goes_on_after_a_stop(folder: Path) -> None:
    with cluster(folder) as started:
        started.has_said("Ctrl-C stops all of it")
        url, victim = started.found(r"WINDLASS_URL=(\S+)"), int(started.found(r"kill -9 (\d+)"))
        run, name = started.found(r"show (\S+)"), started.found(r"# (n\d) has this run")
        with closing(Client(url)) as client:
            assert members(url) == {"n1": "up", "n2": "up", "n3": "up"}
            os.kill(victim, signal.SIGKILL)
            said = started.has_said(f"{name} was killed; its runs go on elsewhere. Start it again with")
            assert f"node --config data/{name}.toml" in said
            wait_until(lambda: members(url)[name] == "dead", START_S)
            assert client.run(run)["status"] == "running"
            assert {each["id"] for each in client.workflows()} >= {"hello", "ten-steps"}
        refused = subprocess.run(
            [sys.executable, "-m", "windlass.local_cluster", "--data", "data"],
            capture_output=True,
            text=True,
            cwd=folder,
            env=environment({"PYTHONPATH": str(REPOSITORY)}),
            timeout=START_S,
        )
        assert refused.returncode == 1
        assert f"is up already, as pid {started.process.pid}" in refused.stdout.replace("\n", " ")
        started.process.send_signal(signal.SIGINT)
        assert started.process.wait(STOP_S) == 0
        assert "stopped; make cluster goes on from here" in started.says
        assert not started.everybody()
    with cluster(folder) as again:
        assert "1 run goes on from last time" in again.has_said("Ctrl-C stops all of it")
        with closing(Client(again.found(r"WINDLASS_URL=(\S+)"))) as client:
            assert client.run(run)["status"] == "running"
        again.process.kill()  # of this, too, nothing is left: the end of the context says so


def test_without_postgresql_it_says_what_to_install(folder: Path) -> None:
    hide = "from windlass import own_postgres as o; o._of_the_wheel = o._of_the_system = lambda: None"
    run = "from windlass.local_cluster import main; raise SystemExit(main(['--data', 'data']))"
    ended = subprocess.run(
        [sys.executable, "-c", f"{hide}; {run}"],
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment({"PYTHONPATH": str(REPOSITORY)}),
        timeout=START_S,
    )
    assert ended.returncode == 1 and not ended.stderr
    assert "no PostgreSQL was found: install" in ended.stdout
