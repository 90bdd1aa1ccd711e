"""Whether a delivery comes from who knows the secret of a webhook that comes in.

    secret     X-Windlass-Secret: …, Authorization: Bearer …, or X-Gitlab-Token: …
    standard   Webhook-Id, Webhook-Timestamp, Webhook-Signature: see `core.signing`
    github     X-Hub-Signature-256: sha256=<hex of HMAC-SHA256 over the body>
    stripe     Stripe-Signature: t=<seconds>,v1=<hex of HMAC-SHA256 over "seconds.body">

Everything is compared in constant time, and signatures are over the body byte for byte as it came. GitHub's
says nothing of the time: what repeats a delivery is known by its number alone.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping
from typing import Final, assert_never

from windlass.core import signing
from windlass.core.inbound import Check
from windlass.core.signing import SECRET_BYTES_MIN, TOLERANCE_S, BadSignature

SHOWN_IN: Final = ("x-windlass-secret", "x-gitlab-token")
SECRET_CHARS_MAX: Final = 500

_SECONDS: Final = re.compile(r"[0-9]{1,12}")
_PRINTABLE: Final = re.compile(r"[!-~]+")


def why_not(secret: str, check: Check) -> str:
    """Why this cannot be the secret; "" if it can."""
    if not _PRINTABLE.fullmatch(secret):
        return "take printable ASCII characters, without blanks"
    if not SECRET_BYTES_MIN <= len(secret) <= SECRET_CHARS_MAX:
        return f"take {SECRET_BYTES_MIN} to {SECRET_CHARS_MAX} characters, and let nobody guess them"
    if check == "standard":
        try:
            signing.sign(secret, id="x", at=0.0, body=b"")
        except ValueError as error:
            return str(error)
    return ""


def verify(check: Check, secret: str, headers: Mapping[str, str], body: bytes, *, now: float) -> None:
    """Raises BadSignature, whose words are for our own log. The names of headers are in small letters."""
    match check:
        case "secret":
            _shown(secret, headers)
        case "standard":
            try:
                signing.verify(secret, headers, body, now=now)
            except BadSignature:
                raise
            except ValueError as error:
                raise BadSignature(str(error)) from None
        case "github":
            _github(secret, headers, body)
        case "stripe":
            _stripe(secret, headers, body, now)
        case _:
            assert_never(check)


def _shown(secret: str, headers: Mapping[str, str]) -> None:
    scheme, _, bearer = headers.get("authorization", "").partition(" ")
    shown = [headers.get(name, "") for name in SHOWN_IN]
    shown.append(bearer.strip() if scheme.lower() == "bearer" else "")
    fitting = [_same(each, secret) for each in shown]  # every one is compared
    if not any(fitting):
        raise BadSignature("its secret is wrong" if any(shown) else "it shows no secret")


def _github(secret: str, headers: Mapping[str, str], body: bytes) -> None:
    given = headers.get("x-hub-signature-256") or headers.get("x-hub-signature", "")
    if not given:
        raise BadSignature("it is not signed")
    if not _same(given.lower(), f"sha256={_hex(secret, body)}"):
        raise BadSignature("its signature is wrong")


def _stripe(secret: str, headers: Mapping[str, str], body: bytes, now: float) -> None:
    parts = [part.strip().partition("=") for part in headers.get("stripe-signature", "").split(",")]
    times = [value for name, _, value in parts if name == "t"]
    proofs = [value for name, _, value in parts if name == "v1"]
    if len(times) != 1 or not proofs:
        raise BadSignature("it is not signed")
    if not _SECONDS.fullmatch(times[0]):
        raise BadSignature("its timestamp is no number of seconds")
    expected = _hex(secret, f"{times[0]}.".encode() + body)
    fitting = [_same(proof.lower(), expected) for proof in proofs]
    if not any(fitting):
        raise BadSignature("its signature is wrong")
    late_s = now - int(times[0])
    if abs(late_s) > TOLERANCE_S:
        raise BadSignature(f"it was sent {abs(late_s):.0f} s {'ago' if late_s > 0 else 'ahead'}")


def _hex(secret: str, signed: bytes) -> str:
    return hmac.digest(secret.encode(), signed, "sha256").hex()


def _same(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), expected.encode())
