"""A webhook proves who sent it, and when."""

import base64
import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as some

from windlass.core.signing import BadSignature, secret_of, sign, verify

SECRET = secret_of(bytes(range(32)))
OTHER = secret_of(bytes(range(1, 33)))
NOW = 1_700_000_000.0
BODY = b'{"event":"run.failed"}'


def test_what_was_signed_is_known_again() -> None:
    headers = sign(SECRET, id="n1", at=NOW, body=BODY)
    assert verify(SECRET, headers, BODY, now=NOW + 3) == "n1"


def test_the_signature_is_the_one_that_everybody_can_compute() -> None:
    headers = sign(SECRET, id="n1", at=NOW + 0.9, body=BODY)
    assert headers["Webhook-Id"] == "n1"
    assert headers["Webhook-Timestamp"] == "1700000000"
    key = base64.b64decode(SECRET.removeprefix("whsec_"))
    proof = hmac.new(key, b"n1.1700000000." + BODY, hashlib.sha256).digest()
    assert headers["Webhook-Signature"] == "v1," + base64.b64encode(proof).decode()


def test_an_example_of_the_standard_is_signed_as_it_says() -> None:
    headers = sign(
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        id="msg_p5jXN8AQM9LWM0D4loKWxJek",
        at=1614265330,
        body=b'{"test": 2432232314}',
    )
    assert headers["Webhook-Signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_a_replay_is_refused_by_its_age() -> None:
    headers = sign(SECRET, id="n1", at=NOW, body=BODY)
    assert verify(SECRET, headers, BODY, now=NOW + 299) == "n1"
    with pytest.raises(BadSignature, match="old"):
        verify(SECRET, headers, BODY, now=NOW + 301)
    with pytest.raises(BadSignature, match="old"):
        verify(SECRET, headers, BODY, now=NOW + 11, tolerance_s=10)


def test_a_replay_under_a_new_time_is_refused_by_its_signature() -> None:
    headers = sign(SECRET, id="n1", at=NOW, body=BODY)
    forged = {**headers, "Webhook-Timestamp": str(int(NOW + 1000))}
    with pytest.raises(BadSignature, match="signature is wrong"):
        verify(SECRET, forged, BODY, now=NOW + 1000)


def test_a_replay_under_another_id_is_refused_by_its_signature() -> None:
    headers = sign(SECRET, id="n1", at=NOW, body=BODY)
    with pytest.raises(BadSignature, match="signature is wrong"):
        verify(SECRET, {**headers, "Webhook-Id": "n2"}, BODY, now=NOW)


def test_a_time_that_is_yet_to_come_is_refused() -> None:
    headers = sign(SECRET, id="n1", at=NOW + 301, body=BODY)
    with pytest.raises(BadSignature, match="future"):
        verify(SECRET, headers, BODY, now=NOW)


def test_another_body_or_secret_is_refused() -> None:
    headers = sign(SECRET, id="n1", at=NOW, body=BODY)
    with pytest.raises(BadSignature):
        verify(SECRET, headers, BODY + b" ", now=NOW)
    with pytest.raises(BadSignature):
        verify(OTHER, headers, BODY, now=NOW)


@pytest.mark.parametrize("missing", ["Webhook-Id", "Webhook-Timestamp", "Webhook-Signature"])
def test_without_one_of_the_headers_it_is_not_signed(missing: str) -> None:
    headers = sign(SECRET, id="n1", at=NOW, body=BODY)
    del headers[missing]
    with pytest.raises(BadSignature, match="not signed"):
        verify(SECRET, headers, BODY, now=NOW)


@pytest.mark.parametrize("timestamp", ["-1", "1e9", "1700000000.5", " 1700000000", "٣", "9" * 20])
def test_a_timestamp_is_a_plain_number(timestamp: str) -> None:
    headers = {**sign(SECRET, id="n1", at=NOW, body=BODY), "Webhook-Timestamp": timestamp}
    with pytest.raises(BadSignature):
        verify(SECRET, headers, BODY, now=NOW)


def test_one_of_several_signatures_is_enough_and_other_versions_do_not_count() -> None:
    headers = sign(SECRET, id="n1", at=NOW, body=BODY)
    right = headers["Webhook-Signature"]
    wrong = sign(OTHER, id="n1", at=NOW, body=BODY)["Webhook-Signature"]
    lower = {
        "webhook-id": "n1",
        "webhook-timestamp": headers["Webhook-Timestamp"],
        "webhook-signature": f"{wrong} v1a,??? {right}",
    }
    assert verify(SECRET, lower, BODY, now=NOW) == "n1"
    with pytest.raises(BadSignature):
        verify(SECRET, {**headers, "Webhook-Signature": right.replace("v1,", "v2,")}, BODY, now=NOW)


@given(some.text(max_size=60))
def test_no_text_passes_for_a_signature(text: str) -> None:
    headers = {**sign(SECRET, id="n1", at=NOW, body=BODY), "Webhook-Signature": text}
    if text != sign(SECRET, id="n1", at=NOW, body=BODY)["Webhook-Signature"]:
        with pytest.raises(BadSignature):
            verify(SECRET, headers, BODY, now=NOW)


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_AAAA", "whsec_not base64!", "AAAA"])
def test_a_secret_that_could_be_guessed_is_none(secret: str) -> None:
    with pytest.raises(ValueError, match="secret"):
        sign(secret, id="n1", at=NOW, body=BODY)
    with pytest.raises(ValueError, match="bytes"):
        secret_of(b"short")
