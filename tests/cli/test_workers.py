"""`windlass workers`, `assignment` and `placement`: what an operator sees and does."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.aside import aside
from tests.cli.calls import at_terminal
from tests.cli.engines import environment, windlass
from tests.gateway.house import house
from tests.gateway.mates import Mate, mate
from windlass.cli import main
from windlass.cli.fleet_picture import COLUMNS, summary, table
from windlass.core.task import Json

JOB = {
    "id": "job",
    "steps": {
        "only": {"kind": "shell", "requires": ["x"], "with": {"command": "true"}},
        "then": {"kind": "noop", "needs": ["only"]},
    },
}
RARE = {"id": "rare", "steps": {"only": {"kind": "noop", "requires": ["tpu"]}}}


@dataclass(frozen=True, slots=True)
class Place:
    """An engine with two workers."""

    url: str
    mates: dict[str, Mate]


@asynccontextmanager
async def opened() -> AsyncIterator[Place]:
    async with house() as home, AsyncExitStack() as stack:
        mates = dict[str, Mate]()
        for name, offers in (("alpha", ("shell", "x")), ("beta", ("shell", "x", "gpu"))):
            made = mate(home, name, capabilities=offers, slots=2)
            mates[name] = await stack.enter_async_context(made)
        await home.save(JOB)
        await home.save(RARE)
        yield Place(f"http://127.0.0.1:{home.port}", mates)


@pytest.fixture
def place() -> Iterator[Place]:
    with aside(opened()) as found:
        yield found


def call(place: Place, *words: str) -> Result:
    return CliRunner().invoke(main, ["--server", place.url, *words])


def lines(result: Result) -> list[str]:
    assert result.exit_code == 0, result.output
    return result.stdout.splitlines()


def asked(place: Place, *words: str) -> Json:
    return json.loads("\n".join(lines(call(place, *words, "--json"))))


def start(place: Place, workflow: str) -> str:
    result = CliRunner().invoke(main, ["--server", place.url, "run", workflow, "--detach", "--json"])
    assert result.exit_code == 0, result.output
    return str(json.loads(result.stdout)["runId"])


def test_without_a_terminal_workers_are_one_plain_table(place: Place) -> None:
    told, head, *rows = lines(call(place, "workers"))
    assert told == "3 workers (3 ONLINE), 0 of 1,004 slots taken"
    assert head.split() == list(COLUMNS)
    cells = [re.split(r"\s{2,}", row) for row in rows]
    assert [cell[:4] for cell in cells] == [
        ["alpha", "local", "online", "0/2"],
        ["beta", "local", "online", "0/2"],
        ["hands", "local", "online", "0/1000"],
    ]
    assert cells[1][-1] == "gpu, shell, x"


def test_at_a_terminal_they_are_shown_until_ctrl_c(place: Place) -> None:
    code, shown = at_terminal("--server", place.url, "workers", "--watch", answers=[("Ctrl-C ends", "\x03")])
    assert code == 130
    assert "alpha" in shown
    assert "gpu, shell, x" in shown


def test_programs_that_watch_get_an_object_per_line(place: Place) -> None:
    words = [*windlass(), "--server", place.url, "workers", "--watch", "--json"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment()) as process:
        assert process.stdout is not None
        told = [json.loads(process.stdout.readline()) for _ in range(2)]
        process.terminate()
    assert [len(each["items"]) for each in told] == [3, 3]


def test_a_worker_is_paused_resumed_drained_and_kicked(place: Place) -> None:
    assert lines(call(place, "workers", "pause", "alpha")) == ["alpha is paused: it gets no new tasks"]
    (row,) = [line for line in lines(call(place, "workers")) if line.startswith("alpha")]
    assert "online, paused" in row
    assert lines(call(place, "workers", "resume", "alpha")) == ["alpha gets tasks again"]
    assert asked(place, "workers", "drain", "alpha")["halt"] == "draining"
    assert lines(call(place, "workers", "kick", "beta")) == [
        "beta is cut off; what it ran is lost, and runs elsewhere"
    ]
    assert "beta" not in " ".join(lines(call(place, "workers")))


def test_a_worker_that_nobody_knows_is_refused(place: Place) -> None:
    result = call(place, "workers", "kick", "nobody")
    assert (result.exit_code, result.stderr) == (7, "error: there is no worker nobody\n")


def test_the_assignment_is_shown_set_and_taken_back(place: Place) -> None:
    assert lines(call(place, "assignment")) == ["locality, as it is configured"]
    first, head, switch = lines(call(place, "assignment", "set", "load-balanced", "--cpu-weight", "0.5"))
    assert first.startswith("load-balanced, set by anyone at ")
    assert first.endswith("(configured: locality); load by active 0.4, cpu 0.5, memory 0.3")
    assert head.split() == ["at", "switched", "why"]
    assert switch.endswith("locality → load-balanced  set by anyone")
    told = asked(place, "assignment", "set", "weighted", "--load", "seed", "--memory-weight", "2")
    assert (told["strategy"], told["load"], told["memoryWeight"]) == ("weighted", "seed", 2)
    assert told["weights"] == {"active": 0.4, "cpu": 0.5, "memory": 0.3}
    assert "load is active + CPU % + memory % * 2" in lines(call(place, "assignment"))[0]
    assert "; most fit" in lines(call(place, "assignment", "set", "capability", "--fit", "most"))[0]
    assert lines(call(place, "assignment", "reset"))[0] == "locality, as it is configured"


def test_a_strategy_that_there_is_not_is_refused_with_those_there_are(place: Place) -> None:
    result = call(place, "assignment", "set", "fastest")
    assert result.exit_code == 7
    assert "there is no strategy 'fastest'; write round-robin, load-balanced" in result.stderr
    assert "error: the assignment has 1 fault" in result.stderr


def test_a_step_that_waits_shows_why_nobody_has_it(place: Place) -> None:
    first, why, head, *rows = lines(call(place, "placement", start(place, "rare"), "only"))
    assert first == "only is queued, attempt 1"
    assert "waits for a worker that offers tpu" in why
    assert head.split() == ["worker", "node", "key"]
    assert {row.split()[0]: " ".join(row.split()[2:]) for row in rows} == {
        "alpha": "lacks noop, tpu", "beta": "lacks noop, tpu", "hands": "lacks tpu",
    }  # fmt: skip


def test_a_step_that_runs_shows_why_its_worker_has_it(place: Place) -> None:
    run = start(place, "job")
    while asked(place, "placement", run, "only")["strategy"] is None:
        pass
    first, head, *rows = lines(call(place, "placement", run, "only"))
    assert re.fullmatch(r"only is running, attempt 1, at (alpha|beta): the best of 2 by locality", first)
    assert head.split() == ["worker", "key"]
    assert {row.split()[0] for row in rows} == {"alpha", "beta"}
    assert lines(call(place, "placement", run, "then")) == ["then is waiting", "it waits for only"]
    assert call(place, "placement", run, "nothing").exit_code == 7


# The table by itself.


def worker(name: str, **fields: Any) -> Json:
    given = {
        "id": name, "node": "n1", "state": "ONLINE", "halt": "", "connected": True, "slots": 10, "active": 3,
        "cpu": 0.5, "memory": 0.25, "successRate": 0.987, "results": 12.0, "latencySeconds": 0.0421,
        "lastHeartbeat": "2026-01-01T00:00:00Z", "capabilities": ["http", "shell"], "namespaces": [],
    }  # fmt: skip
    return given | fields


def answer(*items: Json) -> Json:
    counts = {state: sum(item["state"] == state for item in items) for state in ("ONLINE", "OFFLINE")}
    return {"items": list(items), "counts": counts, "asOf": "2026-01-01T00:00:12Z"}


def test_a_row_says_everything_and_nothing_that_is_not_known() -> None:
    gone = worker(
        "w2", state="OFFLINE", connected=False, results=0.0, namespaces=["team"], latencySeconds=90.0
    )
    _, rows = table(answer(worker("w1", halt="paused"), gone), None)
    shown = [[str(cell) for cell in row] for row in rows]
    assert shown == [
        ["w1", "n1", "online, paused", "3/10", "50 %", "25 %", "99 %", "42 ms", "12 s ago", "http, shell"],
        ["w2", "", "offline", "3/10", "", "", "", "", "12 s ago", "http, shell for team"],
    ]


@pytest.mark.parametrize(("width", "columns"), [(None, 10), (120, 10), (80, 7), (50, 5)])
def test_on_a_narrow_terminal_whole_columns_are_left_out_and_names_stay(
    width: int | None, columns: int
) -> None:
    shown, rows = table(answer(worker("a-worker-with-a-name")), width)
    assert len(shown) == len(rows[0]) == columns
    assert {"worker", "state", "slots", "heard", "offers"} <= set(shown)


def test_where_there_is_nobody_it_is_said_what_to_do() -> None:
    assert "windlass worker" in str(summary(answer()))


def test_what_workers_say_of_themselves_does_not_steer_the_terminal() -> None:
    _, rows = table(answer(worker("evil\x1b[2J", capabilities=["\x07bell"])), None)
    assert "\x1b" not in "".join(map(str, rows[0]))
    assert "\x07" not in "".join(map(str, rows[0]))
