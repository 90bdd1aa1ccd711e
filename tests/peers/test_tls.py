"""Links inside TLS: both sides are who they say, also to whoever watches the network."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from tests.certificates import Authority, Pair
from tests.peers.clusters import SECRET, House, Recorder, acquaint, ask, yes
from tests.waiting import until
from windlass.core.cluster import Member, NodeId
from windlass.gateway.http import serve_http
from windlass.gateway.tls import ClientTls, ServerTls, client_context
from windlass.peers.handshake import Hopeless
from windlass.peers.websocket import HELLO, PATH, WebsocketLines, WebsocketPeers
from windlass.wire.messages import Quiet


@contextlib.asynccontextmanager
async def node(
    id: str,
    pair: Pair | None,
    ca: Path | None = None,
    *,
    client_ca: Path | None = None,
    shows: Pair | None = None,
) -> AsyncIterator[House]:
    """With TLS if it has a pair; `shows`: another certificate than its own when it dials."""
    host, dials_as = Recorder(yes), shows or pair
    trust = None if dials_as is None else ClientTls(ca, dials_as.certificate, dials_as.key)
    peers = WebsocketPeers(
        host,
        secret=SECRET,
        level=1,
        trust=None if trust is None else lambda: trust.context,
        certificates=client_ca is not None,
    )

    async def leave(_: web.Application) -> None:
        await peers.close()

    app = web.Application()
    app.router.add_get(PATH, peers.accept)
    app.on_shutdown.append(leave)
    tls = None if pair is None else ServerTls(pair.certificate, pair.key, client_ca)
    runner, port = await serve_http(app, "127.0.0.1", 0, tls=tls)
    try:
        yield House(Member(id=NodeId(id), name=id, address=f"127.0.0.1:{port}"), host, peers, peers.close)
    finally:
        await runner.cleanup()


def complaints(caplog: pytest.LogCaptureFixture) -> set[str]:
    said = [record for record in caplog.records if record.message == "no link with a node of the cluster"]
    return {vars(record)["reason"] for record in said}


def test_nodes_of_one_authority_are_linked_and_answer(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    ca = authority.file

    async def story() -> None:
        async with node("a", authority.issue("a"), ca) as one, node("b", authority.issue("b"), ca) as two:
            await acquaint(one, two)
            assert await ask(one, two) == Quiet(True)
            assert await ask(two, one) == Quiet(True)

    asyncio.run(story())


def test_with_client_certificates_they_are_linked_too(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    ca = authority.file

    async def story() -> None:
        one_is, two_is = (
            node("a", authority.issue("a"), ca, client_ca=ca),
            node("b", authority.issue("b"), ca, client_ca=ca),
        )
        async with one_is as one, two_is as two:
            await acquaint(one, two)
            assert await ask(one, two) == Quiet(True)

    asyncio.run(story())


def test_a_node_whose_certificate_is_of_another_authority_gets_no_word_of_a_greeting(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ours, theirs = Authority(tmp_path), Authority(tmp_path, "theirs")

    async def story() -> None:
        async with (
            node("a", ours.issue("a"), ours.file) as one,
            node("b", theirs.issue("b"), theirs.file) as two,
        ):
            one.meet(two)
            await until(lambda: complaints(caplog))
            assert not one.has_link(two)

    asyncio.run(story())
    assert complaints(caplog) == {
        "its certificate is not trusted: unable to get local issuer certificate; see --tls-ca"
    }


@pytest.mark.parametrize(
    ("host", "lasts", "reason"),
    [
        ("127.0.0.9", timedelta(days=1), "IP address mismatch, certificate is not valid for '127.0.0.1'."),
        ("127.0.0.1", timedelta(days=-1), "certificate has expired"),
    ],
)
def test_a_certificate_of_another_machine_or_time_will_not_do(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, host: str, lasts: timedelta, reason: str
) -> None:
    authority = Authority(tmp_path)
    ca = authority.file

    async def story() -> None:
        bad = authority.issue("b", host=host, lasts=lasts)
        async with node("a", authority.issue("a"), ca) as one, node("b", bad, ca) as two:
            one.meet(two)
            await until(lambda: complaints(caplog))
            assert not one.has_link(two)

    asyncio.run(story())
    assert complaints(caplog) == {f"its certificate is not trusted: {reason}; see --tls-ca"}


def test_a_node_without_tls_is_told_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    authority = Authority(tmp_path)

    async def story() -> None:
        async with node("a", authority.issue("a"), authority.file) as one, node("b", None) as two:
            one.meet(two)
            two.meet(one)
            await until(lambda: complaints(caplog))
            assert not one.has_link(two)
            assert not two.has_link(one)

    asyncio.run(story())
    assert complaints(caplog) == {
        "it speaks no TLS, and this node does: all nodes of a cluster have it, or none"
    }


def test_who_shows_no_certificate_is_refused_at_peers_before_any_greeting(tmp_path: Path) -> None:
    authority = Authority(tmp_path)

    async def story() -> None:
        async with node("a", authority.issue("a"), authority.file, client_ca=authority.file) as one:
            one.meet()
            url, trust = f"https://{one.member.address}{PATH}", client_context(authority.file)
            async with (
                aiohttp.ClientSession() as session,
                session.get(url, headers={HELLO: "x"}, ssl=trust) as answer,
            ):
                assert answer.status == 403
                assert HELLO not in answer.headers
            lines = WebsocketLines(2.0, lambda: trust)
            with pytest.raises(Hopeless, match="--tls-client-ca"):
                await lines.greet(one.member.address, "x")
            await lines.close()

    asyncio.run(story())


def test_who_shows_a_certificate_of_another_authority_does_not_get_so_far(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ours, theirs = Authority(tmp_path), Authority(tmp_path, "theirs")

    async def story() -> None:
        async with (
            node("b", ours.issue("b"), ours.file, client_ca=ours.file) as one,
            node("a", ours.issue("a"), ours.file, shows=theirs.issue("stranger")) as two,
        ):
            one.meet(Member(id=two.id, name="a", address="127.0.0.1:1"))
            two.meet(one)
            await until(lambda: "refused a certificate" in caplog.messages)
            assert one.host.links == two.host.links == []

    asyncio.run(story())
    assert caplog.messages.count("refused a certificate") == 1  # a stranger cannot fill the log
