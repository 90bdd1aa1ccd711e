"""Tasks that nobody could run, as several nodes tell of them."""

from windlass.core.names import RunId, StepId
from windlass.core.unserved import Unserved, missing_from, summed


def waits(*requires: str, tasks: int = 1, run: str = "r", since: float = 1.0) -> Unserved:
    return Unserved(requires, requires[:1], tasks, RunId(run), StepId("s"), since)


def test_those_that_need_the_same_are_added_up_and_the_oldest_is_named() -> None:
    parts = [
        waits("gpu", tasks=2, run="late", since=7.0),
        waits("arm", since=9.0),
        waits("gpu", tasks=3, run="early", since=5.0),
    ]
    assert summed(parts, 10) == [waits("gpu", tasks=5, run="early", since=5.0), waits("arm", since=9.0)]


def test_who_waits_longest_is_told_when_not_all_can_be() -> None:
    parts = [waits(f"x{number}", since=100.0 - number) for number in range(50)]
    assert [one.requires for one in summed(parts, 2)] == [("x49",), ("x48",)]


def test_what_is_missing_is_what_no_worker_offers() -> None:
    offers = [frozenset({"shell", "gpu"}), frozenset({"shell", "arm"})]
    assert missing_from(frozenset({"shell", "tpu"}), offers) == ("tpu",)
    assert missing_from(frozenset({"gpu", "arm"}), offers) == ()  # though nobody offers both
    assert missing_from(frozenset({"b", "a"}), []) == ("a", "b")
