"""The slow suite: a cluster under load, and everything that can happen to it, again and again.

    python -m tests.cluster.chaos [--kills 50] [--runs 1000] [--asleep 100000]

Three nodes over a PostgreSQL of their own; runs that have work out, and runs that sleep. Nodes are killed,
frozen, told to stop and cut off, the database is restarted; meanwhile clients go on. At the end the journal
is checked, and a table says how long everything took. It ends by itself, and fails if a bound was not kept.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from aiohttp import web

from tests import postgres
from tests.cluster import asleep
from tests.cluster.asking import API, post
from tests.cluster.checker import Violation, check
from tests.cluster.hindsight import Death, look_back
from tests.cluster.load import Load, spread_over
from tests.cluster.machines import Cluster, Machine, a_cluster
from tests.waiting import wait_until
from windlass.own_postgres import Mode, OwnPostgres

NAMES = ("a", "b", "c")
TIMES = {
    "kills": 50,
    "freezes": 10,
    "dozes": 3,
    "blinks": 5,
    "doubles": 2,
    "outages": 1,
    "stings": 2,
    "rolls": 1,
    "restarts": 2,
    "cuts": 5,
    "parts": 2,
}
STINGS = 10
STING = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE application_name LIKE 'windlass%' AND application_name <> 'windlass test' AND random() < 0.3"
)
SHARDS = 100
SLOTS = 600
MIX = (("hold", 16), ("chain", 2), ("one", 2), ("nap", 4), ("shell", 1))
HOLD_S = (10.0, 50.0)  # how long a task stays out
KILLED_S, TASKS_S, SILENT_S = (
    2.0,
    5.0,
    6.0,
)  # bounds: runs go on, tasks of a dead worker too; frozen or cut off
JOINED_S, MOVED_S = 5.0, 30.0
PATIENCE_S = 60.0
CHECK_S = 600.0


@dataclass
class Figures:
    """How long something took, each time."""

    name: str
    bound_s: float | None
    took_s: list[float] = field(default_factory=list)

    def row(self) -> str:
        ordered = sorted(self.took_s)
        if not ordered:
            return f"{self.name:<52}{'-':>6}"
        at = [ordered[min(len(ordered) - 1, int(share * len(ordered)))] for share in (0, 0.5, 0.9, 1)]
        cells = "".join(f"{value:>8.2f}" for value in at)
        late = sum(value > self.bound_s for value in ordered) if self.bound_s is not None else 0
        bound = "" if self.bound_s is None else f"{self.bound_s:>8.1f}"
        return f"{self.name:<52}{len(ordered):>6}{cells}{bound}{f'   {late} late' if late else ''}"

    @property
    def late(self) -> bool:
        return self.bound_s is not None and any(value > self.bound_s for value in self.took_s)


@dataclass
class Chaos:
    cluster: Cluster
    load: Load
    server: OwnPostgres
    chance: random.Random
    runs: int
    figures: dict[str, Figures] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    deaths: list[Death] = field(default_factory=list)

    def note(self, name: str, bound_s: float | None, took_s: float) -> None:
        self.figures.setdefault(name, Figures(name, bound_s)).took_s.append(took_s)

    # What happens.

    def kill(self) -> None:
        self._steady()
        victim = self._victim()
        self._dies(victim, killed=True)
        run, other = self.cluster.id_on(victim.name), self.cluster.others(victim.name)[0]
        began = time.monotonic()
        victim.kill()
        answer = post(other.url, f"{API}/workflows/one/execute?wait=30s", {"runId": run})
        self.note("kill → a new run in its shards has ended", KILLED_S, time.monotonic() - began)
        if not (answer.ok and answer.body["status"] == "succeeded"):
            self.faults.append(f"a run in the shards of a killed node: {answer}")
        self._until_open(victim)
        self.note("kill → every shard of it is open elsewhere", KILLED_S, time.monotonic() - began)
        began = time.monotonic()
        victim.restart()
        self.note("start of the process → ready", None, time.monotonic() - began)
        self._until_serving(victim)
        self.cluster.until_level(within_s=PATIENCE_S)
        self.note("start of the process → level", MOVED_S, time.monotonic() - began)

    def blink(self) -> None:
        """Killed, and started again before anybody has noticed."""
        self._steady()
        victim = self._victim()
        self._dies(victim)
        began = time.monotonic()
        victim.kill()
        victim.start()
        wait_until(lambda: self.cluster.open_on(*NAMES), PATIENCE_S)
        self.note("killed and started at once → every shard is open", None, time.monotonic() - began)
        victim.welcome()

    def double(self) -> None:
        """Two of three at the same time."""
        self._steady()
        survivor = self._victim()
        victims = self.cluster.others(survivor.name)
        for victim in victims:
            self._dies(victim)
        began = time.monotonic()
        for victim in victims:
            victim.kill()
        wait_until(lambda: self.cluster.open_on(survivor.name), PATIENCE_S)
        self.note("two killed → every shard is open at the third", None, time.monotonic() - began)
        for victim in victims:
            victim.restart()

    def outage(self) -> None:
        """All of them."""
        self._steady()
        for victim in self.cluster:
            self._dies(victim)
        began = time.monotonic()
        for victim in self.cluster:
            victim.kill()
        for victim in self.cluster:
            victim.start()
        wait_until(lambda: self.cluster.open_on(*NAMES), PATIENCE_S)
        self.note("all killed and started → every shard is open", None, time.monotonic() - began)
        for victim in self.cluster:
            victim.welcome()

    def sting(self) -> None:
        """The database ends connections, as an administrator or a proxy does, whatever they are doing."""
        self._steady()
        claims = self._changes_of_owner()
        for _ in range(STINGS):
            self.cluster.rows(STING)
            _pass(0.2)
        self.cluster.until_level(within_s=PATIENCE_S)
        if self._changes_of_owner() != claims:
            self.faults.append("connections were ended, and shards changed hands")

    def freeze(self) -> None:
        self._steady()
        victim = self._victim()
        self._dies(victim)
        began = time.monotonic()
        victim.freeze()
        try:
            self._until_open(victim)
            self.note("freeze → every shard of it is open elsewhere", SILENT_S, time.monotonic() - began)
        finally:
            victim.thaw()
        began = time.monotonic()
        self.cluster.until_level(within_s=PATIENCE_S)
        self.note("wakes → level again", None, time.monotonic() - began)

    def doze(self) -> None:
        """Merely busy: nobody takes anything."""
        self._steady()
        claims = self._claims()
        victim = self._victim()
        victim.freeze()
        _pass(2.0)
        victim.thaw()
        _pass(4.0)
        if self._claims() != claims:
            self.faults.append(f"{victim.name} was frozen for 2 s, and lost shards")

    def roll(self) -> None:
        """Everyone is told to stop, and started again, one after the other."""
        self._steady()
        for machine in self.cluster:
            before = len(self.load.failed)
            self._dies(machine)
            began = time.monotonic()
            code = machine.stop()
            self.note("SIGTERM → ended", None, time.monotonic() - began)
            if code:
                self.faults.append(f"{machine.name} ended with {code}")
            machine.restart()
            self.cluster.until_level(within_s=PATIENCE_S)
            late = self.load.failed[before:]
            hurt = [failed for failed in late if failed.status or failed.node != machine.name]
            self.faults += [f"while {machine.name} was stopped: {failed}" for failed in hurt[:5]]

    def restart_database(self) -> None:
        self._steady()
        mode: Mode = self.chance.choice(["fast", "immediate"])
        owners = self.cluster.owners()
        began = time.monotonic()
        self.server.restart(mode)
        acknowledged = len(self.load.acknowledged)
        wait_until(lambda: len(self.load.acknowledged) > acknowledged + 20, PATIENCE_S)
        wait_until(lambda: self.cluster.open_on(*NAMES), PATIENCE_S)
        self.note(f"database restarted ({mode}) → all serve", None, time.monotonic() - began)
        if self.cluster.owners() != owners:
            self.faults.append("shards changed hands while the database was away for all")

    def rewire(self, machine: Machine) -> None:
        self._dies(machine)
        machine.stop()
        machine.wire()
        machine.restart()

    def cut_off(self) -> None:
        """From the database alone."""
        self._steady()
        victim = self._victim()
        assert victim.line is not None
        self._dies(victim)
        began = time.monotonic()
        victim.line.set(self.chance.choice(["hole", "hole in", "hole out", "reset", "refuse"]))
        try:
            self._until_open(victim)
            self.note("cut off from the database → open elsewhere", SILENT_S, time.monotonic() - began)
        finally:
            victim.line.heal()
        began = time.monotonic()
        self.cluster.until_level(within_s=PATIENCE_S)
        self.note("healed → level again", None, time.monotonic() - began)

    def part(self) -> None:
        """Two nodes do not hear each other; nobody is dead."""
        self._steady()
        claims = self._claims()
        one, other = self.chance.sample(NAMES, 2)
        self.cluster.part(one, other)
        _pass(6.0)
        self.cluster.join(one, other)
        _pass(2.0)
        if self._claims() != claims:
            self.faults.append(f"{one} and {other} did not hear each other, and shards changed hands")

    # How it is seen.

    def _steady(self) -> None:
        """As many runs are open as there should be, and every node has its share."""
        wait_until(lambda: self.load.open_now > 0.9 * self.runs, PATIENCE_S)
        self.cluster.until_level(within_s=PATIENCE_S)

    def _victim(self) -> Machine:
        return self.cluster[self.chance.choice(NAMES)]

    def _dies(self, victim: Machine, *, killed: bool = False) -> None:
        (row,) = self.cluster.rows("SELECT id FROM nodes WHERE name = $1 AND state <> 'dead'", victim.name)
        mine = frozenset(self.cluster.shards_of(victim.name))
        self.deaths.append(Death(time.time(), victim.name, killed, row[0], mine))

    def _until_open(self, without: Machine) -> None:
        others = [machine.name for machine in self.cluster.others(without.name)]
        wait_until(lambda: self.cluster.open_on(*others), PATIENCE_S)

    def _until_serving(self, machine: Machine) -> None:
        """It has joined, got shards, and opened them."""
        wait_until(lambda: self.cluster.opened(machine), PATIENCE_S)
        now = time.time()
        joined = [e["at"] for e in self.cluster.events("member") if e["node"] == machine.name]
        self.note("joined → has shards open", JOINED_S, now - joined[-1])

    def _changes_of_owner(self) -> int:
        return int(self.cluster.value("SELECT count(*) FROM audit_shards WHERE owner <> old_owner"))

    def _claims(self) -> int:
        return int(self.cluster.value("SELECT count(*) FROM audit_shards"))

    def look_back(self) -> None:
        """What the journal says about all this."""
        hindsight = look_back(self.cluster, self.deaths)
        kills = [death for death in self.deaths if death.killed]
        for kill in kills:
            asked = "SELECT max(at) FROM audit_shards WHERE old_owner = $1"
            owned = self.cluster.value(asked, kill.life)
            self.note("kill → its shards have a new owner", None, owned - kill.at)
            given_up_s = hindsight.given_up(kill)
            if given_up_s is not None:
                self.note("kill → the last task of its worker is given up", TASKS_S, given_up_s)
        adopted = sum(map(hindsight.adopted, kills))
        self.notes.append(f"{adopted} tasks of killed owners were adopted where they ran")
        for reason, times in hindsight.lost_alive().items():
            self.faults.append(f"{times} tasks were given up though their worker lived: {reason}")


def _pass(seconds: float) -> None:
    until = time.monotonic() + seconds
    wait_until(lambda: time.monotonic() >= until, seconds + 5)


@contextmanager
def a_slow_service(cluster: Cluster, chance: random.Random) -> Iterator[str]:
    """Takes its time with every answer: whoever asks has work out, and costs next to nothing."""

    async def hold(_: web.Request) -> web.Response:
        await asyncio.sleep(chance.uniform(*HOLD_S))
        return web.json_response({"held": True})

    async def serve() -> tuple[web.AppRunner, int]:
        app = web.Application()
        app.router.add_get("/", hold)
        runner = web.AppRunner(app, access_log=None, handler_cancellation=True)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0, backlog=1024)
        await site.start()
        return runner, runner.addresses[0][1]

    runner, port = cluster.stage.do(serve())
    try:
        yield f"http://127.0.0.1:{port}/"
    finally:
        cluster.stage.do(runner.cleanup(), PATIENCE_S)


def say(text: str) -> None:
    sys.stdout.write(f"{time.strftime('%H:%M:%S')} {text}\n")
    sys.stdout.flush()


def repeat(chaos: Chaos, times: int, what: Callable[[], None]) -> None:
    for n in range(times):
        what()
        load = chaos.load
        say(f"{what.__name__} {n + 1}/{times}: {load.open_now} runs are open, {len(load.ended)} have ended")


def run(options: argparse.Namespace) -> bool:
    """Whether everything was as it should be."""
    chance = random.Random(options.seed)
    folder = postgres.folder()
    server = OwnPostgres(folder / "postgres", fsync=options.fsync)
    server.start()
    try:
        with a_cluster(
            folder / "cluster",
            *NAMES,
            shards=SHARDS,
            database=server.url(),
            options=("--slots", str(SLOTS)),
            quiet=True,
        ) as cluster:
            asleep.seed(cluster, options.asleep)
            say(f"{options.asleep} runs sleep")
            with a_slow_service(cluster, chance) as url:
                hold = {"kind": "http", "with": {"url": url}}
                cluster.apply(
                    {"id": "hold", "steps": {"hold": hold, "end": {"kind": "noop", "needs": ["hold"]}}}
                )
                load = Load(
                    cluster, options.runs, spread_over(cluster), mix=MIX, reads_per_s=20, seed=options.seed
                )
                load.start()
                chaos = Chaos(cluster, load, server, chance, options.runs)
                play(chaos, options)
                load.stop(PATIENCE_S * 2)
                return judge(chaos, options)
    finally:
        server.stop("immediate")
        shutil.rmtree(folder)


def play(chaos: Chaos, options: argparse.Namespace) -> None:
    repeat(chaos, options.kills, chaos.kill)
    repeat(chaos, options.freezes, chaos.freeze)
    repeat(chaos, options.dozes, chaos.doze)
    repeat(chaos, options.blinks, chaos.blink)
    repeat(chaos, options.doubles, chaos.double)
    repeat(chaos, options.outages, chaos.outage)
    repeat(chaos, options.stings, chaos.sting)
    repeat(chaos, options.rolls, chaos.roll)
    repeat(chaos, options.restarts, chaos.restart_database)
    if options.cuts or options.parts:  # from here on every wire can be cut
        for machine in chaos.cluster:
            chaos.rewire(machine)
    repeat(chaos, options.cuts, chaos.cut_off)
    repeat(chaos, options.parts, chaos.part)
    chaos.cluster.until_level()


def judge(chaos: Chaos, options: argparse.Namespace) -> bool:
    cluster, load = chaos.cluster, chaos.load
    chaos.look_back()
    try:
        account = cluster.stage.do(
            check(
                cluster.place,
                shards=SHARDS,
                acknowledged=load.acknowledged,
                marks=cluster.marks,
                asleep=asleep.PREFIX,
            ),
            CHECK_S,
        )
        chaos.notes.append(str(account))
    except Violation as violation:
        chaos.faults.append(str(violation))
    chaos.faults += asleep.faults(cluster, options.asleep)
    chaos.faults += [f"too late: {figures.name}" for figures in chaos.figures.values() if figures.late]
    reasons = Counter(f"{failed.status} {failed.reason[:60]}" for failed in load.failed)
    say(f"\n\n{'seconds':<52}{'times':>6}{'min':>8}{'median':>8}{'p90':>8}{'max':>8}{'bound':>8}")
    for figures in chaos.figures.values():
        say(figures.row())
    say(f"{load.requests} requests, {len(load.acknowledged)} runs were acknowledged; asked again after:")
    for reason, times in reasons.most_common(12):
        say(f"{times:>8} times {reason}")
    for line in chaos.notes:
        say(line)
    for line in chaos.faults:
        say(f"FAULT: {line}")
    return not chaos.faults


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    for name, usual in TIMES.items():
        parser.add_argument(f"--{name}", type=int, default=usual, help=f"so many times; {usual} by default")
    parser.add_argument("--runs", type=int, default=1000, help="open at the same time")
    parser.add_argument("--asleep", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--fsync", action="store_true")
    sys.exit(0 if run(parser.parse_args()) else 1)


if __name__ == "__main__":
    main()
