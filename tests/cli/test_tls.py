"""TLS as users turn it on: `windlass up` with a certificate, and commands that trust its authority."""

from __future__ import annotations

import json
import socket
import ssl
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.certificates import Authority, Pair
from tests.cli.calls import command
from tests.cli.engines import Engine, engine
from tests.waiting import wait_until
from windlass.core.errors import Invalid
from windlass.sdk.client import Client
from windlass.sdk.refusals import Untrusted


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


def shown(url: str) -> bytes:
    """The certificate that a new connection meets, whoever has signed it."""
    parts = urlsplit(url)
    anybody = ssl.create_default_context()
    anybody.check_hostname, anybody.verify_mode = False, ssl.CERT_NONE
    with (
        socket.create_connection((parts.hostname, parts.port), 10.0) as plain,
        anybody.wrap_socket(plain) as tls,
    ):
        found = tls.getpeercert(binary_form=True)
        assert found is not None
        return found


def options(data: Path, pair: Pair, *more: str) -> list[str]:
    return ["--data", str(data), "--port", "0", "--json", *pair.options, *more]


def url_of(started: Engine) -> str:
    url = started.ready()["url"]
    assert isinstance(url, str)
    return url


def test_an_engine_with_a_certificate_is_reached_by_those_who_trust_it(
    authority: Authority, tmp_path: Path
) -> None:
    with engine(
        *options(tmp_path / "data", authority.issue("server"), "--examples"), cwd=tmp_path
    ) as started:
        url = url_of(started)
        assert url.startswith("https://127.0.0.1:")
        by_option = command("--server", url, "workflows", "--ca", authority.file, "--json")
        variables = {"WINDLASS_URL": url, "WINDLASS_CA": str(authority.file)}
        by_variable = command("run", "hello", env=variables)
        assert (by_option.returncode, by_variable.returncode) == (0, 0), by_option.stderr + by_variable.stderr
        assert "hello" in by_option.stdout


def test_who_does_not_trust_it_is_told_why_in_one_line(authority: Authority, tmp_path: Path) -> None:
    with engine(*options(tmp_path / "data", authority.issue("server")), cwd=tmp_path) as started:
        url = url_of(started)
        told = command("--server", url, "workflows")
        advice = "name the file of its authority with --ca or WINDLASS_CA"
        assert told.returncode == 1
        assert told.stderr.count("\n") == 1
        assert (
            f"the certificate of {url} is not trusted: unable to get local issuer certificate" in told.stderr
        )
        assert advice in told.stderr
        plain = command("--server", url.replace("https", "http"), "workflows")
        assert plain.returncode != 0


def test_a_certificate_that_has_expired_is_told_as_such(authority: Authority, tmp_path: Path) -> None:
    pair = authority.issue("server", lasts=timedelta(days=-1))
    with (
        engine(*options(tmp_path / "data", pair), cwd=tmp_path) as started,
        Client(url_of(started), ca=authority.file) as client,
        pytest.raises(Untrusted, match="is not trusted: certificate has expired"),
    ):
        client.workflows()
    assert "the TLS certificate has expired" in started.says


def test_a_server_without_tls_is_told_as_such(tmp_path: Path) -> None:
    plain = ("--data", str(tmp_path / "data"), "--port", "0", "--json")
    with (
        engine(*plain, cwd=tmp_path) as started,
        Client(url_of(started).replace("http", "https")) as client,
        pytest.raises(Untrusted, match="speaks no TLS; write http:// if that is meant"),
    ):
        client.workflows()


def test_a_new_certificate_is_used_without_a_restart(authority: Authority, tmp_path: Path) -> None:
    pair = authority.issue("server")
    with engine(*options(tmp_path / "data", pair, "-v"), cwd=tmp_path) as started:
        url = url_of(started)
        with Client(url, ca=authority.file) as kept:
            kept.workflows()
            before, new = shown(url), authority.issue("next")
            new.certificate.replace(pair.certificate)
            new.key.replace(pair.key)
            wait_until(lambda: shown(url) != before)
            assert kept.workflows() == []
        pair.certificate.write_text("no certificate")
        wait_until(lambda: "the new TLS files are of no use" in started.says)
        with Client(url, ca=authority.file) as another:
            assert another.workflows() == []


@pytest.mark.parametrize("which", ["other key", "no key", "junk", "ca alone"])
def test_an_engine_whose_files_will_not_do_does_not_start(
    authority: Authority, tmp_path: Path, which: str
) -> None:
    good, other, junk = authority.issue("good"), authority.issue("other"), tmp_path / "junk"
    junk.write_text("junk")
    wrong: dict[str, tuple[list[str | Path], str]] = {
        "other key": (
            ["--tls-cert", good.certificate, "--tls-key", other.key],
            f"the TLS key {other.key} does not belong to the certificate {good.certificate}",
        ),
        "no key": (["--tls-cert", good.certificate], "name both --tls-cert and --tls-key"),
        "junk": (
            ["--tls-cert", junk, "--tls-key", good.key],
            f"the TLS certificate {junk} holds no certificate",
        ),
        "ca alone": (["--tls-ca", authority.file], "there is no TLS for which it could be used"),
    }
    given, told = wrong[which]
    done = command("up", "--data", tmp_path / "data", "--port", "0", *given)
    assert done.returncode in (1, 2)
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_what_is_no_authority_is_told_by_the_client(tmp_path: Path) -> None:
    (tmp_path / "junk").write_text(json.dumps("junk"))
    with pytest.raises(Invalid, match="holds no certificate"):
        Client("https://127.0.0.1:1", ca=tmp_path / "junk").workflows()
    assert command("workflows", "--ca", tmp_path / "nothing").returncode == 2
