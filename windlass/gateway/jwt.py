"""Tokens that somebody else has signed: JWT, by a key that the operator gives.

The key says how a token has to be signed; what the token says of that itself is not believed. A text is a
shared secret (HS256), a public key in PEM or a set of keys (JWKS) means RS256. The file is read again when it
changes, so that keys can be replaced without a restart.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

import jwt
from jwt.algorithms import RSAAlgorithm

from windlass.core.errors import WindlassError
from windlass.core.names import DEFAULT_NAMESPACE, NAMESPACE
from windlass.core.roles import EVERYWHERE, ROLES, Role
from windlass.gateway.callers import Caller

log = logging.getLogger(__name__)

LEEWAY_S: Final = 30.0  # between the clocks of who signs and who checks
SECRET_BYTES_MIN: Final = 32


class JwtUnusable(WindlassError):
    """The key file cannot be used; the message says why."""


class NotValid(WindlassError):
    """The token is not to be believed; the message says why, and nothing of what it holds."""


class Keys(NamedTuple):
    algorithm: str
    by_id: Mapping[str, Any]  # Any: what PyJWT takes as a key
    only: Any  # where the token names none; None: it has to


@dataclass(frozen=True, slots=True)
class JwtRules:
    key_file: Path
    issuer: str | None = None
    audience: str | None = None
    role_claim: str = "role"
    namespace_claim: str = "namespace"
    roles: Mapping[str, Role] = field(default_factory=dict)  # what the claim says, and which role that is


class JwtCheck:
    """Raises JwtUnusable when made of a file that is none."""

    def __init__(self, rules: JwtRules) -> None:
        self._rules = rules
        self._stamp = _stamp(rules.key_file)
        self._keys = read_keys(rules.key_file)

    def caller(self, text: str) -> Caller:
        """Raises NotValid."""
        self._look()
        rules, keys = self._rules, self._keys
        try:
            named = jwt.get_unverified_header(text).get("kid")
            key = keys.only if named is None else keys.by_id.get(named, keys.only)
            if key is None:
                raise NotValid("the token is signed with a key that this server does not know")
            claims = jwt.decode(
                text,
                key,
                algorithms=[keys.algorithm],
                issuer=rules.issuer,
                audience=rules.audience,
                leeway=LEEWAY_S,
                options={"require": ["exp"], "verify_aud": rules.audience is not None},
            )
        except jwt.ExpiredSignatureError:
            raise NotValid("the token has expired") from None
        except jwt.PyJWTError as error:
            raise NotValid(f"the token is not valid: {type(error).__name__}") from None
        return self._caller(claims)

    def _caller(self, claims: Mapping[str, Any]) -> Caller:
        role = self._role(_claim(claims, self._rules.role_claim))
        namespace = _claim(claims, self._rules.namespace_claim)
        if role == "admin":
            namespace = EVERYWHERE
        elif namespace is None:
            namespace = DEFAULT_NAMESPACE
        if not isinstance(namespace, str) or not (namespace == EVERYWHERE or NAMESPACE.fullmatch(namespace)):
            raise NotValid(f"the claim {self._rules.namespace_claim} names no namespace")
        subject = claims.get("sub")
        return Caller(f"jwt:{subject if isinstance(subject, str) else '?'}"[:200], role, namespace)

    def _role(self, said: Any) -> Role:
        known = self._rules.roles or {role: role for role in ROLES}
        those = said if isinstance(said, list) else [said]
        found = [known[each] for each in those if isinstance(each, str) and each in known]
        if not found:
            raise NotValid(f"the claim {self._rules.role_claim} names no role that this server knows")
        return min(found, key=ROLES.index)  # the most powerful one

    def _look(self) -> None:
        stamp = _stamp(self._rules.key_file)
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self._keys = read_keys(self._rules.key_file)
        except JwtUnusable as error:  # the old keys stay: a broken file must not lock everybody out
            log.error(
                "the keys for JWT cannot be read again; the old ones stay", extra={"reason": str(error)}
            )


def read_keys(file: Path) -> Keys:
    try:
        raw = file.read_bytes()
    except OSError as error:
        raise JwtUnusable(f"the key file {file} cannot be read: {error.strerror}") from None
    text = raw.strip()
    try:
        if text.startswith(b"{"):
            return _key_set(file, json.loads(text))
        if text.startswith(b"-----BEGIN"):
            if b"PRIVATE" in text:
                raise JwtUnusable(f"{file} holds a private key; give the public one, which is all it takes")
            return Keys("RS256", {}, RSAAlgorithm(RSAAlgorithm.SHA256).prepare_key(text))
    except (ValueError, TypeError, AttributeError, jwt.PyJWTError):
        raise JwtUnusable(f"{file} holds no RSA public key in PEM and no set of keys (JWKS)") from None
    if len(text) < SECRET_BYTES_MIN:
        raise JwtUnusable(f"the shared secret in {file} is too short: give at least {SECRET_BYTES_MIN} bytes")
    return Keys("HS256", {}, text)


def _key_set(file: Path, found: Any) -> Keys:
    usable = [
        key
        for key in found.get("keys", ())
        if key.get("kty") == "RSA" and key.get("use", "sig") == "sig" and key.get("alg", "RS256") == "RS256"
    ]
    if not usable:
        raise JwtUnusable(f"{file} holds no RSA key for signatures (RS256)")
    keys = [(key.get("kid"), RSAAlgorithm.from_jwk(key)) for key in usable]
    only = keys[0][1] if len(keys) == 1 else None
    return Keys("RS256", {ident: key for ident, key in keys if isinstance(ident, str)}, only)


def _stamp(file: Path) -> tuple[int, int, int]:
    try:
        found = file.stat()
    except OSError:
        return (0, 0, 0)
    return (found.st_mtime_ns, found.st_size, found.st_ino)


def _claim(claims: Mapping[str, Any], path: str) -> Any:
    """`realm_access.roles` goes into claims within claims; a claim that has this very name goes before."""
    if path in claims:
        return claims[path]
    found: Any = claims
    for part in path.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found
