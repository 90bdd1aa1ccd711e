"""Code steps on workers of their own, which are killed in the middle of one."""

from __future__ import annotations

import json
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.fleet.hands import Hand
from tests.fleet.shop import Shop, a_shop
from tests.waiting import lives, wait_until
from windlass.core.vocabulary import ENDED

WITHIN_S = 30.0
# It calls itself by a name that can be seen from outside, and takes a while.
SLOW = """
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>
int main(void) {
    int a;
    prctl(PR_SET_NAME, "MARK");
    if (scanf("%d", &a) != 1) return 1;
    sleep(3);
    printf("%d", 2 * a);
    return 0;
}
"""


def document(name: str, mark: str) -> dict[str, Any]:
    half = {"language": "python", "code": "print(6 + 15)"}
    whole = {"language": "c", "code": SLOW.replace("MARK", mark), "stdin": "21"}
    steps = {
        "half": {"kind": "code", "with": half},
        "whole": {"kind": "code", "with": whole, "needs": "half"},
    }
    return {"id": name, "steps": steps}


def called(mark: str) -> list[int]:
    """The processes of that name."""
    found = []
    for comm in Path("/proc").glob("[0-9]*/comm"):
        with suppress(OSError):  # it has just ended
            if comm.read_text().strip() == mark:
                found.append(int(comm.parent.name))
    return found


def descendants(pid: int) -> set[int]:
    """By one look at all processes: the program does not run for long."""
    parents = dict[int, int]()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has just ended
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
    found, above = set[int](), {pid}
    while above:
        above = {child for child, parent in parents.items() if parent in above}
        found |= above
    return found


def left_of(pids: set[int]) -> list[str]:
    """Those that live, with what they run."""
    lines = []
    for pid in pids:
        if not lives(pid):
            continue
        with suppress(OSError):
            lines.append(f"{pid} " + Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " "))
    return lines


def hire(shop: Shop, *names: str) -> dict[str, Hand]:
    env = {"WINDLASS_NO_CODE": "false"}
    for name in names:
        hand = Hand(name, shop.folder / "hands", [shop.url], "--allow-unsandboxed", env=env)
        shop.hands.append(hand)
        hand.start()
    for hand in shop.hands:
        hand.welcome()
    return {hand.name: hand for hand in shop.hands}


def test_code_whose_worker_is_killed_runs_on_another_and_nothing_of_it_is_left(tmp_path: Path) -> None:
    mark = uuid.uuid4().hex[:12]
    with a_shop(tmp_path / "shop", "--worker-heartbeat", "1s") as shop:
        hands = hire(shop, "one", "two")
        shop.client.apply("sum", json.dumps(document("sum", mark)).encode(), "application/json")
        shop.client.start("sum", run_id="r")
        # Given a program that runs
        wait_until(lambda: called(mark), WITHIN_S)
        (dead,) = {hand.name for hand in hands.values() if set(called(mark)) & descendants(hand.pid)}
        started = descendants(hands[dead].pid)
        # When its worker is killed
        assert called(mark), "the program ended before its worker was killed"
        hands[dead].kill()
        with suppress(AssertionError):
            wait_until(lambda: not left_of(started), WITHIN_S)
        assert left_of(started) == []
        # Then the other one runs it
        wait_until(lambda: shop.client.run("r")["status"] in ENDED, WITHIN_S)
        half, whole = sorted(shop.client.run("r")["steps"], key=lambda step: str(step["id"]))
        assert (half["attempts"], half["output"]["stdout"], half["output"]["language"]) == (
            1,
            "21\n",
            "python",
        )
        assert (whole["attempts"], whole["output"]["stdout"]) == (2, "42"), whole
        assert {dead, whole["worker"]} == {"one", "two"}
        (lost,) = shop.events("r", "AttemptLost")
        assert lost["step"] == "whole"
        assert called(mark) == []
