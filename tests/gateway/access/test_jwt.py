"""Tokens that somebody else has signed."""

from __future__ import annotations

import asyncio
import base64
import json
import time
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from jwt.algorithms import RSAAlgorithm

from tests.gateway.access import locked
from windlass.gateway.jwt import JwtCheck, JwtRules, JwtUnusable, NotValid
from windlass.gateway.lock import Locks

SECRET = "a secret that is shared by both, and long enough"
KEY = rsa.generate_private_key(65537, 2048)
OTHER = rsa.generate_private_key(65537, 2048)
PEM = KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def claims(**more: Any) -> dict[str, Any]:
    return {"sub": "anna", "role": "operator", "namespace": "team", "exp": time.time() + 60, **more}


def jwks(*keys: tuple[str, rsa.RSAPrivateKey]) -> bytes:
    made = []
    for name, key in keys:
        made.append(
            {**json.loads(RSAAlgorithm.to_jwk(key.public_key())), "kid": name, "alg": "RS256", "use": "sig"}
        )
    return json.dumps({"keys": made}).encode()


def file(folder: Path, content: bytes) -> Path:
    path = folder / "key"
    path.write_bytes(content)
    return path


def check(folder: Path, content: bytes, **rules: Any) -> JwtCheck:
    return JwtCheck(JwtRules(file(folder, content), **rules))


def test_a_shared_secret_signs_for_hs256(tmp_path: Path) -> None:
    found = check(tmp_path, SECRET.encode()).caller(jwt.encode(claims(), SECRET, "HS256"))
    assert (found.who, found.role, found.namespace, found.token) == ("jwt:anna", "operator", "team", "")


def test_a_public_key_checks_rs256(tmp_path: Path) -> None:
    signed = jwt.encode(claims(), KEY, "RS256")
    assert check(tmp_path, PEM).caller(signed).role == "operator"
    with pytest.raises(NotValid):
        check(tmp_path, PEM).caller(jwt.encode(claims(), OTHER, "RS256"))


def test_a_set_of_keys_is_searched_by_their_names(tmp_path: Path) -> None:
    checking = check(tmp_path, jwks(("one", KEY), ("two", OTHER)))
    assert checking.caller(jwt.encode(claims(), OTHER, "RS256", {"kid": "two"})).role == "operator"
    for header in ({"kid": "one"}, {"kid": "three"}, {}):
        with pytest.raises(NotValid):
            checking.caller(jwt.encode(claims(), OTHER, "RS256", header))


def unsigned(alg: str) -> str:
    parts = (json.dumps({"alg": alg, "typ": "JWT"}), json.dumps(claims(role="admin")))
    return ".".join([*(base64.urlsafe_b64encode(p.encode()).rstrip(b"=").decode() for p in parts), ""])


@pytest.mark.parametrize(
    "forged",
    [
        pytest.param(unsigned("none"), id="alg none"),
        pytest.param(unsigned("None"), id="alg None"),
        pytest.param(unsigned("RS256"), id="no signature"),
        pytest.param(jwt.encode(claims(role="admin"), SECRET, "HS256"), id="HS256 with another secret"),
        pytest.param(jwt.encode(claims(role="admin"), "x" * 64, "HS512"), id="another algorithm"),
        pytest.param("a.b.c", id="nonsense"),
        pytest.param("..", id="nothing"),
        pytest.param("." * 100, id="dots"),
    ],
)
@pytest.mark.parametrize("key", [PEM, jwks(("one", KEY)), b"another secret that is long enough as well"])
def test_no_token_is_believed_for_what_it_says_of_itself(tmp_path: Path, key: bytes, forged: str) -> None:
    with pytest.raises(NotValid):
        check(tmp_path, key).caller(forged)


def test_a_public_key_is_no_shared_secret(tmp_path: Path) -> None:
    """Who knows the public key, as everybody does, could else sign with it."""
    import hashlib
    import hmac

    head = base64.urlsafe_b64encode(b'{"alg":"HS256","typ":"JWT"}').rstrip(b"=")
    body = base64.urlsafe_b64encode(json.dumps(claims(role="admin")).encode()).rstrip(b"=")
    seal = base64.urlsafe_b64encode(hmac.new(PEM, head + b"." + body, hashlib.sha256).digest()).rstrip(b"=")
    with pytest.raises(NotValid):
        check(tmp_path, PEM).caller((head + b"." + body + b"." + seal).decode())


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"exp": time.time() - 3600}, "expired"),
        ({"exp": None}, "not valid"),
        ({"iss": "somebody"}, "not valid"),
        ({"aud": "another"}, "not valid"),
        ({"role": "king"}, "names no role"),
        ({"role": None}, "names no role"),
        ({"namespace": "../x"}, "names no namespace"),
        ({"namespace": ["team"]}, "names no namespace"),
        ({"nbf": time.time() + 3600}, "not valid"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path: Path, wrong: dict[str, Any], words: str) -> None:
    good = claims(iss="idp", aud="windlass")
    checking = check(tmp_path, SECRET.encode(), issuer="idp", audience="windlass")
    assert checking.caller(jwt.encode(good, SECRET, "HS256")).role == "operator"
    given = {name: value for name, value in {**good, **wrong}.items() if value is not None}
    with pytest.raises(NotValid, match=words):
        checking.caller(jwt.encode(given, SECRET, "HS256"))


def test_claims_are_mapped_to_roles_and_the_most_powerful_one_counts(tmp_path: Path) -> None:
    checking = check(
        tmp_path,
        SECRET.encode(),
        role_claim="realm.groups",
        namespace_claim="tenant",
        roles={"ops": "admin", "devs": "submit"},
    )

    def caller(groups: Any) -> Any:
        given = {"realm": {"groups": groups}, "tenant": "t1", "exp": time.time() + 60}
        return checking.caller(jwt.encode(given, SECRET, "HS256"))

    assert (caller(["devs"]).role, caller(["devs"]).namespace) == ("submit", "t1")
    assert (caller(["devs", "ops"]).role, caller(["ops"]).namespace) == ("admin", "*")
    with pytest.raises(NotValid):
        caller(["admin"])  # is no group of ours


def test_the_keys_can_be_replaced_while_it_runs_and_a_broken_file_changes_nothing(tmp_path: Path) -> None:
    checking = check(tmp_path, jwks(("one", KEY)))
    new = jwt.encode(claims(), OTHER, "RS256", {"kid": "two"})
    file(tmp_path, b'{"keys": "nonsense"}')
    assert checking.caller(jwt.encode(claims(), KEY, "RS256", {"kid": "one"}))
    file(tmp_path, jwks(("two", OTHER), ("three", KEY)))
    assert checking.caller(new).role == "operator"


PRIVATE = KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"short", "too short"),
        (b"", "too short"),
        (PRIVATE, "private key"),
        (b"-----BEGIN PUBLIC KEY-----\nnonsense\n-----END PUBLIC KEY-----", "no RSA public key"),
        (b'{"keys": []}', "no RSA key"),
        (b"{", "no RSA public key"),
    ],
)
def test_a_key_file_that_is_none_is_told_at_the_start(tmp_path: Path, content: bytes, words: str) -> None:
    with pytest.raises(JwtUnusable, match=words):
        check(tmp_path, content)


def test_a_jwt_is_taken_at_the_door_like_any_token(tmp_path: Path) -> None:
    async def play() -> None:
        rules = JwtRules(file(tmp_path, SECRET.encode()))
        async with locked(Locks(login=True, jwt=rules)) as here:
            good = jwt.encode(claims(role="read"), SECRET, "HS256")
            assert (await here.ask(good, "GET", "/api/v1/runs")).status == 200
            assert (await here.ask(good, "GET", "/api/v1/tokens")).status == 403
            assert (await here.ask(unsigned("none"), "GET", "/api/v1/runs")).status == 401

    asyncio.run(play())
