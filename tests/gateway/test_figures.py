"""What a node has counted, as pages read it: the same figures as in /metrics."""

import asyncio

import pytest

from tests.gateway.house import ONE_STEP, house
from windlass.core.spread import Spread, quantile, shares

FIGURES = "/api/v1/cluster/figures"


def test_a_run_shows_in_the_figures_of_its_node() -> None:
    async def scene() -> None:
        async with house() as home:
            before = (await home.ask("GET", FIGURES)).json
            await home.save(ONE_STEP)
            await home.execute("one", {"runId": "counted"})
            after = (await home.ask("GET", FIGURES)).json
            assert after["journalWritable"] is True and after["journalTrouble"] is None
            assert after["runsEnded"] - before["runsEnded"] == 1
            assert after["commits"]["count"] > before["commits"]["count"]
            assert after["commits"]["rows"] > before["commits"]["rows"]
            assert after["commits"]["seconds"]["count"] == after["commits"]["count"]
            assert after["events"] > before["events"]
            assert after["tasksRunning"] == 0
            metrics = (await home.ask("GET", "/metrics")).text
            assert f"windlass_commits_total {float(after['commits']['count'])}" in metrics

    asyncio.run(scene())


def test_a_share_of_a_spread_is_estimated_within_its_bucket() -> None:
    spread = Spread((1.0, 2.0, 4.0))
    for amount in (0.5, 0.5, 1.5, 3.0):
        spread.note(amount)
    assert quantile(spread, 0.5) == 1.0
    assert quantile(spread, 0.25) == 0.5
    assert quantile(spread, 0.75) == 2.0
    assert quantile(spread, 1.0) == 4.0
    assert shares(spread).mean == 1.375


def test_what_is_beyond_the_last_bound_is_told_as_that_bound() -> None:
    spread = Spread((1.0,))
    spread.note(70.0)
    assert quantile(spread, 0.99) == 1.0


@pytest.mark.parametrize("share", [0.5, 0.95])
def test_nothing_noted_is_nothing_told(share: float) -> None:
    assert quantile(Spread(), share) is None
    assert shares(Spread()).mean is None
