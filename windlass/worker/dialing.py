"""Calling a node: a WebSocket on its usual port, `GET /workers`, with the token where there is a login."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable

import aiohttp

from windlass.sockets import ClientSocket, SocketPipe
from windlass.wire import crew
from windlass.wire.pipe import Pipe
from windlass.worker.crewman import DIAL_S
from windlass.worker.rejections import NotAdmitted, Unreachable

Trust = Callable[[], ssl.SSLContext]  # for the next connection: its files may have changed


class Caller:
    """Implements Dial. Made in a running loop. `token` is asked each time: it may have been changed."""

    def __init__(self, *, token: Callable[[], str], trust: Trust) -> None:
        self._token = token
        self._trust = trust
        self._session = aiohttp.ClientSession(
            # A name may lead elsewhere after a restart; and dialing is rare.
            connector=aiohttp.TCPConnector(limit=0, use_dns_cache=False, force_close=True),
            cookie_jar=aiohttp.DummyCookieJar(),
            ws_response_class=ClientSocket,
        )

    async def __call__(self, address: str) -> Pipe:
        token = self._token()
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        secured = address.startswith("wss:")
        try:
            async with asyncio.timeout(DIAL_S):
                socket = await self._session.ws_connect(
                    address + crew.PATH,
                    headers=headers,
                    max_msg_size=crew.FRAME_BYTES_MAX,
                    autoclose=False,
                    ssl=self._trust() if secured else True,
                )
        except aiohttp.WSServerHandshakeError as error:
            raise _refusal(error.status, bool(token)) from None
        except aiohttp.ClientConnectorCertificateError as error:
            reason = f"its certificate is not trusted: {error.certificate_error}; see --tls-ca"
            raise Unreachable(reason) from None
        except aiohttp.ClientError as error:
            raise Unreachable(str(error)) from None
        except TimeoutError:
            raise Unreachable(f"no answer within {DIAL_S:g}s") from None
        assert isinstance(socket, ClientSocket)
        return SocketPipe(socket, socket.abort)

    async def close(self) -> None:
        await self._session.close()


def _refusal(status: int, shown: bool) -> NotAdmitted | Unreachable:
    match status:
        case 401:
            what = "the token is not valid here" if shown else "there is a login, and no token was given"
            return NotAdmitted(f"{what}; `windlass token create` makes one: WINDLASS_TOKEN or --token-file")
        case 403:
            return NotAdmitted("the token may not be used by workers; it needs the right `work`")
        case 404:
            return Unreachable("what answers there takes no workers: an older Windlass, or something else")
        case 429 | 503:
            return Unreachable("the node is not ready, or too busy")
        case _:
            return Unreachable(f"what answers there is no node of ours: {crew.PATH} leads to {status}")
