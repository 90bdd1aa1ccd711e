"""An address that a task came with: what can be said of it before anybody is asked."""

from __future__ import annotations

import pytest

from windlass.core.callback_url import CHARACTERS_MAX, fault, origin

SOUND = [
    "https://example.org",
    "http://example.org/",
    "HTTPS://Example.org/in?task=1&by=me@example.org",
    "https://example.org?a=b",
    "https://example.org:8443/a/b;c,d/(e)",
    "http://127.0.0.1:80/",
    "http://[2001:db8::1]:8080/in",
    "https://xn--bcher-kva.example/%C3%A4",
]


@pytest.mark.parametrize("url", SOUND)
def test_an_address_that_a_request_can_be_sent_to_is_sound(url: str) -> None:
    assert fault(url) is None


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("", "https://host/path"),
        ("example.org/in", "https://host/path"),
        ("ftp://example.org/", "https://host/path"),
        ("file:///etc/passwd", "https://host/path"),
        ("https:///in", "https://host/path"),
        ("https://:80/", "https://host/path"),
        ("https://example.org:0/", "https://host/path"),
        ("https://example.org:65536/", "https://host/path"),
        ("https://example.org:port/", "https://host/path"),
        ("https://[::1/", "https://host/path"),
        ("https://exa<mple.org/", "https://host/path"),
        ("https://me@example.org/", "password"),
        ("https://me:secret@example.org", "password"),
        ("https://evil.example:80@10.0.0.1/", "password"),
        ("https://example.org/#part", "#"),
        ("https://example.org#@10.0.0.1/", "#"),
        ("https://example.org/a b", "characters"),
        ("https://example.org/a\nX-Other: 1", "characters"),
        ("https://bücher.example/", "characters"),
        ("https://example.org\\@10.0.0.1/", "characters"),
        ("https://example.org/\ud800", "characters"),
        ("https://example.org/" + "a" * CHARACTERS_MAX, "2,000"),
    ],
)
def test_what_is_no_such_address_is_named_without_repeating_it(url: str, words: str) -> None:
    found = fault(url)
    assert found is not None and words in found
    assert "secret" not in found


def test_the_longest_address_is_sound() -> None:
    assert fault("https://example.org/".ljust(CHARACTERS_MAX, "a")) is None


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://example.org/a?b", "https://example.org:443"),
        ("HTTPS://Example.ORG.:443", "https://example.org:443"),
        ("http://example.org", "http://example.org:80"),
        ("http://example.org:080/", "http://example.org:80"),
        ("http://[2001:DB8::1]:8080/in", "http://[2001:db8::1]:8080"),
        ("nonsense", ""),
    ],
)
def test_addresses_of_one_receiver_have_one_origin(url: str, expected: str) -> None:
    assert origin(url) == expected
