"""What all pages share: the way to them, languages, themes, logins, and a server that goes and comes back."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.ui.browser import WITHIN_MS, check_accessible, sign_in
from tests.ui.conftest import OpenPage, Server, serving
from windlass.sdk.client import Client

SECTIONS = ["Overview", "Workflows", "Runs", "Tasks", "Workers", "Cluster", "Settings"]


def heading(page: Page, name: str) -> None:
    expect(page.get_by_role("heading", level=1, name=name, exact=True)).to_be_visible()


@pytest.mark.parametrize("name", SECTIONS)
def test_every_page_is_accessible_and_fits_a_phone(page: Page, name: str) -> None:
    page.goto("/" if name == "Overview" else f"/ui/{name.lower()}")
    heading(page, name)
    expect(page.get_by_role("navigation", name="Pages").get_by_role("link", name=name)).to_have_attribute(
        "aria-current", "page"
    )
    check_accessible(page)
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 360
    for command in page.locator(".command pre").all():
        assert command.evaluate("pre => pre.scrollWidth <= pre.clientWidth"), command.inner_text()


def test_the_keyboard_is_enough_to_get_to_every_page(page: Page) -> None:
    page.goto("/")
    heading(page, "Overview")
    for name in SECTIONS[1:]:
        link = page.get_by_role("navigation", name="Pages").get_by_role("link", name=name)
        for _ in range(40):
            if link.evaluate("link => link === document.activeElement"):
                break
            page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        heading(page, name)
        expect(page.get_by_role("heading", level=1)).to_be_focused()
        page.evaluate("() => document.activeElement.blur()")


def test_the_first_tab_skips_to_the_content(page: Page) -> None:
    page.goto("/")
    heading(page, "Overview")
    expect(page).to_have_title("Overview · Windlass")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()


def test_back_and_forward_go_through_the_pages(page: Page) -> None:
    page.goto("/")
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Runs").click()
    heading(page, "Runs")
    page.go_back()
    heading(page, "Overview")
    page.go_forward()
    heading(page, "Runs")


def test_the_language_can_be_switched_and_is_remembered(page: Page) -> None:
    page.goto("/ui/workers")
    page.get_by_label("Language").select_option("中文")
    heading(page, "工作器")
    expect(page.locator("html")).to_have_attribute("lang", "zh-CN")
    page.reload()
    heading(page, "工作器")
    check_accessible(page)


def test_a_chinese_browser_is_answered_in_chinese(server: Server, opened: OpenPage) -> None:
    page = opened(server.url, locale="zh-CN")
    page.goto("/ui/workflows")
    heading(page, "工作流")


@pytest.mark.parametrize(("system", "other"), [("light", "Dark"), ("dark", "Light")])
def test_the_theme_is_that_of_the_system_until_another_is_chosen(
    server: Server, opened: OpenPage, system: str, other: str
) -> None:
    page = opened(server.url, color_scheme=system)
    page.goto("/")
    heading(page, "Overview")
    before = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    check_accessible(page)
    page.get_by_label("Theme").select_option(other)
    after = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    assert before != after
    check_accessible(page)
    page.reload()
    heading(page, "Overview")
    assert page.evaluate("() => getComputedStyle(document.body).backgroundColor") == after


def test_the_namespace_goes_along_from_page_to_page(page: Page) -> None:
    page.goto("/ui/runs?namespace=reports")
    expect(page.get_by_label("Namespace")).to_have_value("reports")
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Workers").click()
    expect(page).to_have_url("/ui/workers?namespace=reports")
    page.get_by_label("Namespace").select_option("default")
    expect(page).to_have_url("/ui/workers")


def test_another_namespace_can_be_named(page: Page) -> None:
    page.goto("/ui/runs")
    page.get_by_label("Namespace").select_option("Another one …")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Namespace")).to_be_focused()
    dialog.get_by_label("Namespace").fill("Not One")
    dialog.get_by_role("button", name="Open").click()
    expect(dialog.get_by_role("alert")).to_be_visible()
    check_accessible(page)
    dialog.get_by_label("Namespace").fill("team-b")
    dialog.get_by_role("button", name="Open").click()
    expect(page).to_have_url("/ui/runs?namespace=team-b")


def test_an_address_that_leads_nowhere_says_so(page: Page) -> None:
    page.goto("/ui/nothing/here")
    heading(page, "There is no such page")
    page.get_by_role("link", name="Go to the overview").click()
    heading(page, "Overview")


def test_a_server_that_is_lost_is_missed_and_found_again(mortal: Server, opened: OpenPage) -> None:
    page = opened(mortal.url)
    page.goto("/")
    heading(page, "Overview")
    mortal.kill()
    expect(page.get_by_role("status").get_by_text("The server does not answer")).to_be_visible(
        timeout=WITHIN_MS
    )
    check_accessible(page)
    mortal.start()
    expect(page.get_by_role("status").get_by_text("The server does not answer")).to_be_hidden(
        timeout=WITHIN_MS
    )
    expect(page.get_by_text("The server is back.")).to_be_visible()


def test_who_is_not_logged_in_is_asked_for_a_token(locked: Server, opened: OpenPage) -> None:
    page = opened(locked.url)
    page.goto("/ui/runs")
    heading(page, "Sign in")
    check_accessible(page)
    sign_in(page, "wl_nonsense")
    expect(page.get_by_role("alert")).to_contain_text("Unauthorized")
    sign_in(page, locked.token("read", "--namespace", "*"))
    heading(page, "Runs")
    expect(page.get_by_text("read", exact=True)).to_be_visible()
    page.reload()
    heading(page, "Runs")
    page.get_by_role("button", name="Sign out").click()
    heading(page, "Sign in")
    page.reload()
    heading(page, "Sign in")


def test_a_token_of_one_namespace_says_which(locked: Server, opened: OpenPage) -> None:
    page = opened(locked.url)
    page.goto("/")
    sign_in(page, locked.token("operator", "--namespace", "reports"))
    heading(page, "Overview")
    expect(page.get_by_role("banner").get_by_text("reports")).to_be_visible()


def test_a_cookie_that_is_refused_by_now_leads_to_the_login(locked: Server, opened: OpenPage) -> None:
    page = opened(locked.url)
    page.context.add_cookies([{"name": "windlass", "value": "wl_gone", "url": locked.url}])
    page.goto("/ui/workers")
    heading(page, "Sign in")
    sign_in(page, locked.token("admin"))
    heading(page, "Workers")


def test_a_token_for_programs_is_not_let_in_and_not_kept(locked: Server, opened: OpenPage) -> None:
    page = opened(locked.url)
    page.goto("/ui/runs")
    sign_in(page, locked.token("worker", "--namespace", "*"))
    expect(page.get_by_role("alert")).to_contain_text("This token is for programs")
    heading(page, "Sign in")
    assert page.context.cookies() == []


def test_whose_token_is_revoked_is_told_so_and_the_server_is_not_missed(
    locked: Server, opened: OpenPage
) -> None:
    page = opened(locked.url)
    page.goto("/ui/workers")
    token = locked.token("read", "--namespace", "*")
    sign_in(page, token)
    heading(page, "Workers")
    with Client(locked.url, token=locked.token("admin")) as admin:
        admin.revoke_token(token.removeprefix("wl_").partition("_")[0])
    heading(page, "Sign in")
    expect(page.get_by_text("the token has expired or was revoked")).to_be_visible()
    # What the browser still has would be refused, and written into the audit log, each time it looks.
    with page.expect_response("**/health/live") as looked:
        pass
    assert looked.value.status == 200
    expect(page.get_by_text("The server does not answer")).to_be_hidden()


def test_who_cannot_be_signed_out_is_told(browser: Browser, opened: OpenPage, tmp_path: Path) -> None:
    with serving(tmp_path / "data", "--login") as server:
        page = opened(server.url)
        page.goto("/ui/settings")
        sign_in(page, server.token("read"))
        heading(page, "Settings")
        server.kill()
        page.get_by_role("banner").get_by_role("button", name="Sign out").click()
        expect(page.get_by_text("you are still signed in")).to_be_visible()


def test_a_link_to_a_namespace_of_others_has_a_way_back(locked: Server, opened: OpenPage) -> None:
    page = opened(locked.url)
    page.goto("/ui/runs?namespace=team-b")
    sign_in(page, locked.token("operator", "--namespace", "reports"))
    expect(page.get_by_role("alert")).to_contain_text("this token is of the namespace reports")
    check_accessible(page)
    page.get_by_role("button", name="Back to reports").click()
    expect(page).to_have_url("/ui/runs")
    expect(page.get_by_role("alert")).to_have_count(0)
    expect(page.get_by_role("banner").get_by_text("reports", exact=True)).to_be_visible()
