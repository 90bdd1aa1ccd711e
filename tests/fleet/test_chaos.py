"""A slice of the slow suite, `make fleet-chaos`: fewer workers, and not so long."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fleet import tasks
from tests.fleet.chaos import LAST_S, a_fleet, show
from tests.waiting import wait_until

WORKERS, RUNS, SECONDS = 5, 15, 15.0
MIX = (("quick", 1), ("slow", 1))
PAUSE_S = (0.5, 2.0)


@pytest.mark.accepts("S3.8", "S2.11")
def test_workers_and_nodes_die_and_come_back_and_every_task_is_done_once_where_the_journal_says(
    tmp_path: Path,
) -> None:
    with a_fleet(tmp_path / "fleet", workers=WORKERS, runs=RUNS, seconds=SECONDS, seed=5, mix=MIX) as fleet:
        # Whatever chance brings: of each kind of death at least one, while there is work.
        wait_until(lambda: fleet.users.open_now > 2, LAST_S)
        fleet.kill_both()
        fleet.dismiss()
        fleet.play(SECONDS, PAUSE_S)
        wait_until(lambda: fleet.users.done, LAST_S)
        fleet.users.stop(LAST_S)
        show(fleet.judge())
        assert fleet.faults == []
        assert len(fleet.users.ended) == RUNS
        assert {"workers killed", "nodes killed", "workers told to stop"} <= fleet.blows.keys()
        assert len(fleet.users.answered_s) > RUNS * tasks.TASKS
