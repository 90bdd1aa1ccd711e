"""How a webhook proves where it comes from, and when: the scheme of Standard Webhooks.

    Webhook-Id: the notice, the same however often it is sent
    Webhook-Timestamp: when this very request was sent, in seconds since 1970
    Webhook-Signature: v1,<base64 of HMAC-SHA256 over "id.timestamp.body">

A receiver calls `verify` with the body as it came, byte for byte. Who repeats an old request is refused by
its timestamp; within the tolerance, by an id that was seen before.
"""

from __future__ import annotations

import base64
import hmac
import re
from collections.abc import Mapping
from typing import Final

PREFIX: Final = "whsec_"
ID_HEADER: Final = "Webhook-Id"
TIMESTAMP_HEADER: Final = "Webhook-Timestamp"
SIGNATURE_HEADER: Final = "Webhook-Signature"
TOLERANCE_S: Final = 300.0
SECRET_BYTES: Final = 32
SECRET_BYTES_MIN: Final = 16  # a secret that could be guessed proves nothing

_TIMESTAMP: Final = re.compile(r"[0-9]{1,12}")


class BadSignature(ValueError):
    """This is not what the owner of the secret sent, or not now; the message says which."""


def secret_of(raw: bytes) -> str:
    """The text of a secret, from bytes that nobody can guess."""
    if len(raw) < SECRET_BYTES_MIN:
        raise ValueError(f"a secret has {SECRET_BYTES_MIN} bytes or more")
    return PREFIX + base64.b64encode(raw).decode()


def sign(secret: str, *, id: str, at: float, body: bytes) -> dict[str, str]:
    """The headers to send with the body."""
    headers = unsigned(id=id, at=at)
    proof = base64.b64encode(_proof(secret, id, headers[TIMESTAMP_HEADER], body)).decode()
    return {**headers, SIGNATURE_HEADER: f"v1,{proof}"}


def unsigned(*, id: str, at: float) -> dict[str, str]:
    """The same for a receiver who shares no secret with us: they prove nothing."""
    return {ID_HEADER: id, TIMESTAMP_HEADER: str(int(at))}


def verify(
    secret: str, headers: Mapping[str, str], body: bytes, *, now: float, tolerance_s: float = TOLERANCE_S
) -> str:
    """The id of the notice. Raises BadSignature if anybody else sent it, or it was sent at another time.

    The names of headers may be in any case. A notice can come more than once: keep its id for as long as the
    tolerance, and longer if acting on it twice would do harm.
    """
    given = {name.lower(): value for name, value in headers.items()}
    found = [given.get(name.lower(), "") for name in (ID_HEADER, TIMESTAMP_HEADER, SIGNATURE_HEADER)]
    id, timestamp, signatures = found
    if not (id and timestamp and signatures):
        raise BadSignature("it is not signed")
    if not _TIMESTAMP.fullmatch(timestamp):
        raise BadSignature("its timestamp is no number of seconds")
    expected = _proof(secret, id, timestamp, body)
    # Every one is compared, and each in constant time: how long it takes tells nothing.
    fitting = [hmac.compare_digest(_decoded(each), expected) for each in signatures.split(" ")]
    if not any(fitting):
        raise BadSignature("its signature is wrong")
    late_s = now - int(timestamp)
    if abs(late_s) > tolerance_s:
        when = "old" if late_s > 0 else "from the future"
        raise BadSignature(f"it is {when}: sent {abs(late_s):.0f} s {'ago' if late_s > 0 else 'ahead'}")
    return id


def _proof(secret: str, id: str, timestamp: str, body: bytes) -> bytes:
    return hmac.digest(_key(secret), f"{id}.{timestamp}.".encode() + body, "sha256")


def _key(secret: str) -> bytes:
    try:
        raw = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except ValueError:
        raw = b""
    if len(raw) < SECRET_BYTES_MIN:
        raise ValueError(f"a secret is {PREFIX} and base64 of {SECRET_BYTES_MIN} bytes or more")
    return raw


def _decoded(signature: str) -> bytes:
    version, _, text = signature.partition(",")
    if version != "v1":
        return b""
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return b""
