"""Links over WebSocket, on the port where clients come in, too: one route, `GET /peers`.

    GET /peers, Windlass-Hello                        ──► 401, Windlass-Hello, Windlass-Proof
    GET /peers, Upgrade, both hellos, Windlass-Proof  ──► 101, and then frames

The greeting is in the headers of two plain requests: before both sides are sure of each other there is no
WebSocket, and nobody has to make room for more than headers. With TLS, all of that is inside it; who dials
checks that the certificate is that of the address, and the other side may want to see one, too.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import random
import ssl
import time
from collections.abc import Callable
from typing import Final

import aiohttp
from aiohttp import web

from windlass.peers import Host
from windlass.peers.handshake import RESTART, Hopeless, NoCommonLevel, NotReady, Rejected, Unproven, Unwanted
from windlass.peers.switchboard import IDLE_S, Switchboard
from windlass.sockets import ClientSocket, SocketPipe, abort
from windlass.wire.pipe import Pipe

log = logging.getLogger(__name__)

PATH: Final = "/peers"
HELLO: Final = "Windlass-Hello"
CHALLENGE: Final = "Windlass-Challenge"  # the hello that is answered
PROOF: Final = "Windlass-Proof"

CONNECT_S: Final = 2.0  # for each half of a greeting
FRAME_BYTES_MAX: Final = 64 * 1024 * 1024
REUSE_S: Final = 0.5  # of a connection, for the second half of a greeting
QUIET_S: Final = 5.0  # between two complaints about strangers

Trust = Callable[[], ssl.SSLContext]  # for the next connection: its files may have changed

# What a rejection is called on its way.
STATUSES: Final[dict[type[Rejected], int]] = {Unproven: 401, Unwanted: 409, NoCommonLevel: 426, NotReady: 503}


class WebsocketPeers(Switchboard):
    """Implements Peers. Made in a running loop; `accept` belongs on the route `GET /peers` of this node."""

    def __init__(
        self,
        host: Host,
        *,
        secret: str,
        level: int,
        connect_timeout_s: float = CONNECT_S,
        idle_s: float = IDLE_S,
        trust: Trust | None = None,
        certificates: bool = False,
        token: Callable[[], str] = str,
    ) -> None:
        """`trust`: the links are TLS. `certificates`: only who has shown one at the listener may greet.

        `token`: what to show where there is a login; "": nothing.
        """
        self._lines = WebsocketLines(connect_timeout_s, trust, token)
        self._certificates = certificates
        self._complained_at = float("-inf")
        super().__init__(
            host,
            self._lines,
            secret=secret,
            level=level,
            chance=random.Random(),
            token=os.urandom,
            clock=time.perf_counter,  # the loop's may count milliseconds, and trips are shorter
            idle_s=idle_s,
        )

    async def accept(self, request: web.Request) -> web.StreamResponse:
        """Answer a greeting; after its second half, return when the link has ended."""
        if self._certificates and not _shows_certificate(request):
            return _refusal(403, "this door is for nodes that show a certificate of the cluster's authority")
        hello, proof = request.headers.get(HELLO), request.headers.get(PROOF)
        if hello is None:
            return _refusal(401, "this door is for the nodes of the cluster")
        try:
            if proof is None:
                mine, proof = self.challenge(hello)
                return _refusal(401, "now prove it", {HELLO: mine, PROOF: proof})
            peer, level = self.admit(hello, request.headers.get(CHALLENGE, ""), proof)
        except Rejected as rejected:
            self._note(request, rejected)
            return _refusal(STATUSES[type(rejected)], str(rejected))
        socket = web.WebSocketResponse(compress=False, max_msg_size=FRAME_BYTES_MAX, autoclose=False)
        await socket.prepare(request)
        serving = self.attach(SocketPipe(socket, lambda: abort(request.transport)), peer, level)
        if serving is not None:
            await asyncio.wait([serving])
        return socket

    async def close(self) -> None:
        await super().close()
        await self._lines.close()

    def _note(self, request: web.Request, rejected: Rejected) -> None:
        """Operators want to know that a node has a wrong secret, not how often a stranger knocks."""
        now = asyncio.get_running_loop().time()
        if isinstance(rejected, Unproven) and now >= self._complained_at + QUIET_S:
            self._complained_at = now
            log.warning("refused a link", extra={"address": request.remote, "reason": str(rejected)})


class WebsocketLines:
    def __init__(self, timeout_s: float, trust: Trust | None = None, token: Callable[[], str] = str) -> None:
        self._timeout_s = timeout_s
        self._token = token
        self._trust = trust
        self._scheme = "http" if trust is None else "https"
        self._session = aiohttp.ClientSession(
            # A name may lead elsewhere after a restart; and dialing is rare.
            connector=aiohttp.TCPConnector(limit=0, use_dns_cache=False, keepalive_timeout=REUSE_S),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=timeout_s),
            ws_response_class=ClientSocket,
        )

    async def greet(self, address: str, hello: str) -> tuple[str, str]:
        url, tls = f"{self._scheme}://{address}{PATH}", self._tls()
        headers = {HELLO: hello}  # and no token: who answers has proven nothing yet
        try:
            async with self._session.get(url, headers=headers, allow_redirects=False, ssl=tls) as answer:
                theirs, proof = answer.headers.get(HELLO), answer.headers.get(PROOF)
        except aiohttp.ClientError as error:
            raise _as_os_error(error) from error
        if theirs is None or proof is None:
            raise _rejection(answer.status)
        return theirs, proof

    async def open(self, address: str, *, hello: str, theirs: str, proof: str) -> Pipe:
        url = f"{self._scheme}://{address}{PATH}"
        headers = {HELLO: hello, CHALLENGE: theirs, PROOF: proof, **self._shown()}
        try:
            async with asyncio.timeout(self._timeout_s):
                socket = await self._session.ws_connect(
                    url, headers=headers, max_msg_size=FRAME_BYTES_MAX, autoclose=False, ssl=self._tls()
                )
        except aiohttp.WSServerHandshakeError as error:
            raise _rejection(error.status) from None
        except aiohttp.ClientError as error:
            raise _as_os_error(error) from error
        assert isinstance(socket, ClientSocket)
        return SocketPipe(socket, socket.abort)

    async def close(self) -> None:
        await self._session.close()

    def _shown(self) -> dict[str, str]:
        token = self._token()
        return {"Authorization": f"Bearer {token}"} if token else {}

    def _tls(self) -> ssl.SSLContext | bool:
        return True if self._trust is None else self._trust()


def _refusal(status: int, text: str, headers: dict[str, str] | None = None) -> web.Response:
    asked = {"WWW-Authenticate": "Windlass"} if status == 401 else {}
    return web.Response(status=status, text=f"{text}\n", headers={**asked, **(headers or {})})


def _rejection(status: int) -> Rejected:
    match status:
        case 403:
            return Hopeless(
                "the other side refuses our certificate or token, or wants one; see --tls-client-ca"
            )
        case 401:
            return Unproven(
                f"the other side finds that we have another secret, or no token (see --login); {RESTART}"
            )
        case 409 | 503:
            return Rejected("the other side does not know us yet, or is not ready")
        case 426:
            return NoCommonLevel("one side is too old for the other; upgrade the older one")
        case _:
            return Hopeless(f"what answers there is no node of ours: {PATH} leads to {status}")


def _as_os_error(error: aiohttp.ClientError) -> OSError | Rejected:
    if (bad := _bad_tls(error)) is not None:
        return Hopeless(bad)
    if isinstance(error, OSError) and error.errno == errno.ECONNREFUSED:
        return ConnectionRefusedError(*error.args)
    return error if isinstance(error, OSError) else ConnectionError(str(error))


def _bad_tls(error: BaseException) -> str | None:
    """What a person has to change about certificates; None if that is not what went wrong."""
    cause: BaseException | None = error
    # Errors of aiohttp may be of this type, too, and have nothing of what it says.
    while cause is not None and (
        isinstance(cause, aiohttp.ClientError) or not isinstance(cause, ssl.SSLError)
    ):
        cause = cause.__cause__
    match cause:
        case ssl.SSLCertVerificationError() as failed:
            return f"its certificate is not trusted: {failed.verify_message}; see --tls-ca"
        case ssl.SSLError(reason="WRONG_VERSION_NUMBER" | "HTTP_REQUEST" | "RECORD_LAYER_FAILURE"):
            return "it speaks no TLS, and this node does: all nodes of a cluster have it, or none"
        case ssl.SSLError() as failed:
            return f"no TLS with it: {failed.reason or failed}; see --tls-ca and --tls-client-ca"
        case _:
            return None


def _shows_certificate(request: web.Request) -> bool:
    """The listener has verified what is shown; what it could not verify did not get so far."""
    return request.transport is not None and bool(request.transport.get_extra_info("peercert"))
