"""The web page as the door serves it: to whom, how long browsers keep it, and what it may do."""

import asyncio
import gzip
from pathlib import Path

import pytest

from tests.gateway.house import Answer, house
from windlass.gateway import ui
from windlass.gateway.lock import Locks

BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
INDEX = "<!doctype html><title>Windlass</title>"
SCRIPT = "export const answer = 42;\n"


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A page that was built, however small."""
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text(INDEX)
    (tmp_path / "index.html.gz").write_bytes(gzip.compress(INDEX.encode()))
    (tmp_path / "icon.svg").write_text("<svg/>")
    (tmp_path / "assets" / "index-1a2b.js").write_text(SCRIPT)
    (tmp_path / "assets" / "index-1a2b.js.gz").write_bytes(gzip.compress(SCRIPT.encode()))
    monkeypatch.setattr(ui, "Ui", lambda: ORDINARY(tmp_path))
    return tmp_path


ORDINARY = ui.Ui


def asked(*requests: tuple[str, dict[str, str]], locks: Locks | None = None) -> list[Answer]:
    async def ask() -> list[Answer]:
        async with house(locks=locks or Locks()) as home:
            return [await home.ask("GET", path, headers=headers) for path, headers in requests]

    return asyncio.run(ask())


def test_browsers_get_the_page_and_programs_the_list(built: Path) -> None:
    page, listed, curl = asked(
        ("/", BROWSER), ("/", {"Accept": "application/json"}), ("/", {"Accept": "*/*"})
    )
    assert page.text == INDEX and page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert "/api/v1/runs" in listed.text and listed.text == curl.text
    assert "Accept" in page.headers["Vary"] and "Accept" in listed.headers["Vary"]


@pytest.mark.parametrize(
    "path", ["/ui", "/ui/", "/ui/runs", "/ui/runs/a%2Fb/x.js", "/ui/workflows/x?tab=graph"]
)
def test_every_address_of_a_page_leads_to_the_index(built: Path, path: str) -> None:
    (answer,) = asked((path, BROWSER))
    assert (answer.status, answer.text) == (200, INDEX)


def test_the_index_is_asked_for_each_time_and_files_are_kept_for_good(built: Path) -> None:
    index, script, icon = asked(("/", BROWSER), ("/ui/assets/index-1a2b.js", {}), ("/ui/icon.svg", {}))
    assert index.headers["Cache-Control"] == "no-cache" and index.headers["ETag"]
    assert script.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    assert script.headers["Content-Type"] == "text/javascript; charset=utf-8" and script.text == SCRIPT
    assert icon.headers["Cache-Control"] == "no-cache" and icon.headers["Content-Type"] == "image/svg+xml"


def test_what_the_browser_has_is_not_sent_again(built: Path) -> None:
    async def ask() -> tuple[int, bytes]:
        async with house() as home:
            tag = (await home.ask("GET", "/ui")).headers["ETag"]
            url = f"http://127.0.0.1:{home.port}/ui"
            async with home.session.get(url, headers={"If-None-Match": tag}) as answer:
                return answer.status, await answer.read()

    assert asyncio.run(ask()) == (304, b"")


@pytest.mark.parametrize(("path", "text"), [("/ui/assets/index-1a2b.js", SCRIPT), ("/ui/runs", INDEX)])
def test_files_come_packed_to_who_can_unpack_them(built: Path, path: str, text: str) -> None:
    ways = ({"Accept-Encoding": "gzip"}, {"Accept-Encoding": "identity"}, {"Accept-Encoding": "gzip;q=0"})
    packed, plain, unwanted = asked(*((path, way) for way in ways))
    assert packed.headers["Content-Encoding"] == "gzip" and packed.text == text
    for answer in (plain, unwanted):
        assert "Content-Encoding" not in answer.headers and answer.text == text
    assert packed.headers["ETag"] != plain.headers["ETag"] == unwanted.headers["ETag"]
    assert all("Accept-Encoding" in answer.headers["Vary"] for answer in (packed, plain))


def test_a_packed_file_that_the_browser_has_is_not_sent_again(built: Path) -> None:
    (first,) = asked(("/ui", {"Accept-Encoding": "gzip"}))
    packed = {"Accept-Encoding": "gzip", "If-None-Match": first.headers["ETag"]}
    plain = {"Accept-Encoding": "identity", "If-None-Match": first.headers["ETag"]}

    async def ask() -> list[int]:
        async with house() as home:
            url = f"http://127.0.0.1:{home.port}/ui"
            return [(await home.session.get(url, headers=headers)).status for headers in (packed, plain)]

    assert asyncio.run(ask()) == [304, 200]


def test_caches_between_know_that_files_come_in_two_ways_whatever_pages_are_listed(built: Path) -> None:
    (answer,) = asked(("/ui/assets/index-1a2b.js", {}), locks=Locks(origins=("https://app.example",)))
    assert answer.headers["Vary"] == "Accept, Accept-Encoding, Origin"


@pytest.mark.parametrize(
    "path",
    [
        "/ui/assets/nothing.js",
        "/ui/assets/",
        "/ui/assets/..%2Findex.html",
        "/ui/assets/%2e%2e%2f%2e%2e%2fdocs.html",
        "/ui/assets/.hidden",
        "/ui/assets/a%00b",
    ],
)
def test_a_file_that_is_not_there_is_not_found(built: Path, path: str) -> None:
    (answer,) = asked((path, {}))
    assert answer.status == 404 and answer.json["error"] == "Not found"


def test_the_page_runs_no_script_but_its_own_and_is_framed_nowhere(built: Path) -> None:
    (answer,) = asked(("/", BROWSER))
    policy = answer.headers["Content-Security-Policy"].split("; ")
    assert (
        "default-src 'self'" in policy and "frame-ancestors 'none'" in policy and "base-uri 'none'" in policy
    )
    assert not any(part.startswith("script-src") for part in policy)
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cross-Origin-Opener-Policy"] == "same-origin"


def test_the_page_needs_no_login_and_minds_no_old_cookie(built: Path) -> None:
    gone = {"Cookie": "windlass=wl_gone"}
    paths = ["/", "/ui/runs", "/ui/assets/index-1a2b.js"]
    answers = asked(*((path, BROWSER | gone) for path in paths), locks=Locks(login=True))
    assert [answer.status for answer in answers] == [200, 200, 200]


def test_who_has_an_old_cookie_can_log_out() -> None:
    async def ask() -> list[int]:
        origin = {"Cookie": "windlass=wl_gone", "Sec-Fetch-Site": "same-origin"}
        async with house(locks=Locks(login=True)) as home:
            # More often than logins of an address may fail: nothing here tells whether a cookie is good.
            return [(await home.ask("POST", "/api/v1/logout", headers=origin)).status for _ in range(30)]

    assert set(asyncio.run(ask())) == {200}


def test_an_install_without_the_page_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ui, "Ui", lambda: ORDINARY(tmp_path / "nothing"))
    page, deeper, file = asked(("/", BROWSER), ("/ui/runs", BROWSER), ("/ui/assets/index-1a2b.js", {}))
    assert "not in this install" in page.text and "make env" in page.text and deeper.text == page.text
    assert page.headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert file.status == 404
