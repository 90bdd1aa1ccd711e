"""Random lives of two journals, one in memory and one on disk: whatever is asked, both answer the same."""

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.journal import Place, entity, fact, line, notice, row, snapshot, stuck
from windlass.core import sharding
from windlass.core.names import KINDS, Key, Kind, limit_key, run_key, workflow_key
from windlass.journal import (
    Document,
    EntityRow,
    Fact,
    Group,
    LogLine,
    Notice,
    RunQuery,
    RunRow,
    Store,
    StoreRefused,
)
from windlass.journal.memory import MemoryStore

SHARDS = 3
OPERATIONS = 750
NAMESPACES = ("default", "other")
RUNS = [run_key(f"run-{n}", namespace) for n in range(12) for namespace in NAMESPACES]
WORKFLOWS = [workflow_key(f"w{n}", namespace) for n in range(3) for namespace in NAMESPACES]
LIMITS = [limit_key(f"l{n}", namespace) for n in range(3) for namespace in NAMESPACES]
STATUSES = ("running", "succeeded", "failed")

Question = Callable[[Store], Awaitable[Any]]
# What must have been answered with something, at least once in every life; a life in which all is refused
# would show nothing.
EXPECTED = {
    "claim", "load", "facts", "unsettled", "stuck", "document", "documents", "runs", "run", "count_runs",
    "count_entities", "entities", "entity_row", "entity_rows", "notices",
    "logs", "last_logs", "log_size", "expired", "setting", "reopen", "commit", "fenced", "refused",
    "half fenced",
    *(f"kept {kind}" for kind in (
        "facts", "runs", "documents", "snapshots", "logs", "deletions", "stuck", "freed", "purged", "notices",
        "delivered", "entities", "entities_gone",
    )),
}  # fmt: skip


def shard_of(key: Key) -> int:
    return sharding.of(key.id, SHARDS)


class Life:
    def __init__(self, seed: int, place: Place) -> None:
        self.chance = random.Random(seed)
        self.place = place
        self.memory = MemoryStore()
        self.epochs = dict.fromkeys(range(SHARDS), 0)
        self.last: Counter[Key] = Counter()  # the number of each entity's last event
        self.last_line: Counter[Key] = Counter()
        self.seen: Counter[str] = Counter()

    async def play(self) -> None:
        self.store = await self.place.open()
        kinds = [self.claim, self.commit, self.ask, self.reopen]
        for _ in range(OPERATIONS):
            (kind,) = self.chance.choices(kinds, weights=[1, 30, 30, 1])
            await kind()
        await self.store.close()
        missing = {what for what in EXPECTED if not self.seen[what]}
        assert not missing, f"never happened: {missing}"

    async def both(self, question: Question) -> Any:
        """The answer, which must be the same; a refusal is an answer."""
        answers = []
        for store in (self.memory, self.store):
            try:
                answers.append(await question(store))
            except StoreRefused:
                answers.append(StoreRefused)
        assert answers[0] == answers[1]
        return answers[0]

    async def reopen(self) -> None:
        await self.store.close()
        self.store = await self.place.open()
        self.seen["reopen"] += 1

    async def claim(self) -> None:
        shards = self.chance.choices(range(SHARDS), k=self.chance.randint(1, 3))
        answer: dict[int, int] = await self.both(lambda store: store.claim(shards))
        self.epochs |= answer
        self.seen["claim"] += 1

    async def commit(self) -> None:
        groups = [self.group() for _ in range(self.chance.choice([1, 1, 2, 5]))]
        answer = await self.both(lambda store: store.commit(groups))
        if answer is StoreRefused:
            self.seen["refused"] += 1
            return
        self.seen["commit"] += all(answer)
        self.seen["fenced"] += not any(answer)
        self.seen["half fenced"] += 0 < sum(answer) < len(answer)
        for group, kept in zip(groups, answer, strict=True):
            if kept:
                self.note(group)

    def note(self, group: Group) -> None:
        for one in group.facts:
            self.last[one.key] = max(self.last[one.key], one.seq)
        for what in EXPECTED:
            kept, _, kind = what.partition(" ")
            if kept == "kept" and getattr(group, kind):
                self.seen[what] += 1

    def group(self) -> Group:
        shard = self.chance.randrange(SHARDS)
        runs = [key for key in RUNS if shard_of(key) == shard]
        workflows = [key for key in WORKFLOWS if shard_of(key) == shard]
        others = workflows + [key for key in LIMITS if shard_of(key) == shard]
        entities = runs + workflows
        stale = self.chance.random() < 0.1
        return Group(
            shard=shard,
            epoch=self.epochs[shard] - stale,
            facts=[one for key in self.some(entities) for one in self.facts(key)],
            runs=[self.row(key) for key in self.some(runs)],
            documents=[self.document(key) for key in self.some(workflows)],
            snapshots=[snapshot(key, self.chance.randint(0, 9)) for key in self.some(entities, 0.3)],
            logs=[one for key in self.some(runs, 0.5) for one in self.lines(key)],
            deletions=[(key, self.chance.randint(0, 9)) for key in self.some(entities, 0.1)],
            stuck=[stuck(key, float(self.chance.randint(0, 5))) for key in self.some(runs + others, 0.2)],
            freed=self.some(runs + others, 0.2),
            purged=self.some(runs, 0.1),
            notices=[self.notice() for _ in range(self.chance.choice([0, 0, 0, 1, 3]))],
            delivered=[f"n{self.chance.randrange(9)}" for _ in range(self.chance.choice([0, 0, 0, 1, 2]))],
            entities=[self.entity(key) for key in self.some(others, 0.4)],
            entities_gone=self.some(others, 0.1),
        )

    def entity(self, key: Key) -> EntityRow:
        wake_at = self.chance.choice([None, self.chance.random()])
        return entity(key, wake_at, awake=self.chance.random() < 0.5, text=f"ü {self.chance.random()}")

    def notice(self) -> Notice:
        ident = f"n{self.chance.randrange(9)}"
        return notice(ident, float(self.chance.randint(0, 3)), text=f"ü {self.chance.random()}")

    def some(self, keys: list[Key], likely: float = 0.6) -> list[Key]:
        """A few of them, perhaps one of them twice."""
        return self.chance.choices(keys, k=self.chance.randint(1, 3)) if self.chance.random() < likely else []

    def facts(self, key: Key) -> list[Fact]:
        again = self.chance.random() < 0.05
        first = self.last[key] + self.chance.choice([1, 1, 1, 2]) - again
        self.last[key] = first + self.chance.randint(0, 3)
        at = self.chance.random() * 1e9
        return [fact(key, seq, at=at, step="ü") for seq in range(first, self.last[key] + 1)]

    def lines(self, key: Key) -> list[LogLine]:
        again = self.chance.random() < 0.05
        first = max(1, self.last_line[key] + 1 - again)
        self.last_line[key] = first + self.chance.randint(0, 3)
        step = self.chance.choice("ab")
        return [line(key, n, "ü" * n, step=step) for n in range(first, self.last_line[key] + 1)]

    def row(self, key: Key) -> RunRow:
        status = self.chance.choice(STATUSES)
        given = row(
            key.id,
            float(self.chance.randint(0, 4)),
            namespace=key.namespace,
            workflow=f"w{self.chance.randrange(3)}",
            status=status,
            ended_at=None if status == "running" else float(self.chance.randint(5, 9)),
            settled=status != "running" and self.chance.random() < 0.8,
            priority=self.chance.randint(-3, 3),
            labels={label: str(self.chance.randrange(2)) for label in "ab" if self.chance.random() < 0.5},
            asleep=self.chance.random() < 0.5,
            wake_at=self.chance.choice([None, 0.1]),
            waiting_for=self.chance.choice(["", "", "", "approval", "signal", None]),
        )
        if self.chance.random() < 0.02:  # which no store can hold
            return msgspec.structs.replace(given, error="\ud800")
        return given

    def document(self, key: Key) -> Document:
        return Document(
            key=key,
            version=self.chance.randint(1, 4),
            hash=f"{self.chance.random()}",
            body=b'{"steps":{}}',
            at=self.chance.random(),
            created_at=1.0,
            deleted=self.chance.random() < 0.3,
            text=self.chance.choice(["", "", "# why\n", "# otherwise 汉\n"]),
        )

    async def ask(self) -> None:
        name, question = self.question()
        answer = await self.both(question)
        if name == "load":
            answer = [one for one in answer if one.facts and one.run and one.snapshot]
        self.seen[name] += bool(answer)

    def question(self) -> tuple[str, Question]:
        chance = self.chance
        shard, number = chance.randrange(SHARDS), chance.randint(0, 8)
        namespace = chance.choice(NAMESPACES)
        run, workflow = chance.choice(RUNS), chance.choice(WORKFLOWS)
        keys = chance.choices(RUNS + WORKFLOWS, k=number)
        query = self.query()
        version, step = chance.choice([None, 1, 2, 3, 4]), chance.choice([None, None, "a", "b"])
        of_run, of_workflow = shard_of(run), shard_of(workflow)
        kind: Kind = chance.choice(KINDS[1:])
        from_id = chance.choice(["", "l1", "w0"])
        after = chance.choice([None, (float(number % 4), f"n{number}")])
        questions: list[tuple[str, Question]] = [
            ("load", lambda store: store.load(shard, keys)),
            ("load", lambda store: store.load(shard, keys)),
            ("facts", lambda store: store.facts(of_run, run, after=number, limit=5)),
            ("logs", lambda store: store.logs(of_run, run, after=number, limit=5, step=step)),
            ("logs", lambda store: store.logs(of_run, run, after=0, limit=number, step=step)),
            ("last_logs", lambda store: store.last_logs(of_run, run, limit=5, step=step)),
            ("log_size", lambda store: store.log_size(of_run, run)),
            ("unsettled", lambda store: store.unsettled(shard)),
            ("notices", lambda store: store.notices(shard, limit=5, after=after)),
            ("stuck", lambda store: store.stuck(namespace)),
            ("document", lambda store: store.document(of_workflow, workflow, version)),
            ("documents", lambda store: store.documents(namespace)),
            ("runs", lambda store: store.runs(query)),
            ("runs", lambda store: store.runs(query)),
            ("run", lambda store: store.run(of_run, run)),
            ("count_runs", lambda store: store.count_runs(namespace, workflow.id, number)),
            ("count_entities", lambda store: store.count_entities()),
            ("entities", lambda store: store.entities(shard, number)),
            ("entity_row", lambda store: store.entity_row(of_workflow, workflow)),
            ("entity_rows", lambda store: store.entity_rows(kind, namespace, after=from_id, limit=number)),
            ("expired", lambda store: store.expired(shard, float(number + 4), 3)),
            ("setting", lambda store: store.setting(f"name-{number}", str(len(keys)))),
        ]
        return chance.choice(questions)

    def query(self) -> RunQuery:
        maybe = self.chance.choice
        return RunQuery(
            namespace=maybe(NAMESPACES),
            workflow=maybe([None, None, "w1"]),
            status=maybe([None, None, *STATUSES]),
            started_after=maybe([None, None, 1.0]),
            started_before=maybe([None, None, 3.0]),
            label=maybe([None, None, ("a", "1"), ("b", "0")]),
            waiting_for=maybe([None, None, "approval", "signal", "any"]),
            limit=maybe([1, 3, 100]),
            after=maybe([None, None, (3.0, "run-5"), (2.0, "run-3")]),
        )


LIVES = [("sqlite", seed) for seed in range(15)] + [("postgres", seed) for seed in range(15, 21)]


@pytest.mark.parametrize(("adapter", "seed"), LIVES)
def test_both_journals_answer_everything_alike(adapter: str, seed: int, tmp_path: Path) -> None:
    asyncio.run(Life(seed, Place(adapter, tmp_path)).play())
