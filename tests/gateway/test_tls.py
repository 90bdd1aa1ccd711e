"""TLS on the listener: what it speaks, what is said of files that will not do, and how they are replaced."""

from __future__ import annotations

import asyncio
import logging
import ssl
from datetime import timedelta
from pathlib import Path

import aiohttp
import pytest

from tests.certificates import Authority, Pair
from tests.gateway.wire import listening
from tests.waiting import until
from windlass.gateway import tls as tls_module
from windlass.gateway.tls import BadTls, ClientTls, ServerTls, client_context


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


async def shown(port: int, trust: ssl.SSLContext) -> bytes:
    """The certificate that the server shows to a new connection."""
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trust)
    try:
        found = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        assert isinstance(found, bytes)
        return found
    finally:
        writer.close()
        await writer.wait_closed()


def test_a_client_that_trusts_the_authority_is_answered(authority: Authority) -> None:
    async def story() -> None:
        pair = authority.issue("server")
        async with listening(tls=ServerTls(pair.certificate, pair.key)) as home:
            url, trust = f"https://127.0.0.1:{home.port}/", client_context(authority.file)
            async with aiohttp.ClientSession() as session, session.get(url, ssl=trust) as answer:
                assert answer.status == 200
                assert answer.headers["Strict-Transport-Security"] == "max-age=31536000"

    asyncio.run(story())


def test_a_client_that_trusts_others_says_nothing_to_it(authority: Authority, tmp_path: Path) -> None:
    async def story() -> None:
        pair = authority.issue("server")
        async with listening(tls=ServerTls(pair.certificate, pair.key)) as home:
            url, trust = f"https://127.0.0.1:{home.port}/", client_context(Authority(tmp_path, "other").file)
            async with aiohttp.ClientSession() as session:
                with pytest.raises(aiohttp.ClientConnectorCertificateError):
                    await session.get(url, ssl=trust)
            assert home.heard == []

    asyncio.run(story())


def test_nothing_older_than_tls_1_2_is_spoken(authority: Authority) -> None:
    pair = authority.issue("server")
    context = ServerTls(pair.certificate, pair.key).context
    assert context.minimum_version == ssl.TLSVersion.TLSv1_2
    assert ClientTls(authority.file).context.verify_mode == ssl.CERT_REQUIRED


def test_plain_http_to_a_tls_port_reaches_no_handler(authority: Authority) -> None:
    async def story() -> None:
        pair = authority.issue("server")
        async with listening(tls=ServerTls(pair.certificate, pair.key)) as home:
            assert b"here" not in await home.say(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert home.heard == []
            assert home.book.ended["handshake"] == 1
            assert home.book.open == 0

    asyncio.run(story())


# Files that change.


def look_twice(tls: ServerTls) -> None:
    tls.look()
    tls.look()


def replace(old: Pair, new: Pair) -> None:
    new.certificate.replace(old.certificate)
    new.key.replace(old.key)


def test_a_new_certificate_is_shown_to_new_connections_and_old_ones_stay(authority: Authority) -> None:
    async def story() -> None:
        pair = authority.issue("server")
        tls, trust = ServerTls(pair.certificate, pair.key), client_context(authority.file)
        async with listening(tls=tls) as home, aiohttp.ClientSession() as session:
            url = f"https://127.0.0.1:{home.port}/"
            async with session.get(url, ssl=trust) as answer:
                await answer.read()
            before = await shown(home.port, trust)
            replace(pair, authority.issue("next"))
            look_twice(tls)
            assert await shown(home.port, trust) != before
            async with session.get(url, ssl=trust) as answer:  # over the connection that was kept
                assert answer.status == 200

    asyncio.run(story())


def test_the_files_are_watched(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tls_module, "LOOK_S", 0.001)

    async def story() -> None:
        pair = authority.issue("server")
        tls = ServerTls(pair.certificate, pair.key)
        before = tls.context
        async with tls_module.watched(tls, None):
            replace(pair, authority.issue("next"))
            await until(lambda: tls.context is not before)

    asyncio.run(story())


def test_a_certificate_whose_key_is_yet_to_come_is_not_used(
    authority: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    pair, new = authority.issue("server"), authority.issue("next")
    tls = ServerTls(pair.certificate, pair.key)
    before = tls.context
    new.certificate.replace(pair.certificate)
    tls.look()  # in the middle of it
    new.key.replace(pair.key)
    tls.look()
    assert tls.context is before
    tls.look()
    assert tls.context is not before
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_a_broken_new_file_is_told_once_and_the_old_one_stays(
    authority: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    pair = authority.issue("server")
    tls = ServerTls(pair.certificate, pair.key)
    before = tls.context
    pair.certificate.write_text("half of it")
    for _ in range(5):
        tls.look()
    assert tls.context is before
    told = [vars(record)["reason"] for record in caplog.records if record.levelno == logging.WARNING]
    assert told == [
        f"the TLS certificate {pair.certificate} holds no certificate: expected -----BEGIN CERTIFICATE-----"
    ]


# Files that will not do.


def test_what_is_wrong_with_which_file_is_said_in_one_line(authority: Authority, tmp_path: Path) -> None:
    good, other = authority.issue("good"), authority.issue("other")
    nothing, junk = tmp_path / "nothing", tmp_path / "junk"
    junk.write_text("junk")
    wrong = [
        (nothing, good.key, None, f"the TLS certificate {nothing} cannot be read: No such file or directory"),
        (good.certificate, nothing, None, f"the TLS key {nothing} cannot be read: No such file or directory"),
        (good.certificate, other.key, None, f"the TLS key {other.key} does not belong to the certificate"),
        (junk, good.key, None, f"the TLS certificate {junk} holds no certificate"),
        (good.certificate, junk, None, f"the TLS key {junk} holds no key"),
        (good.key, good.certificate, None, f"the TLS certificate {good.key} holds no certificate"),
        (good.certificate, good.key, junk, f"the TLS authority {junk} holds no certificate"),
        (good.certificate, good.key, nothing, f"the TLS authority {nothing} cannot be read"),
    ]
    for certificate, key, ca, told in wrong:
        with pytest.raises(BadTls) as refused:
            ServerTls(certificate, key, ca)
        assert str(refused.value).startswith(told)
        assert "\n" not in str(refused.value)


def test_a_key_that_every_user_can_read_is_warned_of(
    authority: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    pair = authority.issue("server")
    pair.key.chmod(0o644)
    ServerTls(pair.certificate, pair.key)
    assert [record.message for record in caplog.records] == [
        "the TLS key can be read by every user of this machine"
    ]


def test_a_certificate_that_has_expired_is_warned_of(
    authority: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    pair = authority.issue("server", lasts=timedelta(days=-1))
    ServerTls(pair.certificate, pair.key)
    assert [record.message for record in caplog.records] == ["the TLS certificate has expired"]


def test_half_open_handshakes_take_places_and_give_them_back(authority: Authority) -> None:
    """Whoever connects and never says hello is one of those who are counted."""

    async def story() -> None:
        pair = authority.issue("server")
        async with listening(tls=ServerTls(pair.certificate, pair.key)) as home:
            async with home.connected() as (_, writer):
                writer.write(b"\x16\x03\x01")  # the first bytes of a hello
                await writer.drain()
                await until(lambda: home.book.open == 1)
            await until(lambda: home.book.open == 0)

    asyncio.run(story())
