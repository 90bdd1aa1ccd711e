"""The slow suite of the fleet: workers and nodes are killed at random while two thousand tasks are done.

    python -m tests.fleet.chaos [--workers 20] [--runs 500] [--seconds 600] [--seed 1]

Three nodes over a PostgreSQL, workers that know all of them, and users who ask the next node when one is not
there. At the end the journal, its views and the marks of the tasks are laid beside each other, and a table
says what was found. It ends by itself, and fails if a promise was not kept.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests import postgres
from tests.cluster.chaos import say
from tests.cluster.checker import Violation, check
from tests.cluster.looking import passes
from tests.cluster.machines import Cluster, a_cluster
from tests.fleet import tasks
from tests.fleet.clients import DEADLINE_S, Users
from tests.fleet.hands import Hand, ending
from tests.fleet.hindsight import Death, look_back
from tests.waiting import wait_until
from windlass.own_postgres import OwnPostgres

Rows = list[tuple[str, str]]

NAMES = ("a", "b", "c")
SLOTS = 3
SHARE_MIN = 0.999
PAUSE_S = (1.0, 5.0)  # between two blows
AWAY_S = (0.0, 4.0)  # until the victim is started again
LAST_S = 120.0  # for all that is still open when the last run was started
CHECK_S = 300.0
# Random kills may hit the same step again and again: it is the number that is being tried here, not poison.
OPTIONS = ("--deaths-max", "100", "--worker-heartbeat", "2s")


@dataclass
class Fleet:
    """A cluster, its workers, and those who ask things of it."""

    cluster: Cluster
    hands: dict[str, Hand]
    users: Users
    chance: random.Random
    deaths: list[Death] = field(default_factory=list)
    blows: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    _away: set[str] = field(default_factory=set)  # workers that will be started again
    _due: list[tuple[float, Callable[[], None]]] = field(default_factory=list)

    def play(self, seconds: float, pause_s: tuple[float, float] = PAUSE_S) -> None:
        """Blow after blow; whoever was killed is started again a little later."""
        end = time.monotonic() + seconds
        blow_at, told_at = time.monotonic() + pause_s[0], time.monotonic()
        while time.monotonic() < end:
            passes(0.05)
            self._start_again()
            if time.monotonic() >= blow_at:
                self._blow()
                blow_at = time.monotonic() + self.chance.uniform(*pause_s)
            if time.monotonic() - told_at > 30:
                told_at = time.monotonic()
                say(f"{dict(self.blows)}; {self.users.open_now} runs are open, {len(self.users.ended)} ended")
        wait_until(self._all_started, 60.0)

    def _blow(self) -> None:
        kinds = (self.kill_worker, self.kill_node, self.kill_both, self.kill_three, self.dismiss)
        (blow,) = self.chance.choices(kinds, (60, 18, 8, 6, 8))
        blow()

    def kill_worker(self) -> None:
        hands = [hand for hand in self.hands.values() if hand.runs]
        if hands:
            hand = self.chance.choice(hands)
            self._died(hand.name, "workers killed")
            hand.kill()
            self._start_later(hand)

    def kill_node(self) -> None:
        """Any of them, but not the last that serves."""
        running = [machine for machine in self.cluster if machine.runs]
        victim = self.chance.choice(running)
        if any(machine.ready() for machine in running if machine is not victim):
            self._died(victim.name, "nodes killed", node=True)
            victim.kill()
            self._later(victim.start)

    def kill_both(self) -> None:
        self.kill_worker()
        self.kill_node()

    def kill_three(self) -> None:
        for _ in range(3):
            self.kill_worker()

    def dismiss(self) -> None:
        """One fewer, politely; later one more."""
        hands = [hand for hand in self.hands.values() if hand.runs]
        if hands:
            hand = self.chance.choice(hands)
            self._died(hand.name, "workers told to stop", told=True)
            hand.term()
            self._start_later(hand)

    def _died(self, name: str, kind: str, *, node: bool = False, told: bool = False) -> None:
        self.deaths.append(Death(time.time(), name, node, told))
        self.blows[kind] += 1

    def _later(self, start: Callable[[], None]) -> None:
        self._due.append((time.monotonic() + self.chance.uniform(*AWAY_S), start))

    def _start_later(self, hand: Hand) -> None:
        if hand.name not in self._away:  # else it was told to stop, and has been killed since
            self._away.add(hand.name)
            self._later(lambda: self._start_hand(hand))

    def _start_hand(self, hand: Hand) -> None:
        if hand.runs:
            return self._later(lambda: self._start_hand(hand))  # it still has something to finish
        self._away.remove(hand.name)
        code = hand.wait()
        if code not in (0, -9, -15):  # -15: it had only just been started, and could not listen yet
            self.faults.append(f"{hand.name} was told to stop, and ended with {code}")
        hand.start()

    def _start_again(self) -> None:
        now, due = time.monotonic(), self._due
        self._due = [later for later in due if later[0] > now]
        for at, start in due:
            if at <= now:
                start()

    def _all_started(self) -> bool:
        self._start_again()
        return not self._due

    # Its end.

    def judge(self) -> Rows:
        """What was found, as rows of a table; what should not be is in `faults`."""
        for what in (*self.cluster, *self.hands.values()):
            if not what.runs:
                self.faults.append(f"{what.name} is not running: it ended by itself")
        runs = len(self.users.acknowledged)
        return [
            ("runs acknowledged, tasks", f"{runs}, {runs * tasks.TASKS}"),
            *((what, str(times)) for what, times in sorted(self.blows.items())),
            *self._journal(),
            *self._executions(),
            *self._requests(),
        ]

    def _journal(self) -> Rows:
        """Nothing that was acknowledged is lost, everything ends, and what has ended is not begun again."""
        cluster, users = self.cluster, self.users
        rows: Rows = []
        checking = check(
            cluster.place, shards=cluster.shards, acknowledged=users.acknowledged, marks=cluster.marks
        )
        try:
            account = cluster.stage.do(checking, CHECK_S)
            rows.append(("acknowledged and lost; ended and begun again", "0; 0"))
            rows.append(("events checked, ends of steps", f"{account.events}, {account.ends}"))
        except Violation as violation:
            self.faults.append(str(violation))
        for status, count in cluster.rows("SELECT status, count(*) FROM runs GROUP BY 1"):
            rows.append((f"runs that {status}", str(count)))
            if status != "succeeded":
                self.faults.append(f"{count} runs are {status}")
        return rows

    def _executions(self) -> Rows:
        """Each was where the view says, at one place at a time, and given up only if its worker went."""
        found = look_back(self.cluster, self.deaths)
        self.faults += found.faults
        return [
            ("executions, attempts in the view", f"{found.executions}, {found.attempts}"),
            ("attempts lost", str(found.lost)),
            ("executions cut short by a kill", str(found.cut_short)),
            ("executions that outlived the death of a node", str(found.outlived)),
            ("attempts executed twice, one after the other", str(found.repeated)),
            ("faults in marks, view and losses", str(len(found.faults))),
        ]

    def _requests(self) -> Rows:
        users = self.users
        ordered = sorted(users.answered_s)
        at = [ordered[int(share * (len(ordered) - 1))] for share in (0.5, 0.99, 0.999, 1)]
        if users.share < SHARE_MIN:
            self.faults.append(f"only {users.share:.3%} of requests were answered in time: {users.late[:5]}")
        asked = len(ordered) + len(users.late)
        return [
            (f"requests answered within {DEADLINE_S:g} s", f"{len(ordered)} of {asked} ({users.share:.4%})"),
            ("seconds: p50, p99, p99.9, max", ", ".join(f"{value:.3f}" for value in at)),
            ("tries that failed, and were made elsewhere", str(len(users.failed))),
        ]


@contextmanager
def a_fleet(
    folder: Path,
    *,
    workers: int,
    runs: int,
    seconds: float,
    seed: int,
    mix: Sequence[tuple[str, int]] = tasks.MIX,
    database: str | None = None,
) -> Iterator[Fleet]:
    """Ready: three nodes, so many workers, and users who begin at once."""
    with a_cluster(folder, *NAMES, options=OPTIONS, quiet=True, database=database) as cluster:
        cluster.apply(*tasks.documents(cluster.marks))
        urls = [machine.url for machine in cluster]
        options = ("--slots", str(SLOTS), "--capabilities", tasks.NEEDED, "--app", str(cluster.app))
        hands = [Hand(f"w{n}", folder / "hands", urls, *options) for n in range(workers)]
        users = Users(
            cluster,
            runs,
            lambda: [(machine.name, machine.url) for machine in cluster],
            reads_per_s=10,
            mix=mix,
            seed=seed,
            total=runs,
            over_s=seconds,
        )
        with ending(hands):
            for hand in hands:
                hand.start()
            for hand in hands:
                hand.welcome()
            users.start()
            yield Fleet(cluster, {hand.name: hand for hand in hands}, users, random.Random(seed))


def show(rows: Rows) -> None:
    say("")
    for name, value in rows:
        say(f"  {name:<56}{value}")


def run(options: argparse.Namespace) -> bool:
    folder = postgres.folder()
    server = OwnPostgres(folder / "postgres", fsync=False)
    server.start()
    try:
        with a_fleet(
            folder / "fleet",
            workers=options.workers,
            runs=options.runs,
            seconds=options.seconds,
            seed=options.seed,
            database=server.url(),
        ) as fleet:
            began = time.monotonic()
            fleet.play(options.seconds)
            wait_until(lambda: fleet.users.done, LAST_S)
            fleet.users.stop(LAST_S)
            rows = fleet.judge()
            show([*rows, ("seconds in all", f"{time.monotonic() - began:.0f}")])
            for fault in fleet.faults:
                say(f"FAULT: {fault}")
            return not fleet.faults
    finally:
        server.stop("immediate")
        if not options.keep:
            shutil.rmtree(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--workers", type=int, default=20)
    parser.add_argument("--runs", type=int, default=500, help="of four tasks each")
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", action="store_true", help="leave the folder with all logs where it is")
    sys.exit(0 if run(parser.parse_args()) else 1)


if __name__ == "__main__":
    main()
