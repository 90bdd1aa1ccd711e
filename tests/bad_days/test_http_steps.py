"""Servers that misbehave towards an HTTP step: the step fails and says why, and nobody else notices."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from tests.bad_days.house import House, failed_step, one_step, packed_gigabyte
from tests.waiting import wait_until

pytestmark = pytest.mark.usefixtures("neighbour")

MEGABYTE = 1024 * 1024
OK = b"HTTP/1.1 200 OK\r\n"

Talk = Callable[[socket.socket], None]


class Server:
    """Listens on a port of its own; reads what it is asked, then says what it was told to say."""

    def __init__(self, talk: Talk) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._talk = talk
        self.closing = threading.Event()
        self.asked = 0  # how many connections were made
        self.left = 0  # and how many of those have ended
        self._threads = [threading.Thread(target=self._listen)]
        self._threads[0].start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}/sales"

    def close(self) -> None:
        self.closing.set()
        self._listener.shutdown(socket.SHUT_RDWR)  # wakes who accepts
        self._listener.close()
        for thread in self._threads:
            thread.join(30)

    def _listen(self) -> None:
        with suppress(OSError):
            while True:
                link, _ = self._listener.accept()
                thread = threading.Thread(target=self._serve, args=(link,))
                self._threads.append(thread)
                thread.start()

    def _serve(self, link: socket.socket) -> None:
        self.asked += 1
        with link, suppress(OSError):  # whoever asked may go at any time
            link.settimeout(30)
            link.recv(65536)
            self._talk(link)
            link.shutdown(socket.SHUT_WR)
            while link.recv(65536):  # until the other side has had enough
                pass
        self.left += 1


@contextmanager
def server(talk: Talk) -> Iterator[Server]:
    started = Server(talk)
    try:
        yield started
    finally:
        started.close()


def get(url: str, **more: Any) -> dict[str, Any]:
    return one_step(kind="http", **{"with": {"url": url}}, **more)


def saying(head: bytes, body: bytes = b"") -> Talk:
    return lambda link: link.sendall(b"%b%bContent-Length: %d\r\n\r\n%b" % (OK, head, len(body), body))


def flooding(head: bytes) -> Talk:
    """A gigabyte, as far as it is wanted."""

    def talk(link: socket.socket) -> None:
        link.sendall(head + b"Content-Length: %d\r\n\r\n" % (1024 * MEGABYTE))
        for _ in range(1024):
            link.sendall(b"x" * MEGABYTE)

    return talk


def silent(link: socket.socket) -> None:
    link.recv(1)  # returns when the other side hangs up


def silent_in_the_middle(link: socket.socket) -> None:
    link.sendall(OK + b"Content-Length: 100\r\n\r\nhalf")
    link.recv(1)


def endless_headers(link: socket.socket) -> None:
    link.sendall(OK)
    for n in range(1_000_000):
        link.sendall(b"X-%d: and another one\r\n" % n)


def redirecting(to: bytes) -> Talk:
    return lambda link: link.sendall(
        b"HTTP/1.1 302 Found\r\nLocation: %b\r\nConnection: close\r\nContent-Length: 0\r\n\r\n" % to
    )


def test_a_redirect_is_followed(home: House) -> None:
    there = saying(b"Content-Type: application/json\r\n", b"[1]")
    with server(there) as second, server(redirecting(second.url.encode())) as first:
        ended = home.play(get(first.url))
        assert (ended["status"], first.asked, second.asked) == ("succeeded", 1, 1)
        assert ended["output"]["only"]["body"] == [1]


def test_redirects_in_a_circle_come_to_an_end(home: House) -> None:
    with server(redirecting(b"/sales")) as there:
        step = failed_step(home.play(get(there.url, retry={"attempts": 3, "backoff": "10ms"})))
        assert step["error"]["type"] == "TooManyRedirects"
        assert step["error"]["message"] == f"GET {there.url} was redirected more than 10 times"
        assert (step["attempts"], there.asked) == (1, 11)


@pytest.mark.parametrize("to", ["file:///etc/passwd", "ftp://127.0.0.1/", "http://[::1"])
def test_a_redirect_to_what_is_no_http_address_is_not_followed(home: House, to: str) -> None:
    with server(redirecting(to.encode())) as there:
        step = failed_step(home.play(get(there.url, retry={"attempts": 3, "backoff": "10ms"})))
        expected = f"GET {there.url} was redirected to what is no http address: {to}"
        assert step["error"]["message"].startswith(expected)
        assert (step["attempts"], there.asked) == (1, 1)


@pytest.mark.parametrize("talk", [silent, silent_in_the_middle])
def test_a_server_that_hangs_is_left_when_the_time_of_the_step_is_over(home: House, talk: Talk) -> None:
    with server(talk) as there:
        step = failed_step(home.play(get(there.url, timeout="300ms")))
        assert step["error"] == {"type": "Timeout", "message": "took longer than 0.3s"}
        wait_until(lambda: there.left == there.asked == 1)


def test_a_server_that_hangs_is_left_when_the_run_is_cancelled(home: House) -> None:
    with server(silent) as there:
        document = get(there.url)
        home.save(document)
        run = home.start(document["id"])
        wait_until(lambda: there.asked)
        assert home.api("POST", f"runs/{run}/cancel", {}).status == 200
        assert home.end_of(run)["status"] == "cancelled"
        wait_until(lambda: there.left == 1)


@pytest.mark.parametrize(
    "talk",
    [
        pytest.param(flooding(OK), id="plain"),
        pytest.param(saying(b"Content-Encoding: gzip\r\n", packed_gigabyte()), id="packed"),
    ],
)
def test_a_server_that_sends_a_gigabyte_is_not_listened_to_for_long(home: House, talk: Talk) -> None:
    before_kb = home.peak_kb()
    with server(talk) as there:
        step = failed_step(home.play(get(there.url)))
        message = f"GET {there.url} answered with more than 8,388,608 bytes"
        assert step["error"] == {"type": "TooLarge", "message": message}
        wait_until(lambda: there.left == 1)
    assert home.peak_kb() - before_kb < 200_000


def test_an_error_of_a_gigabyte_is_still_that_error(home: House) -> None:
    before_kb = home.peak_kb()
    with server(flooding(b"HTTP/1.1 404 Nowhere\r\n")) as there:
        step = failed_step(home.play(get(there.url)))
        assert step["error"]["message"] == f"GET {there.url} answered 404 Nowhere"
    assert home.peak_kb() - before_kb < 200_000


@pytest.mark.parametrize(
    ("talk", "words"),
    [
        pytest.param(lambda link: None, "the connection broke", id="nothing"),
        pytest.param(lambda link: link.sendall(b"\0\1\2\r\n\r\n"), "the connection broke", id="nonsense"),
        pytest.param(endless_headers, "the connection broke", id="endless headers"),
        pytest.param(
            lambda link: link.sendall(OK + b"Content-Length: 9\r\n\r\nhalf"),
            "the connection broke",
            id="half",
        ),
        pytest.param(saying(b"Content-Encoding: gzip\r\n", b"none"), "the connection broke", id="no gzip"),
        pytest.param(
            lambda link: link.sendall(OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n"),
            "the connection broke",
            id="no chunks",
        ),
    ],
)
def test_a_server_that_does_not_speak_http_is_named_and_asked_again(
    home: House, talk: Talk, words: str
) -> None:
    with server(talk) as there:
        step = failed_step(home.play(get(there.url, retry={"attempts": 2, "backoff": "10ms"})))
        assert step["attempts"] == 2
        assert step["error"]["message"].startswith(f"GET {there.url}: {words}")


def test_a_server_that_is_not_there_is_named(home: House) -> None:
    with server(silent) as there:
        url = there.url
    step = failed_step(home.play(get(url)))
    assert step["error"]["message"] == f"GET {url}: no connection: Connection refused"


DEEP = b"[" * 100_000 + b"]" * 100_000


@pytest.mark.parametrize(
    ("head", "body", "kept"),
    [
        pytest.param(b"Content-Type: application/json\r\n", b'"\\ud800"', '"\\ud800"', id="half a character"),
        pytest.param(b"Content-Type: application/json\r\n", b"9" * 6000, "9" * 6000, id="an absurd number"),
        pytest.param(b"Content-Type: application/json\r\n", b"1e999", "1e999", id="infinity"),
        pytest.param(b"Content-Type: application/json\r\n", DEEP, DEEP.decode(), id="JSON that is deep"),
        pytest.param(
            b"Content-Type: application/json\r\n",
            b"[" * 500 + b"]" * 500,
            "[" * 500 + "]" * 500,
            id="JSON that is too deep to be handed on",
        ),
        pytest.param(b"", b"a\xffb", "a\ufffdb", id="no UTF-8"),
        pytest.param(
            b"Content-Type: text/plain; charset=raw_unicode_escape\r\n",
            b"a\\ud800b",
            "a?b",
            id="half a character in an odd encoding",
        ),
        pytest.param(b"Content-Type: text/plain; charset=idna\r\n", b"a\xff", "a\ufffd", id="no such text"),
    ],
)
def test_what_cannot_be_kept_as_it_came_is_kept_as_text(
    home: House, head: bytes, body: bytes, kept: str
) -> None:
    with server(saying(head, body)) as there:
        ended = home.play(get(there.url))
        assert ended["status"] == "succeeded", ended["error"]
        assert ended["output"]["only"]["body"] == kept


def test_a_header_that_is_no_text_is_kept_as_far_as_it_is(home: House) -> None:
    with server(saying(b"X-Odd: a\xff\xfeb\r\n", b"fine")) as there:
        ended = home.play(get(there.url))
        assert ended["status"] == "succeeded", ended["error"]
        assert ended["output"]["only"]["headers"]["x-odd"] == "a??b"
