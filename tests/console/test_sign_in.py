"""Signing in and out: who may, for how long, and where it leads."""

import json
import urllib.error
import urllib.parse
import urllib.request

import pytest


def make_link(service, token):
    """A link that signs the holder of a token in, as `bitacora console` makes it."""
    request = urllib.request.Request(f"{service.url}/console/links", b"", {"authorization": f"Bearer {token}"}, method="POST")
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def test_a_token_signs_in_and_leads_to_the_page_that_was_asked_for(viewers, governed):
    viewer = viewers(governed)
    viewer.sign_in(governed.kept_token("operator"), to="/console/main/calls?verdict=deny")
    assert viewer.page.url == f"{governed.url}/console/main/calls?verdict=deny"
    assert "operator" in viewer.text("header .who")


def test_the_cookie_is_kept_from_scripts_and_from_other_sites(viewers, governed):
    viewer = viewers(governed, "auditor")
    cookie = viewer.cookie()
    assert cookie["httpOnly"] and cookie["sameSite"] == "Strict" and cookie["path"] == "/console"
    assert viewer.page.evaluate("document.cookie") == ""
    token = governed.kept_token("auditor")
    assert token not in viewer.page.content() and token not in cookie["value"]


def test_a_link_says_whom_it_signs_in_and_does_so_once(viewers, governed):
    link = make_link(governed, governed.kept_token("operator"))
    assert link["role"] == "operator" and link["seconds"] == 600
    viewer = viewers(governed)
    viewer.page.goto(link["path"])
    said = viewer.text()
    assert link["actor"] in said and "operator" in said
    assert viewer.cookie() is None, "nobody is signed in before they press the button"
    viewer.press("Sign in")
    viewer.page.wait_for_url("**/now")
    assert link["actor"] in viewer.text("header .who")
    assert link["path"].split("code=")[1] not in governed.log()

    late = viewers(governed)
    late.page.goto(link["path"])
    assert "used already" in late.text("[role=alert]")
    assert late.cookie() is None


def test_a_link_takes_a_token_that_is_taken(governed):
    for token in ("bt_wrong", "bt_" + "a" * 43):
        with pytest.raises(urllib.error.HTTPError) as refusal:
            make_link(governed, token)
        assert refusal.value.code == 401


@pytest.mark.parametrize("token", ["wrong", "bt_" + "a" * 43, "bt_<script>alert(1)</script>", "\u202ebt_"])
def test_a_wrong_token_signs_nobody_in_and_says_so(viewers, governed, token):
    viewer = viewers(governed)
    viewer.page.goto("/console/main/approvals")
    viewer.page.get_by_label("Token").fill(token)
    viewer.press("Sign in")
    assert viewer.page.locator("[role=alert]").is_visible()
    assert viewer.cookie() is None
    assert "Authorization" not in viewer.text(), "the words are for a person"
    assert token not in viewer.page.content()
    viewer.page.get_by_label("Token").fill(governed.kept_token("operator"))
    viewer.press("Sign in")
    viewer.page.wait_for_url("**/console/main/approvals")


def test_a_token_that_has_ended_signs_nobody_in(viewers, governed):
    token = governed.token("operator", "Short", expires="1s")
    viewer = viewers(governed)
    viewer.page.goto("/console")
    viewer.page.wait_for_timeout(1500)
    viewer.page.get_by_label("Token").fill(token)
    viewer.press("Sign in")
    assert viewer.page.locator("[role=alert]").is_visible() and viewer.cookie() is None


def test_signing_out_ends_the_session_for_its_cookie_too(viewers, governed):
    viewer = viewers(governed, "operator")
    kept = viewer.cookie()
    viewer.press("Sign out", within="header")
    viewer.page.wait_for_url("**/console/sign-in")
    assert viewer.cookie() is None
    viewer.context.add_cookies([kept])
    viewer.open("now")
    assert viewer.page.get_by_label("Token").is_visible(), "a stolen cookie of an ended session signs nobody in"


def test_signing_in_anew_ends_the_session_before(viewers, governed):
    viewer = viewers(governed, "operator")
    first = viewer.cookie()
    viewer.sign_in(governed.kept_token("auditor"), to="/console/sign-in")
    assert viewer.cookie()["value"] != first["value"]
    viewer.context.add_cookies([first])
    viewer.open("now")
    assert viewer.page.get_by_label("Token").is_visible()


def test_a_token_that_is_revoked_while_a_form_is_open_does_nothing(viewers, service):
    approval = service.ask_for()
    viewer = viewers(service, "operator", "Leaver")
    viewer.open("approvals", approval)
    service.revoke(viewer.actor)
    viewer.press("Approve")
    assert "revoked" in viewer.text("[role=alert]")
    assert service.approval(approval)["status"] == "pending"
    viewer.page.get_by_label("Token").fill(service.admin)
    viewer.press("Sign in")
    viewer.page.wait_for_url(lambda url: "sign-in" not in url)
    assert viewer.path.startswith("/console/main/approvals/")


@pytest.mark.parametrize(
    "next",
    ["https://evil.example/console", "//evil.example/console", "/\\evil.example", "/console/../..//evil.example", "javascript:alert(1)",
     "/console/\\evil.example", "/console@evil.example", "/console/%0d%0aLocation:%20https://evil.example"],
)
def test_nobody_is_led_to_another_site(viewers, governed, next):
    viewer = viewers(governed)
    viewer.page.goto("/console/sign-in?" + urllib.parse.urlencode({"next": next}))
    viewer.page.get_by_label("Token").fill(governed.kept_token("operator"))
    viewer.press("Sign in")
    viewer.page.locator('input[name=token]').wait_for(state='detached')
    assert viewer.page.url.startswith(governed.url + "/")
    assert viewer.went_elsewhere() == []


def test_a_link_on_another_site_leads_to_the_page_signed_in(viewers, governed, other_site):
    viewer = viewers(governed, "operator")
    other_site.page = f'<a href="{governed.url}/console/main/approvals">look</a>'
    for host in ("evil.example", "localhost"):
        viewer.page.goto(f"http://{host}:{other_site.port}/")
        viewer.page.get_by_role("link").click()
        viewer.page.wait_for_selector("h1:text-is('Approvals')")
        assert viewer.page.url == f"{governed.url}/console/main/approvals"


def test_two_services_on_one_machine_keep_their_sessions_apart(viewers, governed, demo):
    viewer = viewers(governed, "operator")
    viewer.page.goto(f"{demo.url}/console/main/now")
    viewer.page.get_by_label("Token").fill(demo.admin)
    viewer.press("Sign in")
    viewer.page.wait_for_selector("nav")
    assert "admin" in viewer.text("header .who")
    viewer.page.goto(f"{governed.url}/console/main/now")
    assert "operator" in viewer.text("header .who")


def test_signing_out_in_another_tab_is_told_as_what_it_is(viewers, governed):
    viewer = viewers(governed, "operator", "Two tabs")
    viewer.errors_are_expected = True
    viewer.open("calls", query="?verdict=deny")
    other = viewer.tab("now")
    other.get_by_role("button", name="Sign out").click()
    other.wait_for_url("**/console/sign-in")
    ended = viewer.page.locator("#ended")
    ended.wait_for()
    assert "signed out" in ended.inner_text() and "does not answer" not in viewer.text("body")
    ended.get_by_role("link", name="Sign in again").click()
    viewer.page.get_by_label("Token").fill(governed.kept_token("operator", "Two tabs"))
    viewer.press("Sign in")
    viewer.page.wait_for_url("**/calls?verdict=deny")
    assert viewer.page.locator("#strange").is_hidden() and viewer.page.locator("#ended").is_hidden()
