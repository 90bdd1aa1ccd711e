"""What becomes of a request that is not answered as hoped: which error it is."""

from __future__ import annotations

import http.client
import ssl
from typing import Final

from windlass.core.errors import Fault, Invalid, NotFound, Refused, Unavailable, Unknown, WindlassError
from windlass.core.task import Json
from windlass.sdk.tasks import NO_WORKER, NoWorker, is_error, words_of

REFUSED: Final = "connection refused"


class NotReachable(Unavailable):
    """Nobody answers at that address, or the link broke and stayed broken."""

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(f"no Windlass answers at {url} ({reason})")
        self.url = url
        self.reason = reason


class Untrusted(WindlassError):
    """There is a server, and it may be anybody's: no word was said to it."""

    def __init__(self, url: str, error: ssl.SSLError) -> None:
        match error:
            case ssl.SSLCertVerificationError():
                told = f"the certificate of {url} is not trusted: {error.verify_message}"
                advice = "name the file of its authority with --ca or WINDLASS_CA"
            case ssl.SSLError(reason="WRONG_VERSION_NUMBER" | "HTTP_REQUEST" | "RECORD_LAYER_FAILURE"):
                told, advice = f"what answers at {url} speaks no TLS", "write http:// if that is meant"
            case _:
                told, advice = f"no TLS with {url}: {error.reason or error}", "see docs/tls.md"
        super().__init__(f"{told}; {advice}")


class NotAllowed(Refused):
    """There is a login, and no token, or one that may not do this."""


class Broken(WindlassError):
    """An answer that Windlass would not give: another program listens there, or there is a bug in it."""


def refusal(answer: http.client.HTTPResponse, content: dict[str, Json], url: str) -> WindlassError:
    """What the server says, as an error of ours."""
    status = answer.status
    message = str(content.get("message") or content.get("error") or f"{status} {answer.reason}")
    message = words_of(content) if is_error(content) else message
    match status:
        case 503 if content.get("code") == NO_WORKER:
            return NoWorker(message, retry_after_s=_seconds(answer.headers.get("Retry-After")))
        case 404 if "error" not in content and not is_error(content):
            return Broken(f"what answers at {url} is no Windlass: it knows no such address")
        case 404:
            return NotFound(message)
        case 401 | 403:
            return NotAllowed(message)
        case 400 | 413 | 415 | 422:
            return Invalid(message, _faults(content))
        case 503 | 429:
            return Unavailable(message, retry_after_s=_seconds(answer.headers.get("Retry-After")))
        case 504:
            return Unknown(message)
        case _ if 400 <= status < 500:
            return Refused(message)
        case _:
            request = content.get("requestId")
            return Broken(f"{message} (request {request})" if request else message)


def _faults(content: dict[str, Json]) -> list[Fault]:
    return [
        Fault(
            pointer=str(detail.get("pointer", "")),
            message=str(detail.get("message", "")),
            line=int(detail.get("line") or 0),
            column=int(detail.get("column") or 0),
        )
        for detail in content.get("details") or content.get("errors") or []
        if isinstance(detail, dict)
    ]


def _seconds(text: str | None) -> float:
    try:
        return max(0.0, float(text or 1.0))
    except ValueError:
        return 1.0


def reason_of(error: Exception) -> str:
    """Why nobody answered, in words."""
    if isinstance(error, ConnectionRefusedError):
        return REFUSED
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, http.client.BadStatusLine):
        return "the link was closed without an answer"
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
