"""Which addresses may be called: none that is private, in whatever clothes it comes."""

import ipaddress
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as some

from windlass.core.addresses import METADATA, networks, why_not, why_not_host

PUBLIC = [
    "8.8.8.8",
    "1.1.1.1",
    "93.184.216.34",
    "172.32.0.1",
    "172.15.255.255",
    "100.63.255.255",
    "100.128.0.1",
    "192.167.255.255",
    "192.0.1.1",
    "223.255.255.255",
    "2606:4700:4700::1111",
    "2a00:1450:4001:81b::200e",
    "::ffff:8.8.8.8",
    "64:ff9b::8.8.8.8",
]
FORBIDDEN = {
    "loopback": ["127.0.0.1", "127.255.255.254", "::1", "::ffff:127.0.0.1", "::ffff:7f00:1"],
    "unspecified": ["0.0.0.0", "0.1.2.3", "::", "::ffff:0.0.0.0"],
    "private": ["10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "::ffff:10.0.0.1"],
    "link-local": ["169.254.1.1", "fe80::1", "fe80::1%eth0", "febf::1"],
    "unique local": ["fc00::1", "fd12:3456::1"],
    "shared by customers": ["100.64.0.1", "100.127.255.255"],
    "multicast": ["224.0.0.1", "239.255.255.255", "ff02::1"],
    "broadcast": ["255.255.255.255"],
    "reserved": ["240.0.0.1", "192.0.0.1", "4000::1", "100::1", "5f00::1", "e000::1"],
    "documentation": ["192.0.2.1", "198.51.100.7", "203.0.113.7", "2001:db8::1", "3fff::1"],
    "benchmarks": ["198.18.0.1", "2001:2::1"],
    "site-local": ["fec0::1"],
    "credentials": [
        "169.254.169.254",
        "::ffff:169.254.169.254",
        "fd00:ec2::254",
        "100.100.100.200",
        "168.63.129.16",
    ],
    "NAT64": ["64:ff9b::127.0.0.1", "64:ff9b::a00:1", "64:ff9b::169.254.169.254"],
    "6to4": ["2002:808:808::1", "2002:7f00:1::", "2002:a00:1::1", "2002:a9fe:a9fe::", "2002:c0a8:101::1"],
    "Teredo": ["2001:0:7f00:1::", "2001:0:808:808:0:0:80ff:fffe", "2001::f5ff:fffe"],
    "ISATAP": ["2a00::5efe:10.0.0.1", "2a00::200:5efe:127.0.0.1"],
    "IPv4-compatible": ["::127.0.0.1", "::10.0.0.1"],
    "IPv4-translated": ["::ffff:0:127.0.0.1"],
    "private form": ["64:ff9b:1::8.8.8.8"],
}


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_may_be_called(address: str) -> None:
    assert why_not(address) == ""


@pytest.mark.parametrize(
    ("why", "address"), [(why, address) for why, addresses in FORBIDDEN.items() for address in addresses]
)
def test_no_other_address_may_be_called_and_it_is_said_why(why: str, address: str) -> None:
    assert why in why_not(address)


@pytest.mark.parametrize(
    "text", ["", "example.org", "127.1", "0x7f.0.0.1", "1.2.3.4.5", "[::1]", "1.2.3.4/8"]
)
def test_what_is_no_address_may_not_be_called(text: str) -> None:
    assert "is no address" in why_not(text)


@given(some.ip_addresses(v=4))
def test_what_python_calls_private_is_never_called(address: ipaddress.IPv4Address) -> None:
    if not address.is_global or address.is_multicast:
        assert why_not(str(address))


@given(some.ip_addresses(v=6))
def test_what_python_calls_private_is_never_called_in_ipv6_either(address: ipaddress.IPv6Address) -> None:
    if not address.is_global or address.is_multicast:
        assert why_not(str(address))


@given(some.ip_addresses(v=4))
def test_an_address_that_carries_another_is_no_better_than_that(inner: ipaddress.IPv4Address) -> None:
    if not why_not(str(inner)):
        return
    number = int(inner)
    carriers = [
        ipaddress.IPv6Address((0xFFFF << 32) | number),
        ipaddress.IPv6Address(number),
        ipaddress.IPv6Address((0x64FF9B << 96) | number),
        ipaddress.IPv6Address((0x2002 << 112) | (number << 80) | 1),
        ipaddress.IPv6Address((0x20010000 << 96) | (0x08080808 << 64) | (~number & 0xFFFFFFFF)),
        ipaddress.IPv6Address((0x20010000 << 96) | (number << 64) | (~0x08080808 & 0xFFFFFFFF)),
    ]
    for carrier in carriers:
        assert why_not(str(carrier)), carrier


def test_a_network_that_was_allowed_may_be_called() -> None:
    allowed = networks(["10.1.0.0/16", "::1", "fd12::/32", "127.0.0.1"])
    for address in ("10.1.2.3", "::1", "fd12::7", "127.0.0.1", "::ffff:10.1.2.3"):
        assert why_not(address, allowed) == ""
    for address in ("10.2.0.1", "::2", "fd13::1", "127.0.0.2", "2002:a01:203::", "64:ff9b::10.1.2.3"):
        assert why_not(address, allowed)


def test_where_clouds_hand_out_credentials_has_to_be_named_itself() -> None:
    everything = networks(["0.0.0.0/0", "::/0", "169.254.0.0/16"])
    assert why_not("10.0.0.1", everything) == ""
    for address in METADATA:
        assert "credentials" in why_not(str(address), everything)
        assert why_not(str(address), networks([str(address)])) == ""


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0177.0.0.1",
        "017700000001",
        "[::1]",
        "::1",
        "0",
        "127.0.0.1.",
        "localhost",
        "LOCALHOST.",
        "some.localhost",
        "ip6-loopback",
        "169.254.169.254",
        "fe80::1%eth0",
    ],
)
def test_a_host_that_is_plainly_private_is_told_at_once(host: str) -> None:
    assert why_not_host(host)


@pytest.mark.parametrize(
    "host", ["example.org", "8.8.8.8", "1.2.3.4.5", "256.1.1.1", "localhost.example.org", "0x", "a.1"]
)
def test_of_a_name_nothing_is_said_before_it_is_resolved(host: str) -> None:
    assert why_not_host(host) == ("0x is unspecified" if host == "0x" else "")


def test_loopback_that_was_allowed_may_be_called_by_its_name() -> None:
    assert why_not_host("localhost", networks(["127.0.0.0/8", "::1"])) == ""
    assert why_not_host("localhost", networks(["127.0.0.0/8"])), "it may lead to ::1"


@given(some.integers(0, 2**32 - 1), some.sampled_from(["{}", "0x{:x}", "0{:o}"]))
def test_the_old_forms_of_numbers_mean_what_a_socket_takes_them_for(number: int, form: str) -> None:
    text = form.format(number)
    try:
        meant = socket.inet_ntoa(socket.inet_aton(text))
    except OSError:
        return
    assert bool(why_not_host(text)) == bool(why_not(meant)), (text, meant)


@pytest.mark.parametrize("text", ["10.0.0.0/33", "10.0.0.1/8", "net", "", "::/129"])
def test_what_is_no_network_is_refused_with_advice(text: str) -> None:
    with pytest.raises(ValueError, match="is no network"):
        networks([text])
