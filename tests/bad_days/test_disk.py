"""A disk that is full, or fails to sync: nothing wrong is said, and nothing acknowledged is lost."""

import shutil
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.bad_days.disks import disk, syncs
from tests.bad_days.house import House, house, started
from tests.bad_days.work import Work
from tests.waiting import wait_until

DISK_BYTES = 8 * 1024 * 1024


def is_not_ready(home: House) -> bool:
    return home.ready().status == 503


def test_a_full_disk_stops_no_acknowledged_run_and_starts_none(tmp_path: Path) -> None:
    with disk(tmp_path / "disk", DISK_BYTES) as small, ThreadPoolExecutor(1) as thread:
        with house(tmp_path, data=small.place / "data", prefix=small.prefix) as home:
            work = Work(home)
            work.begin()
            # When the disk is full
            small.fill()
            first = thread.submit(work.start, "late-0")
            wait_until(lambda: is_not_ready(home))
            assert home.ready().body["status"].startswith("journal busy")
            assert home.ask("GET", "/health/live").status == 200
            # Then nobody is told that something was started
            answers = work.start_many()
            answers["late-0"] = first.result()
            saved = home.api("POST", "workflows", {"id": "new", "steps": {"a": {"kind": "noop"}}})
            for answer in [*answers.values(), saved]:
                assert answer.status in (503, 504), answer
                if answer.status == 503:
                    assert int(answer.headers["Retry-After"]) >= 1
                    assert (
                        "the journal cannot be written now: database or disk is full"
                        in answer.body["message"]
                    )
                    assert "nothing was done, try again" in answer.body["message"]
                else:
                    assert "it may have happened: ask again with the same id" in answer.body["message"]
            assert answers["late-0"].status == 504
            assert answers["late-0"].body["runId"] == "late-0"
            # And what is there can still be read
            assert work.runs[0] in [run["id"] for run in home.api("GET", "runs").body["items"]]
            # When steps end meanwhile, and then there is room
            work.gate.touch()
            small.free()
            # Then all is as if nothing had happened
            work.ends_well(answers)
            assert home.api("GET", "workflows/new").status == (404 if saved.status == 503 else 200)
            assert home.engine.stop() == 0
            assert "database or disk is full" in home.engine.says
        shutil.copy(small.here / "data" / "windlass.db", tmp_path / "copy.db")
    work.is_recorded_once(tmp_path / "copy.db")


def test_an_engine_killed_on_a_full_disk_says_so_and_goes_on_once_there_is_room(tmp_path: Path) -> None:
    with disk(tmp_path / "disk", DISK_BYTES) as small:
        with house(tmp_path, data=small.place / "data", prefix=small.prefix) as home:
            work = Work(home)
            work.begin()
            small.fill()
            home.engine.stop(signal.SIGKILL)
        options = ["--data", str(small.place / "data"), "--port", "0"]
        with started(*options, cwd=tmp_path, prefix=small.prefix) as up:
            assert up.wait() == 1
        (line,) = up.err
        assert line.startswith("error: ")
        assert str(small.place / "data" / "windlass.db") in line
        assert "No space left on device" in line or "full" in line
        assert "--data" in line
        small.free()
        work.gate.touch()
        with house(tmp_path, data=small.place / "data", prefix=small.prefix) as home:
            work.home = home
            work.ends_well({})


def test_failing_syncs_are_never_taken_for_success_and_lose_nothing(tmp_path: Path) -> None:
    bad = syncs(tmp_path)
    with house(tmp_path, env=bad.env) as home:
        work = Work(home)
        work.begin()
        # When syncs fail, what was being written may be there or not
        bad.fail.touch()
        answers = work.start_many()
        for run, answer in answers.items():
            assert answer.status in (503, 504), answer
            if answer.status == 504:
                assert answer.body["runId"] == run
                assert answer.body["message"] == "the journal did not answer: COMMIT failed: disk I/O error"
            else:
                assert int(answer.headers["Retry-After"]) >= 1
        assert 504 in {answer.status for answer in answers.values()}
        assert is_not_ready(home)
        # And steps that end meanwhile are not forgotten
        work.gate.touch()
        wait_until(lambda: "shard cannot be claimed yet" in home.engine.says)
        # Then all is read anew when they succeed again
        bad.fail.unlink()
        work.ends_well(answers)
        assert home.engine.stop() == 0
        assert "shard is opened anew" in home.engine.says
        assert "Traceback" not in home.engine.says
    work.is_recorded_once(tmp_path / "data" / "windlass.db")


def test_an_engine_killed_while_syncs_fail_knows_what_it_acknowledged(tmp_path: Path) -> None:
    bad = syncs(tmp_path)
    with house(tmp_path, env=bad.env) as home:
        work = Work(home)
        work.begin()
        bad.fail.touch()
        answers = work.start_many()
        assert {answer.status for answer in answers.values()} <= {503, 504}
        home.engine.stop(signal.SIGKILL)
    bad.fail.unlink()
    work.gate.touch()
    with house(tmp_path, env=bad.env) as home:
        work.home = home
        work.ends_well(answers)
        assert home.engine.stop() == 0
    work.is_recorded_once(tmp_path / "data" / "windlass.db")


def test_syncs_that_fail_from_the_beginning_are_said_in_one_line(tmp_path: Path) -> None:
    bad = syncs(tmp_path)
    bad.fail.touch()
    with started("--data", str(tmp_path / "data"), "--port", "0", cwd=tmp_path, env=bad.env) as up:
        assert up.wait() == 1
    (line,) = up.err
    assert line.startswith("error: ")
    assert "disk I/O error" in line
    assert "--data" in line
