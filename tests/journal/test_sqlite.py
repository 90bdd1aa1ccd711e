"""What only the journal in a file has to prove: the disk, the lock, its threads and what errors mean."""

import asyncio
import itertools
import os
import re
import resource
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.journal import fact, facts, keep, row, snapshot
from windlass.core.errors import WindlassError
from windlass.core.names import run_key
from windlass.core.sharding import hash32
from windlass.journal import (
    Group,
    RunQuery,
    RunRow,
    StoreBusy,
    Stored,
    StoreRefused,
    StoreUnknown,
    sqlite_lists,
    sqlite_rows,
)
from windlass.journal.sqlite import JournalInUse, JournalUnusable, SqliteStore

A, B = run_key("a"), run_key("b")
HOLD = """
import asyncio, pathlib, sys
from windlass.journal.sqlite import SqliteStore
async def hold():
    store = await SqliteStore.open(pathlib.Path(sys.argv[1]))
    print("open", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    await store.close()
asyncio.run(hold())
"""


def on_a_journal(story: Callable[[SqliteStore, Path], Awaitable[None]]) -> Callable[[Path], None]:
    """The story as a test, on a new journal whose shard 0 was claimed once."""

    async def play(path: Path) -> None:
        store = await SqliteStore.open(path)
        try:
            await store.claim([0])
            await story(store, path)
        finally:
            await store.close()

    def test(tmp_path: Path) -> None:
        asyncio.run(play(tmp_path / "windlass.db"))

    test.__name__ = story.__name__
    return test


def opened(path: Path) -> str:
    """How opening this file ends: "open", or the error's message, which must be one of ours."""

    async def attempt() -> str:
        try:
            store = await SqliteStore.open(path)
        except (JournalInUse, JournalUnusable) as error:
            return str(error)
        await store.close()
        return "open"

    return asyncio.run(attempt())


def filled(path: Path, runs: int = 50) -> None:
    """A journal in which something was kept."""

    async def fill() -> None:
        store = await SqliteStore.open(path)
        await store.claim([0])
        for n in range(runs):
            await keep(store, facts=[fact(run_key(f"r{n}"), 1, text="x" * 500)], runs=[row(f"r{n}")])
        await store.close()

    asyncio.run(fill())


@contextmanager
def another_process(path: Path) -> Iterator[subprocess.Popen[str]]:
    """A real process that has the journal open."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "open\n"
            yield process
        finally:
            process.kill()


def ask(path: Path, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as cx:
        return cx.execute(sql).fetchall()


# The lock


def test_a_second_process_is_refused_and_told_who_holds_the_journal(tmp_path: Path) -> None:
    path = tmp_path / "windlass.db"
    with another_process(path) as holder:
        message = opened(path)
        expected = (
            rf"the journal {re.escape(str(path))} is in use by process {holder.pid} "
            r"\(started \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\); stop it, or choose another folder with --data"
        )
        assert re.fullmatch(expected, message)


def test_the_lock_goes_with_its_holder_even_when_that_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "windlass.db"
    with another_process(path) as holder:
        holder.send_signal(signal.SIGKILL)
        holder.wait(timeout=60)
        assert opened(path) == "open"


def test_the_lock_goes_when_the_journal_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "windlass.db"
    assert opened(path) == "open"
    with another_process(path) as holder:
        holder.communicate(timeout=60)  # closes its stdin, and so the journal
        assert holder.returncode == 0
    assert opened(path) == "open"


@on_a_journal
async def test_the_same_process_is_refused_too_also_by_another_name(store: SqliteStore, path: Path) -> None:
    link = path.with_name("link.db")
    link.symlink_to(path)
    for name in (path, link):
        with pytest.raises(JournalInUse, match=f"process {os.getpid()} "):
            await SqliteStore.open(name)


@contextmanager
def child() -> Iterator[None]:
    command = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, close_fds=False) as process:
        try:
            yield
        finally:
            process.communicate(timeout=60)


@on_a_journal
async def test_children_do_not_inherit_the_lock(store: SqliteStore, path: Path) -> None:
    with child():
        await store.close()
        again = await SqliteStore.open(path)
        await again.close()


# The file


def test_both_errors_belong_to_the_tree(tmp_path: Path) -> None:
    assert issubclass(JournalInUse, WindlassError)
    assert issubclass(JournalUnusable, WindlassError)


def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "windlass.db"
    path.write_bytes(b"Dear diary, " * 1000)
    assert re.fullmatch(r".*windlass\.db is not a journal .*; move it away, or choose .*", opened(path))
    assert path.read_bytes() == b"Dear diary, " * 1000


def test_a_database_of_another_program_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "windlass.db"
    with closing(sqlite3.connect(path)) as cx:
        cx.execute("CREATE TABLE diary (day TEXT)")
    before = path.read_bytes()
    assert "is a database of another program; move it away, or" in opened(path)
    assert path.read_bytes() == before


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "windlass.db"
    filled(path)
    with closing(sqlite3.connect(path)) as cx:
        cx.execute("INSERT INTO migrations VALUES (9999, 'tomorrow')")
        cx.commit()
    assert re.search(
        r"was written by a newer Windlass \(its schema is 9999, this one knows \d+\); install", opened(path)
    )


def test_a_truncated_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "windlass.db"
    filled(path)
    os.truncate(path, path.stat().st_size // 2)
    assert re.search(r"is damaged \(.*\); restore it from a backup, rescue what is left", opened(path))


def test_a_file_cut_to_nothing_beside_a_full_wal_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "windlass.db"
    with another_process(path) as holder:
        holder.kill()
        holder.wait(timeout=60)
    wal = path.with_name("windlass.db-wal")
    assert wal.stat().st_size > 0
    os.truncate(path, 0)
    assert "is damaged (the file is empty or gone" in opened(path)
    assert wal.stat().st_size > 0, "what could be rescued is still there"


def test_pages_full_of_garbage_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "windlass.db"
    filled(path)
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xa5" * (path.stat().st_size - 4096))
    assert "is damaged" in opened(path)


def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    message = opened(tmp_path / "nowhere" / "windlass.db")
    assert re.search(r"nowhere/windlass\.db: No such file or directory; choose another folder", message)


def test_a_folder_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "windlass.db").mkdir()
    assert "cannot open the journal" in opened(tmp_path / "windlass.db")


def test_a_name_with_odd_characters_is_just_a_name(tmp_path: Path) -> None:
    async def story() -> None:
        store = await SqliteStore.open(tmp_path / "a?b#c%20 ü.db")
        await store.claim([0])
        await keep(store, facts=facts(A, [1]))
        assert await store.facts(0, A, after=0, limit=9) == facts(A, [1])
        await store.close()

    asyncio.run(story())
    assert (tmp_path / "a?b#c%20 ü.db").exists()


def test_migrations_are_recorded_and_applied_once(tmp_path: Path) -> None:
    path = tmp_path / "windlass.db"
    filled(path)
    first = ask(path, "SELECT version, applied_at FROM migrations")
    assert [version for version, _ in first] == list(range(1, len(first) + 1))
    assert opened(path) == "open"
    assert ask(path, "SELECT version, applied_at FROM migrations") == first


def test_a_clean_close_leaves_one_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "windlass.db"
    filled(path)
    assert sorted(found.name for found in tmp_path.iterdir()) == ["windlass.db", "windlass.db.lock"]
    assert ask(path, "PRAGMA integrity_check") == [("ok",)]


# Durability


@on_a_journal
async def test_what_is_acknowledged_can_be_read_by_others_at_once(store: SqliteStore, path: Path) -> None:
    for seq in range(1, 20):
        await keep(store, facts=facts(A, [seq]))
        assert ask(path, "SELECT max(seq) FROM events") == [(seq,)]


@on_a_journal
async def test_every_commit_waits_for_the_disk(store: SqliteStore, path: Path) -> None:
    async def pragma(name: str) -> object:
        return await store._write(lambda cx: cx.execute(f"PRAGMA {name}").fetchone()[0])

    assert await pragma("journal_mode") == "wal"
    assert await pragma("synchronous") == 2


def test_what_was_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "windlass.db"
    endless = """
import asyncio, itertools, pathlib, sys
from tests.journal import facts, keep
from windlass.core.names import run_key
from windlass.journal.sqlite import SqliteStore
async def write():
    store = await SqliteStore.open(pathlib.Path(sys.argv[1]))
    await store.claim([0])
    for n in itertools.count(1):
        await keep(store, facts=facts(run_key("a"), [n]))
        print(n, flush=True)
asyncio.run(write())
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", endless, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as writer:
        assert writer.stdout is not None
        for line in itertools.islice(writer.stdout, 200):
            acknowledged = int(line)
        writer.kill()
        rest = writer.stdout.read().splitlines(keepends=True)
        acknowledged = max([acknowledged, *(int(line) for line in rest if line.endswith("\n"))])
    assert opened(path) == "open"
    ((highest, count),) = ask(path, "SELECT max(seq), count(*) FROM events")
    assert isinstance(highest, int)
    assert highest == count, "no holes"
    assert highest in (acknowledged, acknowledged + 1)
    assert ask(path, "PRAGMA integrity_check") == [("ok",)]


@on_a_journal
async def test_the_hash_of_the_id_stands_beside_the_shard(store: SqliteStore, path: Path) -> None:
    await keep(store, facts=facts(A, [1]), runs=[row("a")], snapshots=[snapshot(A, 1)])
    for table in ("events", "runs", "snapshots"):
        assert ask(path, f"SELECT shard, hash FROM {table}") == [(0, hash32("a"))]


@on_a_journal
async def test_only_the_newest_two_snapshots_are_kept(store: SqliteStore, path: Path) -> None:
    for seq in (10, 20, 30, 5):
        await keep(store, snapshots=[snapshot(A, seq), snapshot(B, 1)])
    kept = ask(path, "SELECT entity, seq FROM snapshots ORDER BY entity, seq")
    assert kept == [(A.text(), 20), (A.text(), 30), (B.text(), 1)]


# What errors mean


@on_a_journal
async def test_a_full_disk_keeps_nothing_and_is_waited_out(store: SqliteStore, path: Path) -> None:
    big = [fact(A, n, text="x" * 4000) for n in range(1, 200)]
    await store._write(lambda cx: cx.execute("PRAGMA max_page_count = 60"))  # SQLite's own full disk
    for _ in range(2):
        with pytest.raises(StoreBusy, match="full"):
            await keep(store, facts=big, runs=[row("a")])
        assert await store.load(0, [A]) == [Stored(A)]
    assert await keep(store, facts=facts(B, [1])), "what still fits is kept"
    await store._write(lambda cx: cx.execute("PRAGMA max_page_count = 1000000"))
    assert await keep(store, facts=big, runs=[row("a")]), "the same commit passes when there is room"
    assert ask(path, "PRAGMA integrity_check") == [("ok",)]


@on_a_journal
async def test_a_database_locked_by_another_tool_is_busy(store: SqliteStore, path: Path) -> None:
    await store._write(lambda cx: cx.execute("PRAGMA busy_timeout = 0"))
    with closing(sqlite3.connect(path, isolation_level=None)) as tool:
        tool.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusy, match="locked"):
            await keep(store, facts=facts(A, [1]))
        assert await store.facts(0, A, after=0, limit=9) == [], "readers do not wait for writers"
        tool.execute("ROLLBACK")
    assert await keep(store, facts=facts(A, [1]))


@on_a_journal
async def test_a_database_that_may_not_be_written_is_busy(store: SqliteStore, path: Path) -> None:
    await store._write(lambda cx: cx.execute("PRAGMA query_only = ON"))
    with pytest.raises(StoreBusy, match="readonly"):
        await keep(store, facts=facts(A, [1]))


@contextmanager
def failing_disk(path: Path) -> Iterator[None]:
    """Writes beyond the present size of the WAL fail with an I/O error, for real."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.with_name(f"{path.name}-wal").stat().st_size + 100, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@on_a_journal
async def test_when_commit_itself_fails_the_outcome_is_unknown_and_the_store_goes_on(
    store: SqliteStore, path: Path
) -> None:
    await keep(store, facts=facts(A, [1]))
    before = store._writer
    with failing_disk(path), pytest.raises(StoreUnknown, match="COMMIT failed: disk I/O error"):
        await keep(store, facts=facts(A, [2]))
    assert store._writer is None, "the connection in doubt is gone"
    assert await store.claim([0]) == {0: 2}
    assert store._writer is not before
    assert not await keep(store, facts=facts(A, [2])), "fenced, as it must be after forgetting"
    (stored,) = await store.load(0, [A])
    following = len(stored.facts) + 1  # kept or not: whoever reads knows
    assert await keep(store, epoch=2, facts=facts(A, [following]))
    assert ask(path, "PRAGMA integrity_check") == [("ok",)]


@on_a_journal
async def test_what_is_not_understood_is_unknown_and_leaves_no_transaction_behind(
    store: SqliteStore, path: Path
) -> None:
    def blow_up(cx: sqlite3.Connection) -> None:
        cx.execute("INSERT INTO settings VALUES ('half', 'done')")
        raise MemoryError

    with pytest.raises(StoreUnknown, match="MemoryError"):
        await store._write(blow_up)
    assert await store.setting("half", "whole") == "whole"


@on_a_journal
async def test_a_failed_rollback_is_unknown(store: SqliteStore, path: Path) -> None:
    def close_and_fail(cx: sqlite3.Connection) -> None:
        cx.execute("INSERT INTO settings VALUES ('half', 'done')")
        cx.close()
        raise ValueError("and nothing can be rolled back any more")

    with pytest.raises(StoreUnknown, match="ROLLBACK failed"):
        await store._write(close_and_fail)
    assert await store.setting("half", "whole") == "whole"


@contextmanager
def hidden(path: Path) -> Iterator[None]:
    """Somebody has moved the file away, for a while."""
    elsewhere = path.with_name("hidden.db")
    path.rename(elsewhere)
    try:
        yield
        assert not path.exists(), "nobody has made an empty one in its place"
    finally:
        elsewhere.rename(path)


@on_a_journal
async def test_a_writer_that_cannot_be_opened_again_is_busy_until_it_can(
    store: SqliteStore, path: Path
) -> None:
    await asyncio.get_running_loop().run_in_executor(store._writing, store._drop_writer)
    with hidden(path), pytest.raises(StoreBusy, match="cannot be opened"):
        await keep(store, facts=facts(A, [1]))
    assert await keep(store, facts=facts(A, [1]))


@on_a_journal
async def test_a_refused_commit_leaves_the_connection_in_place(store: SqliteStore, path: Path) -> None:
    before = store._writer
    await keep(store, facts=facts(A, [1]))
    with pytest.raises(StoreRefused):
        await keep(store, facts=facts(A, [1]))
    assert store._writer is before
    assert await keep(store, facts=facts(A, [2]))


@on_a_journal
async def test_a_cancelled_commit_is_kept_whole_or_not_at_all(store: SqliteStore, path: Path) -> None:
    keys = [run_key(f"r{n}") for n in range(100)]
    commits = [
        asyncio.create_task(
            store.commit([Group(shard=0, epoch=1, facts=facts(key, [1, 2]), runs=[row(key.id)])])
        )
        for key in keys
    ]
    await commits[3]
    for commit in commits:
        commit.cancel()
    outcomes = await asyncio.gather(*commits, return_exceptions=True)
    assert any(isinstance(outcome, asyncio.CancelledError) for outcome in outcomes)
    assert await keep(store, facts=facts(A, [1])), "everything before it is over by now"
    for stored, outcome in zip(await store.load(0, keys), outcomes, strict=True):
        assert (len(stored.facts), stored.run is not None) in [(2, True), (0, False)]
        assert stored.facts or outcome != [True]


# Lists


def plan(cx: sqlite3.Connection, sql: str) -> list[str]:
    names = re.findall(r":(\w+)", sql)
    values: dict[str, None] | list[None] = dict.fromkeys(names) if names else [None] * sql.count("?")
    return [str(line[3]) for line in cx.execute(f"EXPLAIN QUERY PLAN {sql}", values)]


def walks(cx: sqlite3.Connection, lines: list[str]) -> list[str]:
    """The lines of a plan that read a whole table or index, or sort."""
    tables = {name for (name,) in cx.execute("SELECT tbl_name FROM sqlite_master")} | {*"rdelsn"}
    return [
        line
        for line in lines
        if "TEMP B-TREE" in line
        or ((found := re.match(r"SCAN (\w+)(?! VIRTUAL)", line)) and found[1] in tables)
    ]


LISTS = {
    name: getattr(sqlite_rows, name)
    for name in (
        "FACTS", "UNSETTLED", "STUCK", "DOCUMENT", "DOCUMENTS", "RUN", "COUNT_RUNS", "EXPIRED", "LOAD_FACTS",
        "LOAD_SNAPSHOTS", "LOAD_RUNS", "LOAD_STUCK", "EPOCHS", "TRIM_SNAPSHOTS", "DELETE_EVENTS", "FREE",
        "DELETE_LABELS", "PURGE_EVENTS", "PURGE_SNAPSHOTS", "PURGE_RUNS", "UNSETTLED_ENTITIES", "ENTITY_ROWS",
        "ENTITY_ROW", "FORGET_ENTITIES",
    )
}  # fmt: skip
FILTERS: dict[str, object] = {
    "workflow": "w",
    "status": "running",
    "started_after": 1.0,
    "started_before": 2.0,
    "label": ("k", "v"),
    "after": (1.0, "x"),
    "waiting_for": "approval",
}


def test_every_statement_goes_by_a_key_or_an_index(tmp_path: Path) -> None:
    path = tmp_path / "windlass.db"
    filled(path)
    with closing(sqlite3.connect(path)) as cx:
        assert walks(cx, plan(cx, "SELECT * FROM runs r WHERE error = ?")), "it would be seen"
        assert walks(cx, plan(cx, "SELECT * FROM events ORDER BY ?, at")), "it would be seen"
        for name, sql in LISTS.items():
            lines = plan(cx, sql)
            assert any(line.startswith("SEARCH") for line in lines), (name, lines)
            assert not walks(cx, lines), (name, lines)


@pytest.mark.parametrize("size", range(len(FILTERS) + 1))
def test_every_list_of_runs_walks_an_index_and_sorts_nothing(size: int, tmp_path: Path) -> None:
    path = tmp_path / "windlass.db"
    filled(path)
    exact = {"workflow": "workflow=?", "status": "status=?"}
    with closing(sqlite3.connect(path)) as cx:
        for names in itertools.combinations(FILTERS, size):
            query = RunQuery(**{name: FILTERS[name] for name in names})  # type: ignore[arg-type]
            lines = plan(cx, sqlite_lists.runs_statement(query)[0])
            assert not walks(cx, lines), (names, lines)
            runs = [line for line in lines if line.startswith("SEARCH r USING") and "INDEX" in line]
            labels = [line for line in lines if line.startswith("SEARCH l") and "id=?" not in line]
            # By a label, or by the rest, or by whichever is the shorter.
            assert bool(labels) == ("label" in names), (names, lines)
            narrow = {"waiting_for": "runs_waiting"} if "waiting_for" in names else exact
            assert bool(runs) == ("label" not in names or bool({*names} & {*narrow})), (names, lines)
            assert all(narrow[name] in line for name in names if name in narrow for line in runs), (
                names,
                lines,
            )
            assert all("key=? AND value=?" in line for line in labels), (names, lines)
            # A page far down does not read the pages above it.
            if {"started_after", "started_before", "after"} & {*names}:
                assert all("started_at" in line for line in runs + labels), (names, lines)


def many(path: Path, rows: list[RunRow]) -> None:
    """A journal with these rows, written at once."""

    async def fill() -> None:
        store = await SqliteStore.open(path)
        await store.claim([0])
        await keep(store, runs=rows)
        await store.close()

    asyncio.run(fill())


LONG = {
    "a rare status of a huge workflow": RunQuery(workflow="nightly", status="failed", limit=10),
    "a status nobody has": RunQuery(workflow="nightly", status="paused", limit=10),
    "a page far down before a moment": RunQuery(started_before=1e9, after=(50.0, "r00050"), limit=10),
    "the same of a label": RunQuery(label=("team", "a"), started_before=1e9, after=(50.0, "x"), limit=10),
    "a rare status of a common label": RunQuery(label=("team", "a"), status="failed", limit=10),
    "a rare label of a common status": RunQuery(label=("who", "b"), status="succeeded", limit=10),
    "those that wait": RunQuery(waiting_for="any", limit=10),
    "those of a huge workflow that wait": RunQuery(workflow="nightly", waiting_for="approval", limit=10),
    "those of a common label that wait": RunQuery(label=("team", "a"), waiting_for="approval", limit=10),
    "those that wait for what nobody sends": RunQuery(waiting_for="signal", limit=10),
    "a rare label of a huge workflow": RunQuery(label=("who", "b"), workflow="nightly", limit=10),
}


def test_no_list_reads_all_runs_to_find_a_few(tmp_path: Path) -> None:
    # Given many runs that are nearly all alike
    path, count = tmp_path / "windlass.db", 20_000
    ends = {7: "failed", 9_000: "failed", 19_999: "failed"}
    rows = [
        row(
            f"r{n:05}",
            float(n),
            status=ends.get(n, "succeeded"),
            labels={"team": "a", "who": "b"} if n == 500 else {"team": "a"},
            waiting_for="approval" if n in (7, 8) else "",
        )
        for n in range(count)
    ]
    many(path, rows)
    with closing(sqlite3.connect(path)) as cx:
        steps = 0

        def step() -> int:
            nonlocal steps
            steps += 1
            return 0

        cx.set_progress_handler(step, 1)
        cx.execute("SELECT count(*) FROM runs r WHERE error = ?", ("",)).fetchall()
        assert steps > 4 * count, "a walk over all would be seen"
        # When a few of them are asked for
        for name, query in LONG.items():
            steps = 0
            found = cx.execute(*sqlite_lists.runs_statement(query)).fetchall()
            # Then the others are not read, but for so many as are counted to choose the shorter way.
            assert steps < 10 * sqlite_lists.FEW, (name, steps)
            assert bool(found) == ("nobody" not in name), name


@pytest.mark.parametrize("few", [0, 3, 1_000_000])
def test_both_ways_to_find_labelled_runs_find_the_same(
    few: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given a way that is always taken, or a border in the middle
    monkeypatch.setattr(sqlite_lists, "FEW", few)
    path = tmp_path / "windlass.db"
    rows = [
        row(
            f"r{n % 7}{n}",
            float(n // 2),
            workflow=("w", "v")[n % 2],
            status=("running", "failed")[n % 3 == 0],
            labels={"k": "v"} if n % 5 else {},
        )
        for n in range(60)
    ]
    many(path, rows)
    newest = sorted(rows, key=lambda one: (one.started_at, one.key.id), reverse=True)
    names = ("workflow", "status", "started_after", "started_before", "after")
    wide = {**FILTERS, "started_after": 3.0, "started_before": 26.0, "after": (20.0, "r3")}
    with closing(sqlite3.connect(path)) as cx:
        for size in range(len(names) + 1):
            for chosen in itertools.combinations(names, size):
                given = {name: wide[name] for name in chosen}
                query = RunQuery(label=("k", "v"), limit=9, **given)  # type: ignore[arg-type]
                # When runs with a label and more are asked for
                found = cx.execute(*sqlite_lists.runs_statement(query)).fetchall()
                # Then it is the newest of those that fit.
                wanted = [one.key.id for one in newest if fits(one, query)][:9]
                assert [one[1] for one in found] == wanted, chosen


def fits(one: RunRow, query: RunQuery) -> bool:
    return (
        (query.label is None or query.label in one.labels.items())
        and query.workflow in (None, one.workflow)
        and query.status in (None, one.status)
        and (query.started_after is None or one.started_at > query.started_after)
        and (query.started_before is None or one.started_at < query.started_before)
        and (query.after is None or (one.started_at, one.key.id) < query.after)
    )
