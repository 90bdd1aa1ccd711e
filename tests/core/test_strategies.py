"""Strategies: which ids lie together. They depend on the id alone, whoever wrote them."""

import itertools
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.config import NodeConfig
from windlass.core import sharding, strategies
from windlass.core.commands import CancelRun
from windlass.core.errors import Invalid, Refused
from windlass.core.names import run_id, run_key
from windlass.core.orders import Order, Read
from windlass.core.strategies import BY_TYPE, HASH, custom, fingerprint, fit, label, run_prefix
from windlass.strategy import load_strategy
from windlass.wire import messages
from windlass.wire.messages import Ask, Calling

NOW = 1_763_216_624.0


def by_length(ident: str, shards: int) -> int:
    return len(ident) % shards


# The built-in ones.


@pytest.mark.accepts("S0.24")
@pytest.mark.parametrize(
    ("ident", "shard"), [("workflow-1", 89), ("test-workflow", 66), ("wf_1763216624811", 76)]
)
def test_by_default_ids_are_spread_over_a_hundred_shards_by_their_hash(ident: str, shard: int) -> None:
    config = NodeConfig(database="postgresql://localhost")
    assert (config.strategy, config.shards) == ("hash", 100)
    assert load_strategy(config.strategy).of(ident, config.shards) == shard


@pytest.mark.accepts("S0.24")
@given(st.text(), st.integers(1, 10_000))
def test_the_default_strategy_is_the_hash_for_any_number_of_shards(ident: str, shards: int) -> None:
    assert HASH.of(ident, shards) == sharding.of(ident, shards) == abs(sharding.java_hash(ident)) % shards


@pytest.mark.accepts("S0.27")
@pytest.mark.parametrize(
    ("ident", "named", "shard"),
    [
        ("data-pipeline:nightly", "shard-data", 0),
        ("data-pipeline", "shard-data", 0),
        ("ml-training:resnet:2", "shard-ml", 1),
        ("ml-training:exec_0198", "shard-ml", 1),
        ("report", "shard-default", 2),
        ("ml-training-2:x", "shard-default", 2),
        ("x:ml-training", "shard-default", 2),
        ("", "shard-default", 2),
    ],
)
def test_by_type_an_id_lies_with_its_kind(ident: str, named: str, shard: int) -> None:
    assert label(ident) == named
    assert BY_TYPE.of(ident, 3) == BY_TYPE.of(ident, 100) == shard


@pytest.mark.parametrize("shards", [1, 2])
def test_by_type_needs_a_shard_for_each_label(shards: int) -> None:
    for attempt in (lambda: fit(BY_TYPE, shards), lambda: BY_TYPE.of("x", shards)):
        with pytest.raises(Invalid, match=f"by-type needs 3 shards or more, and there are {shards}"):
            attempt()


@pytest.mark.parametrize(
    "workflow", ["ml-training:resnet", "ml-training", "data-pipeline:a:b", "report", "x:y"]
)
def test_by_type_a_run_lies_with_its_workflow(workflow: str) -> None:
    run = run_id(NOW, chance=7, prefix=run_prefix(BY_TYPE, workflow))
    assert BY_TYPE.of(run, 100) == BY_TYPE.of(workflow, 100)


def test_run_ids_name_their_kind_only_where_that_places_them() -> None:
    assert run_id(NOW, 7, run_prefix(BY_TYPE, "ml-training:x")).startswith("ml-training:exec_")
    assert run_id(NOW, 7, run_prefix(BY_TYPE, "sales:x")).startswith("exec_")
    assert run_id(NOW, 7, run_prefix(HASH, "ml-training:x")) == run_id(NOW, 7)


# What a node does with a message that came from another one.


@pytest.mark.accepts("S0.25")
@pytest.mark.parametrize("order", [Read(), CancelRun(id="1", reason="enough", at=NOW)])
def test_a_message_yields_the_entity_its_shard_and_the_order_inside(order: Order) -> None:
    # Given an order that was wrapped for the journey to another node
    run = "failover-workflow-1"
    wrapped = messages.encode_frame(
        [Calling(1, Ask(run_key(run), messages.encode_order(order), timeout_s=5.0))]
    )
    # When it arrives there
    (envelope,) = messages.decode_frame(wrapped)
    assert isinstance(envelope, Calling) and isinstance(envelope.request, Ask)
    ask = envelope.request
    # Then it is for that run, of that shard, and unchanged
    assert (ask.key.id, HASH.of(ask.key.id, 100)) == (run, 70)
    assert messages.decode_order(ask.order) == order


# Those of users.


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where a user's modules are; what was imported from there is forgotten afterwards."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_a_function_of_the_users_is_loaded_by_its_name(folder: Path) -> None:
    (folder / "placing.py").write_text("def by_length(ident, shards):\n    return len(ident) % shards\n")
    strategy = load_strategy("placing:by_length", folders=[folder])
    assert strategy.name == "placing:by_length"
    assert [strategy.of("x" * n, 4) for n in range(6)] == [0, 1, 2, 3, 0, 1]
    assert run_prefix(strategy, "ml-training:x") == ""


def test_a_method_of_a_class_of_the_users_is_loaded_too(folder: Path) -> None:
    text = "class Placing:\n    @staticmethod\n    def first(ident, shards):\n        return 0\n"
    (folder / "classes.py").write_text(text)
    assert load_strategy("classes:Placing.first", folders=[folder]).of("x", 5) == 0


def test_a_function_may_say_how_run_ids_begin() -> None:
    def by_customer(ident: str, shards: int) -> int:
        return sharding.of(ident.partition(":")[0], shards)

    by_customer.run_prefix = lambda workflow: workflow.partition(":")[0] + ":"  # type: ignore[attr-defined]
    strategy = custom("placing:by_customer", by_customer)
    run = run_id(NOW, 7, run_prefix(strategy, "acme:nightly"))
    assert run.startswith("acme:exec_")
    assert strategy.of(run, 100) == strategy.of("acme:nightly", 100)


@pytest.mark.parametrize("prefix", ["a/b", "x" * 101, None, 5])
def test_a_prefix_that_no_id_can_have_is_refused(prefix: object) -> None:
    def placing(ident: str, shards: int) -> int:
        return 0

    placing.run_prefix = lambda workflow: prefix  # type: ignore[attr-defined]
    with pytest.raises(Refused, match="has no prefix for the runs of 'w'"):
        run_prefix(custom("m:placing", placing), "w")


@pytest.mark.parametrize("answer", [-1, 10, 2.0, True, None, "3"])
def test_an_answer_that_is_no_shard_is_refused_at_every_call(answer: object) -> None:
    strategy = custom("m:f", lambda ident, shards: answer)
    for _ in range(2):
        with pytest.raises(Refused, match="m:f has no shard for 'x': shards go from 0 to 9, and it answers"):
            strategy.of("x", 10)


def test_a_function_that_fails_refuses_only_what_was_asked() -> None:
    def picky(ident: str, shards: int) -> int:
        return {"good": 3}[ident]

    strategy = custom("m:picky", picky)
    with pytest.raises(Refused, match="m:picky fails for 'bad': KeyError"):
        strategy.of("bad", 10)
    assert strategy.of("good", 10) == 3


def test_a_function_is_asked_once_per_id() -> None:
    calls = itertools.count()
    strategy = custom("m:counting", lambda ident, shards: next(calls))
    assert [strategy.of("x", 10), strategy.of("x", 10), strategy.of("y", 10)] == [0, 0, 1]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("random", "there is no strategy 'random'; write hash, by-type, or module:function"),
        ("a b:c", "there is no strategy 'a b:c'"),
        ("placing:", "there is no strategy 'placing:'"),
        ("no_such_module:f", "cannot be imported: no module no_such_module where Python looks, nor in "),
        ("no_such_module.inner:f", "cannot be imported: no module no_such_module where Python looks"),
        ("failing:f", "cannot be imported: ZeroDivisionError: "),
        ("needing:f", "cannot be imported: No module named 'no_such_library'"),
        ("sound:g", "is not there: sound has no g"),
        ("sound:five", "is no function (id, shards) but a value of type int"),
    ],
)
def test_a_strategy_that_cannot_be_loaded_says_why(folder: Path, text: str, told: str) -> None:
    (folder / "failing.py").write_text("1 / 0\n")
    (folder / "needing.py").write_text("import no_such_library\n")
    (folder / "sound.py").write_text("five = 5\n")
    with pytest.raises(Invalid) as caught:
        load_strategy(text, folders=[folder])
    assert told in str(caught.value)


# Whether two nodes would place ids alike.


def test_the_fingerprint_tells_strategies_apart_by_what_they_answer() -> None:
    found = [
        fingerprint(HASH, 100),
        fingerprint(HASH, 99),
        fingerprint(BY_TYPE, 100),
        fingerprint(custom("m:f", by_length), 100),
    ]
    assert len(set(found)) == len(found)
    assert fingerprint(custom("m:f", by_length), 100) == fingerprint(custom("other:g", by_length), 100)
    assert fingerprint(custom("m:hash", sharding.of), 100) == fingerprint(HASH, 100)


def test_the_fingerprint_never_changes() -> None:
    """Clusters have written it down."""
    assert fingerprint(HASH, 100) == "1225a458673085cf"


def test_the_fingerprint_finds_a_function_that_is_not_of_the_id_alone() -> None:
    """Such as Python's own hash, which another process starts elsewhere."""

    def started(seed: int) -> strategies.Strategy:
        return custom("m:f", lambda ident, shards: hash((seed, ident)) % shards)

    assert fingerprint(started(1), 100) != fingerprint(started(2), 100)


def test_the_fingerprint_of_a_strategy_that_answers_no_shards_is_refused() -> None:
    with pytest.raises(Refused, match="has no shard for"):
        fingerprint(custom("m:f", lambda ident, shards: shards), 100)
    with pytest.raises(Invalid, match="needs 3 shards"):
        fingerprint(BY_TYPE, 2)


def test_every_built_in_strategy_has_its_own_name() -> None:
    assert set(strategies.BUILT_IN) == {"hash", "by-type"}
