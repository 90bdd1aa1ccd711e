"""Backup and restore: nothing that was acknowledged is missing, and nothing that is there is lost."""

import fcntl
import json
import resource
import signal
import sqlite3
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.calls import at_terminal, command
from tests.cli.engines import environment, serving, windlass
from tests.waiting import wait_until
from windlass.cli import journal_file
from windlass.core.vocabulary import ENDED
from windlass.sdk.client import Client, new_run_id

BETWEEN_S = 0.02  # two starts: all of them have to end, and a slow machine must not get the more for it
NOOP = b"id: noop\nsteps: {a: {kind: noop}}"
# Waits in the middle until there is a file `go` in the data folder.
HELD = b"""
id: held
steps:
  first: {kind: noop}
  middle: {kind: shell, needs: [first], with: {command: "until test -e go; do sleep 0.02; done"}}
  last: {kind: noop, needs: [middle]}
"""


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A backup of a journal with one run that has ended, and the run."""
    folder = tmp_path_factory.mktemp("kept")
    with serving(folder / "data") as (up, client):
        run = start(client, NOOP, "noop")
        wait_until(lambda: client.run(run)["status"] in ENDED)
        assert up.stop() == 0
    done = command("backup", folder / "kept.db", "--data", folder / "data")
    assert done.returncode == 0, done.stderr
    return folder / "kept.db", run


def start(client: Client, body: bytes, workflow: str) -> str:
    client.apply(workflow, body, "application/yaml")
    run = new_run_id()
    client.start(workflow, run_id=run)
    return run


def succeeds(client: Client, run: str) -> None:
    wait_until(lambda: client.run(run)["status"] == "succeeded", 30)


def journal_of(data: Path) -> Path:
    return data / "windlass.db"


def test_every_run_acknowledged_before_a_backup_goes_on_from_it(tmp_path: Path) -> None:
    data, other, file = tmp_path / "data", tmp_path / "other", tmp_path / "kept.db"
    with serving(data, "--slots", "4") as (up, client):
        # Given runs in the middle of their work
        before = [start(client, HELD, "held") for _ in range(20)]
        # When a backup is taken while more and more are started
        during: list[str] = []
        stop = threading.Event()

        def go_on() -> None:
            with Client(client.url) as mine:
                while not stop.wait(BETWEEN_S):
                    run = new_run_id()
                    mine.start("held", run_id=run)
                    during.append(run)

        starter = threading.Thread(target=go_on)
        starter.start()
        try:
            wait_until(lambda: during)
            done = command("backup", file, "--data", data)
        finally:
            stop.set()
            starter.join()
        assert done.returncode == 0, done.stderr
        # Then the engine has not minded
        (data / "go").touch()
        for run in [*before, *during]:
            succeeds(client, run)
        assert up.stop() == 0
        assert not up.err
    # And from the backup, another engine brings to their end all that were acknowledged before it
    done = command("restore", file, "--data", other)
    assert done.returncode == 0, done.stderr
    (other / "go").touch()
    with serving(other) as (up, client):
        for run in before:
            succeeds(client, run)
            ends = [event["step"] for event in client.all_events(run) if event["type"] == "StepSucceeded"]
            assert ends == ["first", "middle", "last"]
        assert up.stop() == 0


def test_a_copy_is_of_one_moment_and_ends_however_busy_the_journal_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: tuple[Path, str]
) -> None:
    # Given a journal to which something is committed whenever a page of it has been copied
    monkeypatch.setattr(journal_file, "PAGES_AT_ONCE", 1)
    journal = tmp_path / "windlass.db"
    journal.write_bytes(kept[0].read_bytes())
    part = tmp_path / "part"
    part.touch()
    pages: list[tuple[int, int | None]] = []
    with closing(sqlite3.connect(journal, isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")

        def write(done: int, total: int | None) -> None:
            pages.append((done, total))
            writer.execute("INSERT INTO settings VALUES (?, ?)", (f"n{len(pages)}", "x" * 3000))

        # When
        journal_file.copy(journal, part, write)
    # Then it went through once, and none of that is in it
    assert [done for done, _ in pages] == list(range(1, len(pages) + 1))
    assert len(pages) == pages[0][1]
    with closing(sqlite3.connect(part)) as cx:
        assert cx.execute("SELECT count(*) FROM settings WHERE name LIKE 'n%'").fetchone() == (0,)
        assert cx.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_a_journal_whose_engine_was_killed_is_backed_up_with_its_last_commits(tmp_path: Path) -> None:
    data, other, file = tmp_path / "data", tmp_path / "other", tmp_path / "kept.db"
    with serving(data) as (up, client):
        run = start(client, HELD, "held")
        up.stop(signal.SIGKILL)
    assert journal_file.has_waiting_commits(journal_of(data))
    assert command("backup", file, "--data", data).returncode == 0
    assert command("restore", file, "--data", other).returncode == 0
    with serving(other) as (up, client):
        assert client.run(run)["status"] == "running"
        assert up.ready()["recovered"] == 1


def test_a_backup_says_what_it_did(tmp_path: Path, kept: tuple[Path, str]) -> None:
    data = tmp_path / "data"
    restored = command("restore", kept[0], "--data", data)
    assert restored.returncode == 0
    assert f"windlass up --data {data}" in restored.stdout
    done = command("backup", tmp_path / "again.db", "--data", data, "--json")
    told = json.loads(done.stdout)
    assert told["file"] == str(tmp_path / "again.db")
    assert told["bytes"] == (tmp_path / "again.db").stat().st_size
    assert told["schema"] == journal_file.newest_schema()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again.db", "data"]


def test_backup_and_restore_show_how_far_they_are_at_a_terminal(
    tmp_path: Path, kept: tuple[Path, str]
) -> None:
    for name, file in (("restore", kept[0]), ("backup", tmp_path / "again.db")):
        code, shown = at_terminal(name, file, "--data", tmp_path)
        assert code == 0, shown
        assert "copying" in shown and "checking" in shown


def test_a_backup_replaces_a_file_only_if_told_to(tmp_path: Path, kept: tuple[Path, str]) -> None:
    data, file = tmp_path / "data", tmp_path / "precious"
    assert command("restore", kept[0], "--data", data).returncode == 0
    file.write_text("precious")
    refused = command("backup", file, "--data", data)
    assert refused.returncode == 7
    assert "is there already" in refused.stderr and "--force" in refused.stderr
    assert file.read_text() == "precious"
    assert command("backup", file, "--data", data, "--force").returncode == 0
    with closing(sqlite3.connect(file)) as cx:
        assert cx.execute("SELECT count(*) FROM runs").fetchone() == (1,)


@pytest.mark.parametrize("end", ["", "-wal", "-shm", ".lock"])
def test_a_backup_never_goes_into_the_journal_itself(
    tmp_path: Path, kept: tuple[Path, str], end: str
) -> None:
    assert command("restore", kept[0], "--data", tmp_path).returncode == 0
    journal = journal_of(tmp_path)
    before = journal.read_bytes()
    refused = command("backup", f"{journal}{end}", "--data", tmp_path, "--force")
    assert refused.returncode == 7
    assert "belongs to the journal itself" in refused.stderr
    assert journal.read_bytes() == before


def test_a_backup_of_nothing_says_so(tmp_path: Path) -> None:
    done = command("backup", tmp_path / "kept.db", "--data", tmp_path / "nowhere")
    assert done.returncode == 7
    assert "there is no journal" in done.stderr and "--data" in done.stderr
    assert not list(tmp_path.iterdir())


def test_nothing_is_left_of_a_backup_for_which_there_is_no_room(
    tmp_path: Path, kept: tuple[Path, str]
) -> None:
    data, file = tmp_path / "data", tmp_path / "kept.db"
    assert command("restore", kept[0], "--data", data).returncode == 0
    limit = 8192  # bytes that any file of the process may have: the disk's own refusal, on any machine
    done = subprocess.run(
        [*windlass(), "backup", str(file), "--data", str(data)],
        capture_output=True,
        text=True,
        env=environment(),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    assert done.returncode == 7, done.stderr
    assert "could not be copied" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_what_a_killed_backup_left_is_in_nobodys_way(tmp_path: Path, kept: tuple[Path, str]) -> None:
    data, file = tmp_path / "data", tmp_path / "kept.db"
    assert command("restore", kept[0], "--data", data).returncode == 0
    part = Path(f"{file}.part")
    part.write_bytes(b"half a backup" * 10_000)
    assert command("backup", file, "--data", data).returncode == 0
    assert not part.exists()
    # While another one writes it, it is left alone.
    part.write_bytes(b"at work")
    with part.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        refused = command("backup", file, "--data", data, "--force")
    assert refused.returncode == 7
    assert "another command is writing" in refused.stderr
    assert part.read_bytes() == b"at work"


def test_restore_refuses_a_journal_that_an_engine_uses(tmp_path: Path, kept: tuple[Path, str]) -> None:
    data = tmp_path / "data"
    with serving(data) as (up, client):
        for words in ([], ["--force"]):
            refused = command("restore", kept[0], "--data", data, *words)
            assert refused.returncode == 7
            assert f"in use by process {up.pid}" in refused.stderr
        run = start(client, NOOP, "noop")
        succeeds(client, run)
        assert up.stop() == 0


def test_restore_keeps_the_journal_that_it_replaces(tmp_path: Path, kept: tuple[Path, str]) -> None:
    data = tmp_path / "data"
    # Given a journal whose last commits still wait beside it
    with serving(data) as (up, client):
        mine = start(client, HELD, "held")
        up.stop(signal.SIGKILL)
    refused = command("restore", kept[0], "--data", data)
    assert refused.returncode == 7
    assert "there is a journal" in refused.stderr and "--force" in refused.stderr
    # When it is replaced
    done = command("restore", kept[0], "--data", data, "--force", "--json")
    assert done.returncode == 0, done.stderr
    old = Path(json.loads(done.stdout)["kept"])
    assert old.name == "windlass.db.before-restore"
    with serving(data) as (up, client):
        assert client.run(kept[1])["status"] == "succeeded"
        assert mine not in [run["id"] for run in client.runs()["items"]]
        assert up.stop() == 0
    # Then the old one is whole: it can be put back, and goes on
    back = command("restore", old, "--data", data, "--force", "--json")
    assert json.loads(back.stdout)["kept"].endswith(".before-restore.2")
    with serving(data) as (up, client):
        assert client.run(mine)["status"] == "running"


def spoil_middle(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[4096 * 3 : 4096 * 6] = b"\xa5" * (4096 * 3)
    file.write_bytes(content)


def cut_short(file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])


def make_newer(file: Path) -> None:
    with closing(sqlite3.connect(file, isolation_level=None)) as cx:
        cx.execute("INSERT INTO migrations VALUES (999, 'later')")


def make_foreign(file: Path) -> None:
    file.unlink()
    with closing(sqlite3.connect(file)) as cx:
        cx.execute("CREATE TABLE theirs (x)")


def make_text(file: Path) -> None:
    file.write_text("no database at all " * 1000)


def make_empty(file: Path) -> None:
    file.write_bytes(b"")


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (spoil_middle, "is damaged"),
        (cut_short, "is damaged"),
        (make_newer, "was written by a newer Windlass (its schema is 999"),
        (make_foreign, "is no journal of Windlass"),
        (make_text, "it is no SQLite database"),
        (make_empty, "is no journal of Windlass"),
    ],
)
def test_restore_refuses_what_is_no_sound_journal_and_changes_nothing(
    tmp_path: Path, kept: tuple[Path, str], spoil: Callable[[Path], None], words: str
) -> None:
    file, data = tmp_path / "spoilt.db", tmp_path / "data"
    assert command("restore", kept[0], "--data", data).returncode == 0
    before = journal_of(data).read_bytes()
    file.write_bytes(kept[0].read_bytes())
    spoil(file)
    refused = command("restore", file, "--data", data, "--force")
    assert refused.returncode == 7, refused.stdout
    assert words in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
    assert journal_of(data).read_bytes() == before
    assert leftovers(data) == []


def leftovers(data: Path) -> list[str]:
    return sorted(path.name for path in data.iterdir() if "part" in path.name or "before" in path.name)


def test_a_damaged_journal_is_not_backed_up_as_if_it_were_sound(
    tmp_path: Path, kept: tuple[Path, str]
) -> None:
    data, file = tmp_path / "data", tmp_path / "kept.db"
    data.mkdir()
    journal_of(data).write_bytes(kept[0].read_bytes())
    spoil_middle(journal_of(data))
    refused = command("backup", file, "--data", data)
    assert refused.returncode == 7
    assert "is damaged" in refused.stderr
    assert not file.exists()


@pytest.fixture(autouse=True)
def no_part_is_left(tmp_path: Path) -> Iterator[None]:
    yield
    left = [path for path in tmp_path.rglob("*.part") if path.read_bytes() != b"at work"]
    assert not left
