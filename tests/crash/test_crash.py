"""Two hundred runs, ten crashes: what was acknowledged ends, what is recorded as ended is not done again."""

import json
import random
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from urllib.parse import quote

from tests.cli.engines import Engine, engine, serving
from tests.waiting import wait_until
from windlass.core.errors import Unavailable, Unknown
from windlass.core.task import Json
from windlass.sdk.client import Client

RUNS = 200
CRASHES = 10
BURST = 8  # runs that are being started when the engine is killed
CLIENTS = 4
MARKING_STEPS = 3  # of the five
SEED = 20_261_115

# A line is on its way to the file before anything else happens: however the step ends, it was begun.
STEPS = """
import os, time

def mark(ctx, file, ms):
    line = f"{ctx.run} {ctx.step} {ctx.attempt}\\n".encode()
    handle = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    os.write(handle, line)
    os.close(handle)
    time.sleep(ms / 1000)
"""
Step = tuple[str, str]  # run, step


@dataclass
class Seen:
    """What is on disk while no engine is there (the journal by plain SQL, the marks of the steps), and what
    the clients know by then."""

    events: dict[tuple[str, int], tuple[str, str]]  # (run, seq) → type, body
    runs: dict[str, str]  # run → status
    epochs: dict[int, int]
    ended: Counter[Step]
    marks: Counter[Step]
    acknowledged: set[str]

    @property
    def at_work(self) -> set[str]:
        return {run for run, status in self.runs.items() if status == "running"}


@dataclass
class Story:
    """Where the engine is now, and what the clients know."""

    data: Path
    app: Path
    url: str = ""
    acknowledged: set[str] = field(default_factory=set)
    given_up: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _last: tuple[int, Engine] | None = None

    @property
    def marks(self) -> Path:
        return self.app / "marks.txt"

    @property
    def document(self) -> bytes:
        file = str(self.marks)
        echo = 'echo "$WINDLASS_RUN $WINDLASS_STEP $WINDLASS_ATTEMPT" >> "$0"'
        steps: dict[str, Json] = {
            "begin": {"kind": "noop"},
            "quick": {"kind": "python", "with": {"call": "steps:mark", "args": {"file": file, "ms": 3}}},
            "slow": {"kind": "python", "with": {"call": "steps:mark", "args": {"file": file, "ms": 50}}},
            "program": {"kind": "shell", "with": {"argv": ["sh", "-c", echo, file]}},
            "end": {"kind": "noop"},
        }
        for before, after in pairwise(steps):
            steps[after]["needs"] = [before]
        return json.dumps({"id": "chain", "steps": steps}).encode()

    def insist(self, run: str) -> None:
        """Ask until there is an answer: the same run id again is always safe."""

        def started() -> bool:
            if self.given_up.is_set():
                return True
            try:
                with Client(self.url, timeout_s=5.0, patience_s=0.0) as client:
                    client.start("chain", run_id=run, context={"asked": run})
            except (Unavailable, Unknown):
                return False
            self._note(run)
            return True

        wait_until(started, 60)

    def kill_after(self, starts: int, up: Engine) -> None:
        """Whoever hears that one of the next runs was started kills the engine at that very moment."""
        with self._lock:
            self._last = (len(self.acknowledged) + starts, up)

    def _note(self, run: str) -> None:
        with self._lock:
            self.acknowledged.add(run)
            if self._last is not None and len(self.acknowledged) >= self._last[0]:
                self._last[1].process.kill()  # only that one pid, and no word of warning
                self._last = None

    def look(self) -> Seen:
        with self._lock:
            acknowledged = set(self.acknowledged)
        with closing(self.journal()) as cx:
            rows = cx.execute(
                "SELECT entity, seq, type, body FROM events WHERE entity LIKE 'run/%'"
            ).fetchall()
            runs = dict(cx.execute("SELECT id, status FROM runs").fetchall())
            epochs = dict(cx.execute("SELECT shard, epoch FROM shards").fetchall())
            ends = cx.execute(
                "SELECT entity, body ->> '$.step' FROM events WHERE type = 'StepSucceeded'"
            ).fetchall()
        return Seen(
            events={(_id(entity), seq): (type, body) for entity, seq, type, body in rows},
            runs=runs,
            epochs=epochs,
            ended=Counter((_id(entity), step) for entity, step in ends),
            marks=self.marked(),
            acknowledged=acknowledged,
        )

    def marked(self) -> Counter[Step]:
        lines = self.marks.read_text().splitlines() if self.marks.exists() else []
        return Counter((run, step) for run, step, _ in map(str.split, lines))

    def has_made(self, marks: int) -> bool:
        return self.marked().total() >= marks

    def have_ended(self, runs: int) -> bool:
        with closing(self.journal()) as cx:
            (ended,) = cx.execute("SELECT count(*) FROM runs WHERE settled = 1").fetchone()
        return bool(ended >= runs)

    def journal(self) -> sqlite3.Connection:
        return sqlite3.connect(f"file:{quote(str(self.data / 'windlass.db'))}?mode=ro", uri=True, timeout=10)


def _id(entity: str) -> str:
    return entity.split("/", 2)[2]


@contextmanager
def an_engine(story: Story) -> Iterator[Engine]:
    options = ["--data", str(story.data), "--app", str(story.app), "--json", "--port", "0", "--slots", "8"]
    with engine(*options, cwd=story.app) as up:
        story.url = up.ready()["url"]
        yield up


@contextmanager
def clients(story: Story) -> Iterator[Callable[[list[str]], None]]:
    """What starts runs, a few at a time, while the block goes on; at its end all are acknowledged."""
    asking: list[Future[None]] = []
    with ThreadPoolExecutor(CLIENTS) as pool:
        try:
            yield lambda runs: asking.extend(pool.submit(story.insist, run) for run in runs)
            for asked in asking:
                asked.result(60)
        finally:
            story.given_up.set()


def check_nothing_is_lost(before: Seen, after: Seen) -> None:
    """What was on disk at one crash is still there at the next, and nobody writes under an old epoch."""
    assert before.events.items() <= after.events.items()
    assert before.runs.keys() <= after.runs.keys()
    assert all(after.epochs[shard] > epoch for shard, epoch in before.epochs.items())


def check_nothing_is_done_again(before: Seen, after: Seen) -> None:
    again = [step for step in before.ended if after.marks[step] != before.marks[step]]
    assert again == [], f"recorded as ended, and yet done again: {again}"


def check_the_history_is_whole(seen: Seen) -> None:
    seqs: dict[str, list[int]] = {}
    for run, seq in sorted(seen.events):
        seqs.setdefault(run, []).append(seq)
    assert all(found == list(range(1, len(found) + 1)) for found in seqs.values())
    assert set(seen.ended.values()) == {1}


def test_every_acknowledged_run_ends_and_no_ended_step_runs_again_over_ten_crashes(tmp_path: Path) -> None:
    app = tmp_path / "app"
    app.mkdir()
    (app / "steps.py").write_text(STEPS)
    story = Story(tmp_path / "data", app)
    chance = random.Random(SEED)
    runs = [f"run-{n:03}" for n in range(RUNS + CRASHES * BURST)]
    # A moment is counted in work done, not in time: so ten of them fall into any machine's run of it.
    moments = sorted(chance.sample(range(5, MARKING_STEPS * RUNS), CRASHES))
    crashes: list[Seen] = []
    with an_engine(story) as up, Client(story.url) as client:
        client.apply("chain", story.document, "application/json")
        assert up.stop() == 0
    with clients(story) as start:
        # Given two hundred runs in flight
        start(runs[:RUNS])
        # When the engine is killed ten times while more are started, and started again on the same data
        for n, moment in enumerate(moments):
            with an_engine(story) as up:
                wait_until(partial(story.has_made, moment), 60)
                story.kill_after(chance.randint(1, BURST), up)
                start(runs[RUNS + n * BURST :][:BURST])
                up.wait()
            crashes.append(story.look())
            # Then what was acknowledged is there,
            assert crashes[-1].acknowledged <= crashes[-1].runs.keys()
        with an_engine(story):
            wait_until(partial(story.have_ended, len(runs)), 60)
            with Client(story.url) as client:
                shown = {run["id"]: run["status"] for run in client.runs(limit=1000)["items"]}
    # every run has ended as it should,
    assert story.acknowledged == set(runs)
    assert shown == dict.fromkeys(runs, "succeeded")
    # and nothing that was recorded before a crash was lost or done again after it.
    last = story.look()
    check_the_history_is_whole(last)
    for seen in crashes:
        assert seen.at_work, "nothing was in flight: this crash proves nothing"
        check_the_history_is_whole(seen)
        check_nothing_is_done_again(seen, last)
    for before, after in pairwise([*crashes, last]):
        check_nothing_is_lost(before, after)
    assert last.marks.total() > MARKING_STEPS * len(runs), "no step was cut off: the crashes prove nothing"


def test_the_data_of_a_killed_engine_is_free_for_the_next_one(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serving(data) as (first, _):
        # Given a second engine that was refused while the first one lived
        with engine("--data", str(data), "--port", "0", cwd=tmp_path) as second:
            assert second.wait() == 1
        assert f"process {first.pid}" in second.says
        # When the first one is killed
        first.process.kill()
        first.wait()
    # Then the next one has the data at once.
    with serving(data) as (third, client):
        assert client.ready()
        assert third.stop() == 0
