"""What every registry promises, whatever it is made of."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, TypeVar

import pytest
from msgspec.structs import asdict, replace

from tests.journal import ADAPTERS, keep, row
from tests.journal.test_conformance import document
from tests.registry import Place, hook, inbound, line, secret, setting, token, told, worker
from windlass.core.roles import ROLES
from windlass.journal import Store, StoreRefused
from windlass.registry import (
    AuditQuery,
    HookRow,
    InboundRow,
    NamespaceRow,
    Registry,
    SecretRow,
    SettingRow,
    TokenRow,
    WorkerRow,
)

ODD = "ŋ\u0301 😀 %_'\"\\ \x01\u202e\U0010ffff\ufffe"
T = TypeVar("T", TokenRow, SecretRow, HookRow, InboundRow, WorkerRow, SettingRow)
UNHOLDABLE = ("a\0b", "half a \ud83d")


def on_every_registry(story: Callable[[Registry], Awaitable[None]]) -> Callable[[str, Path], None]:
    """The story as one test per adapter, on a registry with nothing in it."""

    async def play(adapter: str, folder: Path) -> None:
        async with AsyncExitStack() as stack:
            registry, _ = await Place(adapter, folder).open(stack)
            await story(registry)

    @pytest.mark.parametrize("adapter", ADAPTERS)
    def test(adapter: str, tmp_path: Path) -> None:
        asyncio.run(play(adapter, tmp_path))

    test.__name__ = story.__name__
    return test


# Tokens.


@on_every_registry
async def test_a_token_comes_back_as_it_was(registry: Registry) -> None:
    given = token(
        name=ODD,
        namespace="*",
        created_at=0.1,
        created_by="t0",
        expires_at=1e10 / 3,
        revoked_at=2.0,
        used_at=3.0,
    )
    plain = token("t2")
    for added in (given, plain):
        await registry.add_token(added)
    assert await registry.token("t1") == given
    assert await registry.token("t2") == plain
    assert await registry.token("t3") is None


@on_every_registry
async def test_there_are_tokens_of_every_role(registry: Registry) -> None:
    for role in ROLES:
        await registry.add_token(token(role, role=role))
    assert {found.id: found.role for found in await registry.tokens()} == {role: role for role in ROLES}


@on_every_registry
async def test_a_number_that_is_taken_is_refused(registry: Registry) -> None:
    await registry.add_token(token(name="first"))
    with pytest.raises(StoreRefused):
        await registry.add_token(token(name="second"))
    assert await registry.token("t1") == token(name="first")


@on_every_registry
async def test_tokens_are_listed_newest_first(registry: Registry) -> None:
    for id, at, namespace in (("b", 2.0, "x"), ("a", 2.0, "y"), ("c", 1.0, "x"), ("d", 3.0, "*")):
        await registry.add_token(token(id, at, namespace=namespace))
    assert [found.id for found in await registry.tokens()] == ["d", "b", "a", "c"]
    assert [found.id for found in await registry.tokens("x")] == ["b", "c"]
    assert [found.id for found in await registry.tokens("*")] == ["d"]
    assert await registry.tokens("%") == []


@on_every_registry
async def test_a_token_is_revoked_once(registry: Registry) -> None:
    await registry.add_token(token("t1"))
    await registry.add_token(token("t2"))
    assert await registry.revoke_token("t1", 5.0)
    assert not await registry.revoke_token("t1", 6.0)
    assert not await registry.revoke_token("nobody", 5.0)
    assert await registry.tokens() == [token("t2"), token("t1", revoked_at=5.0)]


@on_every_registry
async def test_the_last_use_of_many_tokens_never_goes_back(registry: Registry) -> None:
    for n in range(50):
        await registry.add_token(token(f"t{n}"))
    await registry.touch_tokens({f"t{n}": 10.0 + n for n in range(49)})
    await registry.touch_tokens({"t0": 9.0, "t1": 99.0, "nobody": 1.0, **dict.fromkeys(UNHOLDABLE, 1.0)})
    await registry.touch_tokens({})
    used = {found.id: found.used_at for found in await registry.tokens()}
    assert used == {f"t{n}": 10.0 + n for n in range(49)} | {"t1": 99.0, "t49": None}


@on_every_registry
async def test_a_token_that_has_expired_or_was_revoked_is_still_told_and_touched(registry: Registry) -> None:
    await registry.add_token(token("old", expires_at=0.5))
    await registry.add_token(token("gone", revoked_at=0.5))
    await registry.touch_tokens({"old": 2.0, "gone": 2.0})
    assert await registry.token("old") == token("old", expires_at=0.5, used_at=2.0)
    assert await registry.token("gone") == token("gone", revoked_at=0.5, used_at=2.0)


# Secrets.


@on_every_registry
async def test_every_change_of_a_secret_has_its_version(registry: Registry) -> None:
    assert await registry.put_secret(secret(version=77)) == 1
    given = secret(key="k2", sealed=bytes(range(256)), updated_at=1 / 3, updated_by=ODD)
    assert await registry.put_secret(given) == 2
    assert await registry.put_secret(secret(namespace="other")) == 1
    assert await registry.secret("default", "s1") == replace(given, version=2)
    assert await registry.secret("other", "s1") == secret(namespace="other", version=1)
    assert await registry.secret("default", "s2") is None


@on_every_registry
async def test_a_secret_sealed_anew_keeps_its_version(registry: Registry) -> None:
    await registry.put_secret(secret(updated_by="me"))
    assert await registry.reseal_secret(secret(version=1, key="k2", sealed=b"new", updated_by="somebody"))
    assert await registry.secret("default", "s1") == secret(
        version=1, key="k2", sealed=b"new", updated_by="me"
    )


@on_every_registry
async def test_a_secret_that_has_changed_or_gone_is_not_sealed_anew(registry: Registry) -> None:
    resealed = secret(version=1, key="k2", sealed=b"of the old text")
    assert not await registry.reseal_secret(resealed), "it was never there"
    await registry.put_secret(secret())
    await registry.put_secret(secret(sealed=b"changed"))
    assert not await registry.reseal_secret(resealed)
    await registry.delete_secret("default", "s1")
    await registry.put_secret(secret(sealed=b"made anew", updated_at=9.0))
    assert not await registry.reseal_secret(resealed)
    kept = secret(sealed=b"made anew", updated_at=9.0, version=1)
    assert await registry.secrets() == [kept]


@on_every_registry
async def test_secrets_are_listed_by_namespace_and_name(registry: Registry) -> None:
    # Byte by byte, whatever the language of the server.
    for namespace, name in (("b", "x"), ("a", "ä"), ("a", "z"), ("a", "Z"), ("a", "_"), ("B", "x")):
        await registry.put_secret(secret(name, namespace))
    everything = [("B", "x"), ("a", "Z"), ("a", "_"), ("a", "z"), ("a", "ä"), ("b", "x")]
    assert [(found.namespace, found.name) for found in await registry.secrets()] == everything
    assert [found.name for found in await registry.secrets("a")] == ["Z", "_", "z", "ä"]


@on_every_registry
async def test_a_deleted_secret_is_gone(registry: Registry) -> None:
    await registry.put_secret(secret("s1"))
    await registry.put_secret(secret("s2"))
    await registry.put_secret(secret("s1", "other"))
    assert await registry.delete_secret("default", "s1")
    assert not await registry.delete_secret("default", "s1")
    assert [(found.namespace, found.name) for found in await registry.secrets()] == [
        ("default", "s2"),
        ("other", "s1"),
    ]


# Webhooks.


@on_every_registry
async def test_a_hook_comes_back_as_it_was(registry: Registry) -> None:
    given = hook(workflow=ODD, url=ODD, on=("failed", "stuck", 'a,"b"'), created_at=1 / 3, created_by="t1")
    nothing = hook("w2", on=())
    for put in (given, nothing):
        await registry.put_hook(put)
    assert await registry.hook("w1") == given
    assert await registry.hook("w2") == nothing
    assert await registry.hook("w3") is None


@on_every_registry
async def test_a_hook_is_replaced_by_one_with_its_id(registry: Registry) -> None:
    await registry.put_hook(hook())
    other = hook(
        url="https://b.example",
        namespace="b",
        workflow="w",
        on=("stuck",),
        key="k",
        sealed=b"",
        created_at=2.0,
    )
    await registry.put_hook(other)
    assert await registry.hooks() == [other]


@on_every_registry
async def test_hooks_are_listed_oldest_first(registry: Registry) -> None:
    for id, at, namespace in (("b", 2.0, "x"), ("a", 2.0, "y"), ("c", 1.0, "x")):
        await registry.put_hook(hook(id, at, namespace=namespace))
    assert [found.id for found in await registry.hooks()] == ["c", "a", "b"]
    assert [found.id for found in await registry.hooks("x")] == ["c", "b"]
    assert await registry.hooks("") == []


@on_every_registry
async def test_a_deleted_hook_is_gone(registry: Registry) -> None:
    await registry.put_hook(hook("w1"))
    await registry.put_hook(hook("w2"))
    assert await registry.delete_hook("w1")
    assert not await registry.delete_hook("w1")
    assert await registry.hooks() == [hook("w2")]


# Webhooks that come in.


@on_every_registry
async def test_what_lets_programs_in_comes_back_as_it_was(registry: Registry) -> None:
    given = inbound(ODD, ODD, rule=b'{"action":"start"}', updated_by="t1")
    await registry.put_inbound(given)
    assert await registry.inbound(ODD, ODD) == given
    assert await registry.inbound("default", ODD) is None
    assert await registry.inbound(ODD, "in1") is None


@on_every_registry
async def test_what_lets_programs_in_is_replaced_and_its_beginning_stays(registry: Registry) -> None:
    await registry.put_inbound(inbound(created_at=1.0))
    await registry.put_inbound(inbound(created_at=9.0, updated_at=9.0, rule=b"other", updated_by="t2"))
    assert await registry.inbounds() == [
        inbound(created_at=1.0, updated_at=9.0, rule=b"other", updated_by="t2")
    ]


@on_every_registry
async def test_what_lets_programs_in_is_listed_by_namespace_and_name(registry: Registry) -> None:
    for name, namespace in (("b", "x"), ("a", "y"), ("a", "x"), ("B", "x")):
        await registry.put_inbound(inbound(name, namespace))
    assert [(found.namespace, found.name) for found in await registry.inbounds()] == [
        ("x", "B"), ("x", "a"), ("x", "b"), ("y", "a"),
    ]  # fmt: skip
    assert [found.name for found in await registry.inbounds("y")] == ["a"]
    assert await registry.delete_inbound("x", "a")
    assert not await registry.delete_inbound("x", "a")
    assert [found.name for found in await registry.inbounds("x")] == ["B", "b"]


@on_every_registry
async def test_what_lets_programs_in_is_sealed_anew_only_if_nobody_changed_it(registry: Registry) -> None:
    await registry.put_inbound(inbound(updated_at=1.0))
    read = inbound(updated_at=1.0, rule=b"stale", key="k2", sealed=b"anew")
    assert await registry.reseal_inbound(read)
    assert await registry.inbounds() == [inbound(updated_at=1.0, key="k2", sealed=b"anew")]
    await registry.put_inbound(inbound(updated_at=2.0))
    assert not await registry.reseal_inbound(read)
    assert not await registry.reseal_inbound(inbound("other"))
    assert await registry.inbounds() == [inbound(updated_at=2.0)]


# Workers and settings.


@on_every_registry
async def test_workers_come_back_as_they_were_by_session(registry: Registry) -> None:
    given = worker("b", 1 / 3, worker=ODD, node=ODD, by="", address=ODD, facts=bytes(range(256)))
    await registry.put_workers([given, worker("c"), worker("B"), worker("a")])
    assert await registry.workers() == [worker("B"), worker("a"), given, worker("c")]


@on_every_registry
async def test_a_worker_is_replaced_by_a_later_word_of_its_session(registry: Registry) -> None:
    await registry.put_workers([worker("a"), worker("b", facts=b"first"), worker("b", facts=b"second")])
    moved = worker("a", 2.0, worker="x", node="n2", by="t2", address="::2", facts=b"others")
    await registry.put_workers([moved, worker("c")])
    await registry.put_workers([])
    assert await registry.workers() == [moved, worker("b", facts=b"second"), worker("c")]


@on_every_registry
async def test_dropped_workers_are_gone(registry: Registry) -> None:
    await registry.put_workers([worker(f"{n:03}") for n in range(300)])
    await registry.drop_workers({f"{n:03}" for n in range(298)} | {"nobody", *UNHOLDABLE})
    await registry.drop_workers([])
    await registry.drop_workers(["298"], node="another node")  # who has it now keeps it
    assert await registry.workers() == [worker("298"), worker("299")]


@on_every_registry
async def test_a_worker_that_is_with_another_node_by_now_is_not_dropped_by_its_former_one(
    registry: Registry,
) -> None:
    await registry.put_workers([worker("stayed", node="n1"), worker("moved", node="n2")])
    await registry.drop_workers(["stayed", "moved"], node="n1")
    assert await registry.workers() == [worker("moved", node="n2")]
    for name in UNHOLDABLE:
        await registry.drop_workers(["moved"], node=name)
    assert await registry.workers() == [worker("moved", node="n2")]


@on_every_registry
async def test_all_workers_are_kept_or_none(registry: Registry) -> None:
    with pytest.raises(StoreRefused):
        await registry.put_workers([worker("a"), worker("b", float("nan")), worker("c")])
    assert await registry.workers() == []


@on_every_registry
async def test_a_setting_is_kept_if_it_is_still_the_one_that_was_seen(registry: Registry) -> None:
    assert await registry.setting("assignment") is None
    assert await registry.put_setting(setting(), expected=1) is None
    assert await registry.put_setting(setting(version=77), expected=None) == 1
    assert await registry.put_setting(setting(body=b"mine too"), expected=None) is None
    given = setting(body=bytes(range(256)), at=1 / 3, by=ODD)
    assert await registry.put_setting(given, expected=1) == 2
    for stale in (1, 3, 0, -1, 2**70):
        assert await registry.put_setting(setting(body=b"late"), expected=stale) is None
    assert await registry.setting("assignment") == replace(given, version=2)
    assert await registry.put_setting(setting(ODD), expected=None) == 1
    assert await registry.setting(ODD) == setting(ODD, version=1)


@on_every_registry
async def test_of_many_who_saw_the_same_setting_one_changes_it(registry: Registry) -> None:
    for expected in (None, 1):
        given = [setting(body=b"%d" % n) for n in range(10)]
        versions = await asyncio.gather(*(registry.put_setting(row, expected=expected) for row in given))
        (done,) = [version for version in versions if version is not None]
        assert done == (expected or 0) + 1
        kept = await registry.setting("assignment")
        assert kept is not None
        assert kept.body == b"%d" % versions.index(done)


# The audit log.


@on_every_registry
async def test_lines_come_back_as_they_were_newest_first(registry: Registry) -> None:
    full = line(
        ODD,
        1 / 3,
        role="admin",
        namespace="n",
        thing="run/r",
        address="::1",
        outcome=403,
        detail=ODD,
        request="q",
    )
    await registry.write_audit([full, line(at=0.1)])
    await registry.write_audit([])
    await registry.write_audit([line(at=0.2, n=7)])  # its number is not ours to say
    found = await registry.audit(AuditQuery())
    assert [replace(row, n=0) for row in found] == [line(at=0.2), line(at=0.1), full]
    assert found[0].n > found[1].n > found[2].n > 0


@on_every_registry
async def test_lines_are_numbered_in_the_order_they_were_given(registry: Registry) -> None:
    await registry.write_audit([line(detail=f"{n}") for n in range(300)])
    assert await told(registry, limit=1000) == [f"{n}" for n in reversed(range(300))]


@on_every_registry
async def test_lines_are_read_in_pages_while_more_are_written(registry: Registry) -> None:
    await registry.write_audit([line(detail=f"{n}", namespace="ab"[n % 2]) for n in range(10)])
    seen, before = [], None
    while page := await registry.audit(AuditQuery(namespace="a", before=before, limit=2)):
        seen += [row.detail for row in page]
        before = page[-1].n
        await registry.write_audit([line(detail="late", namespace="a")])
    assert seen == ["8", "6", "4", "2", "0"]


@on_every_registry
async def test_everything_that_is_asked_for_has_to_fit(registry: Registry) -> None:
    base = line("t1 ann", 5.0, namespace="a", act="stop", thing="run/r", outcome=403)
    others = {
        "namespace": "b", "who": "t2 bob", "act": "start", "thing": "run/s", "at": 3.0, "outcome": 399,
    }  # fmt: skip
    await registry.write_audit([replace(base, detail="base")])
    await registry.write_audit(
        [replace(base, **{name: value}, detail=name) for name, value in others.items()]
    )
    everything = {"base", *others}
    asked: dict[str, dict[str, Any]] = {
        "namespace": {"namespace": "a"},
        "who": {"who": "t1"},
        "act": {"act": "stop"},
        "thing": {"thing": "run/r"},
        "at": {"since": 5.0},
        "outcome": {"failed": True},
    }
    assert asked.keys() == others.keys()
    for name, query in asked.items():
        assert {*await told(registry, **query)} == everything - {name}
    whole = {field: value for query in asked.values() for field, value in query.items()}
    assert await told(registry, **whole, until=5.1) == ["base"]


@on_every_registry
async def test_times_are_from_the_first_until_before_the_second(registry: Registry) -> None:
    await registry.write_audit([line(at=at, detail=f"{at}") for at in (1.0, 2.0, 3.0, 2.0)])
    assert await told(registry, since=2.0) == ["2.0", "3.0", "2.0"]
    assert await told(registry, until=2.0) == ["1.0"]
    assert await told(registry, since=1.0, until=3.0) == ["2.0", "2.0", "1.0"]
    assert await told(registry, since=float("nan")) == await told(registry, until=float("nan")) == []


@pytest.mark.parametrize("adapter", ADAPTERS)
@pytest.mark.parametrize(
    ("asked", "fit"),
    [
        ("t1", {"t1", "t10 ann"}),
        ("t1_", {"t1_x"}),
        ("t%", {"t%1"}),
        ("T1", set()),
        ("%", {"%"}),
        ("\\", {"\\%"}),
        ("'", {"'; --"}),
        ("zoë", {"zoë 1"}),
        ("😀", {"😀😀"}),
        ("t10 ann", {"t10 ann"}),
        ("t10 anna", set()),
        ("ann", set()),
    ],
)
def test_who_is_asked_for_by_how_it_begins(adapter: str, asked: str, fit: set[str], tmp_path: Path) -> None:
    names = ["t1", "t1_x", "t10 ann", "t%1", "%", "\\%", "'; --", "zoë 1", "zoe", "😀😀", "a"]

    async def play() -> None:
        async with AsyncExitStack() as stack:
            registry, _ = await Place(adapter, tmp_path).open(stack)
            await registry.write_audit([line(name) for name in names])
            found = {row.who for row in await registry.audit(AuditQuery(who=asked))}
            assert found == (fit | {"t1_x"} if asked == "t1" else fit)
            assert len(await registry.audit(AuditQuery(who=""))) == len(names)

    asyncio.run(play())


@on_every_registry
async def test_only_old_lines_are_purged_and_the_oldest_first(registry: Registry) -> None:
    await registry.write_audit([line(at=float(at), detail=f"{at}") for at in (5, 1, 4, 2, 3, 4)])
    assert await registry.purge_audit(4.0, 2) == 2
    assert await told(registry) == ["4", "3", "4", "5"]
    assert await registry.purge_audit(4.0, 10) == 1
    assert await registry.purge_audit(4.0, 10) == 0
    assert await told(registry) == ["4", "4", "5"]


@on_every_registry
async def test_a_number_is_never_given_twice(registry: Registry) -> None:
    await registry.write_audit([line(), line()])
    (last, _) = await registry.audit(AuditQuery())
    assert await registry.purge_audit(9.0, 10) == 2
    await registry.write_audit([line()])
    (new,) = await registry.audit(AuditQuery())
    assert new.n > last.n


@on_every_registry
async def test_what_no_database_can_hold_does_not_keep_a_line_from_being_written(registry: Registry) -> None:
    hostile = line("a\0b", thing="run/\ud83d", detail="\0\ud83d\udc00", address="\0", act="\0", request="\0")
    await registry.write_audit([line(detail="before"), hostile, line(detail="after")])
    after, found, before = await registry.audit(AuditQuery())
    assert (before.detail, after.detail) == ("before", "after")
    assert (found.who, found.thing, found.detail) == ("a\ufffdb", "run/\ufffd", "\ufffd\ufffd\ufffd")


@on_every_registry
async def test_all_lines_are_written_or_none(registry: Registry) -> None:
    for wrong in (line(at=float("nan")), line(outcome=2**63)):
        with pytest.raises(StoreRefused):
            await registry.write_audit([line(), wrong, line()])
    assert await registry.audit(AuditQuery()) == []


@on_every_registry
async def test_numbers_that_are_too_large_ask_for_everything_or_nothing(registry: Registry) -> None:
    await registry.write_audit([line(detail="1")])
    assert await told(registry, before=2**70, limit=2**70) == ["1"]
    assert await told(registry, before=-(2**70)) == []
    assert await told(registry, limit=0) == await told(registry, limit=-1) == []
    assert await registry.purge_audit(float("inf"), 2**70) == 1


# Names.


@on_every_registry
async def test_odd_names_are_kept(registry: Registry) -> None:
    await registry.add_token(token(ODD, namespace=ODD))
    await registry.put_secret(secret(ODD, ODD))
    await registry.put_hook(hook(ODD, namespace=ODD))
    assert await registry.tokens(ODD) == [token(ODD, namespace=ODD)]
    assert await registry.revoke_token(ODD, 1.0)
    assert await registry.secret(ODD, ODD) == secret(ODD, ODD, version=1)
    assert await registry.hook(ODD) == hook(ODD, namespace=ODD)
    assert await registry.delete_secret(ODD, ODD)
    assert await registry.delete_hook(ODD)


@on_every_registry
async def test_what_no_database_can_hold_is_refused_and_the_field_is_named(registry: Registry) -> None:
    await _refuses(token(), registry.add_token)
    await _refuses(secret(), registry.put_secret)
    await _refuses(hook(), registry.put_hook)
    await _refuses(inbound(), registry.put_inbound)
    await _refuses(worker(), lambda row: registry.put_workers([row]))
    await _refuses(setting(), lambda row: registry.put_setting(row, expected=None))
    with pytest.raises(StoreRefused, match="expires_at"):
        await registry.add_token(token(expires_at=float("nan")))
    with pytest.raises(StoreRefused, match="on"):
        await registry.put_hook(hook(on=("failed", "\0")))
    assert not await registry.tokens()
    assert not await registry.hooks()
    assert not await registry.secrets()


async def _refuses(made: T, keep_it: Callable[[T], Awaitable[object]]) -> None:
    """Each field of the row in turn has something in it that cannot be."""
    for name, value in asdict(made).items():
        nothing = [float("nan")] if isinstance(value, float) else []
        for wrong in UNHOLDABLE if isinstance(value, str) else nothing:
            with pytest.raises(StoreRefused, match=f"^{name} cannot be kept: it has "):
                await keep_it(replace(made, **{name: wrong}))


@on_every_registry
async def test_nothing_has_a_name_that_cannot_be(registry: Registry) -> None:
    await registry.add_token(token())
    await registry.write_audit([line()])
    for name in UNHOLDABLE:
        assert await registry.token(name) is None
        assert await registry.tokens(name) == []
        assert not await registry.revoke_token(name, 1.0)
        assert await registry.secret(name, "s") is await registry.secret("n", name) is None
        assert await registry.secrets(name) == []
        assert not await registry.delete_secret("n", name)
        assert await registry.hook(name) is None
        assert await registry.hooks(name) == []
        assert not await registry.delete_hook(name)
        assert await registry.inbound(name, "x") is await registry.inbound("default", name) is None
        assert await registry.inbounds(name) == []
        assert not await registry.delete_inbound("default", name)
        assert await registry.setting(name) is None
        for field in ("who", "namespace", "act", "thing"):
            assert await told(registry, **{field: name}) == []
        assert await registry.count_open_runs(name, 10) == 0


# Beside the journal.


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_open_runs_are_counted_up_to_a_limit(adapter: str, tmp_path: Path) -> None:
    async def play() -> None:
        async with AsyncExitStack() as stack:
            registry, store = await Place(adapter, tmp_path).open(stack)
            assert await registry.count_open_runs("default", 10) == 0
            await _fill(store)
            assert await registry.count_open_runs("default", 10) == 5
            assert await registry.count_open_runs("default", 5) == 5
            assert await registry.count_open_runs("default", 4) == 4
            assert await registry.count_open_runs("default", 0) == 0
            assert await registry.count_open_runs("other", 2**70) == 1
            assert await registry.count_open_runs("nobody's", 10) == 0

    asyncio.run(play())


async def _fill(store: Store) -> None:
    await store.claim([0, 1])
    open_ = [row(f"o{n}", status=status) for n, status in enumerate(("running", "queued", "paused"))]
    ended = [row(f"e{n}", status="failed", settled=True, ended_at=2.0) for n in range(7)]
    await keep(store, runs=[*open_, *ended, row("o", namespace="other")])
    await keep(
        store,
        shard=1,
        runs=[row("x", status="stuck"), row("y", asleep=True), row("z", status="stuck", settled=True)],
    )


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_namespaces_are_those_that_have_runs_workflows_or_tokens(adapter: str, tmp_path: Path) -> None:
    async def play() -> None:
        async with AsyncExitStack() as stack:
            registry, store = await Place(adapter, tmp_path).open(stack)
            assert await registry.namespaces(limit=10) == []
            await _fill(store)
            documents = [
                document("a", 1), document("a", 2), document("b", 1),
                document("a", 1, namespace="quiet"), document("a", 1, namespace="gone"),
                document("a", 2, namespace="gone", deleted=True),
            ]  # fmt: skip
            await keep(store, documents=documents)
            await registry.add_token(token("t1", namespace="asked-in"))
            await registry.add_token(token("t2", namespace="*"))
            await registry.add_token(token("t3", namespace="revoked"))
            await registry.revoke_token("t3", 2.0)
            every = [space("asked-in"), space("default", 2, 5), space("other", 0, 1), space("quiet", 1)]
            assert await registry.namespaces(limit=10) == every
            assert await registry.namespaces(limit=2) == every[:2]
            assert await registry.namespaces(limit=10, counted=2) == [
                space("asked-in"), space("default", 2, 2), space("other", 0, 1), space("quiet", 1)
            ]  # fmt: skip
            assert await registry.namespaces("quiet", limit=10) == [space("quiet", 1)]
            assert await registry.namespaces("gone", limit=10) == []
            assert await registry.namespaces("nobody's\0", limit=10) == []

    asyncio.run(play())


def space(name: str, workflows: int = 0, open_runs: int = 0) -> NamespaceRow:
    return NamespaceRow(name=name, workflows=workflows, open_runs=open_runs)


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_all_of_it_is_there_when_it_is_opened_again(adapter: str, tmp_path: Path) -> None:
    place = Place(adapter, tmp_path)

    async def write() -> None:
        async with AsyncExitStack() as stack:
            registry, store = await place.open(stack)
            await store.claim([0])
            await keep(store, runs=[row("r")])
            await registry.add_token(token())
            await registry.put_secret(secret())
            await registry.put_hook(hook())
            await registry.put_inbound(inbound())
            await registry.put_workers([worker()])
            await registry.put_setting(setting(), expected=None)
            await registry.write_audit([line(detail="kept")])

    async def read() -> None:
        async with AsyncExitStack() as stack:
            registry, _ = await place.open(stack)
            assert await registry.tokens() == [token()]
            assert await registry.secrets() == [secret(version=1)]
            assert await registry.hooks() == [hook()]
            assert await registry.inbounds() == [inbound()]
            assert await registry.workers() == [worker()]
            assert await registry.setting("assignment") == setting(version=1)
            assert await told(registry) == ["kept"]
            assert await registry.count_open_runs("default", 10) == 1
            assert await registry.put_secret(secret()) == 2

    asyncio.run(write())
    asyncio.run(read())


@on_every_registry
async def test_of_many_at_once_each_gets_its_own_version(registry: Registry) -> None:
    versions = await asyncio.gather(*(registry.put_secret(secret(sealed=b"%d" % n)) for n in range(20)))
    assert sorted(versions) == list(range(1, 21))
    kept = await registry.secret("default", "s1")
    assert kept is not None
    assert kept.version == 20
    assert kept.sealed == b"%d" % versions.index(20)
