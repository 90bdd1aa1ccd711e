"""The settings: tokens, secrets, namespaces, webhooks, hooks and the audit log; and what each role sees."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.ui.browser import check_accessible, sign_in
from tests.ui.conftest import OpenPage, Server

TABS = ["tokens", "secrets", "namespaces", "webhooks", "hooks", "audit"]


def entered(locked: Server, opened: OpenPage, role: str, *more: str, at: str = "tokens") -> Page:
    page = opened(locked.url)
    page.goto(f"/ui/settings?tab={at}")
    sign_in(page, locked.token(role, *more))
    expect(page.get_by_role("heading", level=1, name="Settings")).to_be_visible()
    return page


def taken(page: Page) -> str:
    """What the dialog shows this once."""
    dialog = page.get_by_role("dialog")
    text = dialog.locator("pre").inner_text()
    check_accessible(page)
    dialog.get_by_role("button", name="I have it").click()
    expect(page.get_by_text(text)).to_have_count(0)
    return text


@pytest.mark.parametrize("tab", TABS)
def test_every_part_is_accessible_and_fits_a_phone(page: Page, tab: str) -> None:
    page.goto(f"/ui/settings?tab={tab}")
    expect(page.get_by_role("tab", selected=True)).to_be_visible()
    expect(page.locator("[aria-busy=true]")).to_have_count(0)
    check_accessible(page)
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 360


def test_a_server_without_a_login_says_how_to_have_one(page: Page) -> None:
    page.goto("/ui/settings")
    expect(page.get_by_text("This server has no login")).to_be_visible()
    expect(page.get_by_role("button", name="Copy: windlass up --login")).to_be_visible()


def test_a_token_is_shown_once_lets_in_and_is_revoked(locked: Server, opened: OpenPage) -> None:
    page = entered(locked, opened, "admin", "--name", "boss")
    page.get_by_label("Name", exact=True).fill("ci")
    page.get_by_label("Role").select_option("submit")
    page.get_by_role("tabpanel").get_by_label("Namespace").fill("reports")
    page.get_by_label("Expires after").fill("soon")
    page.get_by_role("button", name="Create", exact=True).click()
    expect(page.get_by_label("Expires after")).to_have_attribute("aria-invalid", "true")
    page.get_by_label("Expires after").fill("90d")
    page.get_by_role("button", name="Create", exact=True).click()
    token = taken(page)
    row = page.get_by_role("row", name=re.compile(r"^ci "))
    expect(row).to_contain_text("submit")
    expect(row).to_contain_text("reports")

    theirs = opened(locked.url)
    theirs.goto("/ui/settings")
    sign_in(theirs, token)
    expect(theirs.get_by_role("heading", level=1, name="Settings")).to_be_visible()

    row.get_by_role("button", name="Revoke ci").click()
    dialog = page.get_by_role("dialog")
    check_accessible(page)
    dialog.get_by_role("button", name="Not now").click()
    expect(row.get_by_text("Valid")).to_be_visible()
    row.get_by_role("button", name="Revoke ci").click()
    dialog.get_by_role("button", name="Revoke").click()
    expect(row.get_by_text("Revoked")).to_be_visible()
    theirs.reload()
    expect(theirs.get_by_role("heading", level=1, name="Sign in")).to_be_visible()

    page.get_by_label("Show", exact=True).select_option("Valid")
    expect(page).to_have_url("/ui/settings?tab=tokens&state=valid")
    expect(row).to_have_count(0)
    page.get_by_label("Show", exact=True).select_option("Expired")
    expect(page.get_by_text("No token is like that")).to_be_visible()


def test_a_secret_is_set_never_shown_and_gone(server: Server, page: Page) -> None:
    page.goto("/ui/settings?tab=secrets")
    expect(page.get_by_text("No secrets here")).to_be_visible()
    page.get_by_label("Name", exact=True).fill("API_KEY")
    page.get_by_label("Value").fill("abc")
    page.get_by_role("button", name="Set", exact=True).click()
    expect(page.get_by_label("Value")).to_have_attribute("aria-invalid", "true")
    page.get_by_label("Value").fill("correct horse battery")
    page.get_by_role("button", name="Set", exact=True).click()
    row = page.get_by_role("row", name=re.compile("API_KEY"))
    expect(row).to_be_visible()
    expect(page.get_by_label("Value")).to_have_value("")
    assert "correct horse" not in page.content()
    assert [each["name"] for each in server.client.secrets()["items"]] == ["API_KEY"]
    check_accessible(page)
    row.get_by_role("button", name="Delete API_KEY").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("No secrets here")).to_be_visible()
    assert server.client.secrets()["items"] == []


def test_the_audit_log_tells_who_did_it_and_is_filtered_in_the_address(
    locked: Server, opened: OpenPage
) -> None:
    page = entered(locked, opened, "admin", "--name", "auditor", at="secrets")
    page.get_by_label("Name", exact=True).fill("AUDITED")
    page.get_by_label("Value").fill("correct horse battery")
    page.get_by_role("button", name="Set", exact=True).click()
    expect(page.get_by_role("row", name=re.compile("AUDITED"))).to_be_visible()
    page.get_by_role("tab", name="Audit log").click()
    line = page.get_by_role("row", name="secret/AUDITED")
    expect(line).to_contain_text("auditor")
    expect(line).to_contain_text("setSecret")
    expect(line).to_contain_text("201")
    page.get_by_label("Deed").fill("createToken")
    expect(page).to_have_url("/ui/settings?tab=audit&act=createToken")
    expect(line).to_have_count(0)
    page.get_by_label("Deed").fill("")
    page.get_by_label("Only what was refused or failed").check()
    expect(page).to_have_url("/ui/settings?tab=audit&failed=true")
    expect(line).to_have_count(0)
    page.reload()
    expect(page.get_by_label("Only what was refused or failed")).to_be_checked()
    check_accessible(page)


def test_the_audit_log_comes_in_pages(server: Server, page: Page) -> None:
    for number in range(60):
        server.client.create_token("read", name=f"t{number}")
    page.goto("/ui/settings?tab=audit&act=createToken")
    lines = page.get_by_role("table").get_by_role("row")
    expect(lines).to_have_count(51)
    page.get_by_role("button", name="Show more").click()
    expect(lines).to_have_count(61)
    expect(page.get_by_role("button", name="Show more")).to_have_count(0)


def test_a_namespace_is_opened_and_goes_into_the_address(server: Server, page: Page) -> None:
    server.client.create_token("read", namespace="team-b", name="of team b")
    page.goto("/ui/settings?tab=namespaces")
    row = page.get_by_role("row", name=re.compile("team-b"))
    expect(row.get_by_role("cell", name="0")).to_have_count(2)
    expect(page.get_by_label("Namespace", exact=True).get_by_role("option", name="team-b")).to_have_count(1)
    row.get_by_role("button", name="Open team-b").click()
    expect(page).to_have_url("/ui/settings?tab=namespaces&namespace=team-b")
    expect(row).to_contain_text("you are here")
    page.get_by_role("button", name="Open default").click()
    expect(page).to_have_url("/ui/settings?tab=namespaces")


def test_a_webhook_is_made_and_deleted(server: Server, page: Page) -> None:
    page.goto("/ui/settings?tab=webhooks")
    page.get_by_label("Address").fill("http://127.0.0.1:1/inside")
    page.get_by_role("button", name="Create", exact=True).click()
    expect(page.get_by_role("alert").first).to_be_visible()
    page.get_by_label("Address").fill("https://example.org/hooks/windlass")
    page.get_by_role("button", name="Create", exact=True).click()
    assert taken(page).startswith("whsec_")
    row = page.get_by_role("row", name=re.compile("example.org"))
    expect(row).to_contain_text("fails, is stuck")
    check_accessible(page)
    row.get_by_role("button", name=re.compile("^Delete")).click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("No webhooks here")).to_be_visible()
    assert server.client.webhooks()["items"] == []


def test_a_hook_is_made_and_deleted(page: Page) -> None:
    page.goto("/ui/settings?tab=hooks")
    page.get_by_label("Name", exact=True).fill("nightly")
    page.get_by_label("Workflow").fill("nightly-report")
    page.get_by_role("button", name="Create", exact=True).click()
    assert taken(page)
    row = page.get_by_role("row", name=re.compile("nightly"))
    expect(row).to_contain_text("starts nightly-report")
    expect(row).to_contain_text("/api/v1/hooks/nightly")
    check_accessible(page)
    row.get_by_role("button", name="Delete nightly").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("No hooks here")).to_be_visible()


def test_an_admin_may_everything_and_sees_who_it_is(locked: Server, opened: OpenPage) -> None:
    page = entered(locked, opened, "admin", "--name", "boss")
    you = page.get_by_role("region", name="You", exact=True)
    expect(you).to_contain_text("admin: everything, in all namespaces")
    expect(page.get_by_role("button", name="Create", exact=True)).to_be_enabled()
    page.get_by_role("tab", name="Audit log").click()
    expect(page.get_by_role("table")).to_be_visible()
    you.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", level=1, name="Sign in")).to_be_visible()


def test_an_operator_keeps_secrets_and_makes_no_tokens(locked: Server, opened: OpenPage) -> None:
    page = entered(locked, opened, "operator", "--namespace", "ops")
    expect(page.get_by_role("region", name="You", exact=True)).to_contain_text("ops")
    refused = "needs the role admin; yours is operator"
    expect(page.get_by_role("button", name="Create", exact=True)).to_have_accessible_description(
        re.compile(refused)
    )
    expect(page.get_by_role("button", name="Create", exact=True)).to_be_disabled()
    expect(page.get_by_role("tabpanel").locator(".note")).to_contain_text(refused)
    check_accessible(page)
    page.get_by_role("tab", name="Secrets").click()
    page.get_by_label("Name", exact=True).fill("OPS_KEY")
    page.get_by_label("Value").fill("correct horse battery")
    page.get_by_role("button", name="Set", exact=True).click()
    expect(page.get_by_role("row", name=re.compile("OPS_KEY"))).to_be_visible()
    expect(page.get_by_role("button", name="Seal anew")).to_be_disabled()
    page.get_by_role("tab", name="Audit log").click()
    expect(page.get_by_role("tabpanel").locator(".note")).to_contain_text(refused)


def test_who_may_only_read_is_told_what_the_rest_takes(locked: Server, opened: OpenPage) -> None:
    page = entered(locked, opened, "read", at="secrets")
    expect(page.get_by_role("button", name="Set", exact=True)).to_have_accessible_description(
        re.compile("needs the role operator; yours is read")
    )
    check_accessible(page)
    for tab, role in (
        ("Tokens", "admin"),
        ("Webhooks", "operator"),
        ("Hooks in", "operator"),
        ("Audit log", "admin"),
    ):
        page.get_by_role("tab", name=tab).click()
        expect(page.get_by_role("tabpanel").locator(".note")).to_contain_text(f"needs the role {role}")
    page.get_by_role("tab", name="Namespaces").click()
    expect(page.get_by_role("row", name=re.compile(r"^read \(yours\)"))).to_be_visible()
