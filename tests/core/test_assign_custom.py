"""Strategies of the user's: loaded by name, and not trusted."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.core.workers import chosen, index, wanted, worker
from windlass.assignment import AGAIN_S, Functions, load_custom
from windlass.core.assign.custom import checked
from windlass.core.assign.index import Index, Wanted
from windlass.core.errors import Invalid, Refused
from windlass.core.fleet import Seen


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where a user's modules are; what was imported from there is forgotten afterwards."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def three(custom: object) -> Index:
    """Three workers, and a function of the user's, called m:f."""
    assert callable(custom)
    function = checked("m:f", custom)
    workers = [worker(name, order=n) for n, name in enumerate("abc")]
    return index(*workers, custom=lambda name: function)


def test_the_smallest_key_of_the_users_wins_and_none_bars_a_worker() -> None:
    def last_but_c(task: Wanted, seen: Seen) -> tuple[int, str] | None:
        return None if seen.id == "c" else (-seen.order, seen.id)

    there = three(last_but_c)
    choice = there.choose(wanted("m:f"), 1.0)
    assert choice is not None and choice.worker.id == "b"
    placed = choice.placed
    assert (placed.strategy, placed.key, placed.count) == ("m:f", (-1, "b"), 2)
    assert [one.worker for one in placed.top] == ["b", "a"]
    assert chosen(there, wanted("m:f", excluded=["b/1"])) == "a"
    told = {verdict.worker: verdict.barred for verdict in there.candidates(wanted("m:f"), 1.0)}
    assert told == {"b": "", "a": "", "c": "m:f does not want it"}


def test_yes_and_no_are_kept_as_numbers() -> None:
    choice = three(lambda task, seen: (seen.id != "c", seen.id)).choose(wanted("m:f"), 1.0)
    assert choice is not None and choice.placed.key == (0, "c")
    assert [type(part) for part in choice.placed.key] == [int, str]


def test_one_that_wants_nobody_chooses_nobody() -> None:
    assert chosen(three(lambda task, seen: None), wanted("m:f")) == "nobody"


def test_it_is_asked_only_of_those_who_may_have_the_task() -> None:
    asked = []

    def curious(task: Wanted, seen: Seen) -> tuple[int]:
        asked.append(seen.id)
        return (0,)

    there = three(curious)
    (b,) = (seen for seen in there.all() if seen.id == "b")
    b.active = b.slots
    there.changed(b)
    assert chosen(there, wanted("m:f", excluded=["a/1"])) == "c"
    assert asked == ["c"]


def test_one_that_fails_refuses_this_choice_alone() -> None:
    def picky(task: Wanted, seen: Seen) -> tuple[int]:
        return ({"good": 3}[task.affinity],)

    there = three(picky)
    with pytest.raises(Refused, match="the strategy m:f fails for the worker 'a': KeyError: 'bad'"):
        there.choose(wanted("m:f", affinity="bad"), 1.0)
    assert chosen(there, wanted("m:f", affinity="good")) == "a"
    assert chosen(there, wanted("load-balanced")) == "a"
    (first, *_) = there.candidates(wanted("m:f", affinity="bad"), 1.0)
    assert "KeyError" in first.barred


NO_NUMBERS = [(float("nan"),), (float("inf"),), (2**70,)]


@pytest.mark.parametrize("answer", [5, [1], (None,), *NO_NUMBERS, ("x" * 201,), ("\ud800",), (1,) * 11])
def test_an_answer_that_is_no_key_is_refused(answer: object) -> None:
    with pytest.raises(Refused, match="the strategy m:f has no key for the worker 'a': a key is a tuple of"):
        three(lambda task, seen: answer).choose(wanted("m:f"), 1.0)


def test_keys_that_cannot_be_compared_are_refused() -> None:
    there = three(lambda task, seen: (1,) if seen.id == "a" else ("x",))
    with pytest.raises(Refused, match="the strategy m:f answers keys that cannot be compared"):
        there.choose(wanted("m:f"), 1.0)
    assert all("cannot be compared" in one.barred for one in there.candidates(wanted("m:f"), 1.0))


def test_a_function_is_loaded_by_its_name_and_found_at_once_the_next_time(folder: Path) -> None:
    (folder / "choosing.py").write_text(
        "def idle(task, worker):\n    return (worker.active,) if 'gpu' in worker.capabilities else None\n"
    )
    functions = Functions([folder])
    assert functions("choosing:idle") is functions("choosing:idle")
    there = index(worker("a", order=0), worker("b", "gpu", order=1), custom=functions)
    assert chosen(there, wanted("choosing:idle")) == "b"


def test_one_that_is_not_there_refuses_the_choice_and_is_looked_for_again_later(folder: Path) -> None:
    now = [0.0]
    there = index(worker("a"), custom=Functions([folder], clock=lambda: now[0]))
    refused = "the strategy later:f is not there: later has no f"
    (folder / "later.py").write_text("")
    with pytest.raises(Refused, match=refused):
        there.choose(wanted("later:f"), 1.0)
    sys.modules["later"].__dict__["f"] = lambda task, seen: (0,)
    with pytest.raises(Refused, match=refused):
        there.choose(wanted("later:f"), 1.0)
    now[0] = AGAIN_S
    assert chosen(there, wanted("later:f")) == "a"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("quickest", "there is no strategy 'quickest'; write round-robin, load-balanced, "),
        ("no_such_module:f", "cannot be imported: no module no_such_module where Python looks"),
        ("sound:five", "is no function (task, worker) but a value of type int"),
    ],
)
def test_a_function_that_cannot_be_loaded_says_why(folder: Path, text: str, told: str) -> None:
    (folder / "sound.py").write_text("five = 5\n")
    with pytest.raises(Invalid) as caught:
        load_custom(text, folders=[folder])
    assert told in str(caught.value)
