"""Attacks below the handlers: requests hidden in requests, heads without end, and what is no HTTP at all."""

from __future__ import annotations

import asyncio

import pytest

from tests.gateway.wire import listening

HOST = b"Host: localhost\r\n"
HIDDEN = b"GET /hidden HTTP/1.1\r\nHost: localhost\r\n\r\n"


def heard(said: bytes) -> tuple[bytes, list[str]]:
    """What is answered in all, and the paths that reached a handler."""

    async def story() -> tuple[bytes, list[str]]:
        async with listening() as home:
            return await home.say(said), home.heard

    return asyncio.run(story())


@pytest.mark.parametrize(
    "head",
    [
        pytest.param(b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", id="length and chunks"),
        pytest.param(b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n", id="chunks and length"),
        pytest.param(b"Content-Length: 0\r\nContent-Length: 40\r\n", id="two lengths"),
        pytest.param(b"Content-Length: 4, 4\r\n", id="a list of lengths"),
        pytest.param(b"Content-Length: +4\r\n", id="a length with a sign"),
        pytest.param(b"Content-Length: 0x4\r\n", id="a length in another base"),
        pytest.param(b"Content-Length: 1_0\r\n", id="a length as Python would read it"),
        pytest.param(b"Content-Length:\r\n", id="a length of nothing"),
        pytest.param(b"Content-Length : 4\r\n", id="a blank before the colon"),
        pytest.param(b"Transfer-Encoding: xchunked\r\n", id="an encoding that nobody knows"),
        pytest.param(b"Transfer-Encoding: chunked, identity\r\n", id="chunks that are not the last"),
        pytest.param(b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", id="two encodings"),
        pytest.param(b"Transfer-Encoding:\x0bchunked\r\n", id="an encoding behind an odd blank"),
        pytest.param(b"X-A: a\r\n Content-Length: 4\r\n", id="a folded line"),
        pytest.param(b"X-A: a\nContent-Length: 4\r\n", id="a line that ends with LF alone"),
        pytest.param(b"X-A: a\rContent-Length: 4\r\n", id="a line that ends with CR alone"),
        pytest.param(b"X-A: a\0b\r\n", id="NUL in a value"),
        pytest.param(b"X\0A: a\r\n", id="NUL in a name"),
        pytest.param(b"X A: a\r\n", id="a blank in a name"),
        pytest.param(b": a\r\n", id="no name"),
        pytest.param(b"no colon at all\r\n", id="no colon"),
        pytest.param(b"Host: elsewhere\r\n", id="two hosts"),
    ],
)
def test_a_request_with_two_readings_is_refused_and_nothing_hides_behind_it(head: bytes) -> None:
    said, paths = heard(b"POST /seen HTTP/1.1\r\n" + HOST + head + b"\r\n0\r\n\r\n" + HIDDEN)
    assert (said[9:12], paths) == (b"400", [])


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"5;\nxx\r\n", id="LF in the extension of a chunk"),
        pytest.param(b"2\nab\r\n0\r\n\r\n", id="LF after a size"),
        pytest.param(b"-1\r\nab\r\n0\r\n\r\n", id="a size below zero"),
        pytest.param(b"0x2\r\nab\r\n0\r\n\r\n", id="a size with a prefix"),
        pytest.param(b"ffffffffffffffffff\r\nab\r\n", id="a size that overflows"),
        pytest.param(b"2\r\nabc\r\n0\r\n\r\n", id="more than the size says"),
    ],
)
def test_chunks_with_two_readings_hide_nothing(body: bytes) -> None:
    said, paths = heard(
        b"POST /seen HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n" + body + HIDDEN
    )
    assert "/hidden" not in paths
    assert b" 200 " not in said


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\n" + HOST + b"\r\n", id="a path without end"),
        pytest.param(b"GET / HTTP/1.1\r\nX: " + b"a" * 20_000 + b"\r\n\r\n", id="a value without end"),
        pytest.param(b"GET / HTTP/1.1\r\n" + b"a" * 20_000 + b": a\r\n\r\n", id="a name without end"),
        pytest.param(
            b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: a\r\n" % n for n in range(10_000)) + b"\r\n",
            id="headers without end",
        ),
        pytest.param(b"A" * 100_000, id="a line without end"),
        pytest.param(b"GET / HTTP/9.9\r\n" + HOST + b"\r\n", id="a version that is none"),
        pytest.param(b"GET /a b HTTP/1.1\r\n" + HOST + b"\r\n", id="a blank in the path"),
        pytest.param(b"GET /\0 HTTP/1.1\r\n" + HOST + b"\r\n", id="NUL in the path"),
        pytest.param(b"G\xc3\x84T / HTTP/1.1\r\n" + HOST + b"\r\n", id="a method that is none"),
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(100), id="TLS"),
        pytest.param(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", id="HTTP/2"),
        pytest.param(bytes(range(256)) * 100, id="junk"),
    ],
)
def test_what_is_too_large_or_no_request_reaches_no_handler(said: bytes) -> None:
    answer, paths = heard(said)
    assert (answer[9:12], paths) == (b"400", [])
    assert b"X-Content-Type-Options: nosniff" in answer
    assert b"aiohttp" not in answer


def test_after_a_refused_request_the_connection_ends() -> None:
    said, paths = heard(b"GET / HTTP/1.1\r\nX: a\0\r\n\r\n" + HIDDEN + HIDDEN)
    assert (said.count(b"HTTP/1"), paths) == (1, [])


def test_an_honest_client_may_send_two_requests_at_once() -> None:
    """What the attacks above differ from."""
    said, paths = heard(
        b"POST /seen HTTP/1.1\r\n"
        + HOST
        + b"Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n"
        + HIDDEN.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    )
    assert (said.count(b" 200 OK"), paths) == (2, ["/seen", "/hidden"])
